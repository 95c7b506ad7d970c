//! Builds a graph from a workflow: resolves ids, compiles expressions, and reports all problems at
//! once.

use super::components::Components;
use super::{
    CompiledAction, CompiledTemplate, Graph, NodePart, OutEdge, OutputRetention, Problem,
    ProblemLocation, check, static_check,
};
use crate::flaw::{FlawCode, Severity};
use crate::form::{FormSpec, check_form_schema};
use crate::ids::NodeIx;
use crate::scope::{self, HistoryFunction};
use crate::text::nearest;
use crate::tool_schema::ToolSchemas;
use crate::workflow::{Action, FanOutSpec, Template, WaitTime, Workflow};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{ExprError, Expression, HostCall, Rule, Str};

/// Nodes per graph; far above any graph that people or planners write.
const NODES_MAX: usize = 200_000;
/// Edges per graph; far above any graph that people or planners write.
const EDGES_MAX: usize = 1_000_000;

impl Graph {
    /// Checks and compiles a workflow. Returns the graph with its warnings, or all problems if one
    /// of them is an error.
    pub fn build(workflow: impl Into<Arc<Workflow>>) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        Self::build_with(workflow.into(), None)
    }

    /// Like [`Self::build`], and also checks what the nodes refer to, with the schemas of these
    /// tools. For documents: a run that was started earlier is built without these checks.
    pub fn build_checked(
        workflow: impl Into<Arc<Workflow>>,
        tools: &dyn ToolSchemas,
    ) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        Self::build_with(workflow.into(), tools.checks_references().then_some(tools))
    }

    fn build_with(
        workflow: Arc<Workflow>,
        tools: Option<&dyn ToolSchemas>,
    ) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let mut problems = Vec::new();
        if workflow.nodes.len() > NODES_MAX || workflow.edges.len() > EDGES_MAX {
            problems.push(Problem {
                code: FlawCode::TooMany,
                location: ProblemLocation::Workflow,
                message: format!(
                    "{} nodes and {} edges exceed the limits of {NODES_MAX} and {EDGES_MAX}",
                    workflow.nodes.len(),
                    workflow.edges.len()
                ),
                suggestion: Some("split it into several workflows".into()),
                meant: None,
            });
            return Err(problems);
        }
        let by_id = index_ids(&workflow, &mut problems);
        let NodeConnections { outs, ins, count } = resolve_edges(&workflow, &by_id, &mut problems);
        let mut memory = OutputRetention {
            all: false,
            nodes: vec![false; workflow.nodes.len()],
        };
        let compiled = compile_nodes(&workflow, &by_id, &mut memory, &mut problems);
        let graph = Self {
            sources: find_sources(&workflow, &ins),
            components: Components::of(&outs),
            has_exit: workflow
                .nodes
                .iter()
                .any(|node| node.action == Action::Exit),
            workflow,
            compiled,
            by_id,
            out_edges: outs,
            incoming: ins,
            connection_count: count,
            retention: memory,
            input: Default::default(),
            output: Default::default(),
        };
        check::check_structure(&graph, &mut problems);
        if let Some(tools) = tools {
            static_check::check(&graph, tools, &mut problems);
        }
        if problems
            .iter()
            .any(|problem| problem.code.severity() == Severity::Error)
        {
            return Err(problems);
        }
        Ok((graph, problems))
    }
}

fn index_ids(workflow: &Workflow, problems: &mut Vec<Problem>) -> HashMap<Str, NodeIx> {
    let mut by_id = HashMap::with_capacity(workflow.nodes.len());
    for (at, node) in workflow.nodes.iter().enumerate() {
        let place = NodeIx(at as u32);
        if by_id.contains_key(&node.id) {
            problems.push(Problem {
                code: FlawCode::Duplicate,
                location: ProblemLocation::Node(place),
                message: format!("the id `{}` is used twice", node.id),
                suggestion: Some("give one of them another id".into()),
                meant: None,
            });
        } else {
            by_id.insert(node.id.clone(), place);
        }
    }
    by_id
}

