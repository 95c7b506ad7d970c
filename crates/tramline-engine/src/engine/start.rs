//! What a run is started with.

use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::journal::{AgentRun, Budget, Policy, Watch};
use tramline_core::upstream::Upstream;
use tramline_core::{Str, Value};

/// What a run is started with.
#[derive(Clone, Debug)]
pub struct Start {
    /// What to run.
    pub graph: Arc<Graph>,
    /// With what.
    pub input: Value,
    /// How to go on from step to step.
    pub policy: Policy,
    /// The caller's label that groups runs.
    pub session: Option<Str>,
    /// Where the document and its servers are to be found again, in the front end's own words.
    pub origin: Value,
    /// Where it is to halt.
    pub watch: Option<Watch>,
    /// What it may use before it asks.
    pub budget: Option<Budget>,
    /// What the operator lets it use; the engine fills it in.
    pub(crate) operator_budget: Option<Budget>,
    /// How long it waits for an answer before it is over.
    pub ttl_ms: Option<u64>,
    /// Whose it is: kept for front ends, which compare it.
    pub owner: Option<Str>,
    /// The span of its caller's that it belongs to.
    pub upstream: Option<Upstream>,
    /// What it was planned for, if that is to be learnt from.
    pub intent: Option<Str>,
    /// The mark of the run that it is a part of; the engine marks others itself.
    pub(crate) agent: Option<Box<AgentRun>>,
}

/// Whose runs a caller may see: nobody's name where there are no names. Front ends hand it on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner(pub Option<Str>);

/// How a front end let a request in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// Without a token, where none is needed: it may be anybody on this machine.
    #[default]
    Open,
    /// By a token that was compared with those that are configured.
    Token,
}

impl Start {
    /// An eager run.
    pub fn new(graph: Arc<Graph>, input: Value) -> Self {
        Self {
            graph,
            input,
            policy: Policy::Eager,
            session: None,
            origin: Value::Null,
            watch: None,
            budget: None,
            operator_budget: None,
            ttl_ms: None,
            owner: None,
            upstream: None,
            intent: None,
            agent: None,
        }
    }
}
