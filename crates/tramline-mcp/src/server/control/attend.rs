//! Waiting for a workflow: to its next pause or its end, asking the client what can be asked.

use super::super::graph_tools;
use super::super::pausing::{self, Next};
use super::super::reply;
use super::super::teller::Wishes;
use super::super::toolset::Means;
use super::super::underway::Underway;
use super::told::{self, is_decision};
use super::wrong::{Code, Wrong};
use rmcp::model::CallToolResponse;
use std::sync::Arc;
use tramline_engine::Ended;

/// What a control command came to: something to tell, or a question for the client.
pub(super) enum Came {
    /// How the workflow stands.
    Stands(tramline_core::Map),
    /// The client is asked; its answer comes with another call.
    Asks(Box<CallToolResponse>),
}

/// Waits until a workflow pauses or ends.
pub(super) async fn attend(
    means: &Means,
    tool: &str,
    mut underway: Underway,
) -> Result<Came, Wrong> {
    let _here = means.shared.desk.attending(&underway.run);
    let wishes = Wishes::new(&means.context, means.log);
    loop {
        let ended =
            graph_tools::watch(&means.engine, &mut underway, &means.context, &wishes).await?;
        match ended {
            Ended::Finished(_) => return stands(means, &underway).await,
            Ended::Paused(pauses) => {
                // Tasks may have been added meanwhile.
                let loaded = means.engine.load(&underway.run).await?;
                underway.graph = Arc::clone(&loaded.run.graph);
                let open: Vec<_> = pauses.into_iter().filter(|(_, p)| is_decision(p)).collect();
                let put = pausing::put(&means.shared, tool, &underway, &open, &means.context);
                match put.await? {
                    // Nobody was asked, so that nothing has changed since.
                    None if open.is_empty() => return told::standing(&loaded).map(Came::Stands),
                    None => return stands(means, &underway).await,
                    Some(Next::GoOn) => {}
                    Some(Next::Reply(reply)) => return Ok(Came::Asks(reply)),
                }
            }
            Ended::Stopped => {
                let says = "nobody waits for the workflow any more; `continue` comes back to it";
                return Err(Wrong::new(Code::Internal, says).of(&underway.run));
            }
        }
    }
}

/// Goes on with a workflow about which the client brings an answer.
pub(super) async fn brought(means: &Means, tool: &str) -> Result<Option<Came>, Wrong> {
    let Some((state, responses)) = means.brought.as_ref().filter(|it| !it.0.elsewhere) else {
        return Ok(None);
    };
    let answered = pausing::answered(&means.shared, state.clone(), responses, &means.context);
    let (underway, next) = answered.await?;
    match next {
        Next::GoOn => attend(means, tool, underway).await.map(Some),
        Next::Reply(_) => stands(means, &underway).await.map(Some),
    }
}

async fn stands(means: &Means, underway: &Underway) -> Result<Came, Wrong> {
    let loaded = means.engine.load(&underway.run).await?;
    told::standing(&loaded).map(Came::Stands)
}

/// The reply to a command.
pub(super) fn reply(came: Result<Came, Wrong>) -> CallToolResponse {
    match came {
        Ok(Came::Stands(told)) => reply::success(&told.into()).into(),
        Ok(Came::Asks(reply)) => *reply,
        Err(wrong) => wrong.into(),
    }
}
