//! References between nodes in each format: finds, renames and removes them.

use super::{EditLowering, Ops, markdown_steps};
use crate::Format;
use crate::ask_form::{ASK, ASK_EDGES, edge_field};
use crate::edit::op::{ValueOp, ValueStep, extend_path, key_step, value_at};
use tramline_expr::{Map, Value};

/// The names of the field that routes a failure.
const ON_ERROR: [&str; 2] = ["on-error", "onError"];
/// The fields of a YAML node that refer to another node.
const YAML_TARGET_FIELDS: [&str; 9] = [
    "next",
    ON_ERROR[0],
    ON_ERROR[1],
    ASK_EDGES[0].0,
    ASK_EDGES[1].0,
    ASK_EDGES[2].0,
    ASK_EDGES[3].0,
    ASK_EDGES[4].0,
    ASK_EDGES[5].0,
];

/// A reference to a node.
#[derive(Clone, Debug)]
pub(super) struct NodeReference {
    /// The path of the reference.
    pub(super) at: Vec<ValueStep>,
    /// The path to delete with it: the condition or the edge that contains it.
    pub(super) container: Vec<ValueStep>,
    /// The source node.
    pub(super) from: String,
    /// For one of two entries: the entry that remains and replaces the list.
    pub(super) remaining: Option<Value>,
}

impl NodeReference {
    /// The op that removes it.
    pub(super) fn removal(self) -> ValueOp {
        match self.remaining {
            Some(left) => ValueOp::Set(self.container, left),
            None => ValueOp::Remove(self.container),
        }
    }
}

