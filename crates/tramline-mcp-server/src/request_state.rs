//! The `requestState` codec: state that a client returns with the next call, authenticated.
//!
//! A valid seal proves that we asked this question about this run, in reply to this call. The journal ensures that it is used only
//! once.

use rmcp::ErrorData;
use rmcp::model::{JsonObject, RequestStateCodec, SealOptions};
use rmcp::service::{RequestContext, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::Fault;
use tramline_engine::ports::{Store, StoreFault};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::ContentDigest;

/// Kind of the key's document in the store, so that it outlives the process.
const KIND: &str = "server-key";
const KEY: &str = "request-state";
const KEY_BYTES: usize = 32;

/// How long a question can be answered through a client; other channels have no such limit.
const SEAL_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The run and the questions that a client was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestState {
    /// The run.
    pub(super) run: RunId,
    /// Sequence numbers of the questions in its journal.
    pub(super) asked: Vec<Seq>,
    /// Whether the client was asked to open a URL instead of showing a form.
    #[serde(default)]
    pub(super) elsewhere: bool,
    /// Digest of the arguments of the call that asked. Missing in states of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<String>,
}

/// Digest of the arguments of a call, in the extensions of its context.
#[derive(Clone)]
struct ArgumentsDigest(String);

/// Records the arguments of a call, if its client may have to repeat it with an answer.
pub(super) fn note_arguments(
    context: &mut RequestContext<RoleServer>,
    arguments: Option<&JsonObject>,
) {
    let asks = context
        .client_capabilities()
        .is_some_and(|can| can.elicitation.is_some());
    if asks {
        let sorted = sorted(&Json::Object(arguments.cloned().unwrap_or_default()));
        let digest = ContentDigest::of(sorted.to_string().as_bytes()).to_string();
        context.extensions.insert(ArgumentsDigest(digest));
    }
}

/// The digest of a call's arguments.
pub(super) fn arguments_digest(context: &RequestContext<RoleServer>) -> Option<String> {
    let digest = context.extensions.get::<ArgumentsDigest>();
    digest.map(|digest| digest.0.clone())
}

/// The value with the keys of its objects sorted: a client may repeat them in another order.
fn sorted(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.iter().map(sorted).collect(),
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| key.as_str());
            let fields = fields
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            Json::Object(fields.collect())
        }
        plain => plain.clone(),
    }
}

/// Seals the state for the caller of a tool.
pub(super) async fn seal(
    store: &Arc<dyn Store>,
    tool: &str,
    state: &RequestState,
) -> Result<String, Fault> {
    let options = SealOptions::new().associated_data(tool.as_bytes());
    let codec = codec(store).await?;
    let sealed = codec.seal_json_with(state, &options.ttl(SEAL_TTL));
    sealed.map_err(|error| Fault::Rejected(format!("cannot seal the question: {error}")))
}

/// Opens the state that the caller of a tool returned.
async fn unseal(store: &Arc<dyn Store>, tool: &str, sealed: &str) -> Result<RequestState, Fault> {
    let opened = codec(store).await?.open_json_with(sealed, tool.as_bytes());
    opened.map_err(|error| {
        Fault::Rejected(format!(
            "invalid requestState for `{tool}`: {error}; call without it to start over"
        ))
    })
}

/// Opens the state of a request. A tampered state is a request error, not a tool failure.
pub(super) async fn unseal_request(
    store: &Arc<dyn Store>,
    tool: &str,
    sealed: &str,
    context: &RequestContext<RoleServer>,
) -> Result<RequestState, ErrorData> {
    let state = unseal(store, tool, sealed)
        .await
        .map_err(|fault| match fault {
            Fault::Rejected(says) => ErrorData::invalid_params(says, None),
            other => ErrorData::internal_error(other.to_string(), None),
        })?;
    // The answer belongs to the call that asked: with other arguments it would approve something
    // else than the call names.
    if state.arguments.is_some() && state.arguments != arguments_digest(context) {
        let says = format!(
            "invalid requestState for `{tool}`: it belongs to a call with other arguments; repeat that call \
             unchanged, or call without it to start over"
        );
        return Err(ErrorData::invalid_params(says, None));
    }
    Ok(state)
}

/// Reads the key each time: if two processes create a key at once, the last one is used by both.
async fn codec(store: &Arc<dyn Store>) -> Result<RequestStateCodec, Fault> {
    let key = match store.get(KIND, KEY).await? {
        Some(key) if key.len() == KEY_BYTES => key,
        Some(_) | None => {
            let mut key = vec![0; KEY_BYTES];
            getrandom::fill(&mut key).map_err(|error| StoreFault {
                message: format!("cannot get random bytes for a key: {error}"),
            })?;
            store.put(KIND, KEY, key.clone()).await?;
            key
        }
    };
    RequestStateCodec::try_new(key).map_err(|error| Fault::Rejected(error.to_string()))
}
