//! A graph that is ready to run: a workflow checked, compiled and indexed, shared by all its runs.

use crate::ids::NodeIx;
use crate::schema::{self, Checker};
use crate::text;
use crate::workflow::{Join, Node, Workflow};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{Expression, Offload, Rule, Str, Value};

mod build;
mod check;
mod components;
mod patch;
pub mod problem;
mod static_check;

pub use patch::Patch;
pub use problem::{MeantPart, NodePart, Problem, ProblemLocation};
pub use static_check::nearest_function;

/// A workflow that has been checked, compiled and indexed.
pub struct Graph {
    /// The workflow it was built from.
    pub workflow: Arc<Workflow>,
    compiled: Vec<CompiledAction>,
    by_id: HashMap<Str, NodeIx>,
    out_edges: Vec<Vec<OutEdge>>,
    /// The incoming connections of each node: one for every node with an edge to it.
    incoming: Vec<Vec<u32>>,
    connection_count: usize,
    has_exit: bool,
    sources: Vec<NodeIx>,
    pub(crate) components: components::Components,
    pub(crate) retention: OutputRetention,
    input: schema::LazyChecker,
    output: schema::LazyChecker,
}

/// The compiled form of a node's action.
pub enum CompiledAction {
    /// Nothing to compile.
    Plain,
    /// The arguments of a call.
    Arguments(CompiledTemplate),
    /// The items of a fan-out call, and its arguments.
    FanOut(CompiledTemplate, CompiledTemplate),
    /// The time a wait ends.
    Time(CompiledTemplate),
    /// The message of a form, and the values with which it begins.
    Form(CompiledTemplate, Option<CompiledTemplate>),
    /// The expression of a transform.
    Expression(Expression),
    /// The rules of a switch, each with the label it picks.
    Rules(Vec<(Rule, Str)>),
}

/// A [`Template`](crate::workflow::Template) with its expressions compiled.
pub enum CompiledTemplate {
    /// A fixed value.
    Literal(Value),
    /// A computed value.
    Expr(Expression),
    /// An object of templates.
    Object(Vec<(Str, CompiledTemplate)>),
    /// A list of templates.
    Array(Vec<CompiledTemplate>),
}

/// An outgoing edge of a node.
#[derive(Clone, Debug)]
pub struct OutEdge {
    /// The label on which it is taken.
    pub label: Str,
    /// The target.
    pub to: NodeIx,
    /// The connection it belongs to. All edges between the same two nodes form one connection.
    pub connection: u32,
}

/// Which outputs a run must keep in addition to the latest one of each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputRetention {
    /// Every output, because an expression looks back an unknown number of steps.
    pub(crate) all: bool,
    /// Every output of these nodes, by index.
    pub(crate) nodes: Vec<bool>,
}

impl OutputRetention {
    pub(crate) fn keeps(&self, node: NodeIx) -> bool {
        self.all || self.nodes.get(node.index()).copied().unwrap_or(false)
    }
}

impl Graph {
    /// The same graph with approval required before every call annotated as destructive. Documents
    /// submitted by agents always run in this form.
    pub fn cautious(graph: &Arc<Self>) -> Arc<Self> {
        if graph.workflow.cautious {
            return Arc::clone(graph);
        }
        let mut workflow = (*graph.workflow).clone();
        workflow.cautious = true;
        // A valid graph stays valid with additional approvals.
        Self::build(Arc::new(workflow))
            .map_or_else(|_| Arc::clone(graph), |(built, _)| Arc::new(built))
    }

    /// The node at an index.
    pub fn node(&self, at: NodeIx) -> &Node {
        &self.workflow.nodes[at.index()]
    }

    /// The index of the node with this id.
    pub fn find(&self, id: &str) -> Option<NodeIx> {
        self.by_id.get(id).copied()
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.workflow.nodes.len()
    }

