//! Turns an edit into elementary changes of the document's value, per format.

use super::GraphEdit;
use super::op::{ValueOp, ValueStep, extend_path, key_step, value_at};
use crate::Format;
use crate::json_dag::PLAN_FIELD;
use tramline_expr::{Map, Value};
use tramline_workflow::text::nearest;

mod edges;
mod markdown_steps;
mod node_references;
mod rename_node;

/// A document and its list of nodes.
pub(super) struct EditLowering<'v> {
    root: &'v Value,
    format: Format,
    /// The path to the list of nodes.
    list: Vec<ValueStep>,
    nodes: &'v [Value],
}

type Ops = Result<Vec<ValueOp>, String>;

/// The elementary changes of an edit, in order.
pub(super) fn lower_edit(
    root: &Value,
    format: Format,
    workflow: Option<&str>,
    edit: &GraphEdit,
) -> Ops {
    let list = node_list_path(root, format, workflow)?;
    let nodes = value_at(root, &list).and_then(Value::as_array);
    let plan = EditLowering {
        root,
        format,
        list,
        nodes: nodes.ok_or("there is no list of nodes")?,
    };
    match edit {
        GraphEdit::AddNode { after, node } => {
            let node = Value::from(serde_json::Value::from(node.clone()));
            plan.add_node(after.as_deref(), &node)
        }
        GraphEdit::RemoveNode { id } => plan.remove_node(id),
        GraphEdit::RenameNode { id, to } => plan.rename(id, to),
        GraphEdit::Connect { from, to, label } => plan.connect(from, to, label.as_deref()),
        GraphEdit::Disconnect { from, to } => plan.disconnect(from, to),
        GraphEdit::SetField { id, path, value } => plan.set_field(id, path, value),
    }
}

/// The path to the nodes of a workflow.
fn node_list_path(
    root: &Value,
    format: Format,
    workflow: Option<&str>,
) -> Result<Vec<ValueStep>, String> {
    if format == Format::Dag {
        return Ok(match root {
            Value::Array(_) => Vec::new(),
            _ if root.get("tasks").is_some() => vec![key_step("tasks")],
            _ if root.get(PLAN_FIELD).is_some() => vec![key_step(PLAN_FIELD)],
            _ => vec![key_step("workflow"), key_step("tasks")],
        });
    }
    let tools = root.get("tools").and_then(Value::as_array);
    let Some(tools) = tools.filter(|_| format == Format::Yaml) else {
        return Ok(vec![key_step("nodes")]);
    };
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
    let at = match workflow {
        Some(wanted) => tools
            .iter()
            .position(|it| name(it).as_deref() == Some(wanted)),
        None => (tools.len() == 1).then_some(0),
    };
    let Some(at) = at else {
        let all: Vec<_> = tools.iter().filter_map(name).collect();
        return Err(format!("choose one of the workflows {}", all.join(", ")));
    };
    Ok(match tools[at].get("nodes") {
        Some(_) => vec![key_step("tools"), ValueStep::Index(at), key_step("nodes")],
        None => vec![key_step("nodes")],
    })
}

impl EditLowering<'_> {
    /// Whether the nodes run in list order, without explicit edges.
    fn is_chain(&self) -> bool {
        self.list == [key_step(PLAN_FIELD)]
    }

    /// Rejects explicit edges in a plan.
    fn reject_chain(&self) -> Result<(), String> {
        match self.is_chain() {
            true => Err("a plan runs in list order: add or remove steps, or write \
                         them as `tasks` with `depends_on`"
                .to_owned()),
            false => Ok(()),
        }
    }

    /// The index of a node.
    fn node_index(&self, id: &str) -> Result<usize, String> {
        let own = |node: &Value| node.get("id").and_then(Value::as_str) == Some(id);
        self.nodes.iter().position(own).ok_or_else(|| {
            let ids = self
                .nodes
                .iter()
                .filter_map(|node| node.get("id")?.as_str());
            let near = nearest(id, ids);
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("there is no node `{id}`{near}")
        })
    }

    fn node_path(&self, place: usize, more: impl IntoIterator<Item = ValueStep>) -> Vec<ValueStep> {
        let own = [ValueStep::Index(place)].into_iter().chain(more);
        extend_path(&self.list, own)
    }

    fn add_node(&self, after: Option<&str>, node: &Value) -> Ops {
        let Some(id) = node
            .get("id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
        else {
            return Err("give the node an `id`".to_owned());
        };
        if self.node_index(id).is_ok() {
            return Err(format!("a node `{id}` already exists"));
        }
        let mut made = self.node_in_format(node);
        let mut ops = Vec::new();
        let place = match after {
            None => self.nodes.len(),
            Some(after) => {
                let at = self.node_index(after)?;
                ops = self.insert_between(at, after, id, &mut made)?;
                at + 1
            }
        };
        ops.push(ValueOp::Insert(self.list.clone(), place, made.into()));
        // Insert the node first: explicit edges refer to nodes that must exist.
        ops.rotate_right(1);
        Ok(ops)
    }

    /// A node in the syntax of its format: a diagram kind becomes the `type`.
    fn node_in_format(&self, node: &Value) -> Map {
        let mut made = Map::new();
        for (name, value) in node.as_object().into_iter().flat_map(Map::iter) {
            match (name.as_str(), value.as_str()) {
                ("kind", kind) if node.get("type").is_none() && self.format == Format::Yaml => {
                    let kind = match kind.unwrap_or_default() {
                        "call" => "mcp",
                        "compute" => "transform",
                        "choose" => "switch",
                        other => other,
                    };
                    made.insert("type", kind.into());
                }
                ("kind", _) => {}
                // A markdown step without parameters has no lines for them.
                ("params", _)
                    if self.format == Format::Markdown
                        && value.as_object().is_none_or(|map| map.is_empty()) => {}
                _ => drop(made.insert(name.clone(), value.clone())),
            }
        }
        made
    }

    fn set_field(&self, id: &str, path: &[serde_json::Value], value: &serde_json::Value) -> Ops {
        let place = self.node_index(id)?;
        let steps: Option<Vec<ValueStep>> = path
            .iter()
            .map(|step| match step {
                serde_json::Value::String(name) => Some(key_step(name)),
                serde_json::Value::Number(at) => {
                    at.as_u64().map(|at| ValueStep::Index(at as usize))
                }
                _ => None,
            })
            .collect();
        let steps = steps.filter(|steps| !steps.is_empty());
        let steps = steps.ok_or("a path consists of keys and indexes")?;
        if steps == [key_step("id")] {
            return Err("use `rename_node` to change an id".to_owned());
        }
        let at = self.node_path(place, steps);
        Ok(match value {
            serde_json::Value::Null => match value_at(self.root, &at) {
                Some(_) => vec![ValueOp::Remove(at)],
                None => Vec::new(),
            },
            value => vec![ValueOp::Set(at, value.clone().into())],
        })
    }
}
