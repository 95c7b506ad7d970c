//! A document that is open in the editor: its text, its flaws, and the places of its nodes.

use super::super::{documents, sop};
use super::positions::{self, Position};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use tramline_expr::Str;
use tramline_formats::node_spans::NodeSpans;
use tramline_formats::{KnownServers, SourceKind, sop_markdown};
use tramline_workflow::flaw::{Flaw, Severity, SourceSpan};
use tramline_workflow::tool_schema::BuiltinSchemas;

/// An open document.
pub(super) struct OpenDocument {
    pub(super) uri: String,
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Its kind; `None` if the text cannot be parsed and no earlier one could.
    pub(super) kind: Option<SourceKind>,
    /// Its nodes, or those of the last text that could be parsed.
    pub(super) nodes: Vec<NodePlace>,
}

/// A node and the place of its id.
#[derive(Clone, Debug)]
pub(super) struct NodePlace {
    pub(super) workflow: Option<Str>,
    pub(super) id: Str,
    pub(super) place: SourceSpan,
}

impl OpenDocument {
    pub(super) fn new(uri: &str, text: &str, earlier: Option<Self>) -> Self {
        let path = path_of(uri);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let detected = SourceKind::detect(&name, text);
        let format = match detected {
            Some(SourceKind::Workflows(format)) => Some(format),
            Some(SourceKind::Procedure) | None => None,
        };
        let (kind, nodes) = match detected {
            Some(SourceKind::Procedure) => (detected, procedure_nodes(text, &name)),
            Some(SourceKind::Workflows(_)) | None => {
                let spans = NodeSpans::of(text, format);
                let nodes = spans.nodes().map(|(workflow, id, place)| NodePlace {
                    workflow: workflow.cloned(),
                    id: id.clone(),
                    place: place.clone(),
                });
                (spans.format().map(SourceKind::Workflows), nodes.collect())
            }
        };
        // While you type, a text often cannot be parsed.
        let (kind, nodes) = match (kind, earlier) {
            (None, Some(earlier)) => (detected.or(earlier.kind), earlier.nodes),
            (kind, _) => (kind.or(detected), nodes),
        };
        Self {
            uri: uri.to_owned(),
            text: text.to_owned(),
            kind,
            nodes,
            path,
        }
    }

    /// The flaws that `tramline check --offline` reports for this text.
    pub(super) fn diagnostics(&self, known_servers: &[Str]) -> Vec<Json> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = self.text.as_bytes();
        let flaws = match SourceKind::detect(&name, &self.text) {
            Some(SourceKind::Procedure) => sop::read_bytes(&self.path, bytes).1.flaws,
            Some(SourceKind::Workflows(_)) | None => {
                let known = KnownServers::Configured(known_servers);
                match documents::read_bytes(&self.path, bytes, known, &BuiltinSchemas) {
                    Ok((_, flawed)) | Err(flawed) => flawed.flaws,
                }
            }
        };
        flaws.iter().map(|flaw| self.diagnostic(flaw)).collect()
    }

    fn diagnostic(&self, flaw: &Flaw) -> Json {
        let (from, to) = positions::range_of(&self.text, &flaw.span);
        let message = match &flaw.suggestion {
            Some(suggestion) => format!("{}\nhelp: {suggestion}", flaw.message),
            None => flaw.message.clone(),
        };
        let severity = match flaw.code.severity() {
            Severity::Error => 1,
            Severity::Warning => 2,
        };
        json!({
            "range": positions::range(from, to),
            "severity": severity,
            "code": flaw.code.as_str(),
            "source": "tramline",
            "message": message,
        })
    }

    /// The workflow around a position: that of the last node above it.
    pub(super) fn workflow_at(&self, at: Position) -> Option<&Str> {
        let above = self.nodes.iter();
        let above = above.filter(|node| node.place.line as u64 <= at.line + 1);
        let node = above.max_by_key(|node| node.place.line);
        let node = node.or_else(|| self.nodes.first());
        node.and_then(|node| node.workflow.as_ref())
    }

    /// The nodes of the workflow around a position.
    pub(super) fn nodes_at(&self, at: Position) -> impl Iterator<Item = &NodePlace> {
        let workflow = self.workflow_at(at);
        let nodes = self.nodes.iter();
        nodes.filter(move |node| node.workflow.as_ref() == workflow)
    }

    /// The node whose id is written at a position, and the byte range of the word in its line.
    pub(super) fn node_under(&self, at: Position) -> Option<(&NodePlace, std::ops::Range<usize>)> {
        let line = positions::line_at(&self.text, at.line);
        let byte = positions::byte_in_line(line, at.character);
        let found = self.nodes_at(at).filter_map(|node| {
            let mut places = line.match_indices(node.id.as_str());
            let (start, _) = places.find(|(start, _)| is_word(line, *start, &node.id, byte))?;
            let word = start..start + node.id.len();
            // A key that has the name of a node is still a key; procedures have nodes as keys.
            let is_key = self.kind != Some(SourceKind::Procedure) && is_key(&line[word.end..]);
            (!is_key).then_some((node, word))
        });
        found.max_by_key(|(node, _)| node.id.len())
    }
}

