//! Legacy syntax: nodes at top level, and `entryNode` and `exitNode` of a tool.

use super::fields;
use super::nodes::{DraftSources, NodeDraft, NodeType};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use tramline_expr::Str;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::{Action, Edge, Node};

/// Reads a list of nodes.
pub(super) fn read_nodes<'t>(
    list: Spanned<'t>,
    assumed: impl Fn(&str) -> Option<NodeType>,
    flaws: &mut FlawCollector,
) -> Vec<NodeDraft<'t>> {
    list.items()
        .enumerate()
        .map(|(number, at)| NodeDraft::read(at, number, &assumed, flaws))
        .collect()
}

/// `entryNode` and `exitNode` of a tool.
#[derive(Default)]
pub(super) struct EntryExit<'t> {
    entry: Option<(&'t Str, Spanned<'t>)>,
    exit: Option<(&'t Str, Spanned<'t>)>,
}

impl<'t> EntryExit<'t> {
    pub(super) fn read(tool: Spanned<'t>, flaws: &mut FlawCollector) -> Self {
        Self {
            entry: fields::optional_string(tool, "entryNode", flaws),
            exit: fields::optional_string(tool, "exitNode", flaws),
        }
    }

    /// The type of a node that is named as entry or exit and has no `type`.
    pub(super) fn kind(&self, id: &str) -> Option<NodeType> {
        let is = |end: Option<(&Str, Spanned<'_>)>| end.is_some_and(|(name, _)| name == id);
        if is(self.entry) {
            Some(NodeType::Entry)
        } else if is(self.exit) {
            Some(NodeType::Exit)
        } else {
            None
        }
    }

    fn names(&self, id: &str) -> bool {
        self.kind(id).is_some()
    }

    /// Adds an entry before, or an exit after, an ordinary node that is named as such.
    pub(super) fn add_missing(&self, nodes: &mut Vec<NodeDraft<'t>>, flaws: &mut FlawCollector) {
        for (end, kind) in [(self.entry, NodeType::Entry), (self.exit, NodeType::Exit)] {
            let Some((id, at)) = end else { continue };
            let Some(found) = nodes.iter().position(|draft| draft.node.id == *id) else {
                let known = nodes.iter().map(|draft| draft.node.id.as_str());
                let hint = match nearest(id, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "name a node of this graph".to_owned(),
                };
                let message = format!("there is no node `{}`", display_name(id));
                flaws.add(FlawCode::UnknownNode, at.source_span(), message, hint);
                continue;
            };
            let is = nodes[found].kind;
            if is.is_none() || is == Some(kind) {
                continue;
            }
            if nodes.iter().any(|draft| draft.node.id == kind.name()) {
                flaws.add(
                    FlawCode::WrongType,
                    at.source_span(),
                    format!(
                        "`{}` is not a node of type `{}`",
                        display_name(id),
                        kind.name()
                    ),
                    "name a node of that type",
                );
                continue;
            }
            attach_end(nodes, found, kind, at);
        }
    }
}

/// Adds an entry with an edge to a node, or an exit with an edge from it.
fn attach_end<'t>(nodes: &mut Vec<NodeDraft<'t>>, found: usize, kind: NodeType, at: Spanned<'t>) {
    let id = nodes[found].node.id.clone();
    let mut end = NodeDraft {
        node: Node::new(kind.name(), Action::Exit),
        kind: Some(kind),
        edges: Vec::new(),
        at,
        id: at,
        owner: None,
        sources: DraftSources::default(),
        is_incomplete: false,
    };
    if kind == NodeType::Entry {
        end.node.action = Action::Entry;
        end.edges.push((Edge::new(kind.name(), id), at));
        nodes.insert(0, end);
    } else {
        let edge = Edge::new(id, kind.name());
        nodes[found].edges.push((edge, at));
        nodes.push(end);
    }
}

