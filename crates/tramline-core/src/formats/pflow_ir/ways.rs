//! Where nodes lead: by `edges`, by `next` and `on-error` of the nodes, or in document order.

use super::names::Names;
use super::nodes::{END, SWITCH};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::sketch::Sketch;
use crate::formats::yaml_graph::fields;
use crate::text::{nearest, shown};
use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, Edge};
use std::collections::HashMap;
use tramline_expr::{Str, Value};

/// The names of the field that says where a failure leads.
const ON_ERROR: [&str; 3] = ["on-error", "on_error", "onError"];

/// A way to the end of the run, which has no node yet.
pub(super) struct End<'t> {
    pub(super) from: Str,
    pub(super) label: Str,
    pub(super) at: At<'t>,
}

/// The entry leads to the start node, which is the first unless the document says otherwise.
pub(super) fn start<'t>(
    root: At<'t>,
    list: At<'t>,
    names: &Names<'t>,
    sketch: &mut Sketch<'t>,
    flaws: &mut Flaws,
) {
    let named = fields::text(root, "start_node", flaws);
    if let Some((id, at)) = named
        && !names.is_node(id)
    {
        unknown_node(id, at, names, flaws);
        return;
    }
    let first = sketch.workflow.nodes.get(1).map(|node| node.id.clone());
    let to = named.map(|(id, _)| id.clone()).or(first);
    if let Some(to) = to {
        let at = named.map_or(list, |(_, at)| at);
        sketch.lead(Edge::new(names.entry.clone(), to), at);
    }
}

fn unknown_node(id: &str, at: At<'_>, names: &Names<'_>, flaws: &mut Flaws) {
    let hint = match nearest(id, names.nodes()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name a node of this document".to_owned(),
    };
    let message = format!("there is no node `{}`", shown(id));
    flaws.add(Code::UnknownNode, at.place(), message, hint);
}

/// Reads all ways between nodes; gives those that lead to the end.
pub(super) fn read<'t>(
    root: At<'t>,
    list: At<'t>,
    names: &Names<'t>,
    sketch: &mut Sketch<'t>,
    flaws: &mut Flaws,
) -> Vec<End<'t>> {
    let edges = fields::given(root, "edges");
    let mut ways = Ways {
        list,
        names,
        sketch,
        ends: Vec::new(),
        branches: HashMap::new(),
        ordered: edges.is_none(),
    };
    if let Some(edges) = edges {
        ways.edges(edges, flaws);
    }
    for (number, at) in list.items().enumerate() {
        ways.of_node(number, at, flaws);
    }
    if ways.ordered {
        ways.check_branches(flaws);
    }
    ways.ends
}

struct Ways<'a, 't> {
    list: At<'t>,
    names: &'a Names<'t>,
    sketch: &'a mut Sketch<'t>,
    ends: Vec<End<'t>>,
    /// The nodes that are led to by name only on some condition, each with whence.
    branches: HashMap<Str, Vec<Str>>,
    /// Whether the order of the document leads on where nothing else is said.
    ordered: bool,
}

