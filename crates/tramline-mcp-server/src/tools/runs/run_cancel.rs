//! `run_cancel`: ends a run.

use crate::reply;
use crate::tool::CallContext;
use crate::tools::debugging::{current_state, run_id};
use rmcp::model::CallToolResult;
use tramline_engine::Fault;
use tramline_expr::Value;

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResult {
    let id = match run_id(&arguments, "run_id") {
        Ok(id) => id,
        Err(fault) => return reply::fault_reply(&fault, None),
    };
    let why = arguments.get("why").and_then(Value::as_str);
    let by = means.caller().journal_name(&means.request);
    let ended = match means.engine.abort(&id, by, why.map(str::to_owned)).await {
        // It has ended by itself or was cancelled before: the state says how.
        Ok(()) | Err(Fault::Ended { .. } | Fault::Expired { .. }) => {
            let loaded = means.engine.load(&id).await;
            match loaded {
                Ok(loaded) => Ok(current_state(&means.engine, &loaded).await.into()),
                Err(fault) => Err(fault),
            }
        }
        Err(fault) => Err(fault),
    };
    reply::reply_or_fault(ended, Some(&id))
}
