//! A single task: its tool, arguments and dependencies.

use super::arguments;
use super::{ENTRY_NAMES, dependency_edge};
use crate::ask_form::{self, DEFAULTS, MESSAGE};
use crate::workflow_builder::{NodeSources, WorkflowBuilder};
use crate::yaml_graph::nodes::NodeType;
use crate::yaml_graph::{fields, node_options};
use std::collections::HashSet;
use std::ops::Range;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::builtin_tools;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{BUILTIN, ToolName};
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::{Action, Join, Node, Template};

/// The fields of a task.
const FIELDS: [&str; 14] = [
    "id",
    "tool",
    "expr",
    "arguments",
    "args",
    "depends_on",
    "dependsOn",
    "description",
    "approval",
    "timeout",
    "retry",
    "idempotent",
    "readOnly",
    "join",
];

/// Flaws after which suggestions and locations inside a string are no longer computed, to limit the
/// cost.
const SUGGESTIONS_MAX: usize = 100;

/// The ids of all tasks, to check references.
pub(super) struct TaskIds<'t> {
    all: HashSet<&'t str>,
    in_order: Vec<&'t str>,
    pub(super) entry: Str,
}

impl<'t> TaskIds<'t> {
    /// The ids of these tasks; `named` is the entry's name in the document.
    pub(super) fn of_list(list: Spanned<'t>, named: Option<&Str>) -> Self {
        let ids = list.value.as_array().unwrap_or_default().iter();
        let ids = ids.filter_map(|task| task.get("id").and_then(Value::as_str));
        let in_order: Vec<_> = ids.collect();
        let all: HashSet<_> = in_order.iter().copied().collect();
        let named = named.map(Str::as_str);
        let mut names = named.into_iter().chain(ENTRY_NAMES);
        let free = names.find(|name| !all.contains(name));
        let entry = free.map_or_else(|| "_".repeat(all.len() + 1).into(), Str::from);
        Self {
            all,
            in_order,
            entry,
        }
    }

    /// The ids of tasks added to a graph, which may also refer to the graph's tasks.
    pub(super) fn with_graph(list: Spanned<'t>, graph: &'t Graph) -> Self {
        let mut ids = Self::of_list(list, None);
        for node in &graph.workflow.nodes {
            if node.action == Action::Entry {
                ids.entry = node.id.clone();
            } else {
                ids.all.insert(&node.id);
                ids.in_order.push(&node.id);
            }
        }
        ids
    }

    /// Whether a task has this id; if not, adds a flaw. `bytes` is the id's range in the string, or `None`
    /// if it is the whole string.
    pub(super) fn check(
        &self,
        id: &str,
        at: Spanned<'_>,
        bytes: Option<Range<usize>>,
        flaws: &mut FlawCollector,
    ) -> bool {
        if self.all.contains(id) {
            return true;
        }
        let many = flaws.count() > SUGGESTIONS_MAX;
        let near = if many {
            None
        } else {
            nearest(id, self.in_order.iter().copied())
        };
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a task of this document".to_owned(),
        };
        let message = format!("there is no task `{}`", display_name(id));
        let place = match bytes.filter(|_| !many) {
            Some(bytes) => at.span_inside(&bytes),
            None => at.source_span(),
        };
        flaws.add(FlawCode::UnknownNode, place, message, hint);
        false
    }
}

/// A parsed task.
pub(super) struct TaskDraft<'t> {
    node: Node,
    sources: NodeSources<'t>,
    /// Its dependencies, with their locations.
    depends: Vec<(Str, Spanned<'t>)>,
    /// The run parameters that its arguments refer to.
    pub(super) parameters: Vec<Str>,
    pub(super) is_incomplete: bool,
}

impl<'t> TaskDraft<'t> {
    pub(super) fn read(
        at: Spanned<'t>,
        number: usize,
        ids: &TaskIds<'t>,
        flaws: &mut FlawCollector,
    ) -> Self {
        let before = flaws.count();
        let mut task = Self {
            node: Node::new(format!("#{number}"), Action::Entry),
            sources: NodeSources::at(at),
            depends: Vec::new(),
            parameters: Vec::new(),
            is_incomplete: false,
        };
        task.node.join = Join::All;
        if at.value.as_object().is_none() {
            let hint = "write `id`, `tool` and `arguments`";
            fields::report_wrong_type(at, "tasks", "a list of objects", hint, flaws);
        } else {
            let hint = "give it a unique id";
            if let Some((id, place)) = fields::required_string(at, "a task", "id", hint, flaws) {
                task.node.id = id.clone();
                task.sources.id = place;
            }
            task.read_dependencies(at, ids, flaws);
            let owner = format!("task `{}`", display_name(&task.node.id));
            task.read_action(at, &owner, ids, flaws);
            node_options::read(at, Some(NodeType::Mcp), &mut task.node, flaws);
            fields::warn_unknown(at, &owner, &FIELDS, flaws);
        }
        task.is_incomplete = flaws.has_errors_since(before);
        task
    }

