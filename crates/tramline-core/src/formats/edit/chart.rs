//! Edits of a procedure's flowchart: statements of Mermaid that come, go, or are written anew.
//!
//! Only the statements that an edit is about are touched. The text is then read again: unless the
//! drawing is the one that was meant, the edit is refused.

use super::{Change, Edit};
use crate::formats::mermaid::{self, Chain, Flowchart, Lines, Mention};
use crate::formats::{Flaws, sop_markdown};
use crate::text::nearest;
use meaning::Meaning;
use std::ops::Range;

mod draw;
mod meaning;
mod names;
mod rub;

/// A stretch of the text in bytes, and what comes instead.
type Patch = (Range<usize>, String);
type Tried = Result<(Vec<Vec<Patch>>, Meaning), String>;

/// What an edit comes to, from the end of the text to its beginning.
pub(super) fn changes(text: &str, edit: &Edit) -> Result<Vec<Change>, String> {
    let sketch = Sketch::of(text)?;
    let (tries, meant) = match edit {
        Edit::AddNode { after, node } => sketch.add(after.as_deref(), node)?,
        Edit::RemoveNode { id } => sketch.remove(id)?,
        Edit::RenameNode { id, to } => return sketch.rename(id, to),
        Edit::Connect { from, to, label } => sketch.connect(from, to, label.as_deref())?,
        Edit::Disconnect { from, to } => sketch.disconnect(from, to)?,
        Edit::SetField { id, path, value } => sketch.set(id, path, value)?,
    };
    let fits = |patches: &Vec<Patch>| {
        let made = patched(text, patches);
        Sketch::of(&made).is_ok_and(|made| Meaning::of(&made.chart) == meant)
    };
    let found = tries.into_iter().find(fits);
    found
        .map(|patches| in_characters(text, patches))
        .ok_or_else(|| "this is drawn in a way that only its text can change".to_owned())
}

/// The text with patches made.
fn patched(text: &str, patches: &[Patch]) -> String {
    let mut sorted: Vec<_> = patches.iter().collect();
    sorted.sort_by_key(|(stretch, _)| std::cmp::Reverse(stretch.start));
    let mut made = text.to_owned();
    for (stretch, insert) in sorted {
        made.replace_range(stretch.clone(), insert);
    }
    made
}

fn in_characters(text: &str, mut patches: Vec<Patch>) -> Vec<Change> {
    patches.sort_by_key(|(stretch, _)| std::cmp::Reverse(stretch.start));
    let at = |byte: usize| text[..byte].chars().count();
    let change = |(stretch, insert): Patch| Change::new(at(stretch.start)..at(stretch.end), insert);
    patches.into_iter().map(change).collect()
}

/// A procedure's drawing with the text of its statements.
struct Sketch<'t> {
    text: &'t str,
    part: Range<usize>,
    chart: Flowchart,
    chains: Vec<Chain>,
}

impl<'t> Sketch<'t> {
    fn of(text: &'t str) -> Result<Self, String> {
        let part = sop_markdown::chart_of(text).ok_or("there is no flowchart")?;
        let mut flaws = Flaws::default();
        let drawn = mermaid::drawn(text, part.clone(), &Lines::of(text), &mut flaws);
        match drawn {
            Some((chart, chains)) if !flaws.fatal() => Ok(Self {
                text,
                part,
                chart,
                chains,
            }),
            Some(_) | None => Err(super::mend(&flaws.sorted())),
        }
    }

    /// The place of a node.
    fn place(&self, id: &str) -> Result<usize, String> {
        let mut vertices = self.chart.vertices.iter();
        vertices.position(|one| one.id == id).ok_or_else(|| {
            let ids = self.chart.vertices.iter().map(|one| one.id.as_str());
            let near = nearest(id, ids);
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("there is no node `{id}`{near}")
        })
    }

    fn id(&self, vertex: usize) -> &str {
        &self.chart.vertices[vertex].id
    }

    fn mentions(&self) -> impl Iterator<Item = &Mention> {
        self.chains
            .iter()
            .flat_map(|chain| chain.ends.iter().flatten())
    }

    /// The blanks that the line of a byte begins with.
    fn indent(&self, byte: usize) -> &'t str {
        let start = self.line_start(byte);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    fn line_start(&self, byte: usize) -> usize {
        self.text[..byte].rfind('\n').map_or(0, |at| at + 1)
    }

    /// The end of the line of a byte, before its line break.
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

/// The bytes of a statement.
fn span(chain: &Chain) -> Range<usize> {
    let first = chain.ends.first().and_then(|end| end.first());
    let last = chain.ends.last().and_then(|end| end.last());
    let start = first.map_or(0, |it| it.bytes.start);
    start..last.map_or(start, |it| it.bytes.end)
}
