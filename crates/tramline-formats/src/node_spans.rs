//! The source locations of a document's nodes, and the node that a location belongs to.
//!
//! Works on the text alone, so that it also supports invalid documents.

use super::{Format, detect, pflow_markdown};
use tramline_expr::{Str, Value};
use tramline_syntax::document::{SourceTree, Spanned, read};
use tramline_syntax::{FlawCollector, document};
use tramline_workflow::flaw::SourceSpan;

/// The source locations of nodes.
#[derive(Debug, Default)]
pub struct NodeSpans {
    format: Option<Format>,
    spans: Vec<NodeSpan>,
}

/// A workflow, or a node of one, with its location.
#[derive(Debug)]
struct NodeSpan {
    workflow: Option<Str>,
    node: Option<Str>,
    place: SourceSpan,
    /// The location of the node's id.
    id_place: Option<SourceSpan>,
}

impl NodeSpans {
    /// The node locations of a text, as far as it can be parsed.
    pub fn of(text: &str, format: Option<Format>) -> Self {
        let is_markdown = match format {
            Some(format) => format == Format::Markdown,
            None => pflow_markdown::is_markdown_workflow(text.as_bytes()),
        };
        let tree = match is_markdown {
            true => {
                let text = document::decode(text.as_bytes()).unwrap_or_default();
                pflow_markdown::parse_tree(text, &mut FlawCollector::default())
            }
            false => read(text.as_bytes()).ok(),
        };
        let told = |tree: &SourceTree| match is_markdown {
            true => Some(Format::Markdown),
            false => format.or_else(|| detect::detect_format(tree.root()).ok()),
        };
        let mut all = Self {
            format: tree.as_ref().and_then(told),
            spans: Vec::new(),
        };
        if let Some(tree) = &tree {
            all.collect(tree.root());
        }
        all
    }

    /// The format of the document, if it is known.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    fn collect(&mut self, root: Spanned<'_>) {
        if let Some(tools) = root.get("tools") {
            for tool in tools.items() {
                let name = tool.get("name").and_then(|name| string_of(name.value));
                self.spans.push(NodeSpan {
                    workflow: name.clone(),
                    node: None,
                    place: tool.source_span(),
                    id_place: None,
                });
                self.collect_nodes(tool.get("nodes"), name.as_ref());
            }
        }
        let inner = root.get("workflow").and_then(|inner| inner.get("tasks"));
        for list in [
            root.get("nodes"),
            root.get("tasks"),
            root.get("plan"),
            inner,
        ] {
            self.collect_nodes(list, None);
        }
        if root.value.as_array().is_some() {
            self.collect_nodes(Some(root), None);
        }
    }

    fn collect_nodes(&mut self, list: Option<Spanned<'_>>, workflow: Option<&Str>) {
        for at in list.iter().flat_map(Spanned::items) {
            let Some(id) = at.get("id") else {
                continue;
            };
            self.spans.push(NodeSpan {
                workflow: workflow.cloned(),
                node: string_of(id.value),
                place: at.source_span(),
                id_place: Some(id.source_span()),
            });
        }
    }

    /// The location of a node of a workflow.
    pub fn find(&self, workflow: &str, node: &str) -> Option<SourceSpan> {
        let is_it = |found: &&NodeSpan| {
            let same = found
                .workflow
                .as_deref()
                .is_none_or(|name| name == workflow);
            found.node.as_deref() == Some(node) && same
        };
        self.spans
            .iter()
            .find(is_it)
            .map(|found| found.place.clone())
    }

    /// Every node: its workflow, its id, and the location of the id.
    pub fn nodes(&self) -> impl Iterator<Item = (Option<&Str>, &Str, &SourceSpan)> {
        self.spans.iter().filter_map(|found| {
            let id = found.node.as_ref()?;
            Some((found.workflow.as_ref(), id, found.id_place.as_ref()?))
        })
    }

    /// The workflow and the node that a part of the document belongs to.
    pub fn node_at_pointer(&self, pointer: &str) -> Option<(Option<Str>, Option<Str>)> {
        let holds = |found: &&NodeSpan| {
            let rest = pointer.strip_prefix(found.place.pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let inner = self.spans.iter().filter(holds);
        let inner = inner.max_by_key(|found| found.place.pointer.len())?;
        Some((inner.workflow.clone(), inner.node.clone()))
    }
}

fn string_of(value: &Value) -> Option<Str> {
    value.as_str().map(Into::into)
}
