//! `goto_node`, `advance` and `todo`: one command of the agent, decided and recorded.

use super::session::{session_fault_reply, session_of_call};
use super::sop_reply;
use crate::reply;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_engine::Fault;
use tramline_expr::{Str, Value};
use tramline_sop::{MoveRequest, SopDecision, SopSession};
use tramline_workflow::ids::RunId;

/// Maximum length of a reason, in characters: it is for readers of the journal.
const REASON_CHARS_MAX: usize = 2_000;

fn move_request(arguments: &Value) -> MoveRequest {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let cut = |text: &str| -> Str {
        text.chars()
            .take(REASON_CHARS_MAX)
            .collect::<String>()
            .into()
    };
    MoveRequest {
        node: text("node_id").map(Into::into),
        slots: arguments.get("slots").cloned().unwrap_or_default(),
        reason: text("reason").map(cut),
        evidence: arguments.get("evidence").cloned().unwrap_or_default(),
    }
}

pub(super) async fn goto_node(means: CallContext, arguments: Value) -> CallToolResult {
    move_session(means, arguments, false).await
}

pub(super) async fn advance(means: CallContext, arguments: Value) -> CallToolResult {
    move_session(means, arguments, true).await
}

/// Moves as requested and, if `by_itself`, onward until a node needs the agent or the user.
async fn move_session(means: CallContext, arguments: Value, by_itself: bool) -> CallToolResult {
    let arguments = means.engine.redact_submitted(arguments).await;
    let ask = move_request(&arguments);
    let decide = match by_itself {
        true => tramline_sop::advance,
        false => tramline_sop::move_to,
    };
    let tell =
        |walk: &SopSession, turn: &SopDecision| sop_reply::position_reply(walk, turn, by_itself);
    let told = match session_of_call(&means, &arguments).await {
        Ok(id) => {
            means
                .engine
                .update_sop_session(&id, |walk| decide(walk, &ask), tell)
                .await
        }
        Err(fault) => Err(fault),
    };
    match told {
        Ok(told) => reply::success(&told),
        Err(why) => session_fault_reply(&why),
    }
}

pub(super) async fn todo(means: CallContext, arguments: Value) -> CallToolResult {
    let arguments = means.engine.redact_submitted(arguments).await;
    let list = arguments.get("todos").cloned().unwrap_or_default();
    let todos = match tramline_workflow::todo::read(&list) {
        Ok(todos) => todos,
        Err(message) => return reply::fault_reply(&Fault::Rejected(message), None),
    };
    let written: Result<RunId, Fault> = session_of_call(&means, &arguments).await;
    let told = match written {
        Ok(id) => {
            let decide = |_: &SopSession| tramline_sop::replace_todos(todos.clone());
            means
                .engine
                .update_sop_session(&id, decide, |walk, _| sop_reply::todos_reply(walk))
                .await
        }
        Err(fault) => Err(fault),
    };
    match told {
        Ok(told) => reply::success(&told),
        Err(why) => session_fault_reply(&why),
    }
}
