//! From a workflow to a graph: resolve ids, compile expressions, check, all problems at once.

use super::components::Components;
use super::{Compiled, Filler, Graph, Memory, Out, Part, Problem, Spot, check};
use crate::flaw::{Code, Severity};
use crate::ids::NodeIx;
use crate::scope::{self, HistoryFunction};
use crate::text::nearest;
use crate::workflow::{Action, Each, Template, Time, Workflow};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{ExprError, Expression, HostCall, Rule, Str};

/// More nodes than this are refused: far above any graph written or planned.
const NODES_MAX: usize = 200_000;
/// More edges than this are refused.
const EDGES_MAX: usize = 1_000_000;

impl Graph {
    /// Checks and compiles a workflow. A graph is built unless a problem is an error; the
    /// warnings come beside it.
    pub fn build(workflow: impl Into<Arc<Workflow>>) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let workflow = workflow.into();
        let mut problems = Vec::new();
        if workflow.nodes.len() > NODES_MAX || workflow.edges.len() > EDGES_MAX {
            problems.push(Problem {
                code: Code::TooMany,
                spot: Spot::Workflow,
                message: format!(
                    "{} nodes and {} edges are more than the {NODES_MAX} and {EDGES_MAX} allowed",
                    workflow.nodes.len(),
                    workflow.edges.len()
                ),
                suggestion: Some("split it into several workflows".into()),
            });
            return Err(problems);
        }
        let by_id = index_ids(&workflow, &mut problems);
        let Ways { outs, ins, count } = resolve_edges(&workflow, &by_id, &mut problems);
        let mut memory = Memory {
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
            outs,
            ins,
            ways: count,
            memory,
            input: Default::default(),
            output: Default::default(),
        };
        check::structure(&graph, &mut problems);
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
                code: Code::Duplicate,
                spot: Spot::Node(place),
                message: format!("the id `{}` is used twice", node.id),
                suggestion: Some("give one of them another id".into()),
            });
        } else {
            by_id.insert(node.id.clone(), place);
        }
    }
    by_id
}

/// The ways between nodes: all edges between the same two nodes are one way in.
struct Ways {
    outs: Vec<Vec<Out>>,
    ins: Vec<Vec<u32>>,
    count: usize,
}

fn resolve_edges(
    workflow: &Workflow,
    by_id: &HashMap<Str, NodeIx>,
    problems: &mut Vec<Problem>,
) -> Ways {
    let nodes = workflow.nodes.len();
    let mut ways = Ways {
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
            ways.ins[to.at()].push(ways.count as u32);
            ways.count += 1;
            ways.count as u32 - 1
        });
        let outs = &mut ways.outs[from.at()];
        if !outs
            .iter()
            .any(|out: &Out| out.way == way && out.label == edge.label)
        {
            outs.push(Out {
                label: edge.label.clone(),
                to,
                way,
            });
        }
    }
    ways
}

/// Past this many problems nobody is told which name was meant: looking for it costs too much.
const SUGGESTIONS_MAX: usize = 100;

fn unknown_node(edge: usize, id: &str, workflow: &Workflow, many: bool) -> Problem {
    let ids = || workflow.nodes.iter().map(|node| node.id.as_str());
    let near = if many { None } else { nearest(id, ids()) };
    Problem {
        code: Code::UnknownNode,
        spot: Spot::Edge(edge),
        message: format!("there is no node `{id}`"),
        suggestion: near
            .map(|known| format!("did you mean `{known}`?"))
            .or_else(|| Some("name a node of this graph".into())),
    }
}

/// An entry is where a run begins; a graph without one begins wherever nothing leads to.
fn find_sources(workflow: &Workflow, ins: &[Vec<u32>]) -> Vec<NodeIx> {
    let places = || (0..workflow.nodes.len() as u32).map(NodeIx);
    let entries: Vec<_> = places()
        .filter(|at| workflow.nodes[at.at()].action == Action::Entry)
        .collect();
    if entries.is_empty() {
        places().filter(|at| ins[at.at()].is_empty()).collect()
    } else {
        entries
    }
}

