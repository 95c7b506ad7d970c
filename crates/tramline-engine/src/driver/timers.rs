//! The timers of a driver: the end of a run's active time, and the waits of its steps.

use super::{Completion, Driver};
use crate::clock;
use crate::fault::Fault;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;
use tramline_workflow::ids::{NodeIx, StepNo};
use tramline_workflow::journal::{Budget, Event, RunEvent};
use tramline_workflow::next::retry_block;
use tramline_workflow::run::StepStage;

/// Longest sleep of a timer: after a clock was set back, a timer must not sleep for days.
const TIMER_SLEEP_MAX: Duration = Duration::from_secs(60);

impl Driver {
    /// The timer for the end of the run's active time.
    pub(super) fn deadline_timer(&self) -> Pin<Box<Sleep>> {
        let mut most = self.run.graph.workflow.limits.active_ms_max;
        // While the run waits for more budget, it needs no other timer.
        if !self.run.has_budget_pause() {
            most = most.min(self.run.budget.active_ms.unwrap_or(most));
        }
        let left = most
            .saturating_sub(self.run.active_ms(clock::now_ms()))
            .max(1);
        Box::pin(tokio::time::sleep(Duration::from_millis(left)))
    }

    /// Starts the wait of a step.
    pub(super) fn begin_wait(
        &mut self,
        step: StepNo,
        node: NodeIx,
        until_ms: i64,
    ) -> Result<(), Fault> {
        let event = Event::Run(RunEvent::Waiting {
            step,
            node,
            until_ms,
        });
        self.journal.record(&mut self.run, event)?;
        self.set_timer(step, until_ms);
        Ok(())
    }

    /// Sets the timers of steps that were waiting before this driver started.
    pub(super) fn set_timers(&mut self) {
        let sleeping =
            |(&step, open): (&StepNo, &tramline_workflow::run::OpenStep)| match open.stage {
                StepStage::Sleeping(until_ms) => Some((step, until_ms)),
                StepStage::Calling
                | StepStage::Backoff
                | StepStage::Orphaned
                | StepStage::AwaitingDecision
                | StepStage::RetryDue => None,
            };
        let all: Vec<_> = self.run.open_steps.iter().filter_map(sleeping).collect();
        for (step, until_ms) in all {
            self.set_timer(step, until_ms);
        }
    }

    fn set_timer(&mut self, step: StepNo, until_ms: i64) {
        let left = u64::try_from(until_ms.saturating_sub(clock::now_ms())).unwrap_or(0);
        self.start_timer(step, Duration::from_millis(left).min(TIMER_SLEEP_MAX));
    }

    /// Returns to a step after a while.
    pub(super) fn start_timer(&mut self, step: StepNo, lasts: Duration) {
        let lasts = if self.inner.options.skip_waits {
            Duration::ZERO
        } else {
            lasts
        };
        self.in_flight.push(Box::pin(async move {
            tokio::time::sleep(lasts).await;
            Completion::TimerFired(step)
        }));
    }

    /// The remaining budget of the run, for a workflow that it calls.
    pub(super) fn budget_left(&self) -> Option<Budget> {
        let allowance = self.allowance();
        self.run.budget_left(allowance.active_ms, allowance.bytes)
    }

    /// The same for the operator's budget.
    pub(super) fn operator_budget_left(&self) -> Option<Budget> {
        let allowance = self.allowance();
        let (active_ms, bytes) = (allowance.active_ms, allowance.bytes);
        self.run.operator_budget_left(active_ms, bytes)
    }

    /// Makes another attempt, or defers it until there is budget for it.
    fn start_attempt_in_budget(&mut self, step: StepNo) -> Result<(), Fault> {
        match retry_block(&self.run, &self.allowance()) {
            None => self.start_attempt(step),
            Some(pause) => {
                self.deferred.push(step);
                pause.map_or(Ok(()), |pause| self.record_pause(pause))
            }
        }
    }

    /// Makes the deferred attempts, as far as the budget allows.
    pub(super) fn retry_deferred(&mut self) -> Result<(), Fault> {
        if self.run.has_budget_pause() {
            return Ok(());
        }
        for step in std::mem::take(&mut self.deferred) {
            self.on_timer(step)?;
        }
        Ok(())
    }

    /// Handles a step's timer: another attempt is due, or its wait is over, or not yet.
    pub(super) fn on_timer(&mut self, step: StepNo) -> Result<(), Fault> {
        let Some(open) = self
            .run
            .open_steps
            .get(&step)
            .filter(|_| self.run.outcome.is_none())
        else {
            return Ok(());
        };
        match open.stage {
            StepStage::Backoff => self.start_attempt_in_budget(step),
            StepStage::Sleeping(until_ms)
                if until_ms <= clock::now_ms() || self.inner.options.skip_waits =>
            {
                let (node, output) = (open.node, open.arguments.clone());
                let event = Event::Run(RunEvent::StepFinished {
                    step,
                    node,
                    label: None,
                    output,
                });
                self.record_step_event(step, node, event).map(drop)
            }
            StepStage::Sleeping(until_ms) => {
                self.set_timer(step, until_ms);
                Ok(())
            }
            StepStage::Calling
            | StepStage::Orphaned
            | StepStage::AwaitingDecision
            | StepStage::RetryDue => Ok(()),
        }
    }
}