/// The connections between nodes. All edges between the same two nodes form one connection.
struct NodeConnections {
    outs: Vec<Vec<OutEdge>>,
    ins: Vec<Vec<u32>>,
    count: usize,
}

fn resolve_edges(
    workflow: &Workflow,
    by_id: &HashMap<Str, NodeIx>,
    problems: &mut Vec<Problem>,
) -> NodeConnections {
    let nodes = workflow.nodes.len();
    let mut ways = NodeConnections {
        outs: vec![Vec::new(); nodes],
        ins: vec![Vec::new(); nodes],
        count: 0,
    };
    let mut between: HashMap<(NodeIx, NodeIx), u32> = HashMap::new();
    for (at, edge) in workflow.edges.iter().enumerate() {
        let mut find = |id: &Str| {
            let found = by_id.get(id).copied();
            if found.is_none() {
                let many = problems.len() >= SUGGESTIONS_MAX;
                problems.push(unknown_node(at, id, workflow, many));
            }
            found
        };
        let (Some(from), Some(to)) = (find(&edge.from), find(&edge.to)) else {
            continue;
        };
        let way = *between.entry((from, to)).or_insert_with(|| {
            ways.ins[to.index()].push(ways.count as u32);
            ways.count += 1;
            ways.count as u32 - 1
        });
        let outs = &mut ways.outs[from.index()];
        if !outs
            .iter()
            .any(|out: &OutEdge| out.connection == way && out.label == edge.label)
        {
            outs.push(OutEdge {
                label: edge.label.clone(),
                to,
                connection: way,
            });
        }
    }
    ways
}

/// Problems after which no similar names are suggested, because searching for them is slow.
const SUGGESTIONS_MAX: usize = 100;

fn unknown_node(edge: usize, id: &str, workflow: &Workflow, many: bool) -> Problem {
    let ids = || workflow.nodes.iter().map(|node| node.id.as_str());
    let near = if many { None } else { nearest(id, ids()) };
    Problem {
        code: FlawCode::UnknownNode,
        location: ProblemLocation::Edge(edge),
        message: format!("there is no node `{id}`"),
        suggestion: called_by(id, workflow)
            .or(near)
            .map(|known| format!("did you mean `{known}`?"))
            .or_else(|| missing_exit(id, workflow))
            .or_else(|| Some("name a node of this graph".into())),
        meant: None,
    }
}

/// The only node that calls a tool of this name.
fn called_by<'w>(tool: &str, workflow: &'w Workflow) -> Option<&'w str> {
    let mut nodes = workflow.nodes.iter().filter(|node| match &node.action {
        Action::Call { tool: name, .. } => name.tool == tool || name.to_string() == tool,
        Action::Entry
        | Action::Exit
        | Action::Compute { .. }
        | Action::Choose { .. }
        | Action::Wait(_)
        | Action::Ask(_) => false,
    });
    let only = nodes.next()?;
    nodes.next().is_none().then_some(only.id.as_str())
}

/// How to add the exit that an edge leads to, if the graph has an entry and no exit.
fn missing_exit(id: &str, workflow: &Workflow) -> Option<String> {
    const NAMES: [&str; 6] = ["exit", "end", "done", "finish", "stop", "return"];
    let has = |action: &Action| workflow.nodes.iter().any(|node| node.action == *action);
    let is_exit = NAMES.contains(&id.to_lowercase().as_str());
    (is_exit && has(&Action::Entry) && !has(&Action::Exit))
        .then(|| format!("add `- {{id: {id}, type: exit}}` to the nodes"))
}

/// Operators of other languages, with ours.
const FOREIGN_OPERATORS: [(&str, &str); 5] = [
    ("===", "="),
    ("!==", "!="),
    ("==", "="),
    ("&&", "and"),
    ("||", "or"),
];

/// The first operator of another language in a source that does not compile, and ours in its place.
fn foreign_operator(source: &str) -> Option<(std::ops::Range<usize>, &'static str)> {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in source.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None => {
                let starts = |(theirs, _): &&(&str, &str)| source[at..].starts_with(theirs);
                if let Some((theirs, ours)) = FOREIGN_OPERATORS.iter().find(starts) {
                    return Some((at..at + theirs.len(), ours));
                }
            }
        }
    }
    None
}

