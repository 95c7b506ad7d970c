//! What a call would change in a file, as far as it can be shown before the call is made.

use tramline_expr::{Map, Str, Value};

/// What a call would do to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Which file.
    pub path: Str,
    /// What becomes of it: `create`, `replace`, `delete`, `move`, `copy` or `unchanged`.
    pub change: &'static str,
    /// The file that it is moved or copied from.
    pub from: Option<Str>,
    /// A unified difference from the present content to the new one.
    pub diff: Option<Str>,
    /// What is said where there is no difference to show, or more about it.
    pub note: Option<Str>,
    /// Whether the difference is shown only in part.
    pub cut: bool,
}

impl FileChange {
    /// As data.
    pub fn value(&self) -> Value {
        let mut told = Map::new();
        told.insert("path", self.path.clone().into());
        told.insert("change", self.change.into());
        for (key, text) in [
            ("from", &self.from),
            ("diff", &self.diff),
            ("note", &self.note),
        ] {
            if let Some(text) = text {
                told.insert(key, text.clone().into());
            }
        }
        if self.cut {
            told.insert("cut", true.into());
        }
        told.into()
    }
}
