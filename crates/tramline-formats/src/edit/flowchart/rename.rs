//! Renames a node of a procedure: in its flowchart and wherever the rest of the file refers to it.

use super::{BytePatch, EditableChart, apply_patches, to_char_changes};
use crate::edit::TextChange;
use crate::sop_markdown;
use tramline_workflow::sop::Sop;

fn is_id_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

impl EditableChart<'_> {
    /// Renames a node; apart from the id the procedure must stay the same.
    pub(super) fn rename(&self, id: &str, to: &str) -> Result<Vec<TextChange>, String> {
        let vertex = self.vertex_index(id)?;
        if to.is_empty() || self.vertex_index(to).is_ok() {
            return Err(format!("`{to}` cannot be the id: it is empty or taken"));
        }
        if !to.chars().all(is_id_char) {
            return Err("an id consists of letters, digits, `_`, `-` and `.`".to_owned());
        }
        let looks = self.chart.styles.iter().map(|it| format!("{it:?}"));
        if looks
            .into_iter()
            .any(|it| !word_offsets(&it, id).is_empty())
        {
            return Err(format!(
                "a style or click statement refers to `{id}`: rename it in the text"
            ));
        }
        let own = self.mentions().filter(|it| it.vertex == vertex);
        let own = own.map(|it| it.bytes.start..it.bytes.start + id.len());
        let mut patches: Vec<BytePatch> = own.map(|it| (it, to.to_owned())).collect();
        for (named, heading, _) in sop_markdown::instruction_headings(self.text) {
            if let Some(at) = self.text[heading.clone()].find(id).filter(|_| named == id) {
                let start = heading.start + at;
                patches.push((start..start + id.len(), to.to_owned()));
            }
        }
        patches.extend(self.reference_patches(id, to));
        let before = read_sop(self.text)?;
        let after = read_sop(&apply_patches(self.text, &patches)).ok();
        let meant = renamed_sop(before, id, to);
        match after.map(without_source) == Some(meant) {
            true => Ok(to_char_changes(self.text, patches)),
            false => Err(format!(
                "a reference to `{id}` cannot be edited here: rename it in the text"
            )),
        }
    }

    /// Patches for the keys of instructions and for names in the frontmatter.
    fn reference_patches(&self, id: &str, to: &str) -> Vec<BytePatch> {
        let mut patches = Vec::new();
        for part in sop_markdown::reference_ranges(self.text) {
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
                    let words = word_offsets(line, id).into_iter();
                    patches.extend(words.map(|at| (start + at..start + at + id.len(), to.into())));
                }
            }
        }
        patches
    }
}

/// The offsets of a word in a line.
fn word_offsets(line: &str, word: &str) -> Vec<usize> {
    let alone = |at: &usize| {
        let before = line[..*at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_id_char) && !after.is_some_and(is_id_char)
    };
    line.match_indices(word)
        .map(|(at, _)| at)
        .filter(alone)
        .collect()
}

fn read_sop(text: &str) -> Result<Sop, String> {
    let read = sop_markdown::read(text.as_bytes(), "procedure");
    read.map(|read| read.sop)
        .map_err(|flaws| super::super::fix_first_message(&flaws))
}

/// A procedure without its source text.
fn without_source(mut sop: Sop) -> Sop {
    sop.chart = Default::default();
    sop.sections.clear();
    sop
}

fn renamed_sop(sop: Sop, id: &str, to: &str) -> Sop {
    let mut sop = without_source(sop);
    for node in sop.nodes.iter_mut().filter(|node| node.id == id) {
        // A node without text shows its id.
        if node.description == node.id {
            node.description = to.into();
        }
        node.id = to.into();
    }
    sop
}