/// A run starts at the entry; a graph without one starts at every node without incoming edges.
fn find_sources(workflow: &Workflow, ins: &[Vec<u32>]) -> Vec<NodeIx> {
    let places = || (0..workflow.nodes.len() as u32).map(NodeIx);
    let entries: Vec<_> = places()
        .filter(|at| workflow.nodes[at.index()].action == Action::Entry)
        .collect();
    if entries.is_empty() {
        places().filter(|at| ins[at.index()].is_empty()).collect()
    } else {
        entries
    }
}

fn compile_nodes(
    workflow: &Workflow,
    by_id: &HashMap<Str, NodeIx>,
    memory: &mut OutputRetention,
    problems: &mut Vec<Problem>,
) -> Vec<CompiledAction> {
    let mut compiler = NodeCompiler {
        by_id,
        memory,
        problems,
        node: NodeIx(0),
    };
    let mut compiled = Vec::with_capacity(workflow.nodes.len());
    for (at, node) in workflow.nodes.iter().enumerate() {
        compiler.node = NodeIx(at as u32);
        compiled.push(match &node.action {
            Action::Entry | Action::Exit => CompiledAction::Plain,
            Action::Call { arguments, .. } => compiler.call(arguments, node.each.as_deref()),
            Action::Wait(WaitTime::For(time) | WaitTime::Until(time)) => compiler
                .template(time, NodePart::Time, &mut String::new())
                .map_or(CompiledAction::Plain, CompiledAction::Time),
            Action::Ask(form) => compiler.form(form),
            Action::Compute { expression } => compiler
                .expression(expression, NodePart::Expression, "")
                .map_or(CompiledAction::Plain, CompiledAction::Expression),
            Action::Choose { rules, .. } => CompiledAction::Rules(
                rules
                    .iter()
                    .enumerate()
                    .filter_map(|(at, choice)| {
                        Some((compiler.rule(&choice.rule, at)?, choice.label.clone()))
                    })
                    .collect(),
            ),
        });
    }
    compiled
}

struct NodeCompiler<'a> {
    by_id: &'a HashMap<Str, NodeIx>,
    memory: &'a mut OutputRetention,
    problems: &'a mut Vec<Problem>,
    node: NodeIx,
}

