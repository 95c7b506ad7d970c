//! `abort`: ends a workflow and returns its results so far.

use super::error::ControlError;
use super::wait::{self, ControlReply};
use super::{read, status};
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use tramline_expr::Value;

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResponse {
    let came = abort(&means, &arguments).await;
    wait::tool_response(came)
}

async fn abort(means: &CallContext, arguments: &Value) -> Result<ControlReply, ControlError> {
    let run = read::load_workflow(means, arguments).await?.run;
    means.shared.toolset_state.control.admit(&run.id).await?;
    let why = read::text(arguments, "reason").map(str::to_owned);
    let by = means.caller().journal_name(&means.request);
    means.engine.abort(&run.id, by, why).await?;
    let ended = means.engine.load(&run.id).await?.run;
    let told = status::run_status(&means.engine, &ended).await;
    told.map(ControlReply::Status)
}
