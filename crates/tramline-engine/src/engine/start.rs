//! The parameters of a new run.

use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{AgentRun, BreakpointSet, Budget, SchedulePolicy};
use tramline_workflow::trace_context::TraceContext;

/// The parameters of a new run.
#[derive(Clone, Debug)]
pub struct RunStart {
    /// The run's id, if the caller has recorded it before the run starts; otherwise a new one.
    pub id: Option<RunId>,
    /// The graph to run.
    pub graph: Arc<Graph>,
    /// The input of the workflow.
    pub input: Value,
    /// How steps are scheduled.
    pub policy: SchedulePolicy,
    /// The caller's label that groups runs.
    pub session: Option<Str>,
    /// Where the document and its servers can be found again, in the front end's own format.
    pub origin: Value,
    /// Where the run halts.
    pub watch: Option<BreakpointSet>,
    /// What it may use before it pauses for more.
    pub budget: Option<Budget>,
    /// The operator's budget, set by the engine.
    pub(crate) operator_budget: Option<Budget>,
    /// How long it waits for an answer before it expires, in milliseconds.
    pub ttl_ms: Option<u64>,
    /// The owner: stored for front ends, which compare it.
    pub owner: Option<Str>,
    /// The caller's trace span that the run belongs to.
    pub upstream: Option<TraceContext>,
    /// Who asked for it, if that is not this process.
    pub by: Option<Str>,
    /// The intent it was planned for, if its plan may be recorded.
    pub intent: Option<Str>,
    /// The mark of its parent run; the engine marks other runs itself.
    pub(crate) agent: Option<Box<AgentRun>>,
    /// The key that makes a repeated start the same run; set by [`Engine::start_once`](super::Engine::start_once).
    pub(crate) start_key: Option<Str>,
}

/// The owner whose runs a caller may see; `None` if there are no named callers. Front ends pass it
/// on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOwner(pub Option<Str>);

/// How a front end admitted a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// Without a token, where none is required: the caller may be anyone on this machine.
    #[default]
    Open,
    /// With a token that matches a configured one.
    Token,
}

impl RunStart {
    /// A run with eager scheduling.
    pub fn new(graph: Arc<Graph>, input: Value) -> Self {
        Self {
            id: None,
            graph,
            input,
            policy: SchedulePolicy::Eager,
            session: None,
            origin: Value::Null,
            watch: None,
            budget: None,
            operator_budget: None,
            ttl_ms: None,
            owner: None,
            upstream: None,
            by: None,
            intent: None,
            agent: None,
            start_key: None,
        }
    }
}
