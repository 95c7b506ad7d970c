//! DAGs of tasks in JSON: each task calls a tool and lists the tasks it depends on.
//!
//! A task runs once all of its dependencies have succeeded; a failed task skips only its dependents.
//! Arguments refer to a task's output as `$OUTPUT[id]`. A plan is also a DAG: its tasks are listed
//! under `plan`, and each depends on the one before it.

use super::ReadOptions;
use super::workflow_builder::{self, NodeSources, ReferenceSyntax, WorkflowBuilder};
use super::yaml_graph::{GraphDocument, fields, limits, servers, tools};
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::{self, SourceTree, Spanned};
use tramline_workflow::flaw::{Flaw, FlawCode};
use tramline_workflow::workflow::{
    Action, Edge, Node, RetryPolicy, UnhandledFailure, Workflow, WorkflowLimits,
};

mod arguments;
mod cycles;
mod editor_schema;
mod patch;
mod tasks;
mod write;

pub use editor_schema::json_schema;
pub use patch::{DagExtension, read_patch};
pub use write::write;

/// Names of the entry node, in order of preference: expressions see the input under this name.
const ENTRY_NAMES: [&str; 3] = ["entry", "input", "dag_input"];

/// Retries for a call whose server is temporarily unavailable: long enough for a server to restart.
const TRANSIENT_RETRY: RetryPolicy = RetryPolicy {
    max: 3,
    wait_ms: 250,
    backoff: 3.0,
};

/// The known fields of a document, including request fields that are ignored here.
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
    PLAN_FIELD,
    "$schema",
];

/// The known fields of `config`.
const CONFIG_FIELDS: [&str; 1] = ["per_layer_validation"];

/// The field for the tasks of a plan, which run one after another.
pub(super) const PLAN_FIELD: &str = "plan";

/// Reads a DAG from a JSON value. Locations are JSON pointers.
pub fn read_value(value: &Value, hint: ReadOptions<'_>) -> Result<GraphDocument, Vec<Flaw>> {
    read_tree(&document::from_value(value)?, hint)
}

/// Reads a DAG from a parsed document.
pub(super) fn read_tree(
    tree: &SourceTree,
    hint: ReadOptions<'_>,
) -> Result<GraphDocument, Vec<Flaw>> {
    let mut flaws = FlawCollector::new(hint.mistyped_fields);
    let root = tree.root();
    let about = match fields::present(root, "workflow") {
        Some(inner) if inner.value.as_object().is_some() => inner,
        Some(_) | None => root,
    };
    fields::warn_unknown(root, "the document", &KNOWN, &mut flaws);
    if about.source_span().pointer != root.source_span().pointer {
        fields::warn_unknown(about, "`workflow`", &KNOWN, &mut flaws);
    }
    if let Some(config) =
        fields::present(root, "config").or_else(|| fields::present(about, "config"))
    {
        fields::warn_unknown(config, "`config`", &CONFIG_FIELDS, &mut flaws);
    }
    let servers = servers::downstream_servers(root, &mut flaws);
    let Some(list) = task_list(root, about, &mut flaws) else {
        return Err(flaws.into_sorted());
    };
    let given = fields::first_present(about, &["inputSchema", "parameters"]);
    let input = given.and_then(|(key, at)| tools::read_schema(at, key, &mut flaws));
    let output = fields::present(about, "outputSchema");
    let output = output.and_then(|at| tools::read_schema(at, "outputSchema", &mut flaws));
    let mut title = |key: &str| workflow_builder::text_field(about, key, &mut flaws);
    let workflow = Workflow {
        title: title("title"),
        description: title("description").or_else(|| title("intent")),
        output_schema: output.map(|(schema, _)| schema),
        unhandled: UnhandledFailure::SkipsDependents,
        cautious: true,
        transient: Some(TRANSIENT_RETRY),
        ..Workflow::default()
    };
    let mut sketch = WorkflowBuilder::new(workflow, about, ReferenceSyntax::Dag);
    sketch.workflow.name = workflow_builder::workflow_name(about, hint.name, &mut flaws);
    sketch.workflow.limits = limits::read(about, default_limits(list), &mut flaws);
    let named = fields::optional_string(about, "entry", &mut flaws).map(|(name, _)| name);
    let ids = tasks::TaskIds::of_list(list, named);
    let mut tasks: Vec<_> = list
        .items()
        .enumerate()
        .map(|(number, at)| tasks::TaskDraft::read(at, number, &ids, &mut flaws))
        .collect();
    if fields::present(about, "tasks").is_none() && fields::present(about, PLAN_FIELD).is_some() {
        tasks::chain_tasks(&mut tasks);
    }
    sketch.is_incomplete = tasks.iter().any(|task| task.is_incomplete);
    let parameters: Vec<Str> = tasks
        .iter()
        .flat_map(|task| task.parameters.clone())
        .collect();
    let entry = (given.is_some() || !parameters.is_empty()).then_some(&ids.entry);
    sketch.workflow.input_schema =
        Some(input.map_or_else(|| input_schema_for(&parameters), |(schema, _)| schema));
    if let Some(entry) = entry {
        sketch.add_node(
            Node::new(entry.clone(), Action::Entry),
            NodeSources::at(about),
        );
    }
    for task in tasks {
        task.add_to(&mut sketch, entry);
    }
    cycles::check(&mut sketch, &mut flaws);
    sketch.finish(servers, hint, flaws)
}

fn task_list<'t>(
    root: Spanned<'t>,
    about: Spanned<'t>,
    flaws: &mut FlawCollector,
) -> Option<Spanned<'t>> {
    let hint = "write a list of tasks, each with `id`, `tool` and `arguments`";
    let list = match root.value {
        Value::Array(_) => root,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            match fields::first_present(about, &["tasks", PLAN_FIELD]) {
                Some((_, list)) => list,
                None => {
                    fields::report_missing(about, "the document", "tasks", hint, flaws);
                    return None;
                }
            }
        }
    };
    match list.value.as_array() {
        None => fields::report_wrong_type(list, "tasks", "a list", hint, flaws),
        Some([]) => {
            flaws.add(
                FlawCode::MissingField,
                list.source_span(),
                "there are no tasks",
                hint,
            );
        }
        Some(_) => return Some(list),
    }
    None
}

/// The default limits of a DAG. It has no loops, so they scale with the number of tasks, with room for
/// tasks added during the run.
fn default_limits(tasks: Spanned<'_>) -> WorkflowLimits {
    const STEPS_PER_TASK: u64 = 4;
    const CALLS_PER_TASK: u64 = 40;
    let count = tasks.items().len() as u64;
    let usual = WorkflowLimits::default();
    WorkflowLimits {
        steps_max: usual.steps_max.max(count * STEPS_PER_TASK),
        calls_max: usual.calls_max.max(count * CALLS_PER_TASK),
        ..usual
    }
}

/// The input schema for these parameters, used if the document has none.
fn input_schema_for(parameters: &[Str]) -> Value {
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

/// The edge for a dependency.
fn dependency_edge(on: &Str, task: &Str) -> Edge {
    Edge::new(on.clone(), task.clone())
}
