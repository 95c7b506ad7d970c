//! Debugging a run: halting, stepping, forking, replaying.

use super::{Error, Run, Trace};
use serde_json::Value as Json;
use std::pin::Pin;
use tramline_engine::{EffectPolicy, ForkRequest, ForkResult, JournalPoint, LoadedRun, Respondent};
use tramline_expr::Value;
use tramline_views::compare::{Comparison, compare};
use tramline_views::trace;
use tramline_workflow::ids::StepNo;
use tramline_workflow::journal::{BreakpointSet, NodeBreakpoint};

impl Run {
    /// Halts before the next step. Calls in flight finish first.
    pub async fn pause(&self) -> Result<(), Error> {
        self.update_breakpoints(|watch| watch.stepping = true).await
    }

    /// Lets a halted run make one step, then halts it again.
    pub async fn step(&self) -> Result<(), Error> {
        self.update_breakpoints(|watch| watch.stepping = true)
            .await?;
        self.resume_halted().await
    }

    /// Lets a halted run continue to the next breakpoint.
    pub async fn continue_run(&self) -> Result<(), Error> {
        self.update_breakpoints(|watch| watch.stepping = false)
            .await?;
        self.resume_halted().await
    }

    /// Adds a breakpoint before this node.
    pub async fn halt_at(&self, node: &str) -> Result<(), Error> {
        let spot = NodeBreakpoint::new(node, None);
        self.update_breakpoints(|watch| watch.breaks.push(spot))
            .await
    }

    async fn resume_halted(&self) -> Result<(), Error> {
        self.engine()
            .continue_from_halt(&self.id, Respondent::program(self.tramline.actor_name()))
            .await?;
        self.ensure_driven().await
    }

    /// Changes the run's breakpoints; writes nothing if they stay the same.
    async fn update_breakpoints(
        &self,
        change: impl FnOnce(&mut BreakpointSet),
    ) -> Result<(), Error> {
        let before = BreakpointSet::current(&self.load().await?.entries);
        let mut watch = before.clone();
        change(&mut watch);
        if watch != before {
            let by = self.tramline.actor_name();
            self.engine().set_breakpoints(&self.id, watch, by).await?;
        }
        Ok(())
    }

    /// Forks after a finished step: a new run with the same history.
    pub fn fork(&self, step: StepNo) -> Fork {
        Fork {
            run: self.clone(),
            branch: ForkRequest::at(JournalPoint::Step(step)),
        }
    }

    /// Replays the run with its calls answered from its journal: by the tool of that name as loaded
    /// now, or as recorded. Nothing is called and nothing is stored.
    pub async fn replay(&self, against: Option<&str>) -> Result<ReplayResult, Error> {
        let graph = against.map(|name| self.tramline.find(name)).transpose()?;
        let graph = graph.map(|(graph, _)| graph);
        let replayed = self.engine().replay(&self.id, graph).await?;
        Ok(ReplayResult {
            trace: Trace::of(&self.id, &replayed.trace),
            comparison: replayed.comparison,
            unanswered: replayed
                .unanswered
                .iter()
                .map(ToString::to_string)
                .collect(),
        })
    }

    /// How another run differs from this one.
    pub async fn compare(&self, other: &Self) -> Result<Comparison, Error> {
        let (first, second) = (self.load().await?, other.load().await?);
        let read = |run: &Self, loaded: &LoadedRun| {
            trace::Trace::of(&run.id, &loaded.run.graph, &loaded.entries)
        };
        Ok(compare(&read(self, &first), &read(other, &second)))
    }
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct ReplayResult {
    /// The run as replayed.
    pub trace: Trace,
    /// How the replay differs from the record.
    pub comparison: Comparison,
    /// Nodes whose questions have no recorded answer; the replay stopped there.
    pub unanswered: Vec<String>,
}

/// A fork that is about to be made. Await it to make it.
#[must_use = "a fork is made when it is awaited"]
pub struct Fork {
    run: Run,
    branch: ForkRequest,
}

impl Fork {
    /// Replaces the output of the step.
    pub fn output(mut self, output: impl Into<Json>) -> Self {
        self.branch.output = Some(Value::from(output.into()));
        self
    }

    /// Repeats the non-repeatable calls that the original run made, without asking.
    pub fn repeat_effects(mut self) -> Self {
        self.branch.effects = EffectPolicy::Repeat;
        self
    }
}

impl IntoFuture for Fork {
    type Output = Result<Run, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { run, branch } = self;
            let loaded = run.load().await?;
            let ForkResult { handle, .. } = run.engine().fork(&run.id, branch).await?;
            let forked = Run::new(run.tramline, handle.run.clone(), loaded.run.graph);
            forked.wait_until_started(handle).await?;
            Ok(forked)
        })
    }
}
