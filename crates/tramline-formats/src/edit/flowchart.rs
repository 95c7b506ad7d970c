//! Edits a procedure's flowchart: inserts, deletes and rewrites Mermaid statements.
//!
//! Only the affected statements change. The text is then parsed again; if the chart is not the
//! expected one, the edit is rejected.

use super::{GraphEdit, TextChange};
use crate::sop_markdown;
use semantics::ChartSemantics;
use std::ops::Range;
use tramline_syntax::FlawCollector;
use tramline_syntax::mermaid::{self, Flowchart, LineIndex, LinkStatement, VertexMention};
use tramline_workflow::text::nearest;

mod delete;
mod insert;
mod rename;
mod semantics;

/// A byte range of the text and its replacement.
type BytePatch = (Range<usize>, String);
type PatchCandidates = Result<(Vec<Vec<BytePatch>>, ChartSemantics), String>;

/// The changes of an edit, from the end of the text to its start.
pub(super) fn flowchart_changes(text: &str, edit: &GraphEdit) -> Result<Vec<TextChange>, String> {
    let sketch = EditableChart::of(text)?;
    let (tries, meant) = match edit {
        GraphEdit::AddNode { after, node } => sketch.add_node(after.as_deref(), node)?,
        GraphEdit::RemoveNode { id } => sketch.remove_node(id)?,
        GraphEdit::RenameNode { id, to } => return sketch.rename(id, to),
        GraphEdit::Connect { from, to, label } => sketch.connect(from, to, label.as_deref())?,
        GraphEdit::Disconnect { from, to } => sketch.disconnect(from, to)?,
        GraphEdit::SetField { id, path, value } => sketch.set_text(id, path, value)?,
    };
    let fits = |patches: &Vec<BytePatch>| {
        let made = apply_patches(text, patches);
        EditableChart::of(&made).is_ok_and(|made| ChartSemantics::of(&made.chart) == meant)
    };
    let found = tries.into_iter().find(fits);
    found
        .map(|patches| to_char_changes(text, patches))
        .ok_or_else(|| "this syntax cannot be edited here; change the text instead".to_owned())
}

/// Applies the patches to the text.
fn apply_patches(text: &str, patches: &[BytePatch]) -> String {
    let mut sorted: Vec<_> = patches.iter().collect();
    sorted.sort_by_key(|(stretch, _)| std::cmp::Reverse(stretch.start));
    let mut made = text.to_owned();
    for (stretch, insert) in sorted {
        made.replace_range(stretch.clone(), insert);
    }
    made
}

fn to_char_changes(text: &str, mut patches: Vec<BytePatch>) -> Vec<TextChange> {
    patches.sort_by_key(|(stretch, _)| std::cmp::Reverse(stretch.start));
    let at = |byte: usize| text[..byte].chars().count();
    let change =
        |(stretch, insert): BytePatch| TextChange::new(at(stretch.start)..at(stretch.end), insert);
    patches.into_iter().map(change).collect()
}

/// A procedure's flowchart with the source text of its statements.
struct EditableChart<'t> {
    text: &'t str,
    part: Range<usize>,
    chart: Flowchart,
    chains: Vec<LinkStatement>,
}

impl<'t> EditableChart<'t> {
    fn of(text: &'t str) -> Result<Self, String> {
        let part = sop_markdown::chart_range(text).ok_or("there is no flowchart")?;
        let mut flaws = FlawCollector::default();
        let drawn =
            mermaid::parse_with_statements(text, part.clone(), &LineIndex::of(text), &mut flaws);
        match drawn {
            Some((chart, chains)) if !flaws.has_errors() => Ok(Self {
                text,
                part,
                chart,
                chains,
            }),
            Some(_) | None => Err(super::fix_first_message(&flaws.into_sorted())),
        }
    }

    /// The index of a node.
    fn vertex_index(&self, id: &str) -> Result<usize, String> {
        let mut vertices = self.chart.vertices.iter();
        vertices.position(|one| one.id == id).ok_or_else(|| {
            let ids = self.chart.vertices.iter().map(|one| one.id.as_str());
            let near = nearest(id, ids);
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("there is no node `{id}`{near}")
        })
    }

    fn vertex_id(&self, vertex: usize) -> &str {
        &self.chart.vertices[vertex].id
    }

    fn mentions(&self) -> impl Iterator<Item = &VertexMention> {
        self.chains
            .iter()
            .flat_map(|chain| chain.ends.iter().flatten())
    }

    /// The indentation of the line that contains a byte offset.
    fn indent(&self, byte: usize) -> &'t str {
        let start = self.line_start(byte);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    fn line_start(&self, byte: usize) -> usize {
        self.text[..byte].rfind('\n').map_or(0, |at| at + 1)
    }

    /// The end of the line that contains a byte offset, before its line break.
    fn line_end(&self, byte: usize) -> usize {
        let end = self.text[byte..].find('\n');
        let end = end.map_or(self.text.len(), |at| byte + at);
        match self.text[..end].ends_with('\r') && end > byte {
            true => end - 1,
            false => end,
        }
    }

    fn line_break(&self) -> &'static str {
        match self.text.contains("\r\n") {
            true => "\r\n",
            false => "\n",
        }
    }
}

/// The byte range of a statement.
fn statement_range(chain: &LinkStatement) -> Range<usize> {
    let first = chain.ends.first().and_then(|end| end.first());
    let last = chain.ends.last().and_then(|end| end.last());
    let start = first.map_or(0, |it| it.bytes.start);
    start..last.map_or(start, |it| it.bytes.end)
}
