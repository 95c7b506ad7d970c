//! Edits of steps written as markdown: a step leads to the one below it unless it says `next`.

use super::links::Link;
use super::{Ops, Plan};
use crate::formats::edit::op::{Op, key};
use crate::workflow::ERROR_LABEL;
use tramline_expr::{Map, Value};

/// What ends a run.
const END: &str = "end";
/// The fields of a step that name another.
pub(super) const LEADS: [&str; 2] = ["next", "on-error"];

impl Plan<'_> {
    fn id_at(&self, place: usize) -> Option<&str> {
        self.nodes.get(place)?.get("id").and_then(Value::as_str)
    }

    fn says_next(&self, place: usize) -> Option<&str> {
        self.nodes.get(place)?.get("next").and_then(Value::as_str)
    }

    /// Where a step leads, by its word or by the order of the document.
    fn next_of(&self, place: usize) -> &str {
        let below = || self.id_at(place + 1).unwrap_or(END);
        self.says_next(place).map_or_else(below, str::trim)
    }

    fn set_next(&self, place: usize, to: &str) -> Op {
        Op::Set(self.at(place, [key("next")]), to.into())
    }

    /// Puts a new step below another, which leads to it by their order.
    pub(super) fn put_below(&self, at: usize, id: &str, made: &mut Map) -> Ops {
        let Some(next) = self.says_next(at) else {
            return Ok(Vec::new());
        };
        if made.get("next").is_none() {
            made.insert("next", next.into());
        }
        Ok(vec![self.set_next(at, id)])
    }

    /// Takes a step away; what led to it leads to where it led.
    pub(super) fn take_away(&self, id: &str, place: usize) -> Ops {
        let mut heir = self.next_of(place);
        if heir == id {
            heir = self.id_at(place + 1).unwrap_or(END);
        }
        let links = self.links(id).into_iter().filter(|link| link.from != id);
        let mut ops: Vec<Op> = links
            .map(|link| match self.leads_anyhow(&link, heir) {
                true => link.gone(),
                false => Op::Set(link.at, heir.into()),
            })
            .collect();
        // What ran into it by mere order now runs into the one below.
        let before = place
            .checked_sub(1)
            .filter(|at| self.says_next(*at).is_none());
        let below = self.id_at(place + 1).unwrap_or(END);
        if let Some(before) = before.filter(|_| heir != below) {
            ops.push(self.set_next(before, heir));
        }
        ops.push(Op::Remove(self.at(place, [])));
        Ok(ops)
    }

    /// Whether a failure would lead where the step leads without one.
    fn leads_anyhow(&self, link: &Link, heir: &str) -> bool {
        let from = self.place(&link.from).ok();
        link.at.last() == Some(&key("on-error")) && from.map(|at| self.next_of(at)) == Some(heir)
    }

    pub(super) fn lead_step(&self, start: usize, to: &str, label: Option<&str>) -> Ops {
        let from = self.id_at(start).unwrap_or_default();
        match label {
            None | Some("default" | "otherwise") => match self.says_next(start) {
                Some(next) if next.trim() != END => Err(format!(
                    "a step leads to one other: disconnect `{from}` from `{next}` first"
                )),
                Some(_) | None => Ok(vec![self.set_next(start, to)]),
            },
            Some(ERROR_LABEL) => {
                let field = Self::on_error(&self.nodes[start]);
                Ok(vec![Op::Set(self.at(start, [key(field)]), to.into())])
            }
            Some(rule) => self.choose(start, to, rule),
        }
    }

    /// One more rule of a choice, which leads to the step that it names.
    fn choose(&self, start: usize, to: &str, rule: &str) -> Ops {
        let rules = self.nodes[start]
            .get("params")
            .and_then(|it| it.get("rules"));
        let Some(rules) = rules.and_then(Value::as_array) else {
            return Err("only a switch with rules leads on by one".to_owned());
        };
        let rule = Value::from_json(rule).ok();
        let rule = rule.filter(|rule| rule.as_object().is_some());
        let rule = rule.ok_or("the label of a choice's edge is its rule as JSON")?;
        let rule = Value::object([("rule", rule), ("action", to.into())]);
        let list = self.at(start, [key("params"), key("rules")]);
        Ok(vec![Op::Insert(list, rules.len(), rule)])
    }

    pub(super) fn leave_step(&self, start: usize, from: &str, to: &str) -> Ops {
        let mut ops = Vec::new();
        // Without its word a step would lead to the one below it.
        if self.next_of(start) == to {
            ops.push(self.set_next(start, END));
        }
        let mut links = self.links(to);
        let next = self.at(start, [key("next")]);
        links.retain(|link| link.from == from && link.at != next);
        ops.extend(links.into_iter().rev().map(Link::gone));
        match ops.is_empty() {
            true => Err(format!("nothing leads from `{from}` to `{to}`")),
            false => Ok(ops),
        }
    }
}
