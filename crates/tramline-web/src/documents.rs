//! The documents that the studio was opened on.

use crate::Studio;
use std::path::Path;

impl Studio {
    /// What the document at a path is called here.
    pub(crate) fn id_of(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let at = self.documents.iter().position(|own| own == path)?;
        Some(self.id(at))
    }

    /// What a document is called here: its file's name, with its number where another has that too.
    pub(crate) fn id(&self, at: usize) -> String {
        let name = |at: usize| self.documents.get(at).and_then(|path| path.file_name());
        let own = name(at).unwrap_or_default().to_string_lossy();
        let others = (0..self.documents.len()).filter(|other| *other != at);
        match others.map(name).any(|other| other == name(at)) {
            true => format!("{}-{own}", at + 1),
            false => own.into_owned(),
        }
    }
}
