//! What older files do otherwise: nodes at top level, and entry and exit named by the tool.

use super::fields;
use super::nodes::{Draft, Kind, Sources};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::text::{nearest, shown};
use crate::workflow::{Action, Edge, Node};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use tramline_expr::Str;

/// Reads a list of nodes.
pub(super) fn drafts<'t>(
    list: At<'t>,
    assumed: impl Fn(&str) -> Option<Kind>,
    flaws: &mut Flaws,
) -> Vec<Draft<'t>> {
    list.items()
        .enumerate()
        .map(|(number, at)| Draft::read(at, number, &assumed, flaws))
        .collect()
}

/// `entryNode` and `exitNode` of a tool.
#[derive(Default)]
pub(super) struct Ends<'t> {
    entry: Option<(&'t Str, At<'t>)>,
    exit: Option<(&'t Str, At<'t>)>,
}

impl<'t> Ends<'t> {
    pub(super) fn read(tool: At<'t>, flaws: &mut Flaws) -> Self {
        Self {
            entry: fields::text(tool, "entryNode", flaws),
            exit: fields::text(tool, "exitNode", flaws),
        }
    }

    /// The type of a node that is named as an end and says no type of its own.
    pub(super) fn kind(&self, id: &str) -> Option<Kind> {
        let is = |end: Option<(&Str, At<'_>)>| end.is_some_and(|(name, _)| name == id);
        if is(self.entry) {
            Some(Kind::Entry)
        } else if is(self.exit) {
            Some(Kind::Exit)
        } else {
            None
        }
    }

    fn names(&self, id: &str) -> bool {
        self.kind(id).is_some()
    }

    /// Where an end is an ordinary node, puts an entry before it or an exit after it.
    pub(super) fn supply(&self, nodes: &mut Vec<Draft<'t>>, flaws: &mut Flaws) {
        for (end, kind) in [(self.entry, Kind::Entry), (self.exit, Kind::Exit)] {
            let Some((id, at)) = end else { continue };
            let Some(found) = nodes.iter().position(|draft| draft.node.id == *id) else {
                let known = nodes.iter().map(|draft| draft.node.id.as_str());
                let hint = match nearest(id, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "name a node of this graph".to_owned(),
                };
                let message = format!("there is no node `{}`", shown(id));
                flaws.add(Code::UnknownNode, at.place(), message, hint);
                continue;
            };
            let is = nodes[found].kind;
            if is.is_none() || is == Some(kind) {
                continue;
            }
            if nodes.iter().any(|draft| draft.node.id == kind.name()) {
                flaws.add(
                    Code::WrongType,
                    at.place(),
                    format!("`{}` is no node of type `{}`", shown(id), kind.name()),
                    "name the node that is",
                );
                continue;
            }
            attach(nodes, found, kind, at);
        }
    }
}

/// Adds an entry that leads to a node, or an exit that it leads to.
fn attach<'t>(nodes: &mut Vec<Draft<'t>>, found: usize, kind: Kind, at: At<'t>) {
    let id = nodes[found].node.id.clone();
    let mut end = Draft {
        node: Node::new(kind.name(), Action::Exit),
        kind: Some(kind),
        edges: Vec::new(),
        at,
        id: at,
        owner: None,
        sources: Sources::default(),
        broken: false,
    };
    if kind == Kind::Entry {
        end.node.action = Action::Entry;
        end.edges.push((Edge::new(kind.name(), id), at));
        nodes.insert(0, end);
    } else {
        let edge = Edge::new(id, kind.name());
        nodes[found].edges.push((edge, at));
        nodes.push(end);
    }
}

/// The nodes that stand at top level, for all tools.
#[derive(Default)]
pub(super) struct Shared<'t> {
    nodes: Vec<Draft<'t>>,
    by_id: HashMap<Str, usize>,
    /// Whether there is only one tool, which then has all of them.
    single: bool,
    taken: RefCell<HashSet<usize>>,
}

impl<'t> Shared<'t> {
    pub(super) fn read(root: At<'t>, tools: At<'t>, flaws: &mut Flaws) -> Self {
        let Some(list) = fields::given(root, "nodes") else {
            return Self::default();
        };
        if list.value.as_array().is_none() {
            fields::wrong(list, "nodes", "a list", "write each node as an item", flaws);
            return Self::default();
        }
        // What is wrong with the ends themselves is told where the tool is read.
        let ends: Vec<_> = tools
            .items()
            .map(|tool| Ends::read(tool, &mut Flaws::default()))
            .collect();
        let kind = |id: &str| ends.iter().find_map(|ends| ends.kind(id));
        let nodes = drafts(list, kind, flaws);
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
                    Code::Duplicate,
                    draft.id.place(),
                    format!("the id `{}` is used twice", shown(&draft.node.id)),
                    "give one of them another id",
                );
            }
            owner(draft, &names, flaws);
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

    /// The nodes of one tool: those that say so, its ends, and all they lead to.
    pub(super) fn of(&self, tool: &str, ends: &Ends<'t>) -> Vec<Draft<'t>> {
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

    /// Warns of nodes that belong to no tool.
    pub(super) fn leftovers(&self, flaws: &mut Flaws) {
        let taken = self.taken.borrow();
        for (at, draft) in self.nodes.iter().enumerate() {
            if !taken.contains(&at) && !draft.broken {
                flaws.add(
                    Code::Unreachable,
                    draft.id.place(),
                    format!("no tool leads to `{}`", shown(&draft.node.id)),
                    "lead to it from another node, or remove it",
                );
            }
        }
    }
}

/// A node that says whose it is must name a tool of the document.
fn owner(draft: &Draft<'_>, names: &HashSet<&str>, flaws: &mut Flaws) {
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
    let message = format!("this document has no tool `{}`", shown(owner));
    flaws.add(Code::UnknownTool, at.place(), message, hint);
}
