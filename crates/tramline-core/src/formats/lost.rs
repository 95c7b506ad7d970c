//! What a written document could not say, told once each.

use crate::workflow::Workflow;

/// More than this is counted, not told.
const TOLD_MAX: usize = 100;

/// A document written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Its text.
    pub text: String,
    /// What of the workflow is not in it, in words.
    pub lost: Vec<String>,
}

/// Collects what is lost.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    told: Vec<String>,
    more: usize,
}

impl Lost {
    /// Adds something, unless it was said already.
    pub(crate) fn add(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.told.contains(&what) {
            return;
        }
        if self.told.len() < TOLD_MAX {
            self.told.push(what);
        } else {
            self.more += 1;
        }
    }

    /// Adds what a graph of tasks does of itself and another document cannot say.
    pub(crate) fn care(&mut self, workflow: &Workflow) {
        if workflow.cautious {
            self.add("that a call of a tool that is annotated as destructive asks first");
        }
        if workflow.transient.is_some() {
            self.add("that a call whose server was away is made again, if that is harmless");
        }
    }

    /// All of it.
    pub(crate) fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("{} things more", self.more));
        }
        self.told
    }
}
