//! Where the nodes of a document stand, and which node a place belongs to.
//!
//! Works on the text alone, so that it also tells of documents that cannot be used.

use super::document::{At, Tree, read};
use super::{Flaws, Format, detect, document, pflow_markdown};
use crate::flaw::Place;
use tramline_expr::{Str, Value};

/// Where nodes stand.
#[derive(Debug, Default)]
pub(super) struct Whereabouts {
    format: Option<Format>,
    found: Vec<Found>,
}

/// A workflow, or a node of one.
#[derive(Debug)]
struct Found {
    workflow: Option<Str>,
    node: Option<Str>,
    place: Place,
}

impl Whereabouts {
    /// Where the nodes of a text stand, as far as it can be read.
    pub(super) fn of(text: &str, format: Option<Format>) -> Self {
        let is_markdown = match format {
            Some(format) => format == Format::Markdown,
            None => pflow_markdown::is_one(text.as_bytes()),
        };
        let tree = match is_markdown {
            true => {
                let text = document::decode(text.as_bytes()).unwrap_or_default();
                pflow_markdown::tree(text, &mut Flaws::default())
            }
            false => read(text.as_bytes()).ok(),
        };
        let told = |tree: &Tree| match is_markdown {
            true => Some(Format::Markdown),
            false => format.or_else(|| detect::format(tree.root()).ok()),
        };
        let mut all = Self {
            format: tree.as_ref().and_then(told),
            found: Vec::new(),
        };
        if let Some(tree) = &tree {
            all.look(tree.root());
        }
        all
    }

    pub(super) fn format(&self) -> Option<Format> {
        self.format
    }

    fn look(&mut self, root: At<'_>) {
        if let Some(tools) = root.get("tools") {
            for tool in tools.items() {
                let name = tool.get("name").and_then(|name| text(name.value));
                self.found.push(Found {
                    workflow: name.clone(),
                    node: None,
                    place: tool.place(),
                });
                self.nodes(tool.get("nodes"), name.as_ref());
            }
        }
        let inner = root.get("workflow").and_then(|inner| inner.get("tasks"));
        for list in [
            root.get("nodes"),
            root.get("tasks"),
            root.get("plan"),
            inner,
        ] {
            self.nodes(list, None);
        }
        if root.value.as_array().is_some() {
            self.nodes(Some(root), None);
        }
    }

    fn nodes(&mut self, list: Option<At<'_>>, workflow: Option<&Str>) {
        for at in list.iter().flat_map(At::items) {
            let Some(id) = at.get("id") else {
                continue;
            };
            self.found.push(Found {
                workflow: workflow.cloned(),
                node: text(id.value),
                place: at.place(),
            });
        }
    }

    /// Where a node of a workflow stands.
    pub(super) fn find(&self, workflow: &str, node: &str) -> Option<Place> {
        let is_it = |found: &&Found| {
            let same = found
                .workflow
                .as_deref()
                .is_none_or(|name| name == workflow);
            found.node.as_deref() == Some(node) && same
        };
        self.found
            .iter()
            .find(is_it)
            .map(|found| found.place.clone())
    }

    /// The workflow and the node that a part of the document belongs to.
    pub(super) fn about(&self, pointer: &str) -> Option<(Option<Str>, Option<Str>)> {
        let holds = |found: &&Found| {
            let rest = pointer.strip_prefix(found.place.pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let inner = self.found.iter().filter(holds);
        let inner = inner.max_by_key(|found| found.place.pointer.len())?;
        Some((inner.workflow.clone(), inner.node.clone()))
    }
}

fn text(value: &Value) -> Option<Str> {
    value.as_str().map(Into::into)
}
