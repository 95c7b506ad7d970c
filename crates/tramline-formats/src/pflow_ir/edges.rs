//! Edges between nodes: from `edges`, from `next` and `on-error`, or in document order.

use super::nodes::{END, SWITCH};
use super::reference_scope::ReferenceScope;
use crate::ask_form::{ASK, ASK_EDGES, edge_field};
use crate::workflow_builder::WorkflowBuilder;
use crate::yaml_graph::fields;
use std::collections::HashMap;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, Edge};

/// The names of the field that routes a failure.
const ON_ERROR: [&str; 3] = ["on-error", "on_error", "onError"];

/// An edge to the exit, whose node does not exist yet.
pub(super) struct ExitEdge<'t> {
    pub(super) from: Str,
    pub(super) label: Str,
    pub(super) at: Spanned<'t>,
}

/// Connects the entry to the start node: `start_node`, or the first node.
pub(super) fn connect_entry<'t>(
    root: Spanned<'t>,
    list: Spanned<'t>,
    names: &ReferenceScope<'t>,
    sketch: &mut WorkflowBuilder<'t>,
    flaws: &mut FlawCollector,
) {
    let named = fields::optional_string(root, "start_node", flaws);
    if let Some((id, at)) = named
        && !names.is_node(id)
    {
        report_unknown_node(id, at, names, flaws);
        return;
    }
    let first = sketch.workflow.nodes.get(1).map(|node| node.id.clone());
    let to = named.map(|(id, _)| id.clone()).or(first);
    if let Some(to) = to {
        let at = named.map_or(list, |(_, at)| at);
        sketch.add_edge(Edge::new(names.entry.clone(), to), at);
    }
}

fn report_unknown_node(
    id: &str,
    at: Spanned<'_>,
    names: &ReferenceScope<'_>,
    flaws: &mut FlawCollector,
) {
    let hint = match nearest(id, names.nodes()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "name a node of this document".to_owned(),
    };
    let message = format!("there is no node `{}`", display_name(id));
    flaws.add(FlawCode::UnknownNode, at.source_span(), message, hint);
}

/// Reads all edges between nodes and returns those that lead to the exit.
pub(super) fn read<'t>(
    root: Spanned<'t>,
    list: Spanned<'t>,
    names: &ReferenceScope<'t>,
    sketch: &mut WorkflowBuilder<'t>,
    flaws: &mut FlawCollector,
) -> Vec<ExitEdge<'t>> {
    let edges = fields::present(root, "edges");
    let mut ways = EdgeReader {
        list,
        names,
        sketch,
        exit_edges: Vec::new(),
        branches: HashMap::new(),
        ordered: edges.is_none(),
    };
    if let Some(edges) = edges {
        ways.read_edges(edges, flaws);
    }
    for (number, at) in list.items().enumerate() {
        ways.read_node_edges(number, at, flaws);
    }
    if ways.ordered {
        ways.check_branches(flaws);
    }
    ways.exit_edges
}

struct EdgeReader<'a, 't> {
    list: Spanned<'t>,
    names: &'a ReferenceScope<'t>,
    sketch: &'a mut WorkflowBuilder<'t>,
    exit_edges: Vec<ExitEdge<'t>>,
    /// The nodes reached only through branches, each with the sources of those branches.
    branches: HashMap<Str, Vec<Str>>,
    /// Whether document order applies where no edge is given.
    ordered: bool,
}

