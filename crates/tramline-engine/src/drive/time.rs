//! The alarms of a driver: the end of a run's time at work, and of the waits its steps ask for.

use super::{Came, Driver};
use crate::clock;
use crate::fault::Fault;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;
use tramline_core::ids::{NodeIx, StepNo};
use tramline_core::journal::{Budget, Event};
use tramline_core::next::bars;
use tramline_core::run::Stage;

/// A clock that was set back must not make an alarm wait for days: it looks again this often.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

impl Driver {
    /// The alarm for the end of the run's time at work.
    pub(super) fn time_left(&self) -> Pin<Box<Sleep>> {
        let mut most = self.run.graph.workflow.limits.active_ms_max;
        // A budget that was asked about needs no other alarm.
        if !self.run.is_stalled() {
            most = most.min(self.run.budget.active_ms.unwrap_or(most));
        }
        let left = most
            .saturating_sub(self.run.active_ms(clock::now_ms()))
            .max(1);
        Box::pin(tokio::time::sleep(Duration::from_millis(left)))
    }

    /// Lets a step's time begin to pass.
    pub(super) fn sleep(&mut self, step: StepNo, node: NodeIx, until_ms: i64) -> Result<(), Fault> {
        let event = Event::Waiting {
            step,
            node,
            until_ms,
        };
        self.ledger.record(&mut self.run, event)?;
        self.alarm(step, until_ms);
        Ok(())
    }

    /// Sets the alarms of steps that were letting time pass before this driver came.
    pub(super) fn set_alarms(&mut self) {
        let sleeping = |(&step, open): (&StepNo, &tramline_core::run::Open)| match open.stage {
            Stage::Sleeping(until_ms) => Some((step, until_ms)),
            Stage::Calling | Stage::Resting | Stage::Adrift | Stage::Doubted | Stage::Again => None,
        };
        let all: Vec<_> = self.run.open.iter().filter_map(sleeping).collect();
        for (step, until_ms) in all {
            self.alarm(step, until_ms);
        }
    }

    fn alarm(&mut self, step: StepNo, until_ms: i64) {
        let left = u64::try_from(until_ms.saturating_sub(clock::now_ms())).unwrap_or(0);
        self.rest(step, Duration::from_millis(left).min(LOOK_AGAIN));
    }

    /// Comes back to a step after a while.
    pub(super) fn rest(&mut self, step: StepNo, lasts: Duration) {
        let lasts = if self.inner.options.hurry {
            Duration::ZERO
        } else {
            lasts
        };
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep(lasts).await;
            Came::Rested(step)
        }));
    }

    /// What is left of the run's budget, for a workflow that it calls.
    pub(super) fn budget_left(&self) -> Option<Budget> {
        let allowance = self.allowance();
        self.run.budget_left(allowance.active_ms, allowance.bytes)
    }

    /// The same of the operator's budget.
    pub(super) fn operator_budget_left(&self) -> Option<Budget> {
        let allowance = self.allowance();
        let (active_ms, bytes) = (allowance.active_ms, allowance.bytes);
        self.run.operator_budget_left(active_ms, bytes)
    }

    /// Makes another attempt, or puts it off until there is budget for it.
    fn again_in_budget(&mut self, step: StepNo) -> Result<(), Fault> {
        match bars(&self.run, &self.allowance()) {
            None => self.again(step),
            Some(pause) => {
                self.put_off.push(step);
                pause.map_or(Ok(()), |pause| self.ask(pause))
            }
        }
    }

    /// Makes the attempts that were put off, as far as the budget goes.
    pub(super) fn take_up(&mut self) -> Result<(), Fault> {
        if self.run.is_stalled() {
            return Ok(());
        }
        for step in std::mem::take(&mut self.put_off) {
            self.rested(step)?;
        }
        Ok(())
    }

    /// A step's alarm went off: another attempt is due, or its time has passed, or it has not yet.
    pub(super) fn rested(&mut self, step: StepNo) -> Result<(), Fault> {
        let Some(open) = self
            .run
            .open
            .get(&step)
            .filter(|_| self.run.outcome.is_none())
        else {
            return Ok(());
        };
        match open.stage {
            Stage::Resting => self.again_in_budget(step),
            Stage::Sleeping(until_ms)
                if until_ms <= clock::now_ms() || self.inner.options.hurry =>
            {
                let (node, output) = (open.node, open.arguments.clone());
                let event = Event::StepFinished {
                    step,
                    node,
                    label: None,
                    output,
                };
                self.note(step, node, event).map(drop)
            }
            Stage::Sleeping(until_ms) => {
                self.alarm(step, until_ms);
                Ok(())
            }
            Stage::Calling | Stage::Adrift | Stage::Doubted | Stage::Again => Ok(()),
        }
    }
}
