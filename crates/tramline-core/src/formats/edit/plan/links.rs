//! The ways between nodes as each format writes them: read, exchanged, taken away.

use super::{Ops, Plan, steps};
use crate::formats::Format;
use crate::formats::edit::op::{Op, Step, find, key, under};
use tramline_expr::{Map, Value};

/// The names of the field that leads on after a failure.
const ON_ERROR: [&str; 2] = ["on-error", "onError"];

/// One place that names a node.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Where the name stands.
    pub(super) at: Vec<Step>,
    /// What is taken away with it: the condition or the edge that it is a part of.
    pub(super) whole: Vec<Step>,
    /// Which node the way leaves.
    pub(super) from: String,
    /// What is left where it stood in a pair: that alone then stands there.
    pub(super) left: Option<Value>,
}

impl Link {
    /// What takes it away.
    pub(super) fn gone(self) -> Op {
        match self.left {
            Some(left) => Op::Set(self.whole, left),
            None => Op::Remove(self.whole),
        }
    }
}

impl Plan<'_> {
    /// Every place that names a node as the end of a way.
    pub(super) fn links(&self, id: &str) -> Vec<Link> {
        let mut links = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            let from = node.get("id").and_then(Value::as_str).unwrap_or_default();
            let fields: &[&str] = match self.format {
                Format::Yaml => &["next", ON_ERROR[0], ON_ERROR[1]],
                Format::Dag => &["depends_on"],
                Format::Markdown => &steps::LEADS,
                Format::Ir => &[],
            };
            for field in fields {
                self.named(
                    node.get(field),
                    self.at(place, [key(field)]),
                    from,
                    id,
                    &mut links,
                );
            }
            let list: &[Step] = match self.format {
                Format::Markdown => &[key("params"), key("rules")],
                Format::Yaml | Format::Dag | Format::Ir => &[key("conditions")],
            };
            let conditions = find(node, list).and_then(Value::as_array);
            for (slot, condition) in conditions.unwrap_or_default().iter().enumerate() {
                for field in ["next", "target", "action"] {
                    if condition.get(field).and_then(Value::as_str) == Some(id) {
                        let list = list.iter().cloned();
                        let whole = self.at(place, list.chain([Step::Place(slot)]));
                        links.push(Link {
                            at: under(&whole, [key(field)]),
                            whole,
                            from: from.to_owned(),
                            left: None,
                        });
                    }
                }
            }
        }
        links
    }

    fn named(
        &self,
        value: Option<&Value>,
        at: Vec<Step>,
        from: &str,
        id: &str,
        links: &mut Vec<Link>,
    ) {
        let link = |at: Vec<Step>| Link {
            whole: at.clone(),
            at,
            from: from.to_owned(),
            left: None,
        };
        match value {
            Some(Value::String(text)) if text == id => links.push(link(at)),
            Some(Value::Array(items)) => {
                let named = items.iter().enumerate();
                let named = named.filter(|(_, item)| item.as_str() == Some(id));
                links.extend(named.map(|(slot, _)| {
                    let own = under(&at, [Step::Place(slot)]);
                    match items.len() {
                        // The last one takes the list with it.
                        1 => Link {
                            at: own,
                            ..link(at.clone())
                        },
                        2 if self.format == Format::Yaml => Link {
                            at: own,
                            left: items.get(1 - slot).cloned(),
                            ..link(at.clone())
                        },
                        _ => link(own),
                    }
                }));
            }
            _ => {}
        }
    }

    /// The edges of an IR that touch a node, each with its place.
    pub(super) fn edges(&self, fits: impl Fn(&Value) -> bool) -> Vec<usize> {
        let edges = self.root.get("edges").and_then(Value::as_array);
        let edges = edges.unwrap_or_default().iter().enumerate();
        edges
            .filter(|(_, edge)| fits(edge))
            .map(|(at, _)| at)
            .collect()
    }

    pub(super) fn rename_links(&self, id: &str, to: &str) -> Vec<Op> {
        let links = self.links(id).into_iter();
        let mut ops: Vec<_> = links.map(|link| Op::Set(link.at, to.into())).collect();
        for end in ["from", "to"] {
            for at in self.edges(|edge| edge.get(end).and_then(Value::as_str) == Some(id)) {
                let at = vec![key("edges"), Step::Place(at), key(end)];
                ops.push(Op::Set(at, to.into()));
            }
        }
        let start = vec![key("start_node")];
        if self.format == Format::Ir && find(self.root, &start).and_then(Value::as_str) == Some(id)
        {
            ops.push(Op::Set(start, to.into()));
        }
        let tool = self.list.split_last().map(|(_, tool)| tool.to_vec());
        for end in ["entryNode", "exitNode"] {
            let at = tool.as_deref().map(|tool| under(tool, [key(end)]));
            let at = at.filter(|at| {
                let named = super::find(self.root, at);
                self.format == Format::Yaml && named.and_then(Value::as_str) == Some(id)
            });
            ops.extend(at.map(|at| Op::Set(at, to.into())));
        }
        ops
    }

    pub(super) fn remove(&self, id: &str) -> Ops {
        let place = self.place(id)?;
        if self.nodes.len() == 1 {
            return Err("the last node cannot be taken away".to_owned());
        }
        if self.format == Format::Markdown {
            return self.take_away(id, place);
        }
        let heir = match self.format {
            Format::Yaml => self.nodes[place].get("next").and_then(Value::as_str),
            Format::Dag | Format::Ir | Format::Markdown => None,
        };
        let heir = heir.filter(|heir| *heir != id);
        let links = self.links(id).into_iter().filter(|link| link.from != id);
        let mut ops: Vec<Op> = match heir {
            Some(heir) => links.map(|link| Op::Set(link.at, heir.into())).collect(),
            // From the last to the first, so that places stay true.
            None => links.rev_places().map(Link::gone).collect(),
        };
        let touches = |edge: &Value| {
            let end = |end: &str| edge.get(end).and_then(Value::as_str) == Some(id);
            end("from") || end("to")
        };
        let edges = self.edges(touches).into_iter().rev();
        ops.extend(edges.map(|at| Op::Remove(vec![key("edges"), Step::Place(at)])));
        ops.push(Op::Remove(self.at(place, [])));
        Ok(ops)
    }

    /// The field that leads on after a failure, by the name that the node has for it.
    pub(super) fn on_error(node: &Value) -> &'static str {
        let has = |name: &&&str| node.get(name).is_some();
        ON_ERROR.iter().find(has).copied().unwrap_or(ON_ERROR[0])
    }

    /// An edge of an IR.
    pub(super) fn edge(from: &str, to: &str, label: Option<&str>) -> Value {
        let mut edge = Map::new();
        edge.insert("from", from.into());
        edge.insert("to", to.into());
        if let Some(label) = label {
            edge.insert("action", label.into());
        }
        edge.into()
    }
}

/// Links from the last place to the first.
trait RevPlaces: Iterator<Item = Link> + Sized {
    fn rev_places(self) -> std::iter::Rev<std::vec::IntoIter<Link>> {
        self.collect::<Vec<_>>().into_iter().rev()
    }
}

impl<I: Iterator<Item = Link>> RevPlaces for I {}