impl<'t> EdgeReader<'_, 't> {
    fn read_edges(&mut self, edges: Spanned<'t>, flaws: &mut FlawCollector) {
        if edges.value.as_array().is_none() {
            let hint = "write a list of `from` and `to`";
            fields::report_wrong_type(edges, "edges", "a list", hint, flaws);
            return;
        }
        for at in edges.items() {
            if at.value.as_object().is_none() {
                let hint = "write `from` and `to`";
                fields::report_wrong_type(at, "edges", "a list of objects", hint, flaws);
                continue;
            }
            fields::warn_unknown(at, "an edge", &["from", "to", "action"], flaws);
            let end = |key: &str, flaws: &mut FlawCollector| {
                let (id, at) = fields::required_string(at, "an edge", key, "name a node", flaws)?;
                if !self.names.is_node(id) {
                    report_unknown_node(id, at, self.names, flaws);
                    return None;
                }
                Some((id.clone(), at))
            };
            let (from, to) = (end("from", flaws), end("to", flaws));
            let (Some((from, _)), Some((to, place))) = (from, to) else {
                continue;
            };
            let action = fields::optional_string(at, "action", flaws);
            let label = action.map_or(DEFAULT_LABEL, |(action, _)| action.as_str());
            let is_ask = self.names.kind(&from) == Some(ASK);
            let known = [DEFAULT_LABEL, ERROR_LABEL].contains(&label)
                || is_ask && edge_field(label).is_some();
            if let Some((action, at)) = action
                && !known
                && self.names.kind(&from) != Some(SWITCH)
            {
                flaws.add(
                    FlawCode::Unreachable,
                    at.source_span(),
                    format!(
                        "`{}` never ends with `{}`",
                        display_name(&from),
                        display_name(action)
                    ),
                    "tools end with `default` or `error`; only a `switch` picks other actions",
                );
            }
            self.sketch.add_edge(Edge::labelled(from, to, label), place);
        }
    }

    /// Reads the edges declared by a node, or uses document order.
    fn read_node_edges(&mut self, number: usize, at: Spanned<'t>, flaws: &mut FlawCollector) {
        let Some(node) = self.sketch.workflow.nodes.get(number + 1) else {
            return;
        };
        let from = node.id.clone();
        let is_end = node.action == Action::Exit;
        let picks = node.action.choice_labels();
        let picks = picks.map(|labels| labels.cloned().collect::<Vec<_>>());
        let next = fields::present(at, "next");
        match (next, &picks) {
            (Some(next), _) => self.read_next(&from, next, picks.is_some(), flaws),
            (None, _) if !self.ordered || is_end => {}
            (None, _) => self.connect_in_order(number, &from),
        }
        if let Some(labels) = picks.filter(|_| self.ordered || next.is_some()) {
            self.add_switch_edges(number, &from, &labels);
        }
        for (key, label) in ASK_EDGES {
            if let Some((to, field)) = fields::optional_string(at, key, flaws) {
                self.add_edge_to(&from, to.trim(), label, field, flaws);
                self.record_branch(&from, to.trim());
            }
        }
        if let Some((key, field)) = fields::first_present(at, &ON_ERROR)
            && let Some((to, field)) = fields::string_value(field, key, flaws)
        {
            self.add_edge_to(&from, to.trim(), ERROR_LABEL, field, flaws);
            self.record_branch(&from, to.trim());
        }
    }

    fn connect_in_order(&mut self, number: usize, from: &Str) {
        if let Some(after) = self.sketch.workflow.nodes.get(number + 2) {
            let edge = Edge::new(from.clone(), after.id.clone());
            self.sketch.add_edge(edge, self.list);
        } else if self.names.kind(from) == Some(SWITCH) {
            self.add_exit_edge(from, DEFAULT_LABEL, self.list);
        }
    }

    fn add_exit_edge(&mut self, from: &Str, label: &str, at: Spanned<'t>) {
        let (from, label) = (from.clone(), label.into());
        self.exit_edges.push(ExitEdge { from, label, at });
    }

    /// Reads `next`: a node or `end`; a switch may list several.
    fn read_next(
        &mut self,
        from: &Str,
        next: Spanned<'t>,
        chooses: bool,
        flaws: &mut FlawCollector,
    ) {
        let items: Vec<Spanned<'t>> = match next.value {
            Value::Array(_) => next.items().collect(),
            _ => vec![next],
        };
        let mut targets = Vec::new();
        for at in items {
            let Some((text, at)) = fields::string_value(at, "next", flaws) else {
                return;
            };
            let parts = text.split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            targets.extend(parts.map(|part| (part, at)));
        }
        if targets.len() > 1 && !chooses {
            flaws.add(
                FlawCode::WrongType,
                next.source_span(),
                format!("`next` of `{}` names several nodes", display_name(from)),
                "name one; only a `switch` can have several",
            );
            return;
        }
        for (slot, (to, at)) in targets.into_iter().enumerate() {
            if slot == 0 {
                self.add_edge_to(from, to, DEFAULT_LABEL, at, flaws);
            } else if !self.is_target(to) {
                report_unknown_node(to, at, self.names, flaws);
            }
        }
    }

    fn is_target(&self, id: &str) -> bool {
        id == END || self.names.is_node(id)
    }

    fn add_edge_to(
        &mut self,
        from: &Str,
        to: &str,
        label: &str,
        at: Spanned<'t>,
        flaws: &mut FlawCollector,
    ) {
        if self.names.is_node(to) {
            let edge = Edge::labelled(from.clone(), to, label);
            self.sketch.add_edge(edge, at);
        } else if to == END {
            // A node without a default edge leads to the exit anyway.
            if label != DEFAULT_LABEL || self.names.kind(from) == Some(SWITCH) {
                self.add_exit_edge(from, label, at);
            }
        } else {
            report_unknown_node(to, at, self.names, flaws);
        }
    }

    /// Connects a switch to the nodes named by its labels; without a match it uses the default edge.
    fn add_switch_edges(&mut self, number: usize, from: &Str, labels: &[Str]) {
        let at = self.list.items().nth(number).unwrap_or(self.list);
        let mut done: Vec<&Str> = Vec::new();
        for label in labels {
            if done.contains(&label) || label == DEFAULT_LABEL {
                continue;
            }
            done.push(label);
            if self.names.is_node(label) {
                let edge = Edge::labelled(from.clone(), label.clone(), label.clone());
                self.sketch.add_edge(edge, at);
                self.record_branch(from, label);
            } else if label == END {
                self.add_exit_edge(from, label, at);
            }
        }
        if let Some(node) = self.sketch.workflow.nodes.get_mut(number + 1)
            && let Action::Choose { otherwise, .. } = &mut node.action
        {
            otherwise.get_or_insert_with(|| DEFAULT_LABEL.into());
        }
    }

    fn record_branch(&mut self, from: &Str, to: &str) {
        let whence = self.branches.entry(to.into()).or_default();
        whence.push(from.clone());
    }

    /// A branch target must declare its successor, and the step before it must not fall through into it:
    /// both mistakes are hard to notice in a run.
    fn check_branches(&self, flaws: &mut FlawCollector) {
        let mut before: Option<(&Str, Spanned<'t>)> = None;
        let nodes = self.sketch.workflow.nodes.iter().skip(1);
        for (at, node) in self.list.items().zip(nodes) {
            let says = fields::present(at, "next").is_some() || node.action == Action::Exit;
            let place = |at: Spanned<'t>| at.get("id").unwrap_or(at).source_span();
            if let Some(whence) = self.branches.get(&node.id) {
                let by = display_name(&whence[0]);
                if !says {
                    flaws.add(
                        FlawCode::MissingField,
                        place(at),
                        format!(
                            "`{}` is a branch target of `{by}` and has no `next`",
                            display_name(&node.id)
                        ),
                        "add `next`: a node, or `end`",
                    );
                }
                if let Some((from, at)) = before.filter(|(from, _)| !whence.contains(from)) {
                    flaws.add(
                        FlawCode::MissingField,
                        place(at),
                        format!(
                            "`{}` falls through into `{}`, a branch target of `{by}`",
                            display_name(from),
                            display_name(&node.id)
                        ),
                        "add `next`: a node, or `end`",
                    );
                }
            }
            before = (!says).then_some((&node.id, at));
        }
    }
}
