//! `goto_node`, `advance` and `todo`: one word of the agent, decided and recorded.

use super::seat::{conversation, fault};
use super::told;
use crate::server::reply;
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::ids::RunId;
use tramline_core::navigate::{self, Ask, Turn, Walk};
use tramline_core::{Str, Value};
use tramline_engine::Fault;

/// Longer reasons are cut, in characters: they are for whoever reads the journal.
const REASON_CHARS_MAX: usize = 2_000;

fn ask(arguments: &Value) -> Ask {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let cut = |text: &str| -> Str {
        text.chars()
            .take(REASON_CHARS_MAX)
            .collect::<String>()
            .into()
    };
    Ask {
        node: text("node_id").map(Into::into),
        slots: arguments.get("slots").cloned().unwrap_or_default(),
        reason: text("reason").map(cut),
        evidence: arguments.get("evidence").cloned().unwrap_or_default(),
    }
}

pub(super) async fn goto_node(means: Means, arguments: Value) -> CallToolResult {
    moved(means, arguments, false).await
}

pub(super) async fn advance(means: Means, arguments: Value) -> CallToolResult {
    moved(means, arguments, true).await
}

/// Moves as asked, and by itself as far as nobody is needed if that is wanted.
async fn moved(means: Means, arguments: Value, by_itself: bool) -> CallToolResult {
    let arguments = means.engine.redacted(arguments).await;
    let ask = ask(&arguments);
    let decide = match by_itself {
        true => navigate::advance,
        false => navigate::goto,
    };
    let tell = |walk: &Walk, turn: &Turn| told::standing(walk, turn, by_itself);
    let told = match conversation(&means, &arguments).await {
        Ok(id) => {
            means
                .engine
                .navigate(&id, |walk| decide(walk, &ask), tell)
                .await
        }
        Err(fault) => Err(fault),
    };
    match told {
        Ok(told) => reply::success(&told),
        Err(why) => fault(&why),
    }
}

pub(super) async fn todo(means: Means, arguments: Value) -> CallToolResult {
    let arguments = means.engine.redacted(arguments).await;
    let list = arguments.get("todos").cloned().unwrap_or_default();
    let todos = match tramline_core::todo::read(&list) {
        Ok(todos) => todos,
        Err(message) => return reply::fault(&Fault::Refused(message), None),
    };
    let written: Result<RunId, Fault> = conversation(&means, &arguments).await;
    let told = match written {
        Ok(id) => {
            let decide = |_: &Walk| navigate::todo(todos.clone());
            means
                .engine
                .navigate(&id, decide, |walk, _| told::todos(walk))
                .await
        }
        Err(fault) => Err(fault),
    };
    match told {
        Ok(told) => reply::success(&told),
        Err(why) => fault(&why),
    }
}
