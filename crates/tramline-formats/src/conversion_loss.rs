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
}

/// Collects conversion losses.
#[derive(Debug, Default)]
pub(crate) struct LossCollector {
    losses: Vec<String>,
    omitted: usize,
}

impl LossCollector {
    /// Adds a loss, unless it is already listed.
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

    /// All losses.
    pub(crate) fn into_losses(mut self) -> Vec<String> {
        if self.omitted > 0 {
            self.losses.push(format!("{} more", self.omitted));
        }
        self.losses
    }
}
