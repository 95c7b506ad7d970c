//! What a client carries for us between two calls, sealed so that it can only be ours.
//!
//! The seal says that we asked this of this run. That it is used once, the journal sees to.

use rmcp::ErrorData;
use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::ids::{RunId, Seq};
use tramline_engine::Fault;
use tramline_engine::seams::{Store, StoreFault};

/// Where the key is kept: with the runs, so that it outlives the process.
const KIND: &str = "server-key";
const KEY: &str = "request-state";
const KEY_BYTES: usize = 32;

/// A question can be answered through a client for so long; after that by the other ways.
const GOOD_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Which questions of which run a client was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The run.
    pub(super) run: RunId,
    /// The places of the questions in its journal.
    pub(super) asked: Vec<Seq>,
    /// Whether the client was not asked them, but to send its user to where they are answered.
    #[serde(default)]
    pub(super) elsewhere: bool,
}

/// Seals for the caller of a tool.
pub(super) async fn seal(
    store: &Arc<dyn Store>,
    tool: &str,
    state: &State,
) -> Result<String, Fault> {
    let options = SealOptions::new().associated_data(tool.as_bytes());
    let codec = codec(store).await?;
    let sealed = codec.seal_json_with(state, &options.ttl(GOOD_FOR));
    sealed.map_err(|error| Fault::Refused(format!("the question cannot be sealed: {error}")))
}

/// Opens what the caller of a tool brought back.
async fn open(store: &Arc<dyn Store>, tool: &str, sealed: &str) -> Result<State, Fault> {
    let opened = codec(store).await?.open_json_with(sealed, tool.as_bytes());
    opened.map_err(|error| {
        Fault::Refused(format!(
            "the requestState is not one that `{tool}` gave: {error}; call without it to start anew"
        ))
    })
}

/// The same for a request: what was tampered with is no tool's failure, the request is refused.
pub(super) async fn opened(
    store: &Arc<dyn Store>,
    tool: &str,
    sealed: &str,
) -> Result<State, ErrorData> {
    open(store, tool, sealed)
        .await
        .map_err(|fault| match fault {
            Fault::Refused(says) => ErrorData::invalid_params(says, None),
            other => ErrorData::internal_error(other.to_string(), None),
        })
}

/// Asked for anew each time: where two processes made a key at once, the last one holds for both.
async fn codec(store: &Arc<dyn Store>) -> Result<RequestStateCodec, Fault> {
    let key = match store.get(KIND, KEY).await? {
        Some(key) if key.len() == KEY_BYTES => key,
        Some(_) | None => {
            let mut key = vec![0; KEY_BYTES];
            getrandom::fill(&mut key).map_err(|error| StoreFault {
                message: format!("the system gives no random bytes for a key: {error}"),
            })?;
            store.put(KIND, KEY, key.clone()).await?;
            key
        }
    };
    RequestStateCodec::try_new(key).map_err(|error| Fault::Refused(error.to_string()))
}