    fn read_dependencies(&mut self, at: Spanned<'t>, ids: &TaskIds<'t>, flaws: &mut FlawCollector) {
        let Some((key, list)) = fields::first_present(at, &["depends_on", "dependsOn"]) else {
            return;
        };
        let items: Vec<Spanned<'t>> = match list.value {
            Value::Array(_) => list.items().collect(),
            Value::String(_) => vec![list],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                let hint = "list the ids of the tasks it depends on";
                fields::report_wrong_type(list, key, "a list", hint, flaws);
                return;
            }
        };
        for item in items {
            if let Some((id, item)) = fields::string_value(item, key, flaws)
                && ids.check(id, item, None, flaws)
            {
                self.add_dependency(id.clone(), item);
            }
        }
    }

    fn add_dependency(&mut self, on: Str, at: Spanned<'t>) {
        if !self.depends.iter().any(|(known, _)| *known == on) {
            self.depends.push((on, at));
        }
    }

    fn read_action(
        &mut self,
        at: Spanned<'t>,
        owner: &str,
        ids: &TaskIds<'t>,
        flaws: &mut FlawCollector,
    ) {
        if fields::present(at, "tool").is_none()
            && let Some((source, place)) = fields::optional_string(at, "expr", flaws)
        {
            self.sources.expression = Some(place);
            self.node.action = Action::Compute {
                expression: source.clone(),
            };
            return;
        }
        let hint = "name the tool, as `server:tool`";
        let tool = fields::required_string(at, owner, "tool", hint, flaws);
        self.sources.tool = tool.map(|(_, at)| at);
        let tool = tool.and_then(|(name, at)| tool_name(name, at, flaws));
        if tool.as_ref() == Some(&ask_form::tool()) {
            self.read_question(at, owner, ids, flaws);
            return;
        }
        let mut arguments = Template::Literal(Value::object::<Str>([]));
        if let Some((key, given)) = fields::first_present(at, &["arguments", "args"]) {
            self.sources.arguments = Some(given);
            let mut reader = arguments::ArgumentReader::new(ids, flaws);
            arguments = reader.template(given);
            let arguments::ArgumentReader {
                references,
                parameters,
                ..
            } = reader;
            self.parameters = parameters;
            references
                .into_iter()
                .for_each(|(id, at)| self.add_dependency(id, at));
            let is_object = given.value.as_object().is_some();
            if !is_object && !matches!(arguments, Template::Expr(_)) {
                fields::report_wrong_type(given, key, "an object", "name each argument", flaws);
            }
        }
        self.node.action = Action::Call {
            tool: tool.unwrap_or_else(|| ToolName::new("builtin", "")),
            arguments,
        };
    }

    /// Reads the question of a task that asks with a form.
    fn read_question(
        &mut self,
        at: Spanned<'t>,
        owner: &str,
        ids: &TaskIds<'t>,
        flaws: &mut FlawCollector,
    ) {
        let Some((_, given)) = fields::first_present(at, &["arguments", "args"]) else {
            let hint = "write `message` and `schema`";
            fields::report_missing(at, owner, "arguments", hint, flaws);
            return;
        };
        self.sources.arguments = Some(given);
        fields::warn_unknown(given, owner, &ask_form::ASK_FIELDS, flaws);
        let mut reader = arguments::ArgumentReader::new(ids, flaws);
        let mut part = |key: &str| Some(reader.template(fields::present(given, key)?));
        let parts = (part(MESSAGE), part(DEFAULTS));
        let arguments::ArgumentReader {
            references,
            parameters,
            ..
        } = reader;
        self.parameters = parameters;
        references
            .into_iter()
            .for_each(|(id, at)| self.add_dependency(id, at));
        if let Some(form) = ask_form::read(given, owner, parts, flaws) {
            self.node.action = Action::Ask(Box::new(form));
        }
    }

    /// Adds the task and its dependencies to the workflow.
    pub(super) fn add_to(self, sketch: &mut WorkflowBuilder<'t>, entry: Option<&Str>) {
        if let (true, Some(entry)) = (self.depends.is_empty(), entry) {
            sketch.add_edge(dependency_edge(entry, &self.node.id), self.sources.id);
        }
        for (on, at) in &self.depends {
            sketch.add_edge(dependency_edge(on, &self.node.id), *at);
        }
        sketch.add_node(self.node, self.sources);
    }
}

/// Makes each task depend on the one before it.
pub(super) fn chain_tasks(tasks: &mut [TaskDraft<'_>]) {
    let mut before: Option<Str> = None;
    for task in tasks {
        if let Some(before) = before.replace(task.node.id.clone()) {
            let at = task.sources.id;
            task.add_dependency(before, at);
        }
    }
}

/// Parses a tool name.
fn tool_name(name: &str, at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<ToolName> {
    match name.split_once(':') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            Some(ToolName::new(server, tool))
        }
        Some(_) | None => {
            flaws.add(
                FlawCode::WrongType,
                at.source_span(),
                format!(
                    "`{}` does not name a server and its tool",
                    display_name(name)
                ),
                builtin_tool(name).unwrap_or_else(|| {
                    "write `server:tool`; built-in tools are written like `builtin:read-file`"
                        .to_owned()
                }),
            );
            None
        }
    }
}

/// The built-in tool that a name without a server probably means.
fn builtin_tool(name: &str) -> Option<String> {
    let name = name
        .rsplit([':', '/', '.'])
        .next()
        .unwrap_or(name)
        .replace('_', "-");
    let found = builtin_tools::names().find(|known| known.replace('_', "-") == name);
    found.map(|known| format!("did you mean `{BUILTIN}:{known}`?"))
}
