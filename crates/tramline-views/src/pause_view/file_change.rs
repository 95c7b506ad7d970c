//! What a call would change in a file, as far as it can be shown before the call is made.

use tramline_expr::{Map, Str, Value};

/// The effect of a call on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: Str,
    /// The kind of change: `create`, `replace`, `delete`, `move`, `copy` or `unchanged`.
    pub change: &'static str,
    /// The file it is moved or copied from.
    pub from: Option<Str>,
    /// A unified diff from the current content to the new one.
    pub diff: Option<Str>,
    /// An explanation if there is no diff, or an addition to it.
    pub note: Option<Str>,
    /// Whether the diff is truncated.
    pub cut: bool,
}

impl FileChange {
    /// The change as data.
    pub fn to_value(&self) -> Value {
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
