//! A graph ready to run: a workflow checked, compiled and indexed, shared by all its runs.

use crate::ids::NodeIx;
use crate::schema::{self, Checker};
use crate::workflow::{Join, Node, Workflow};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{Expression, LongWork, Rule, Str, Value};

mod build;
mod check;
mod components;
mod patch;
pub mod problem;

pub use patch::Patch;
pub use problem::{Part, Problem, Spot};

/// A workflow checked, compiled and indexed.
pub struct Graph {
    /// What it was built from.
    pub workflow: Arc<Workflow>,
    compiled: Vec<Compiled>,
    by_id: HashMap<Str, NodeIx>,
    outs: Vec<Vec<Out>>,
    /// For each node, the ways into it: one for each node that leads to it.
    ins: Vec<Vec<u32>>,
    ways: usize,
    has_exit: bool,
    sources: Vec<NodeIx>,
    pub(crate) components: components::Components,
    pub(crate) memory: Memory,
    input: schema::Lazy,
    output: schema::Lazy,
}

/// What a node's action needs at run time.
pub(crate) enum Compiled {
    Plain,
    Arguments(Filler),
    /// The items of a call that is spread, and its arguments.
    Each(Filler, Filler),
    /// When a wait is over.
    Time(Filler),
    Expression(Expression),
    Rules(Vec<(Rule, Str)>),
}

/// A [`Template`](crate::workflow::Template) with its expressions compiled.
pub(crate) enum Filler {
    Literal(Value),
    Expr(Expression),
    Object(Vec<(Str, Filler)>),
    Array(Vec<Filler>),
}

/// One way out of a node.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    pub(crate) label: Str,
    pub(crate) to: NodeIx,
    /// The way it belongs to: all edges between the same two nodes are one way in.
    pub(crate) way: u32,
}

/// Which outputs a run must keep beside the latest of each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Every output, because some expression looks back an unknown way.
    pub(crate) all: bool,
    /// Every output of these nodes (by place).
    pub(crate) nodes: Vec<bool>,
}

impl Memory {
    pub(crate) fn keeps(&self, node: NodeIx) -> bool {
        self.all || self.nodes.get(node.at()).copied().unwrap_or(false)
    }
}

impl Graph {
    /// The same graph, which asks before every call that is annotated as destructive. Documents that
    /// agents bring run so, whatever their format.
    pub fn cautious(graph: &Arc<Self>) -> Arc<Self> {
        if graph.workflow.cautious {
            return Arc::clone(graph);
        }
        let mut workflow = (*graph.workflow).clone();
        workflow.cautious = true;
        // What was sound without questions is sound with them.
        Self::build(Arc::new(workflow))
            .map_or_else(|_| Arc::clone(graph), |(built, _)| Arc::new(built))
    }

    /// The node at a place.
    pub fn node(&self, at: NodeIx) -> &Node {
        &self.workflow.nodes[at.at()]
    }

    /// The place of the node with this id.
    pub fn find(&self, id: &str) -> Option<NodeIx> {
        self.by_id.get(id).copied()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.workflow.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.workflow.nodes.is_empty()
    }

    /// Checks a run's input, where the workflow says what that must be.
    pub fn input_checker(&self) -> Option<&Checker> {
        self.input.get(self.workflow.input_schema.as_ref())
    }

    /// Checks a run's result, where the workflow says what that must be.
    pub fn output_checker(&self) -> Option<&Checker> {
        self.output.get(self.workflow.output_schema.as_ref())
    }

    /// Takes over checkers that a reader made to see whether the schemas are sound.
    pub(crate) fn keep_checkers(&self, input: Option<Checker>, output: Option<Checker>) {
        self.input.keep(input);
        self.output.keep(output);
    }

    /// Where a run begins.
    pub fn sources(&self) -> &[NodeIx] {
        &self.sources
    }

    /// Whether the graph has an exit, so that a run without one reached has not succeeded.
    pub fn has_exit(&self) -> bool {
        self.has_exit
    }

    /// Whether patches may be put into it: a graph of tasks grows, one with an exit does not.
    pub fn can_grow(&self) -> bool {
        !self.has_exit
    }

    /// What is wrong with an input, by the workflow's own schema; what takes long is done by `long`.
    pub fn check_input(&self, input: &Value, long: LongWork) -> Result<(), Vec<String>> {
        schema::verdict(self.input_checker(), input, long)
    }

    /// What is wrong with a result, by the workflow's own schema; what takes long is done by `long`.
    pub fn check_result(&self, result: &Value, long: LongWork) -> Result<(), Vec<String>> {
        schema::verdict(self.output_checker(), result, long)
    }

    /// Whether the failure of a node has a way of its own.
    pub fn handles_failure(&self, at: NodeIx) -> bool {
        let mut outs = self.outs(at).iter();
        outs.any(|out| out.label == crate::workflow::ERROR_LABEL)
    }

    pub(crate) fn outs(&self, at: NodeIx) -> &[Out] {
        &self.outs[at.at()]
    }

    pub(crate) fn ins(&self, at: NodeIx) -> u32 {
        self.ins[at.at()].len() as u32
    }

    pub(crate) fn ways_into(&self, at: NodeIx) -> &[u32] {
        &self.ins[at.at()]
    }

    pub(crate) fn ways(&self) -> usize {
        self.ways
    }

    pub(crate) fn compiled(&self, at: NodeIx) -> &Compiled {
        &self.compiled[at.at()]
    }

    pub(crate) fn waits_for_all(&self, at: NodeIx) -> bool {
        self.node(at).join == Join::All && self.ins(at) > 1
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph")
            .field("workflow", &self.workflow.name)
            .finish_non_exhaustive()
    }
}