/// The nodes at top level, shared by all tools.
#[derive(Default)]
pub(super) struct SharedNodes<'t> {
    nodes: Vec<NodeDraft<'t>>,
    by_id: HashMap<Str, usize>,
    /// Whether there is only one tool, which then owns all nodes.
    single: bool,
    taken: RefCell<HashSet<usize>>,
}

impl<'t> SharedNodes<'t> {
    pub(super) fn read(root: Spanned<'t>, tools: Spanned<'t>, flaws: &mut FlawCollector) -> Self {
        let Some(list) = fields::present(root, "nodes") else {
            return Self::default();
        };
        if list.value.as_array().is_none() {
            fields::report_wrong_type(list, "nodes", "a list", "write each node as an item", flaws);
            return Self::default();
        }
        // Flaws in `entryNode` and `exitNode` are reported when the tool is read.
        let ends: Vec<_> = tools
            .items()
            .map(|tool| EntryExit::read(tool, &mut FlawCollector::default()))
            .collect();
        let kind = |id: &str| ends.iter().find_map(|ends| ends.kind(id));
        let nodes = read_nodes(list, kind, flaws);
        let single = tools.items().len() == 1;
        let names: HashSet<_> = tools
            .items()
            .filter_map(|tool| tool.get("name").and_then(|name| name.value.as_str()))
            .collect();
        let mut by_id = HashMap::new();
        for (at, draft) in nodes.iter().enumerate() {
            let id = draft.node.id.clone();
            if by_id.insert(id, at).is_some() && !single {
                flaws.add(
                    FlawCode::Duplicate,
                    draft.id.source_span(),
                    format!("the id `{}` is used twice", display_name(&draft.node.id)),
                    "give one of them another id",
                );
            }
            check_owner(draft, &names, flaws);
        }
        Self {
            nodes,
            by_id,
            single,
            taken: RefCell::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes of one tool: those that name it, its entry and exit, and all nodes reachable from them.
    pub(super) fn nodes_of_tool(&self, tool: &str, ends: &EntryExit<'t>) -> Vec<NodeDraft<'t>> {
        let mut wanted: Vec<usize> = (0..self.nodes.len())
            .filter(|&at| {
                let draft = &self.nodes[at];
                self.single
                    || ends.names(&draft.node.id)
                    || draft.owner.is_some_and(|(owner, _)| owner == tool)
            })
            .collect();
        let mut found: HashSet<usize> = wanted.iter().copied().collect();
        while let Some(at) = wanted.pop() {
            for (edge, _) in &self.nodes[at].edges {
                if let Some(&to) = self.by_id.get(&edge.to)
                    && found.insert(to)
                {
                    wanted.push(to);
                }
            }
        }
        self.taken.borrow_mut().extend(&found);
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        found.iter().map(|&at| self.nodes[at].clone()).collect()
    }

    /// Warns about nodes that belong to no tool.
    pub(super) fn warn_unused(&self, flaws: &mut FlawCollector) {
        let taken = self.taken.borrow();
        for (at, draft) in self.nodes.iter().enumerate() {
            if !taken.contains(&at) && !draft.is_incomplete {
                flaws.add(
                    FlawCode::Unreachable,
                    draft.id.source_span(),
                    format!("no tool reaches `{}`", display_name(&draft.node.id)),
                    "connect another node to it, or remove it",
                );
            }
        }
    }
}

/// Checks that a node's owner is a tool of the document.
fn check_owner(draft: &NodeDraft<'_>, names: &HashSet<&str>, flaws: &mut FlawCollector) {
    let Some((owner, at)) = draft.owner else {
        return;
    };
    if names.contains(owner.as_str()) {
        return;
    }
    let hint = match nearest(owner, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name a tool of this document".to_owned(),
    };
    let message = format!("this document has no tool `{}`", display_name(owner));
    flaws.add(FlawCode::UnknownTool, at.source_span(), message, hint);
}
