//! Debugging a run: halting it, stepping through it, branching off, doing it again.

use super::{Error, Run, Trace};
use serde_json::Value as Json;
use std::pin::Pin;
use tramline_core::Value;
use tramline_core::compare::{Comparison, compare};
use tramline_core::ids::StepNo;
use tramline_core::journal::{Break, Watch};
use tramline_core::trace;
use tramline_engine::{At, Branch, Branched, Effects, Loaded, Respondent};

impl Run {
    /// Halts before the next step. Calls under way end first.
    pub async fn pause(&self) -> Result<(), Error> {
        self.watch(|watch| watch.stepping = true).await
    }

    /// Lets a halted run make its next step, and halts before the one after.
    pub async fn step(&self) -> Result<(), Error> {
        self.watch(|watch| watch.stepping = true).await?;
        self.let_go().await
    }

    /// Lets a halted run go on to the next place where it is to halt.
    pub async fn go_on(&self) -> Result<(), Error> {
        self.watch(|watch| watch.stepping = false).await?;
        self.let_go().await
    }

    /// Halts before this node from now on.
    pub async fn halt_at(&self, node: &str) -> Result<(), Error> {
        let node = node.into();
        let condition = None;
        self.watch(|watch| watch.breaks.push(Break { node, condition }))
            .await
    }

    async fn let_go(&self) -> Result<(), Error> {
        self.engine()
            .go_on(&self.id, Respondent::program(self.tramline.name()))
            .await?;
        self.drive_on().await
    }

    /// Changes where the run is to halt, if that is a change.
    async fn watch(&self, change: impl FnOnce(&mut Watch)) -> Result<(), Error> {
        let before = Watch::current(&self.load().await?.entries);
        let mut watch = before.clone();
        change(&mut watch);
        if watch != before {
            let by = self.tramline.name();
            self.engine().watch(&self.id, watch, by).await?;
        }
        Ok(())
    }

    /// Branches off after a step that has ended: a new run with the same past.
    pub fn fork(&self, step: StepNo) -> Fork {
        Fork {
            run: self.clone(),
            branch: Branch::at(At::Step(step)),
        }
    }

    /// Does the run again with its calls answered from its journal: by the tool of that name as it
    /// is loaded now, or as it was. Nothing is called and nothing is kept.
    pub async fn replay(&self, against: Option<&str>) -> Result<Replayed, Error> {
        let graph = against.map(|name| self.tramline.find(name)).transpose()?;
        let graph = graph.map(|(graph, _)| graph);
        let replayed = self.engine().replay(&self.id, graph).await?;
        Ok(Replayed {
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
        let read = |run: &Self, loaded: &Loaded| {
            trace::Trace::of(&run.id, &loaded.run.graph, &loaded.entries)
        };
        Ok(compare(&read(self, &first), &read(other, &second)))
    }
}

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The run as it went this time.
    pub trace: Trace,
    /// How that differs from the record.
    pub comparison: Comparison,
    /// Nodes whose questions the record has no answer to; the replay stopped there.
    pub unanswered: Vec<String>,
}

/// A run about to branch off from another. Await it to make it.
#[must_use = "a fork is made when it is awaited"]
pub struct Fork {
    run: Run,
    branch: Branch,
}

impl Fork {
    /// Takes the step to have given another output.
    pub fn output(mut self, output: impl Into<Json>) -> Self {
        self.branch.output = Some(Value::from(output.into()));
        self
    }

    /// Makes calls again that the other run has made and that may not be repeated, without asking.
    pub fn repeat_effects(mut self) -> Self {
        self.branch.effects = Effects::Repeat;
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
            let Branched { handle, .. } = run.engine().fork(&run.id, branch).await?;
            let forked = Run::new(run.tramline, handle.run.clone(), loaded.run.graph);
            forked.begun(handle).await?;
            Ok(forked)
        })
    }
}
