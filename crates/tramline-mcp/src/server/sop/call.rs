//! `sop_call`, and each gated tool: a downstream call from where the conversation stands.

use super::seat::conversation;
use super::told;
use crate::server::reply;
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tokio_util::sync::CancellationToken;
use tramline_core::{Map, Str, Value};
use tramline_engine::{ToolCall, Went};

pub(super) async fn sop_call(means: Means, arguments: Value) -> CallToolResult {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let call = ToolCall {
        tool: text("tool").unwrap_or_default().into(),
        arguments: arguments.get("arguments").cloned().unwrap_or_default(),
        confirmed: text("confirm").map(Into::into),
        again: arguments
            .get("again")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    };
    through(means, &arguments, call).await
}

/// A call of a gated tool by its own name: what is ours is taken out of its arguments.
pub(super) async fn gated(means: Means, tool: Str, arguments: Value) -> CallToolResult {
    let mut rest: Map = arguments.as_object().cloned().unwrap_or_default();
    let confirmed = rest
        .remove("confirm")
        .and_then(|it| it.as_str().map(Into::into));
    rest.remove("session_id");
    let call = ToolCall {
        tool,
        arguments: rest.into(),
        confirmed,
        again: false,
    };
    through(means, &arguments, call).await
}

async fn through(means: Means, arguments: &Value, call: ToolCall) -> CallToolResult {
    let went = match conversation(&means, arguments).await {
        Ok(id) => {
            // The call ends with its request; what it came to is recorded either way.
            let cancel = CancellationToken::new();
            let _guard = cancel.clone().drop_guard();
            means.engine.call_guided(&id, call, cancel).await
        }
        Err(fault) => Err(fault),
    };
    match went {
        Err(fault) => reply::fault(&fault, None),
        Ok(went) => told_of(went),
    }
}

fn told_of(went: Went) -> CallToolResult {
    let mut error = Map::new();
    match went {
        Went::Through(Ok(output), None) => return reply::success(&output),
        Went::Through(Ok(output), Some(warning)) => {
            let both = [("warning", Value::from(warning)), ("result", output)];
            return reply::success(&Value::object(both));
        }
        Went::Through(Err(failure), _) => {
            error.insert("message", failure.to_string().into());
        }
        Went::Refused(refusal) => {
            error.insert("message", refusal.says().into());
            told::refusal(&refusal, &mut error);
        }
        Went::InDoubt(tool) => {
            let message = format!(
                "{tool} was called like this before, and nobody knows whether it happened: look, and repeat it with `again: true` if it did not"
            );
            error.insert("message", message.into());
        }
    }
    reply::errored(error)
}
