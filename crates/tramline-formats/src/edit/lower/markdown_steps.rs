//! Edits markdown steps. A step leads to the one below it unless it has `next`.

use super::node_references::NodeReference;
use super::{EditLowering, Ops};
use crate::edit::op::{ValueOp, key_step};
use tramline_expr::{Map, Value};
use tramline_workflow::workflow::ERROR_LABEL;

/// The target that ends a run.
const END: &str = "end";
/// The fields of a step that refer to another step.
pub(super) const TARGET_FIELDS: [&str; 5] =
    ["next", "on-error", "on-decline", "on-cancel", "on-timeout"];

impl EditLowering<'_> {
    fn id_at(&self, place: usize) -> Option<&str> {
        self.nodes.get(place)?.get("id").and_then(Value::as_str)
    }

    fn explicit_next(&self, place: usize) -> Option<&str> {
        self.nodes.get(place)?.get("next").and_then(Value::as_str)
    }

    /// The successor of a step: its `next`, or else the step below it.
    fn successor(&self, place: usize) -> &str {
        let below = || self.id_at(place + 1).unwrap_or(END);
        self.explicit_next(place).map_or_else(below, str::trim)
    }

    fn set_next(&self, place: usize, to: &str) -> ValueOp {
        ValueOp::Set(self.node_path(place, [key_step("next")]), to.into())
    }

    /// Inserts a new step below another, which leads to it by document order.
    pub(super) fn insert_below(&self, at: usize, id: &str, made: &mut Map) -> Ops {
        let Some(next) = self.explicit_next(at) else {
            return Ok(Vec::new());
        };
        if made.get("next").is_none() {
            made.insert("next", next.into());
        }
        Ok(vec![self.set_next(at, id)])
    }

    /// Removes a step; its incoming edges are redirected to its successor.
    pub(super) fn remove_step(&self, id: &str, place: usize) -> Ops {
        let mut heir = self.successor(place);
        if heir == id {
            heir = self.id_at(place + 1).unwrap_or(END);
        }
        let links = self
            .references_to(id)
            .into_iter()
            .filter(|link| link.from != id);
        let mut ops: Vec<ValueOp> = links
            .map(|link| match self.is_redundant(&link, heir) {
                true => link.removal(),
                false => ValueOp::Set(link.at, heir.into()),
            })
            .collect();
        // The step before it, if it has no `next`, now leads to the step below.
        let before = place
            .checked_sub(1)
            .filter(|at| self.explicit_next(*at).is_none());
        let below = self.id_at(place + 1).unwrap_or(END);
        if let Some(before) = before.filter(|_| heir != below) {
            ops.push(self.set_next(before, heir));
        }
        ops.push(ValueOp::Remove(self.node_path(place, [])));
        Ok(ops)
    }

    /// Whether the failure edge would lead to the normal successor anyway.
    fn is_redundant(&self, link: &NodeReference, heir: &str) -> bool {
        let from = self.node_index(&link.from).ok();
        link.at.last() == Some(&key_step("on-error"))
            && from.map(|at| self.successor(at)) == Some(heir)
    }

    pub(super) fn connect_step(&self, start: usize, to: &str, label: Option<&str>) -> Ops {
        let from = self.id_at(start).unwrap_or_default();
        match label {
            None | Some("default" | "otherwise") => match self.explicit_next(start) {
                Some(next) if next.trim() != END => Err(format!(
                    "a step has one successor: disconnect `{from}` from `{next}` first"
                )),
                Some(_) | None => Ok(vec![self.set_next(start, to)]),
            },
            Some(ERROR_LABEL) => {
                let field = Self::on_error_field(&self.nodes[start]);
                Ok(vec![ValueOp::Set(
                    self.node_path(start, [key_step(field)]),
                    to.into(),
                )])
            }
            Some(label) => match Self::ask_edge_field(&self.nodes[start], label) {
                Some(field) => {
                    let at = self.node_path(start, [key_step(field)]);
                    Ok(vec![ValueOp::Set(at, to.into())])
                }
                None => self.add_rule(start, to, label),
            },
        }
    }

    /// Adds a rule to a switch; the rule leads to the step it names.
    fn add_rule(&self, start: usize, to: &str, rule: &str) -> Ops {
        let rules = self.nodes[start]
            .get("params")
            .and_then(|it| it.get("rules"));
        let Some(rules) = rules.and_then(Value::as_array) else {
            return Err("only a switch with rules can have another branch".to_owned());
        };
        let rule = Value::from_json(rule).ok();
        let rule = rule.filter(|rule| rule.as_object().is_some());
        let rule = rule.ok_or("the label of a switch branch must be its rule as JSON")?;
        let rule = Value::object([("rule", rule), ("action", to.into())]);
        let list = self.node_path(start, [key_step("params"), key_step("rules")]);
        Ok(vec![ValueOp::Insert(list, rules.len(), rule)])
    }

    pub(super) fn disconnect_step(&self, start: usize, from: &str, to: &str) -> Ops {
        let mut ops = Vec::new();
        // Without `next` the step would lead to the one below it.
        if self.successor(start) == to {
            ops.push(self.set_next(start, END));
        }
        let mut links = self.references_to(to);
        let next = self.node_path(start, [key_step("next")]);
        links.retain(|link| link.from == from && link.at != next);
        ops.extend(links.into_iter().rev().map(NodeReference::removal));
        match ops.is_empty() {
            true => Err(format!("there is no edge from `{from}` to `{to}`")),
            false => Ok(ops),
        }
    }
}