impl NodeCompiler<'_> {
    fn call(&mut self, arguments: &Template, each: Option<&FanOutSpec>) -> CompiledAction {
        // Both are compiled so that every problem is reported.
        let arguments = self.template(arguments, NodePart::Arguments, &mut String::new());
        let items =
            each.map(|each| self.template(&each.items, NodePart::Items, &mut String::new()));
        match (arguments, items) {
            (Some(arguments), None) => CompiledAction::Arguments(arguments),
            (Some(arguments), Some(Some(items))) => CompiledAction::FanOut(items, arguments),
            (None, _) | (_, Some(None)) => CompiledAction::Plain,
        }
    }

    /// Compiles the question of a form. The parts of the node are its message and its defaults.
    fn form(&mut self, form: &FormSpec) -> CompiledAction {
        if let Err((pointer, message)) = check_form_schema(&form.schema) {
            self.problems.push(Problem {
                code: FlawCode::BadSchema,
                location: ProblemLocation::Inside {
                    node: self.node,
                    part: NodePart::Arguments,
                    pointer: format!("/schema{pointer}"),
                    span: None,
                    name: None,
                },
                message,
                suggestion: Some("describe the fields of the answer as JSON Schema".into()),
                meant: None,
            });
        }
        let mut part = |template: &Template, key: &str| {
            self.template(template, NodePart::Arguments, &mut format!("/{key}"))
        };
        let message = part(&form.message, "message");
        let defaults = form.defaults.as_ref();
        let defaults = defaults.map(|defaults| part(defaults, "defaults"));
        match (message, defaults) {
            (Some(message), None) => CompiledAction::Form(message, None),
            (Some(message), Some(Some(defaults))) => CompiledAction::Form(message, Some(defaults)),
            (None, _) | (_, Some(None)) => CompiledAction::Plain,
        }
    }

    fn template(
        &mut self,
        template: &Template,
        part: NodePart,
        pointer: &mut String,
    ) -> Option<CompiledTemplate> {
        match template {
            Template::Literal(value) => Some(CompiledTemplate::Literal(value.clone())),
            Template::Expr(source) => self
                .expression(source, part, pointer)
                .map(CompiledTemplate::Expr),
            Template::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| {
                    Some((key.clone(), self.child_template(part, pointer, key, value)?))
                });
                // Every field is compiled so that every problem is reported.
                let filled: Vec<_> = filled.collect();
                filled
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(CompiledTemplate::Object)
            }
            Template::Array(items) => {
                let filled: Vec<_> = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| self.child_template(part, pointer, &at.to_string(), item))
                    .collect();
                filled
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(CompiledTemplate::Array)
            }
        }
    }

    fn child_template(
        &mut self,
        part: NodePart,
        pointer: &mut String,
        key: &str,
        value: &Template,
    ) -> Option<CompiledTemplate> {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let filled = self.template(value, part, pointer);
        pointer.truncate(length);
        filled
    }

    fn expression(&mut self, source: &str, part: NodePart, pointer: &str) -> Option<Expression> {
        match Expression::compile(source, scope::functions()) {
            Ok(expression) => {
                self.record_history_use(expression.host_calls());
                Some(expression)
            }
            Err(error) => {
                self.add_problem(FlawCode::BadExpression, part, pointer.to_owned(), error);
                if let (Some(problem), Some((place, ours))) =
                    (self.problems.last_mut(), foreign_operator(source))
                {
                    problem.suggestion = Some(format!("write `{ours}`"));
                    if let ProblemLocation::Inside { span, .. } = &mut problem.location {
                        *span = Some(place);
                    }
                }
                None
            }
        }
    }

    fn rule(&mut self, rule: &tramline_expr::Value, at: usize) -> Option<Rule> {
        match Rule::compile(rule, scope::functions()) {
            Ok(rule) => {
                self.record_history_use(&rule.host_calls());
                Some(rule)
            }
            Err(bad) => {
                self.add_problem(FlawCode::BadRule, NodePart::Rule(at), bad.path, bad.error);
                None
            }
        }
    }

    fn add_problem(&mut self, code: FlawCode, part: NodePart, pointer: String, error: ExprError) {
        // An unknown operator comes with those that were probably meant.
        let meant = error.value.as_ref().filter(|_| error.code == "J0001");
        let meant = meant.and_then(|names| names.at(0)?.as_str());
        let suggestion = meant.map(|meant| format!("did you mean `{meant}`?"));
        self.problems.push(Problem {
            code,
            location: ProblemLocation::Inside {
                node: self.node,
                part,
                pointer,
                span: error.span,
                name: None,
            },
            message: format!("{} ({})", error.message, error.code),
            suggestion,
            meant: None,
        });
    }

    /// Records which earlier outputs the expression may use.
    fn record_history_use(&mut self, calls: &[HostCall]) {
        for call in calls {
            let first = call.arguments.first().and_then(Option::as_ref);
            match HistoryFunction::at(call.function) {
                Some(HistoryFunction::ExecutionCount) | None => {}
                Some(HistoryFunction::PreviousNode) => {
                    let one_back = call.called
                        && (call.arguments.is_empty()
                            || first.and_then(|value| value.as_f64()) == Some(1.0));
                    self.memory.all |= !one_back;
                }
                Some(HistoryFunction::NodeExecution | HistoryFunction::NodeExecutions) => {
                    match first.and_then(|value| value.as_str()) {
                        Some(id) => {
                            if let Some(node) = self.by_id.get(id) {
                                self.memory.nodes[node.index()] = true;
                            }
                        }
                        None => self.memory.all = true,
                    }
                }
            }
        }
    }
}
