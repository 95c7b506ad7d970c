//! From journals back to runs, sharing one compiled graph between all runs of a workflow.

use super::{Engine, Inner, Owner};
use crate::fault::Fault;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError};
use tramline_core::Str;
use tramline_core::graph::{Graph, Problem};
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{self, Entry, Event, Started};
use tramline_core::run::Run;

/// So many compiled graphs are kept; beyond it the cache starts afresh.
const GRAPHS_MAX: usize = 256;

/// Compiled graphs by what they were compiled from.
pub(super) type GraphCache = HashMap<u64, Arc<Graph>>;

/// A run with its journal.
pub struct Loaded {
    /// The fold.
    pub run: Run,
    /// The journal.
    pub entries: Vec<Entry>,
    /// How many bytes it holds.
    pub bytes: u64,
}

/// What the first line of a journal says, for front ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Whose run it is.
    pub owner: Owner,
    /// Whether it is a guided one.
    pub guided: bool,
}

impl Engine {
    /// How a run of whatever kind began.
    pub async fn begun(&self, id: &RunId) -> Result<Begun, Fault> {
        let first = self.0.first(id).await?;
        let begun = |owner: Option<Str>, guided| Begun {
            owner: Owner(owner),
            guided,
        };
        match first {
            Some(Event::Started(started)) => Ok(begun(started.owner, false)),
            Some(Event::Guided(guided)) => Ok(begun(guided.owner, true)),
            Some(_) | None => Err(Fault::NotFound(id.clone())),
        }
    }
}

impl Inner {
    /// The events after `after`, with their size.
    pub(crate) async fn read(&self, id: &RunId, after: Seq) -> Result<(Vec<Entry>, u64), Fault> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for chunk in self.store.read(id, after).await? {
            bytes += chunk.body.len() as u64;
            let read =
                journal::decode(chunk.first, &chunk.body).map_err(|error| Fault::Damaged {
                    run: id.clone(),
                    message: error.to_string(),
                })?;
            entries.extend(read.into_iter().filter(|entry| entry.seq > after));
        }
        Ok((entries, bytes))
    }

    /// What a run was started with; nothing if that cannot be read.
    pub(super) async fn started(&self, id: &RunId) -> Result<Option<Box<Started>>, Fault> {
        Ok(match self.first(id).await? {
            Some(Event::Started(started)) => Some(started),
            Some(_) | None => None,
        })
    }

    /// How a run begins, of whatever kind; nothing if that cannot be read.
    pub(super) async fn first(&self, id: &RunId) -> Result<Option<Event>, Fault> {
        let chunks = self.store.read(id, 0).await?;
        let line = chunks.first().and_then(|chunk| {
            let mut lines = chunk.body.split(|&byte| byte == b'\n');
            lines.next()
        });
        let entries = line.and_then(|line| journal::decode(1, line).ok());
        let first = entries.and_then(|entries| entries.into_iter().next());
        Ok(first.map(|entry| entry.event))
    }

    /// A run from its journal.
    pub(crate) async fn load(&self, id: &RunId) -> Result<Loaded, Fault> {
        let (entries, bytes) = self.read(id, 0).await?;
        if entries.is_empty() {
            return Err(Fault::NotFound(id.clone()));
        }
        if let Some(Event::Guided(_)) = entries.first().map(|entry| &entry.event) {
            return Err(Fault::Refused(format!(
                "{id} is a guided run: it is moved by `goto_node` and read with `tramline sop show {id}`"
            )));
        }
        let run = Run::fold(id.clone(), entries.iter().cloned(), |started| {
            self.graph(started)
        })
        .map_err(|illegal| Fault::Damaged {
            run: id.clone(),
            message: illegal.to_string(),
        })?;
        Ok(Loaded {
            run,
            entries,
            bytes,
        })
    }

    pub(super) fn graph(&self, started: &Started) -> Result<Arc<Graph>, Vec<Problem>> {
        let mut hasher = DefaultHasher::new();
        serde_json::to_vec(&started.workflow)
            .unwrap_or_default()
            .hash(&mut hasher);
        let key = hasher.finish();
        let mut graphs = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(graph) = graphs.get(&key)
            && graph.workflow == started.workflow
        {
            return Ok(Arc::clone(graph));
        }
        let (graph, _) = Graph::build(Arc::clone(&started.workflow))?;
        let graph = Arc::new(graph);
        if graphs.len() >= GRAPHS_MAX {
            graphs.clear();
        }
        graphs.insert(key, Arc::clone(&graph));
        Ok(graph)
    }
}
