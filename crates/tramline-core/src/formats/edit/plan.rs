//! What an edit means for the value of a document, format by format.

use super::Edit;
use super::op::{Op, Step, find, key, under};
use crate::formats::Format;
use crate::formats::json_dag::PLAN;
use crate::text::nearest;
use tramline_expr::{Map, Value};

mod arrows;
mod links;
mod renaming;
mod steps;

/// A document with the list of nodes that is edited.
pub(super) struct Plan<'v> {
    root: &'v Value,
    format: Format,
    /// Where the list of nodes stands.
    list: Vec<Step>,
    nodes: &'v [Value],
}

type Ops = Result<Vec<Op>, String>;

/// The elementary changes of an edit, in order.
pub(super) fn plan(root: &Value, format: Format, workflow: Option<&str>, edit: &Edit) -> Ops {
    let list = list(root, format, workflow)?;
    let nodes = find(root, &list).and_then(Value::as_array);
    let plan = Plan {
        root,
        format,
        list,
        nodes: nodes.ok_or("there is no list of nodes")?,
    };
    match edit {
        Edit::AddNode { after, node } => {
            let node = Value::from(serde_json::Value::from(node.clone()));
            plan.add(after.as_deref(), &node)
        }
        Edit::RemoveNode { id } => plan.remove(id),
        Edit::RenameNode { id, to } => plan.rename(id, to),
        Edit::Connect { from, to, label } => plan.connect(from, to, label.as_deref()),
        Edit::Disconnect { from, to } => plan.disconnect(from, to),
        Edit::SetField { id, path, value } => plan.set_field(id, path, value),
    }
}

/// Where the nodes of a workflow stand.
fn list(root: &Value, format: Format, workflow: Option<&str>) -> Result<Vec<Step>, String> {
    if format == Format::Dag {
        return Ok(match root {
            Value::Array(_) => Vec::new(),
            _ if root.get("tasks").is_some() => vec![key("tasks")],
            _ if root.get(PLAN).is_some() => vec![key(PLAN)],
            _ => vec![key("workflow"), key("tasks")],
        });
    }
    let tools = root.get("tools").and_then(Value::as_array);
    let Some(tools) = tools.filter(|_| format == Format::Yaml) else {
        return Ok(vec![key("nodes")]);
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
        return Err(format!("name one of the workflows {}", all.join(", ")));
    };
    Ok(match tools[at].get("nodes") {
        Some(_) => vec![key("tools"), Step::Place(at), key("nodes")],
        None => vec![key("nodes")],
    })
}

impl Plan<'_> {
    /// Whether the order of the nodes is the way that they lead.
    fn is_chain(&self) -> bool {
        self.list == [key(PLAN)]
    }

    /// Why nothing is connected here by hand.
    fn no_chain(&self) -> Result<(), String> {
        match self.is_chain() {
            true => Err(
                "a plan is done in its order: add or remove its steps, or write \
                         them as `tasks` with `depends_on`"
                    .to_owned(),
            ),
            false => Ok(()),
        }
    }

    /// The place of a node.
    fn place(&self, id: &str) -> Result<usize, String> {
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

    fn at(&self, place: usize, more: impl IntoIterator<Item = Step>) -> Vec<Step> {
        let own = [Step::Place(place)].into_iter().chain(more);
        under(&self.list, own)
    }

    fn add(&self, after: Option<&str>, node: &Value) -> Ops {
        let Some(id) = node
            .get("id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
        else {
            return Err("give the node an `id`".to_owned());
        };
        if self.place(id).is_ok() {
            return Err(format!("there is a node `{id}` already"));
        }
        let mut made = self.written(node);
        let mut ops = Vec::new();
        let place = match after {
            None => self.nodes.len(),
            Some(after) => {
                let at = self.place(after)?;
                ops = self.lead_through(at, after, id, &mut made)?;
                at + 1
            }
        };
        ops.push(Op::Insert(self.list.clone(), place, made.into()));
        // Edges of their own name nodes that must be there.
        ops.rotate_right(1);
        Ok(ops)
    }

    /// A node as its format writes it: the kinds of drawings are its types.
    fn written(&self, node: &Value) -> Map {
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
                // A step without parameters has no lines for them.
                ("params", _)
                    if self.format == Format::Markdown
                        && value.as_object().is_none_or(|map| map.is_empty()) => {}
                _ => drop(made.insert(name.clone(), value.clone())),
            }
        }
        made
    }

    fn set_field(&self, id: &str, path: &[serde_json::Value], value: &serde_json::Value) -> Ops {
        let place = self.place(id)?;
        let steps: Option<Vec<Step>> = path
            .iter()
            .map(|step| match step {
                serde_json::Value::String(name) => Some(key(name)),
                serde_json::Value::Number(at) => at.as_u64().map(|at| Step::Place(at as usize)),
                _ => None,
            })
            .collect();
        let steps = steps.filter(|steps| !steps.is_empty());
        let steps = steps.ok_or("a path is made of keys and places")?;
        if steps == [key("id")] {
            return Err("an id is changed by renaming the node".to_owned());
        }
        let at = self.at(place, steps);
        Ok(match value {
            serde_json::Value::Null => match find(self.root, &at) {
                Some(_) => vec![Op::Remove(at)],
                None => Vec::new(),
            },
            value => vec![Op::Set(at, value.clone().into())],
        })
    }
}