    /// Whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.workflow.nodes.is_empty()
    }

    /// The checker for the input of a run, if the workflow declares an input schema.
    pub fn input_checker(&self) -> Option<&Checker> {
        self.input.get(self.workflow.input_schema.as_ref())
    }

    /// The checker for the result of a run, if the workflow declares an output schema.
    pub fn output_checker(&self) -> Option<&Checker> {
        self.output.get(self.workflow.output_schema.as_ref())
    }

    /// Stores checkers that a reader already compiled to validate the schemas.
    pub fn keep_checkers(&self, input: Option<Checker>, output: Option<Checker>) {
        self.input.keep(input);
        self.output.keep(output);
    }

    /// The nodes at which a run starts.
    pub fn sources(&self) -> &[NodeIx] {
        &self.sources
    }

    /// Whether the graph has an exit. If so, a run only succeeds by reaching one.
    pub fn has_exit(&self) -> bool {
        self.has_exit
    }

    /// Whether patches may be applied: only graphs without an exit can be extended.
    pub fn is_extensible(&self) -> bool {
        !self.has_exit
    }

    /// Validates an input against the workflow's schema; long work is run through `long`.
    pub fn check_input(&self, input: &Value, long: Offload) -> Result<(), Vec<String>> {
        let mut flaws = self.mistyped_inputs(input);
        if let Err(found) = schema::check_optional(self.input_checker(), input, long) {
            flaws.extend(found);
        }
        match flaws.is_empty() {
            true => Ok(()),
            false => Err(flaws),
        }
    }

    /// The input with the defaults of the workflow's schema filled in.
    pub fn fill_input(&self, input: Value) -> Value {
        match &self.workflow.input_schema {
            Some(schema) => schema::with_defaults(schema, input),
            None => input,
        }
    }

    /// Inputs that are probably typos of declared ones. Most schemas allow other fields, so the
    /// intended input would silently be missing.
    fn mistyped_inputs(&self, input: &Value) -> Vec<String> {
        let schema = self.workflow.input_schema.as_ref();
        let known = schema.and_then(|schema| schema.get("properties"));
        let (Some(known), Some(given)) = (known.and_then(Value::as_object), input.as_object())
        else {
            return Vec::new();
        };
        let free = || known.keys().filter(|name| !given.contains_key(name));
        let unknown = given.keys().filter(|key| !known.contains_key(key));
        let hint = |key: &Str| {
            let near = text::nearest(key, free().map(Str::as_str))?;
            let is_typo = text::resembles(key, near);
            let key = text::display_name(key);
            is_typo.then(|| format!("there is no input `{key}`; did you mean `{near}`?"))
        };
        unknown.filter_map(hint).collect()
    }

    /// Validates a result against the workflow's schema; long work is run through `long`.
    pub fn check_result(&self, result: &Value, long: Offload) -> Result<(), Vec<String>> {
        schema::check_optional(self.output_checker(), result, long)
    }

    /// Whether the node has an edge for failures.
    pub fn handles_failure(&self, at: NodeIx) -> bool {
        let mut outs = self.out_edges(at).iter();
        outs.any(|out| out.label == crate::workflow::ERROR_LABEL)
    }

    /// Whether a node has an edge with this label.
    pub fn has_label(&self, at: NodeIx, label: &str) -> bool {
        self.out_edges(at).iter().any(|out| out.label == label)
    }

    /// The outgoing edges of a node.
    pub fn out_edges(&self, at: NodeIx) -> &[OutEdge] {
        &self.out_edges[at.index()]
    }

    pub(crate) fn in_degree(&self, at: NodeIx) -> u32 {
        self.incoming[at.index()].len() as u32
    }

    pub(crate) fn incoming_connections(&self, at: NodeIx) -> &[u32] {
        &self.incoming[at.index()]
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.connection_count
    }

    /// The compiled action of a node.
    pub fn compiled(&self, at: NodeIx) -> &CompiledAction {
        &self.compiled[at.index()]
    }

    pub(crate) fn waits_for_all(&self, at: NodeIx) -> bool {
        self.node(at).join == Join::All && self.in_degree(at) > 1
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph")
            .field("workflow", &self.workflow.name)
            .finish_non_exhaustive()
    }
}
