//! Another id for a node of a procedure: in its drawing, and where the rest of the file names it.

use super::{Patch, Sketch, in_characters, patched};
use crate::formats::edit::Change;
use crate::formats::sop_markdown;
use crate::sop::Sop;

fn is_id(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

impl Sketch<'_> {
    /// Renames a node; the procedure must then be the same but for the id.
    pub(super) fn rename(&self, id: &str, to: &str) -> Result<Vec<Change>, String> {
        let vertex = self.place(id)?;
        if to.is_empty() || self.place(to).is_ok() {
            return Err(format!("`{to}` cannot be the id: it is empty or taken"));
        }
        if !to.chars().all(is_id) {
            return Err("an id has letters, digits, `_`, `-` and `.`".to_owned());
        }
        let looks = self.chart.decorations.iter().map(|it| format!("{it:?}"));
        if looks.into_iter().any(|it| !words(&it, id).is_empty()) {
            return Err(format!(
                "a line about looks or clicks names `{id}` too: rename it in the text"
            ));
        }
        let own = self.mentions().filter(|it| it.vertex == vertex);
        let own = own.map(|it| it.bytes.start..it.bytes.start + id.len());
        let mut patches: Vec<Patch> = own.map(|it| (it, to.to_owned())).collect();
        for (named, heading, _) in sop_markdown::instructions(self.text) {
            if let Some(at) = self.text[heading.clone()].find(id).filter(|_| named == id) {
                let start = heading.start + at;
                patches.push((start..start + id.len(), to.to_owned()));
            }
        }
        patches.extend(self.named_outside(id, to));
        let before = sop(self.text)?;
        let after = sop(&patched(self.text, &patches)).ok();
        let meant = renamed(before, id, to);
        match after.map(stripped) == Some(meant) {
            true => Ok(in_characters(self.text, patches)),
            false => Err(format!(
                "`{id}` is named in a way that only the text can change"
            )),
        }
    }

    /// Keys of the instructions and names in the frontmatter.
    fn named_outside(&self, id: &str, to: &str) -> Vec<Patch> {
        let mut patches = Vec::new();
        for part in sop_markdown::naming(self.text) {
            let mut at = part.start;
            for line in self.text[part].split_inclusive('\n') {
                let start = at;
                at += line.len();
                let key = line.trim_start().trim_start_matches("- ");
                let key = key.strip_prefix("NODE ").unwrap_or(key);
                let is_key = key
                    .strip_prefix(id)
                    .is_some_and(|rest| rest.starts_with(':'));
                let lists = line.starts_with("hubs:") || line.starts_with("entry_node:");
                let is_item = line.trim_start().strip_prefix("- ").map(str::trim) == Some(id);
                if is_key {
                    let begin = start + (line.len() - key.len());
                    patches.push((begin..begin + id.len(), to.to_owned()));
                } else if lists || is_item {
                    let words = words(line, id).into_iter();
                    patches.extend(words.map(|at| (start + at..start + at + id.len(), to.into())));
                }
            }
        }
        patches
    }
}

/// Where a word stands in a line.
fn words(line: &str, word: &str) -> Vec<usize> {
    let alone = |at: &usize| {
        let before = line[..*at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_id) && !after.is_some_and(is_id)
    };
    line.match_indices(word)
        .map(|(at, _)| at)
        .filter(alone)
        .collect()
}

fn sop(text: &str) -> Result<Sop, String> {
    let read = sop_markdown::read(text.as_bytes(), "procedure");
    read.map(|read| read.sop)
        .map_err(|flaws| super::super::mend(&flaws))
}

/// A procedure without the text that it was read from.
fn stripped(mut sop: Sop) -> Sop {
    sop.chart = Default::default();
    sop.sections.clear();
    sop
}

fn renamed(sop: Sop, id: &str, to: &str) -> Sop {
    let mut sop = stripped(sop);
    for node in sop.nodes.iter_mut().filter(|node| node.id == id) {
        // A box without a text shows its id.
        if node.description == node.id {
            node.description = to.into();
        }
        node.id = to.into();
    }
    sop
}
