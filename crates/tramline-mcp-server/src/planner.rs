//! The planner for the call of a tool: its model, and who plans for what.

use crate::tool::CallContext;
use tramline_planner::loop_runner::{CallerContext, LoopRunner};

/// The loop runner of a server, with its model if it has one.
pub(crate) fn loop_runner(means: &CallContext) -> LoopRunner {
    let runner = LoopRunner::new(means.shared.planner.clone());
    match &means.shared.options.model {
        Some(model) => runner.with_model(model.clone()),
        None => runner,
    }
}

/// The context of a call: caller, origin and expiry.
pub(crate) fn caller_context(means: &CallContext) -> CallerContext {
    CallerContext {
        owner: means.caller().name,
        caller: Some(means.caller().journal_name(&means.request)),
        origin: means.shared.options.origin.clone(),
        ttl_ms: means.shared.options.ttl_ms(),
        cancel: means.request.ct.clone(),
        upstream: means.trace_context(),
    }
}
