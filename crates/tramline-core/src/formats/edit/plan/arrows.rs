//! Ways that are drawn or rubbed out between two nodes.

use super::links::Link;
use super::{Ops, Plan};
use crate::formats::Format;
use crate::formats::edit::op::{Op, Step, key};
use crate::workflow::ERROR_LABEL;
use tramline_expr::{Map, Value};

impl Plan<'_> {
    /// Puts a new node between a node and what comes after it.
    pub(super) fn lead_through(&self, at: usize, after: &str, id: &str, made: &mut Map) -> Ops {
        match self.format {
            Format::Yaml => {
                let old = self.nodes[at].get("next").cloned();
                if let (Some(old), None) = (&old, made.get("next")) {
                    made.insert("next", old.clone());
                }
                let is_exit = self.nodes[at].get("type").and_then(Value::as_str) == Some("exit");
                if is_exit {
                    return Err(format!("`{after}` is an exit: nothing comes after it"));
                }
                Ok(vec![Op::Set(self.at(at, [key("next")]), id.into())])
            }
            Format::Dag => {
                if made.get("depends_on").is_none() && !self.is_chain() {
                    made.insert("depends_on", Value::array([after.into()]));
                }
                Ok(Vec::new())
            }
            Format::Ir => Ok(vec![self.add_edge(after, id, None)]),
            Format::Markdown => self.put_below(at, id, made),
        }
    }

    fn add_edge(&self, from: &str, to: &str, label: Option<&str>) -> Op {
        let edge = Self::edge(from, to, label);
        match self.root.get("edges").and_then(Value::as_array) {
            Some(edges) => Op::Insert(vec![key("edges")], edges.len(), edge),
            None => Op::Set(vec![key("edges")], Value::array([edge])),
        }
    }

    pub(super) fn connect(&self, from: &str, to: &str, label: Option<&str>) -> Ops {
        let (start, end) = (self.place(from)?, self.place(to)?);
        self.no_chain()?;
        match (self.format, label) {
            (Format::Ir, label) => Ok(vec![self.add_edge(from, to, label)]),
            (Format::Markdown, label) => self.lead_step(start, to, label),
            (Format::Dag, None) => self.join_list(end, "depends_on", from),
            (Format::Dag, Some(_)) => Err("the edges of a DAG have no labels".to_owned()),
            (Format::Yaml, Some(ERROR_LABEL)) => {
                let field = Self::on_error(&self.nodes[start]);
                Ok(vec![Op::Set(self.at(start, [key(field)]), to.into())])
            }
            (Format::Yaml, label) => self.lead(start, to, label),
        }
    }

    fn lead(&self, start: usize, to: &str, label: Option<&str>) -> Ops {
        let node = &self.nodes[start];
        let conditions = node.get("conditions").and_then(Value::as_array);
        let is_choice =
            conditions.is_some() || node.get("type").and_then(Value::as_str) == Some("switch");
        let rule = label.filter(|label| !matches!(*label, "default" | "otherwise"));
        match (is_choice, rule) {
            (true, Some(rule)) => {
                let rule = Value::from_json(rule).ok();
                let rule = rule.filter(|rule| rule.as_object().is_some());
                let rule = rule.ok_or("the label of a choice's edge is its rule as JSON")?;
                let condition = Value::object([("rule", rule), ("next", to.into())]);
                let list = self.at(start, [key("conditions")]);
                Ok(vec![match conditions {
                    Some(all) => Op::Insert(list, all.len(), condition),
                    None => Op::Set(list, Value::array([condition])),
                }])
            }
            (true, None) => match node.get("next") {
                None => Ok(vec![Op::Set(self.at(start, [key("next")]), to.into())]),
                Some(_) => Err("a choice has one way otherwise: say a rule".to_owned()),
            },
            (false, None) => self.join_list(start, "next", to),
            (false, Some(_)) => Err("only the edges of choices have rules".to_owned()),
        }
    }

    /// Adds a name to a field that holds none, one or a list of them.
    fn join_list(&self, place: usize, field: &str, name: &str) -> Ops {
        let at = self.at(place, [key(field)]);
        let there = || Err(format!("`{name}` stands there already"));
        Ok(vec![match self.nodes[place].get(field) {
            None | Some(Value::Null) if field == "next" => Op::Set(at, name.into()),
            None | Some(Value::Null) => Op::Set(at, Value::array([name.into()])),
            Some(Value::Array(all)) if all.iter().any(|it| it.as_str() == Some(name)) => {
                return there();
            }
            Some(Value::Array(all)) => Op::Insert(at, all.len(), name.into()),
            Some(one) if one.as_str() == Some(name) => return there(),
            Some(one) => Op::Set(at, Value::array([one.clone(), name.into()])),
        }])
    }

    pub(super) fn disconnect(&self, from: &str, to: &str) -> Ops {
        let start = self.place(from)?;
        self.place(to)?;
        self.no_chain()?;
        if self.format == Format::Markdown {
            return self.leave_step(start, from, to);
        }
        let none = || format!("nothing leads from `{from}` to `{to}`");
        if self.format == Format::Ir {
            let end = |edge: &Value, end: &str, id: &str| {
                edge.get(end).and_then(Value::as_str) == Some(id)
            };
            let edges = self.edges(|edge| end(edge, "from", from) && end(edge, "to", to));
            let ops: Vec<_> = edges
                .into_iter()
                .rev()
                .map(|at| Op::Remove(vec![key("edges"), Step::Place(at)]))
                .collect();
            return if ops.is_empty() { Err(none()) } else { Ok(ops) };
        }
        // A DAG writes its ways at their ends.
        let (named, at) = match self.format {
            Format::Dag => (from, to),
            Format::Yaml | Format::Ir | Format::Markdown => (to, from),
        };
        let mut links = self.links(named);
        links.retain(|link: &Link| link.from == at);
        if links.is_empty() {
            return Err(none());
        }
        Ok(links.into_iter().rev().map(Link::gone).collect())
    }
}