impl<'t> Ways<'_, 't> {
    fn edges(&mut self, edges: At<'t>, flaws: &mut Flaws) {
        if edges.value.as_array().is_none() {
            let hint = "write a list of `from` and `to`";
            fields::wrong(edges, "edges", "a list", hint, flaws);
            return;
        }
        for at in edges.items() {
            if at.value.as_object().is_none() {
                let hint = "write `from` and `to`";
                fields::wrong(at, "edges", "a list of objects", hint, flaws);
                continue;
            }
            fields::unknown(at, "an edge", &["from", "to", "action"], flaws);
            let end = |key: &str, flaws: &mut Flaws| {
                let (id, at) = fields::required(at, "an edge", key, "name a node", flaws)?;
                if !self.names.is_node(id) {
                    unknown_node(id, at, self.names, flaws);
                    return None;
                }
                Some((id.clone(), at))
            };
            let (from, to) = (end("from", flaws), end("to", flaws));
            let (Some((from, _)), Some((to, place))) = (from, to) else {
                continue;
            };
            let action = fields::text(at, "action", flaws);
            let label = action.map_or(DEFAULT_LABEL, |(action, _)| action.as_str());
            let known = [DEFAULT_LABEL, ERROR_LABEL].contains(&label);
            if let Some((action, at)) = action
                && !known
                && self.names.kind(&from) != Some(SWITCH)
            {
                flaws.add(
                    Code::Unreachable,
                    at.place(),
                    format!("`{}` never ends with `{}`", shown(&from), shown(action)),
                    "tools end with `default` or `error`; only a `switch` picks other actions",
                );
            }
            self.sketch.lead(Edge::labelled(from, to, label), place);
        }
    }

    /// What a node says itself, and the order of the document.
    fn of_node(&mut self, number: usize, at: At<'t>, flaws: &mut Flaws) {
        let Some(node) = self.sketch.workflow.nodes.get(number + 1) else {
            return;
        };
        let from = node.id.clone();
        let is_end = node.action == Action::Exit;
        let picks = match &node.action {
            Action::Choose { rules, otherwise } => {
                let labels = rules.iter().map(|rule| &rule.label).chain(otherwise);
                Some(labels.cloned().collect::<Vec<_>>())
            }
            Action::Entry
            | Action::Call { .. }
            | Action::Compute { .. }
            | Action::Wait(_)
            | Action::Exit => None,
        };
        let next = fields::given(at, "next");
        match (next, &picks) {
            (Some(next), _) => self.next(&from, next, picks.is_some(), flaws),
            (None, _) if !self.ordered || is_end => {}
            (None, _) => self.in_order(number, &from),
        }
        if let Some(labels) = picks.filter(|_| self.ordered || next.is_some()) {
            self.picked(number, &from, &labels);
        }
        if let Some((key, field)) = fields::given_as(at, &ON_ERROR)
            && let Some((to, field)) = fields::as_text(field, key, flaws)
        {
            self.way(&from, to.trim(), ERROR_LABEL, field, flaws);
            self.branch(&from, to.trim());
        }
    }

    fn in_order(&mut self, number: usize, from: &Str) {
        if let Some(after) = self.sketch.workflow.nodes.get(number + 2) {
            let edge = Edge::new(from.clone(), after.id.clone());
            self.sketch.lead(edge, self.list);
        } else if self.names.kind(from) == Some(SWITCH) {
            self.end(from, DEFAULT_LABEL, self.list);
        }
    }

    fn end(&mut self, from: &Str, label: &str, at: At<'t>) {
        let (from, label) = (from.clone(), label.into());
        self.ends.push(End { from, label, at });
    }

    /// `next`: a node, or `end`; after a choice also several.
    fn next(&mut self, from: &Str, next: At<'t>, chooses: bool, flaws: &mut Flaws) {
        let items: Vec<At<'t>> = match next.value {
            Value::Array(_) => next.items().collect(),
            _ => vec![next],
        };
        let mut targets = Vec::new();
        for at in items {
            let Some((text, at)) = fields::as_text(at, "next", flaws) else {
                return;
            };
            let parts = text.split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            targets.extend(parts.map(|part| (part, at)));
        }
        if targets.len() > 1 && !chooses {
            flaws.add(
                Code::WrongType,
                next.place(),
                format!("`next` of `{}` names several nodes", shown(from)),
                "name one; only a `switch` chooses among several",
            );
            return;
        }
        for (slot, (to, at)) in targets.into_iter().enumerate() {
            if slot == 0 {
                self.way(from, to, DEFAULT_LABEL, at, flaws);
            } else if !self.is_target(to) {
                unknown_node(to, at, self.names, flaws);
            }
        }
    }

    fn is_target(&self, id: &str) -> bool {
        id == END || self.names.is_node(id)
    }

    fn way(&mut self, from: &Str, to: &str, label: &str, at: At<'t>, flaws: &mut Flaws) {
        if self.names.is_node(to) {
            let edge = Edge::labelled(from.clone(), to, label);
            self.sketch.lead(edge, at);
        } else if to == END {
            // A node without a default way leads to the end anyhow.
            if label != DEFAULT_LABEL || self.names.kind(from) == Some(SWITCH) {
                self.end(from, label, at);
            }
        } else {
            unknown_node(to, at, self.names, flaws);
        }
    }

    /// What a choice picks leads to the node of that name, and without a pick it goes on.
    fn picked(&mut self, number: usize, from: &Str, labels: &[Str]) {
        let at = self.list.items().nth(number).unwrap_or(self.list);
        let mut done: Vec<&Str> = Vec::new();
        for label in labels {
            if done.contains(&label) || label == DEFAULT_LABEL {
                continue;
            }
            done.push(label);
            if self.names.is_node(label) {
                let edge = Edge::labelled(from.clone(), label.clone(), label.clone());
                self.sketch.lead(edge, at);
                self.branch(from, label);
            } else if label == END {
                self.end(from, label, at);
            }
        }
        if let Some(node) = self.sketch.workflow.nodes.get_mut(number + 1)
            && let Action::Choose { otherwise, .. } = &mut node.action
        {
            otherwise.get_or_insert_with(|| DEFAULT_LABEL.into());
        }
    }

    fn branch(&mut self, from: &Str, to: &str) {
        let whence = self.branches.entry(to.into()).or_default();
        whence.push(from.clone());
    }

    /// What is led to on some condition must say itself where it leads, and nothing may run into
    /// it by mere order: both are slips that nobody sees in a run.
    fn check_branches(&self, flaws: &mut Flaws) {
        let mut before: Option<(&Str, At<'t>)> = None;
        let nodes = self.sketch.workflow.nodes.iter().skip(1);
        for (at, node) in self.list.items().zip(nodes) {
            let says = fields::given(at, "next").is_some() || node.action == Action::Exit;
            let place = |at: At<'t>| at.get("id").unwrap_or(at).place();
            if let Some(whence) = self.branches.get(&node.id) {
                let by = shown(&whence[0]);
                if !says {
                    flaws.add(
                        Code::Missing,
                        place(at),
                        format!(
                            "`{}` is led to by `{by}` and does not say what comes after it",
                            shown(&node.id)
                        ),
                        "add `next`: a node, or `end`",
                    );
                }
                if let Some((from, at)) = before.filter(|(from, _)| !whence.contains(from)) {
                    flaws.add(
                        Code::Missing,
                        place(at),
                        format!(
                            "`{}` runs into `{}`, which `{by}` leads to",
                            shown(from),
                            shown(&node.id)
                        ),
                        "add `next`: a node, or `end`",
                    );
                }
            }
            before = (!says).then_some((&node.id, at));
        }
    }
}
