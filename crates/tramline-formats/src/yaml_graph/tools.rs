//! The tools of a document: reads each into a workflow and builds its graph.

use super::call_checks::{self, CallSite};
use super::legacy::{self, EntryExit, SharedNodes};
use super::nodes::{NodeDraft, NodeType};
use super::{fields, limits, problem_spans, schema_words};
use crate::detect;
use std::collections::HashSet;
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::schema::Checker;
use tramline_workflow::text::display_name;
use tramline_workflow::tool_schema::{ToolSchema, ToolSchemas};
use tramline_workflow::workflow::{WORKFLOW_SERVER, Workflow, WorkflowLimits};

/// Longest name of a tool, in characters: the limit of MCP.
const NAME_CHARS_MAX: usize = 128;

/// The fields of a tool; the last two are legacy.
pub(super) const FIELDS: [&str; 9] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "nodes",
    "executionLimits",
    "entryNode",
    "exitNode",
];

/// The tools of a document.
#[derive(Default)]
pub(super) struct ParsedTools {
    pub(super) workflows: Vec<Arc<Graph>>,
    pub(super) calls: Vec<CallSite>,
}

/// A tool as written in the file.
pub(super) struct ToolDraft<'t> {
    pub(super) name: Str,
    /// The location of its name, or of the tool if it has none.
    pub(super) at: Spanned<'t>,
    pub(super) nodes: Vec<NodeDraft<'t>>,
}

/// The schemas of the document's own tools, which its nodes can call, and of others.
#[derive(Debug)]
struct DocumentSchemas<'a> {
    tools: &'a Value,
    others: &'a dyn ToolSchemas,
}

impl ToolSchemas for DocumentSchemas<'_> {
    fn find(&self, tool: &ToolName) -> Option<ToolSchema> {
        if tool.server != WORKFLOW_SERVER {
            return self.others.find(tool);
        }
        let mut tools = self.tools.as_array().unwrap_or_default().iter();
        let is_it = |own: &&Value| own.get("name").and_then(Value::as_str) == Some(&tool.tool);
        match tools.find(is_it) {
            Some(own) => Some(ToolSchema {
                input: own.get("inputSchema").cloned().unwrap_or_default(),
                output: own.get("outputSchema").cloned(),
                is_exact: false,
            }),
            None => self.others.find(tool),
        }
    }
}

/// Reads all tools.
pub(super) fn read(
    root: Spanned<'_>,
    schemas: &dyn ToolSchemas,
    flaws: &mut FlawCollector,
) -> ParsedTools {
    let mut tools = ParsedTools::default();
    if detect::is_bare_tool(root) {
        let schemas = DocumentSchemas {
            tools: &Value::Null,
            others: schemas,
        };
        let (bounds, shared) = (WorkflowLimits::default(), SharedNodes::default());
        let mut names = HashSet::new();
        read_tool(
            root, bounds, &shared, &schemas, &mut names, &mut tools, flaws,
        );
        return tools;
    }
    let hint = "add `tools:` with at least one tool";
    let list = match fields::present(root, "tools") {
        Some(list) if list.value.as_array().is_some_and(|list| !list.is_empty()) => list,
        Some(list) if list.value.as_array().is_none() => {
            let hint = "start each tool with `- name:`";
            fields::report_wrong_type(list, "tools", "a list", hint, flaws);
            return tools;
        }
        Some(_) | None => {
            fields::report_missing(root, "the document", "tools", hint, flaws);
            return tools;
        }
    };
    let bounds = limits::read(root, WorkflowLimits::default(), flaws);
    let shared = SharedNodes::read(root, list, flaws);
    let mut names = HashSet::new();
    let schemas = DocumentSchemas {
        tools: list.value,
        others: schemas,
    };
    for at in list.items() {
        if at.value.as_object().is_none() {
            let hint = "start each tool with `- name:`";
            fields::report_wrong_type(at, "tools", "a list of objects", hint, flaws);
            continue;
        }
        read_tool(at, bounds, &shared, &schemas, &mut names, &mut tools, flaws);
    }
    shared.warn_unused(flaws);
    tools
}

