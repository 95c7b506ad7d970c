//! What a written document could not say, told once each.

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

    /// All of it.
    pub(crate) fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("{} things more", self.more));
        }
        self.told
    }
}
