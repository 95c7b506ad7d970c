//! `abort`: the end of a workflow, with what it has given so far.

use super::super::toolset::Means;
use super::attend::{self, Came};
use super::wrong::Wrong;
use super::{read, told};
use rmcp::model::CallToolResponse;
use tramline_core::Value;

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let came = abort(&means, &arguments).await;
    attend::reply(came)
}

async fn abort(means: &Means, arguments: &Value) -> Result<Came, Wrong> {
    let run = read::load(means, arguments).await?.run;
    means.shared.desk.admit(&run.id).await?;
    let why = read::text(arguments, "reason").map(str::to_owned);
    let by = means.caller().by(&means.context);
    means.engine.abort(&run.id, by, why).await?;
    let loaded = means.engine.load(&run.id).await?;
    told::standing(&loaded).map(Came::Stands)
}
