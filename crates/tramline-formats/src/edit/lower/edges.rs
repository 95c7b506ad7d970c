//! Adds and removes edges between two nodes.

use super::node_references::NodeReference;
use super::{EditLowering, Ops};
use crate::Format;
use crate::edit::op::{ValueOp, ValueStep, key_step};
use tramline_expr::{Map, Value};
use tramline_workflow::workflow::ERROR_LABEL;

impl EditLowering<'_> {
    /// Inserts a new node between a node and its successor.
    pub(super) fn insert_between(&self, at: usize, after: &str, id: &str, made: &mut Map) -> Ops {
        match self.format {
            Format::Yaml => {
                let old = self.nodes[at].get("next").cloned();
                if let (Some(old), None) = (&old, made.get("next")) {
                    made.insert("next", old.clone());
                }
                let is_exit = self.nodes[at].get("type").and_then(Value::as_str) == Some("exit");
                if is_exit {
                    return Err(format!(
                        "`{after}` is an exit node and cannot have a successor"
                    ));
                }
                Ok(vec![ValueOp::Set(
                    self.node_path(at, [key_step("next")]),
                    id.into(),
                )])
            }
            Format::Dag => {
                if made.get("depends_on").is_none() && !self.is_chain() {
                    made.insert("depends_on", Value::array([after.into()]));
                }
                Ok(Vec::new())
            }
            Format::Ir => Ok(vec![self.add_edge(after, id, None)]),
            Format::Markdown => self.insert_below(at, id, made),
        }
    }

    fn add_edge(&self, from: &str, to: &str, label: Option<&str>) -> ValueOp {
        let edge = Self::ir_edge(from, to, label);
        match self.root.get("edges").and_then(Value::as_array) {
            Some(edges) => ValueOp::Insert(vec![key_step("edges")], edges.len(), edge),
            None => ValueOp::Set(vec![key_step("edges")], Value::array([edge])),
        }
    }

    pub(super) fn connect(&self, from: &str, to: &str, label: Option<&str>) -> Ops {
        let (start, end) = (self.node_index(from)?, self.node_index(to)?);
        self.reject_chain()?;
        match (self.format, label) {
            (Format::Ir, label) => Ok(vec![self.add_edge(from, to, label)]),
            (Format::Markdown, label) => self.connect_step(start, to, label),
            (Format::Dag, None) => self.add_to_list(end, "depends_on", from),
            (Format::Dag, Some(_)) => Err("the edges of a DAG have no labels".to_owned()),
            (Format::Yaml, Some(ERROR_LABEL)) => {
                let field = Self::on_error_field(&self.nodes[start]);
                Ok(vec![ValueOp::Set(
                    self.node_path(start, [key_step(field)]),
                    to.into(),
                )])
            }
            (Format::Yaml, label) => self.connect_yaml(start, to, label),
        }
    }

    fn connect_yaml(&self, start: usize, to: &str, label: Option<&str>) -> Ops {
        let node = &self.nodes[start];
        if let Some(field) = label.and_then(|label| Self::ask_edge_field(node, label)) {
            let at = self.node_path(start, [key_step(field)]);
            return Ok(vec![ValueOp::Set(at, to.into())]);
        }
        let conditions = node.get("conditions").and_then(Value::as_array);
        let is_choice =
            conditions.is_some() || node.get("type").and_then(Value::as_str) == Some("switch");
        let rule = label.filter(|label| !matches!(*label, "default" | "otherwise"));
        match (is_choice, rule) {
            (true, Some(rule)) => {
                let rule = Value::from_json(rule).ok();
                let rule = rule.filter(|rule| rule.as_object().is_some());
                let rule = rule.ok_or("the label of a switch branch must be its rule as JSON")?;
                let condition = Value::object([("rule", rule), ("next", to.into())]);
                let list = self.node_path(start, [key_step("conditions")]);
                Ok(vec![match conditions {
                    Some(all) => ValueOp::Insert(list, all.len(), condition),
                    None => ValueOp::Set(list, Value::array([condition])),
                }])
            }
            (true, None) => match node.get("next") {
                None => Ok(vec![ValueOp::Set(
                    self.node_path(start, [key_step("next")]),
                    to.into(),
                )]),
                Some(_) => Err("the switch already has a default branch: give a rule".to_owned()),
            },
            (false, None) => self.add_to_list(start, "next", to),
            (false, Some(_)) => Err("only a switch can have branches with rules".to_owned()),
        }
    }

    /// Adds a name to a field that is empty, a single name or a list.
    fn add_to_list(&self, place: usize, field: &str, name: &str) -> Ops {
        let at = self.node_path(place, [key_step(field)]);
        let there = || Err(format!("`{name}` is already listed"));
        Ok(vec![match self.nodes[place].get(field) {
            None | Some(Value::Null) if field == "next" => ValueOp::Set(at, name.into()),
            None | Some(Value::Null) => ValueOp::Set(at, Value::array([name.into()])),
            Some(Value::Array(all)) if all.iter().any(|it| it.as_str() == Some(name)) => {
                return there();
            }
            Some(Value::Array(all)) => ValueOp::Insert(at, all.len(), name.into()),
            Some(one) if one.as_str() == Some(name) => return there(),
            Some(one) => ValueOp::Set(at, Value::array([one.clone(), name.into()])),
        }])
    }

    pub(super) fn disconnect(&self, from: &str, to: &str) -> Ops {
        let start = self.node_index(from)?;
        self.node_index(to)?;
        self.reject_chain()?;
        if self.format == Format::Markdown {
            return self.disconnect_step(start, from, to);
        }
        let none = || format!("there is no edge from `{from}` to `{to}`");
        if self.format == Format::Ir {
            let end = |edge: &Value, end: &str, id: &str| {
                edge.get(end).and_then(Value::as_str) == Some(id)
            };
            let edges = self.edge_indexes(|edge| end(edge, "from", from) && end(edge, "to", to));
            let ops: Vec<_> = edges
                .into_iter()
                .rev()
                .map(|at| ValueOp::Remove(vec![key_step("edges"), ValueStep::Index(at)]))
                .collect();
            return if ops.is_empty() { Err(none()) } else { Ok(ops) };
        }
        // A DAG declares an edge at its target.
        let (named, at) = match self.format {
            Format::Dag => (from, to),
            Format::Yaml | Format::Ir | Format::Markdown => (to, from),
        };
        let mut links = self.references_to(named);
        links.retain(|link: &NodeReference| link.from == at);
        if links.is_empty() {
            return Err(none());
        }
        Ok(links
            .into_iter()
            .rev()
            .map(NodeReference::removal)
            .collect())
    }
}