fn read_tool<'t>(
    at: Spanned<'t>,
    bounds: WorkflowLimits,
    shared: &SharedNodes<'t>,
    schemas: &DocumentSchemas<'_>,
    names: &mut HashSet<&'t Str>,
    tools: &mut ParsedTools,
    flaws: &mut FlawCollector,
) {
    let name = tool_name(at, names, flaws);
    let owner = match name {
        Some((name, _)) => format!("tool `{}`", display_name(name)),
        None => "a tool".to_owned(),
    };
    if !detect::is_bare_tool(at) || schemas.tools.as_array().is_some() {
        fields::warn_unknown(at, &owner, &FIELDS, flaws);
    }
    let hint = "describe in a sentence what it does; agents choose by this text";
    let description = fields::required_string(at, &owner, "description", hint, flaws);
    let title = fields::optional_string(at, "title", flaws);
    let input = input_schema(at, &owner, flaws);
    let output =
        fields::present(at, "outputSchema").and_then(|at| read_schema(at, "outputSchema", flaws));
    let text = |found: Option<(&Str, Spanned<'_>)>| found.map(|(text, _)| text.clone());
    let mut workflow = Workflow {
        name: text(name).unwrap_or_default(),
        title: text(title),
        description: text(description),
        input_schema: input.as_ref().map(|(schema, _)| schema.clone()),
        output_schema: output.as_ref().map(|(schema, _)| schema.clone()),
        limits: limits::read(at, bounds, flaws),
        ..Workflow::default()
    };
    let ends = EntryExit::read(at, flaws);
    let Some(mut nodes) = tool_nodes(at, &workflow.name, &owner, &ends, shared, flaws) else {
        return;
    };
    let before = flaws.count();
    ends.add_missing(&mut nodes, flaws);
    let broken = flaws.has_errors_since(before) || nodes.iter().any(|draft| draft.is_incomplete);
    let tool = ToolDraft {
        name: workflow.name.clone(),
        at: name.map_or(at, |(_, at)| at),
        nodes,
    };
    tools.calls.extend(call_checks::call_sites_of(&tool));
    workflow.nodes = tool.nodes.iter().map(|draft| draft.node.clone()).collect();
    workflow.edges = tool_edges(&tool).map(|(edge, _)| edge.clone()).collect();
    if let Some(graph) = problem_spans::build(workflow, &tool, broken, schemas, flaws) {
        graph.keep_checkers(input.map(|(_, made)| made), output.map(|(_, made)| made));
        tools.workflows.push(Arc::new(graph));
    }
}

/// The edges of a tool in the order of its workflow, with their locations.
pub(super) fn tool_edges<'d, 't>(
    tool: &'d ToolDraft<'t>,
) -> impl Iterator<Item = &'d (tramline_workflow::workflow::Edge, Spanned<'t>)> {
    tool.nodes.iter().flat_map(|draft| &draft.edges)
}

fn tool_name<'t>(
    at: Spanned<'t>,
    names: &mut HashSet<&'t Str>,
    flaws: &mut FlawCollector,
) -> Option<(&'t Str, Spanned<'t>)> {
    let (name, place) = fields::required_string(at, "a tool", "name", "name the tool", flaws)?;
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.chars().all(sound) || name.len() > NAME_CHARS_MAX {
        flaws.add(
            FlawCode::WrongType,
            place.source_span(),
            format!("`{}` cannot be the name of a tool", display_name(name)),
            format!("use 1 to {NAME_CHARS_MAX} of the characters A-Z a-z 0-9 _ - ."),
        );
    }
    if !names.insert(name) {
        flaws.add(
            FlawCode::Duplicate,
            place.source_span(),
            format!("there are two tools named `{}`", display_name(name)),
            "rename one of them",
        );
    }
    Some((name, place))
}

/// The nodes of a tool: its own, or those at top level that belong to it.
fn tool_nodes<'t>(
    at: Spanned<'t>,
    name: &str,
    owner: &str,
    ends: &EntryExit<'t>,
    shared: &SharedNodes<'t>,
    flaws: &mut FlawCollector,
) -> Option<Vec<NodeDraft<'t>>> {
    match fields::present(at, "nodes") {
        Some(list) if list.value.as_array().is_some() => {
            let kind = |id: &str| ends.kind(id);
            Some(legacy::read_nodes(list, kind, flaws))
        }
        Some(list) => {
            fields::report_wrong_type(list, "nodes", "a list", "write each node as an item", flaws);
            None
        }
        None if shared.is_empty() => {
            let hint = "add `nodes:` with at least an entry and an exit";
            fields::report_missing(at, owner, "nodes", hint, flaws);
            None
        }
        None => Some(shared.nodes_of_tool(name, ends)),
    }
}

/// The input schema, which MCP requires to describe an object.
fn input_schema(
    at: Spanned<'_>,
    owner: &str,
    flaws: &mut FlawCollector,
) -> Option<(Value, Checker)> {
    let Some(field) = fields::present(at, "inputSchema") else {
        let hint = "write `inputSchema: {type: object}` if it takes no arguments";
        fields::report_missing(at, owner, "inputSchema", hint, flaws);
        return None;
    };
    let made = read_schema(field, "inputSchema", flaws)?;
    if let Some(kind) = field.get("type")
        && kind.value.as_str() != Some("object")
    {
        flaws.add(
            FlawCode::BadSchema,
            kind.source_span(),
            format!("the arguments of {owner} must be an object"),
            "write `type: object` and describe each argument under `properties`",
        );
    }
    Some(made)
}

pub(crate) fn read_schema(
    at: Spanned<'_>,
    name: &str,
    flaws: &mut FlawCollector,
) -> Option<(Value, Checker)> {
    if at.value.as_object().is_none() {
        fields::report_wrong_type(at, name, "an object", "write a JSON Schema", flaws);
        return None;
    }
    match Checker::new(at.value) {
        Ok(checker) => {
            schema_words::check(at, name, flaws);
            Some((at.value.clone(), checker))
        }
        Err(bad) => {
            let place = at.at_pointer(&bad.pointer);
            let meant = place.value.as_str().filter(|_| place.own_key_is("type"));
            let hint = match meant.and_then(schema_words::json_type_for) {
                Some(kind) => format!("did you mean `{kind}`?"),
                None => "see json-schema.org for the syntax".to_owned(),
            };
            flaws.add(
                FlawCode::BadSchema,
                place.source_span(),
                format!("`{name}` is not a JSON Schema: {}", bad.message),
                hint,
            );
            None
        }
    }
}

/// Whether one of the nodes has this type.
pub(super) fn has_type(nodes: &[NodeDraft<'_>], kind: NodeType) -> bool {
    nodes.iter().any(|draft| draft.kind == Some(kind))
}