fn compile_nodes(
    workflow: &Workflow,
    by_id: &HashMap<Str, NodeIx>,
    memory: &mut Memory,
    problems: &mut Vec<Problem>,
) -> Vec<Compiled> {
    let mut compiler = Compiler {
        by_id,
        memory,
        problems,
        node: NodeIx(0),
    };
    let mut compiled = Vec::with_capacity(workflow.nodes.len());
    for (at, node) in workflow.nodes.iter().enumerate() {
        compiler.node = NodeIx(at as u32);
        compiled.push(match &node.action {
            Action::Entry | Action::Exit => Compiled::Plain,
            Action::Call { arguments, .. } => compiler.call(arguments, node.each.as_deref()),
            Action::Wait(Time::For(time) | Time::Until(time)) => compiler
                .template(time, Part::Time, &mut String::new())
                .map_or(Compiled::Plain, Compiled::Time),
            Action::Compute { expression } => compiler
                .expression(expression, Part::Expression, "")
                .map_or(Compiled::Plain, Compiled::Expression),
            Action::Choose { rules, .. } => Compiled::Rules(
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

struct Compiler<'a> {
    by_id: &'a HashMap<Str, NodeIx>,
    memory: &'a mut Memory,
    problems: &'a mut Vec<Problem>,
    node: NodeIx,
}

impl Compiler<'_> {
    fn call(&mut self, arguments: &Template, each: Option<&Each>) -> Compiled {
        // Both are compiled, so that every problem is found.
        let arguments = self.template(arguments, Part::Arguments, &mut String::new());
        let items = each.map(|each| self.template(&each.items, Part::Items, &mut String::new()));
        match (arguments, items) {
            (Some(arguments), None) => Compiled::Arguments(arguments),
            (Some(arguments), Some(Some(items))) => Compiled::Each(items, arguments),
            (None, _) | (_, Some(None)) => Compiled::Plain,
        }
    }

    fn template(
        &mut self,
        template: &Template,
        part: Part,
        pointer: &mut String,
    ) -> Option<Filler> {
        match template {
            Template::Literal(value) => Some(Filler::Literal(value.clone())),
            Template::Expr(source) => self.expression(source, part, pointer).map(Filler::Expr),
            Template::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| {
                    Some((key.clone(), self.below(part, pointer, key, value)?))
                });
                // Every field is compiled, so that every problem is found, before any is given up.
                let filled: Vec<_> = filled.collect();
                filled
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(Filler::Object)
            }
            Template::Array(items) => {
                let filled: Vec<_> = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| self.below(part, pointer, &at.to_string(), item))
                    .collect();
                filled
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(Filler::Array)
            }
        }
    }

    fn below(
        &mut self,
        part: Part,
        pointer: &mut String,
        key: &str,
        value: &Template,
    ) -> Option<Filler> {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let filled = self.template(value, part, pointer);
        pointer.truncate(length);
        filled
    }

    fn expression(&mut self, source: &str, part: Part, pointer: &str) -> Option<Expression> {
        match Expression::compile(source, scope::functions()) {
            Ok(expression) => {
                self.remember(expression.host_calls());
                Some(expression)
            }
            Err(error) => {
                self.bad(Code::BadExpression, part, pointer.to_owned(), error);
                None
            }
        }
    }

    fn rule(&mut self, rule: &tramline_expr::Value, at: usize) -> Option<Rule> {
        match Rule::compile(rule, scope::functions()) {
            Ok(rule) => {
                self.remember(&rule.host_calls());
                Some(rule)
            }
            Err(bad) => {
                self.bad(Code::BadRule, Part::Rule(at), bad.path, bad.error);
                None
            }
        }
    }

    fn bad(&mut self, code: Code, part: Part, pointer: String, error: ExprError) {
        self.problems.push(Problem {
            code,
            spot: Spot::Inside {
                node: self.node,
                part,
                pointer,
                span: error.span,
            },
            message: format!("{} ({})", error.message, error.code),
            suggestion: None,
        });
    }

    /// Notes which outputs the expression may look back to.
    fn remember(&mut self, calls: &[HostCall]) {
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
                                self.memory.nodes[node.at()] = true;
                            }
                        }
                        None => self.memory.all = true,
                    }
                }
            }
        }
    }
}
