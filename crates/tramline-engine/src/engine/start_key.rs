//! Start keys: a start repeated under the same key is the same run, in every process.
//!
//! A key is bound to a run id before the run starts. Whoever repeats the start finds the id: if the run does not exist yet,
//! it is started under that id, and only one writer can append its first event. The first event names the key, so that the
//! binding is removed together with the run.

use super::{Engine, RunStart};
use crate::fault::Fault;
use crate::ports::StoreFault;
use serde::{Deserialize, Serialize};
use std::pin::pin;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{ContentDigest, FirstEvent};

/// Kind of the stored bindings.
const KIND: &str = "start_key";
/// Characters in a start key: a UUID has 36, a URL or a commit with a path fits.
pub const START_KEY_CHARS_MAX: usize = 256;

/// A caller's key for a start.
#[derive(Clone, Debug)]
pub struct StartKey {
    /// The key, unique for its caller and session.
    pub key: Str,
    /// What the caller asked for: another request under the same key fails.
    pub request: Value,
}

/// A run that was started, now or before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedRun {
    /// The run; its first event is durable.
    pub run: RunId,
    /// Whether this call started it.
    pub is_new: bool,
}

/// The run that a key is bound to.
#[derive(Serialize, Deserialize)]
struct BoundRun {
    run: RunId,
    /// The digest of the request.
    request: String,
}

impl Engine {
    /// Starts a run and returns once its first event is durable. This process drives it in the background.
    pub async fn start_detached(&self, start: RunStart) -> Result<StartedRun, Fault> {
        let handle = self.start(start).await?;
        let run = handle.run.clone();
        let mut rows = self.watch_row(&run);
        let mut ending = pin!(handle.wait());
        let is_new = loop {
            tokio::select! {
                biased;
                row = rows.next() => if row?.is_some() {
                    break true;
                },
                ended = &mut ending => match ended {
                    Ok(_) => break true,
                    // Another process has appended the first event.
                    Err(Fault::Elsewhere { .. }) => break false,
                    Err(fault) => return Err(fault),
                },
            }
        };
        Ok(StartedRun { run, is_new })
    }

    /// Starts a run under a key, or finds the run that was started under it before.
    pub async fn start_once(
        &self,
        key: StartKey,
        mut start: RunStart,
    ) -> Result<StartedRun, Fault> {
        let StartKey { key, request } = key;
        if key.is_empty() || key.chars().count() > START_KEY_CHARS_MAX {
            return Err(Fault::Rejected(format!(
                "a start key has 1 to {START_KEY_CHARS_MAX} characters"
            )));
        }
        // The journal names the key.
        let key_value = Value::from(key.clone());
        if self.redact_value(key_value.clone()).await != key_value {
            return Err(Fault::Rejected(
                "a start key must not contain a secret".into(),
            ));
        }
        // A start that cannot succeed binds no key.
        check_input(&start)?;
        drop(self.reserve_run().await?);
        let name = binding_name(&start, &key);
        let digest = ContentDigest::of(sorted(&request).to_json().as_bytes()).to_string();
        let bound = self.bind_key(&name, &digest).await?;
        let run = bound.run;
        if bound.request != digest {
            let key = key.to_string();
            return Err(Fault::KeyReused { key, run });
        }
        if self.0.store.row(&run).await?.is_none() {
            start.id = Some(run.clone());
            start.start_key = Some(key);
            match Box::pin(self.start_detached(start)).await {
                // Another call of this process is starting it.
                Err(Fault::Elsewhere { .. }) => self.wait_stored(&run).await?,
                started => return started,
            }
        }
        Ok(StartedRun { run, is_new: false })
    }

    /// The run that a key is bound to; binds it to a new id if it is free.
    async fn bind_key(&self, name: &str, digest: &str) -> Result<BoundRun, Fault> {
        let store = &self.0.store;
        let new = BoundRun {
            run: self.new_run_id(),
            request: digest.to_owned(),
        };
        let body = serde_json::to_vec(&new).map_err(|error| damaged(name, &error))?;
        loop {
            if let Some(known) = store.get(KIND, name).await? {
                return serde_json::from_slice(&known)
                    .map_err(|error| damaged(name, &error).into());
            }
            if store.swap(KIND, name, None, body.clone()).await? {
                return Ok(new);
            }
        }
    }

    /// Waits until the first event of a run that is starting is durable.
    async fn wait_stored(&self, run: &RunId) -> Result<(), Fault> {
        let mut rows = self.watch_row(run);
        while rows.next().await?.is_none() {
            if !self.0.active_runs().contains_key(run) && self.0.store.row(run).await?.is_none() {
                return Err(Fault::Rejected(format!(
                    "{run} could not be started; start it again with the same key"
                )));
            }
        }
        Ok(())
    }

    /// Removes runs with their start keys. Returns the number of removed runs.
    pub async fn remove_runs(&self, runs: &[RunId]) -> Result<usize, Fault> {
        let mut names = Vec::new();
        // Reading the first events takes time, and most stores have no keys.
        if !self.0.store.list(KIND).await?.is_empty() {
            for run in runs {
                if let Some(FirstEvent::Started(started)) = self.0.first_event(run).await?
                    && let Some(key) = started.start_key
                {
                    names.push(key_name(&started.owner, &started.session, &key));
                }
            }
        }
        let removed = self.0.store.remove(runs).await?;
        self.0.store.delete(KIND, &names).await?;
        Ok(removed)
    }
}

fn check_input(start: &RunStart) -> Result<(), Fault> {
    let checked = start
        .graph
        .check_input(&start.input, crate::long_work::long_work);
    checked.map_err(|flaws| Fault::InvalidInput {
        workflow: start.graph.workflow.name.to_string(),
        flaws,
    })
}

/// The name of a binding: callers and sessions do not share keys.
fn binding_name(start: &RunStart, key: &Str) -> String {
    key_name(&start.owner, &start.session, key)
}

fn key_name(owner: &Option<Str>, session: &Option<Str>, key: &Str) -> String {
    let text = |part: &Option<Str>| part.clone().map_or(Value::Null, Value::from);
    let scope = Value::array([text(owner), text(session), key.clone().into()]);
    ContentDigest::of(scope.to_json().as_bytes()).to_string()
}

/// The value with the keys of its objects sorted: the same request may be written in another order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::array(items.iter().map(sorted)),
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
            Value::object(
                fields
                    .into_iter()
                    .map(|(key, value)| (key.clone(), sorted(value))),
            )
        }
        plain => plain.clone(),
    }
}

fn damaged(name: &str, error: &serde_json::Error) -> StoreFault {
    StoreFault {
        message: format!("the start key `{name}` cannot be read: {error}"),
    }
}
