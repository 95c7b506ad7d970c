//! DAGs of tasks as JSON: each task calls a tool and names the tasks it depends on.
//!
//! A task runs when all it depends on has, and a task that fails takes down only what depends on
//! it. What a task gives is referred to by `$OUTPUT[id]`. A plan is such a document too: its tasks
//! stand under `plan`, and each depends on the one before it.

use super::document::{self, At, Tree};
use super::sketch::{self, Sketch, Sources};
use super::yaml_graph::{Document, fields, limits, servers, tools};
use super::{Flaws, Hint};
use crate::flaw::{Code, Flaw};
use crate::workflow::{Action, Edge, Limits, Node, Retry, Unhandled, Workflow};
use tramline_expr::{Str, Value};

mod arguments;
mod cycles;
mod editor;
mod patch;
mod tasks;
mod write;

pub use editor::json_schema;
pub use patch::{Growth, read_patch};
pub use write::write;

/// What the entry is called, unless a task has that name: expressions see the input under it.
const ENTRY: [&str; 3] = ["entry", "input", "dag_input"];

/// What happens to a call whose server is away for a moment: long enough for one that restarts.
const TRANSIENT: Retry = Retry {
    max: 3,
    wait_ms: 250,
    backoff: 3.0,
};

/// The fields of a document. Those of a caller's request that are not about the tasks are let be.
const KNOWN: [&str; 17] = [
    "version",
    "entry",
    "name",
    "title",
    "description",
    "intent",
    "config",
    "workflow",
    "inputSchema",
    "parameters",
    "outputSchema",
    "mcpServers",
    "servers",
    "executionLimits",
    "tasks",
    PLAN,
    "$schema",
];

/// The tasks of a plan: each begins when the one before it has ended.
pub(super) const PLAN: &str = "plan";

/// Reads a DAG from a value, as a caller hands it over. Places are JSON pointers.
pub fn read_value(value: &Value, hint: Hint<'_>) -> Result<Document, Vec<Flaw>> {
    read_tree(&document::of_value(value)?, hint)
}

/// Reads a DAG that was made out of text already.
pub(super) fn read_tree(tree: &Tree, hint: Hint<'_>) -> Result<Document, Vec<Flaw>> {
    let mut flaws = Flaws::default();
    let root = tree.root();
    let about = match fields::given(root, "workflow") {
        Some(inner) if inner.value.as_object().is_some() => inner,
        Some(_) | None => root,
    };
    fields::unknown(root, "the document", &KNOWN, &mut flaws);
    if about.place().pointer != root.place().pointer {
        fields::unknown(about, "`workflow`", &KNOWN, &mut flaws);
    }
    let servers = servers::downstream(root, &mut flaws);
    let Some(list) = task_list(root, about, &mut flaws) else {
        return Err(flaws.sorted());
    };
    let given = fields::given_as(about, &["inputSchema", "parameters"]);
    let input = given.and_then(|(key, at)| tools::schema(at, key, &mut flaws));
    let output = fields::given(about, "outputSchema");
    let output = output.and_then(|at| tools::schema(at, "outputSchema", &mut flaws));
    let mut title = |key: &str| sketch::text(about, key, &mut flaws);
    let workflow = Workflow {
        title: title("title"),
        description: title("description").or_else(|| title("intent")),
        output_schema: output.map(|(schema, _)| schema),
        unhandled: Unhandled::SkipsDependents,
        cautious: true,
        transient: Some(TRANSIENT),
        ..Workflow::default()
    };
    let mut sketch = Sketch::new(workflow, about);
    sketch.workflow.name = sketch::name(about, hint.name, &mut flaws);
    sketch.workflow.limits = limits::read(about, bounds(list), &mut flaws);
    let named = fields::text(about, "entry", &mut flaws).map(|(name, _)| name);
    let ids = tasks::Ids::of(list, named);
    let mut tasks: Vec<_> = list
        .items()
        .enumerate()
        .map(|(number, at)| tasks::Task::read(at, number, &ids, &mut flaws))
        .collect();
    if fields::given(about, "tasks").is_none() && fields::given(about, PLAN).is_some() {
        tasks::in_order(&mut tasks);
    }
    sketch.broken = tasks.iter().any(|task| task.broken);
    let parameters: Vec<Str> = tasks
        .iter()
        .flat_map(|task| task.parameters.clone())
        .collect();
    let entry = (given.is_some() || !parameters.is_empty()).then_some(&ids.entry);
    sketch.workflow.input_schema =
        Some(input.map_or_else(|| schema_of(&parameters), |(schema, _)| schema));
    if let Some(entry) = entry {
        sketch.add(Node::new(entry.clone(), Action::Entry), Sources::at(about));
    }
    for task in tasks {
        task.add_to(&mut sketch, entry);
    }
    cycles::check(&mut sketch, &mut flaws);
    sketch.finish(servers, hint.elsewhere, flaws)
}

fn task_list<'t>(root: At<'t>, about: At<'t>, flaws: &mut Flaws) -> Option<At<'t>> {
    let hint = "write a list of tasks, each with `id`, `tool` and `arguments`";
    let list = match root.value {
        Value::Array(_) => root,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            match fields::given_as(about, &["tasks", PLAN]) {
                Some((_, list)) => list,
                None => {
                    fields::missing(about, "the document", "tasks", hint, flaws);
                    return None;
                }
            }
        }
    };
    match list.value.as_array() {
        None => fields::wrong(list, "tasks", "a list", hint, flaws),
        Some([]) => {
            flaws.add(Code::Missing, list.place(), "there are no tasks", hint);
        }
        Some(_) => return Some(list),
    }
    None
}

/// The limits of a DAG that says none. It cannot go round in circles, so each task has room; a few
/// times over, for those that are added while it runs.
fn bounds(tasks: At<'_>) -> Limits {
    const STEPS_PER_TASK: u64 = 4;
    const CALLS_PER_TASK: u64 = 40;
    let count = tasks.items().len() as u64;
    let usual = Limits::default();
    Limits {
        steps_max: usual.steps_max.max(count * STEPS_PER_TASK),
        calls_max: usual.calls_max.max(count * CALLS_PER_TASK),
        ..usual
    }
}

/// The schema of an input with these parameters, where the document has none.
fn schema_of(parameters: &[Str]) -> Value {
    let mut schema = vec![(Str::from("type"), Value::from("object"))];
    if !parameters.is_empty() {
        let names = parameters.iter().cloned();
        let any = || Value::object::<Str>([]);
        let properties = Value::object(names.map(|name| (name, any())));
        let keys = properties
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys());
        let required = Value::array(keys.cloned().map(Value::from));
        schema.push(("properties".into(), properties));
        schema.push(("required".into(), required));
    }
    Value::object(schema)
}

/// The edge of a dependency.
fn depends(on: &Str, task: &Str) -> Edge {
    Edge::new(on.clone(), task.clone())
}
