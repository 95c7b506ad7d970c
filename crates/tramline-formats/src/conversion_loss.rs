//! Collects what a conversion cannot represent, without duplicates.

use tramline_workflow::workflow::Workflow;

/// Most losses listed; more are only counted.
const LOSSES_MAX: usize = 100;

/// A written document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertedDocument {
    /// Its text.
    pub text: String,
    /// What the format cannot represent, as text.
    pub losses: Vec<String>,
    /// Whether a run of it would do something else, or give another result, because of what was lost.
    pub is_different: bool,
}

/// Collects conversion losses.
#[derive(Debug, Default)]
pub(crate) struct LossCollector {
    losses: Vec<String>,
    omitted: usize,
    is_different: bool,
}

impl LossCollector {
    /// Adds a loss without which a run does something else, or gives another result.
    pub(crate) fn add_change(&mut self, what: impl Into<String>) {
        self.is_different = true;
        self.add(what);
    }

    /// Adds a loss of something that is only checked or described, or that matters only when a call fails.
    pub(crate) fn add(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.losses.contains(&what) {
            return;
        }
        if self.losses.len() < LOSSES_MAX {
            self.losses.push(what);
        } else {
            self.omitted += 1;
        }
    }

    /// Adds the defaults of a task graph that other formats do not have.
    pub(crate) fn add_dag_defaults(&mut self, workflow: &Workflow) {
        if workflow.cautious {
            self.add("the approval before calls of tools annotated as destructive");
        }
        if workflow.transient.is_some() {
            self.add("the retry of repeatable calls whose server was unavailable");
        }
    }

    /// The document with all its losses.
    pub(crate) fn into_document(mut self, text: String) -> ConvertedDocument {
        if self.omitted > 0 {
            self.losses.push(format!("{} more", self.omitted));
        }
        ConvertedDocument {
            text,
            losses: self.losses,
            is_different: self.is_different,
        }
    }
}