/// Whether the word before this text is a key.
fn is_key(after: &str) -> bool {
    let after = after.trim_start_matches(['"', '\'']).trim_start();
    let value = after.strip_prefix(':');
    value.is_some_and(|value| value.chars().next().is_none_or(char::is_whitespace))
}

/// Whether an id at this place is a whole word that contains the byte.
fn is_word(line: &str, start: usize, id: &str, byte: usize) -> bool {
    let end = start + id.len();
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    let before = line[..start].chars().next_back();
    let after = line[end..].chars().next();
    let hyphen = |c: char| c == '-';
    (start..=end).contains(&byte)
        && !before.is_some_and(|c| joins(c) || (hyphen(c) && line[..start].trim() != "-"))
        && !after.is_some_and(joins)
        && !line[end..]
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(joins))
}

fn procedure_nodes(text: &str, name: &str) -> Vec<NodePlace> {
    let Ok(read) = sop_markdown::read(text.as_bytes(), name) else {
        return Vec::new();
    };
    let nodes = read.sop.nodes.iter().zip(&read.lines);
    let place = |(node, line): (&tramline_workflow::sop::SopNode, &usize)| {
        let source = positions::line_at(text, line.saturating_sub(1) as u64);
        let byte = source.find(node.id.as_str()).unwrap_or_default();
        let column = source[..byte].chars().count() + 1;
        NodePlace {
            workflow: None,
            id: node.id.clone(),
            place: SourceSpan {
                line: *line,
                column,
                end_line: *line,
                end_column: column + node.id.chars().count(),
                pointer: String::new(),
            },
        }
    };
    nodes.map(place).collect()
}

/// The path of a document; documents that are not files have only a name.
fn path_of(uri: &str) -> PathBuf {
    let decoded = percent_decoded(uri);
    match decoded.strip_prefix("file://") {
        Some(path) => PathBuf::from(path.strip_prefix("localhost").unwrap_or(path)),
        None => {
            let name = decoded.rsplit(['/', ':']).next().unwrap_or_default();
            Path::new(name).to_owned()
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3);
        let pair = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (bytes[at], byte) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_paths() {
        assert_eq!(
            path_of("file:///a/b%20c%C3%A4.yaml"),
            Path::new("/a/b cä.yaml")
        );
        assert_eq!(path_of("file:///a/100%.yaml"), Path::new("/a/100%.yaml"));
        assert_eq!(path_of("untitled:Untitled-1"), Path::new("Untitled-1"));
    }

    #[test]
    fn only_whole_ids_are_words() {
        assert!(is_word("next: sum", 6, "sum", 6));
        assert!(is_word("- sum", 2, "sum", 5));
        assert!(is_word("$.sum.x", 2, "sum", 3));
        assert!(!is_word("next: summary", 6, "sum", 6));
        assert!(!is_word("next: pre-sum", 10, "sum", 11));
        assert!(!is_word("next: sum", 6, "sum", 2));
    }
}