impl EditLowering<'_> {
    /// All references to a node as an edge target.
    pub(super) fn references_to(&self, id: &str) -> Vec<NodeReference> {
        let mut links = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            let from = node.get("id").and_then(Value::as_str).unwrap_or_default();
            let fields: &[&str] = match self.format {
                Format::Yaml => &YAML_TARGET_FIELDS,
                Format::Dag => &["depends_on"],
                Format::Markdown => &markdown_steps::TARGET_FIELDS,
                Format::Ir => &[],
            };
            for field in fields {
                self.collect_references(
                    node.get(field),
                    self.node_path(place, [key_step(field)]),
                    from,
                    id,
                    &mut links,
                );
            }
            let list: &[ValueStep] = match self.format {
                Format::Markdown => &[key_step("params"), key_step("rules")],
                Format::Yaml | Format::Dag | Format::Ir => &[key_step("conditions")],
            };
            let conditions = value_at(node, list).and_then(Value::as_array);
            for (slot, condition) in conditions.unwrap_or_default().iter().enumerate() {
                for field in ["next", "target", "action"] {
                    if condition.get(field).and_then(Value::as_str) == Some(id) {
                        let list = list.iter().cloned();
                        let whole = self.node_path(place, list.chain([ValueStep::Index(slot)]));
                        links.push(NodeReference {
                            at: extend_path(&whole, [key_step(field)]),
                            container: whole,
                            from: from.to_owned(),
                            remaining: None,
                        });
                    }
                }
            }
        }
        links
    }

    fn collect_references(
        &self,
        value: Option<&Value>,
        at: Vec<ValueStep>,
        from: &str,
        id: &str,
        links: &mut Vec<NodeReference>,
    ) {
        let link = |at: Vec<ValueStep>| NodeReference {
            container: at.clone(),
            at,
            from: from.to_owned(),
            remaining: None,
        };
        match value {
            Some(Value::String(text)) if text == id => links.push(link(at)),
            Some(Value::Array(items)) => {
                let named = items.iter().enumerate();
                let named = named.filter(|(_, item)| item.as_str() == Some(id));
                links.extend(named.map(|(slot, _)| {
                    let own = extend_path(&at, [ValueStep::Index(slot)]);
                    match items.len() {
                        // Remove the list with its last item.
                        1 => NodeReference {
                            at: own,
                            ..link(at.clone())
                        },
                        2 if self.format == Format::Yaml => NodeReference {
                            at: own,
                            remaining: items.get(1 - slot).cloned(),
                            ..link(at.clone())
                        },
                        _ => link(own),
                    }
                }));
            }
            _ => {}
        }
    }

    /// The indexes of the IR edges that match.
    pub(super) fn edge_indexes(&self, fits: impl Fn(&Value) -> bool) -> Vec<usize> {
        let edges = self.root.get("edges").and_then(Value::as_array);
        let edges = edges.unwrap_or_default().iter().enumerate();
        edges
            .filter(|(_, edge)| fits(edge))
            .map(|(at, _)| at)
            .collect()
    }

    pub(super) fn rename_references(&self, id: &str, to: &str) -> Vec<ValueOp> {
        let links = self.references_to(id).into_iter();
        let mut ops: Vec<_> = links.map(|link| ValueOp::Set(link.at, to.into())).collect();
        for end in ["from", "to"] {
            for at in self.edge_indexes(|edge| edge.get(end).and_then(Value::as_str) == Some(id)) {
                let at = vec![key_step("edges"), ValueStep::Index(at), key_step(end)];
                ops.push(ValueOp::Set(at, to.into()));
            }
        }
        let start = vec![key_step("start_node")];
        if self.format == Format::Ir
            && value_at(self.root, &start).and_then(Value::as_str) == Some(id)
        {
            ops.push(ValueOp::Set(start, to.into()));
        }
        let tool = self.list.split_last().map(|(_, tool)| tool.to_vec());
        for end in ["entryNode", "exitNode"] {
            let at = tool
                .as_deref()
                .map(|tool| extend_path(tool, [key_step(end)]));
            let at = at.filter(|at| {
                let named = super::value_at(self.root, at);
                self.format == Format::Yaml && named.and_then(Value::as_str) == Some(id)
            });
            ops.extend(at.map(|at| ValueOp::Set(at, to.into())));
        }
        ops
    }

    pub(super) fn remove_node(&self, id: &str) -> Ops {
        let place = self.node_index(id)?;
        if self.nodes.len() == 1 {
            return Err("the last node cannot be removed".to_owned());
        }
        if self.format == Format::Markdown {
            return self.remove_step(id, place);
        }
        let heir = match self.format {
            Format::Yaml => self.nodes[place].get("next").and_then(Value::as_str),
            Format::Dag | Format::Ir | Format::Markdown => None,
        };
        let heir = heir.filter(|heir| *heir != id);
        let links = self
            .references_to(id)
            .into_iter()
            .filter(|link| link.from != id);
        let mut ops: Vec<ValueOp> = match heir {
            Some(heir) => links
                .map(|link| ValueOp::Set(link.at, heir.into()))
                .collect(),
            // In reverse, so that indexes stay valid.
            None => links.reversed().map(NodeReference::removal).collect(),
        };
        let touches = |edge: &Value| {
            let end = |end: &str| edge.get(end).and_then(Value::as_str) == Some(id);
            end("from") || end("to")
        };
        let edges = self.edge_indexes(touches).into_iter().rev();
        ops.extend(edges.map(|at| ValueOp::Remove(vec![key_step("edges"), ValueStep::Index(at)])));
        ops.push(ValueOp::Remove(self.node_path(place, [])));
        Ok(ops)
    }

    /// The field that routes a failure, under the name the node already uses.
    pub(super) fn on_error_field(node: &Value) -> &'static str {
        let has = |name: &&&str| node.get(name).is_some();
        ON_ERROR.iter().find(has).copied().unwrap_or(ON_ERROR[0])
    }

    /// The field that routes a form that was not filled in, if the node asks with one.
    pub(super) fn ask_edge_field(node: &Value, label: &str) -> Option<&'static str> {
        let is_ask = node.get("type").and_then(Value::as_str) == Some(ASK);
        edge_field(label).filter(|_| is_ask)
    }

    /// An edge of an IR.
    pub(super) fn ir_edge(from: &str, to: &str, label: Option<&str>) -> Value {
        let mut edge = Map::new();
        edge.insert("from", from.into());
        edge.insert("to", to.into());
        if let Some(label) = label {
            edge.insert("action", label.into());
        }
        edge.into()
    }
}

/// Links in reverse order.
trait ReverseReferences: Iterator<Item = NodeReference> + Sized {
    fn reversed(self) -> std::iter::Rev<std::vec::IntoIter<NodeReference>> {
        self.collect::<Vec<_>>().into_iter().rev()
    }
}

impl<I: Iterator<Item = NodeReference>> ReverseReferences for I {}
