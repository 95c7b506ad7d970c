//! From journals back to runs.

use super::{Engine, Inner, Owner};
use crate::fault::Fault;
use std::sync::Arc;
use tramline_core::Str;
use tramline_core::graph::{Graph, Problem};
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{self, Beginning, Entry, Event, Started};
use tramline_core::run::Run;

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
            Some(Beginning::Started(started)) => Ok(begun(started.owner, false)),
            Some(Beginning::Guided(guided)) => Ok(begun(guided.owner, true)),
            None => Err(Fault::NotFound(id.clone())),
        }
    }
}

impl Inner {
    /// The events after `after`, with their size.
    pub(crate) async fn read(&self, id: &RunId, after: Seq) -> Result<(Vec<Entry>, u64), Fault> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for chunk in self.store.read(id, after).await? {
            bytes += chunk.body.len() as u64;
            let mut first = chunk.first.max(after + 1);
            let mut body = journal::skip_lines(&chunk.body, (first - chunk.first) as usize);
            if first == 1
                && let Some((at_ms, beginning)) = journal::decode_beginning(body)
            {
                let event = match self.whole(id, beginning).await {
                    Err(Fault::NotFound(_)) => return Ok((Vec::new(), 0)),
                    event => event?,
                };
                entries.push(Entry {
                    seq: 1,
                    at_ms,
                    event,
                });
                (first, body) = (2, journal::skip_lines(body, 1));
            }
            let read = journal::decode(first, body).map_err(|error| Fault::Damaged {
                run: id.clone(),
                message: error.to_string(),
            })?;
            entries.extend(read);
        }
        Ok((entries, bytes))
    }

    /// How a run begins, of whatever kind; nothing if that cannot be read. Its documents may be
    /// named only.
    pub(super) async fn first(&self, id: &RunId) -> Result<Option<Beginning>, Fault> {
        let chunks = self.store.read(id, 0).await?;
        let first = chunks.first();
        let beginning = first.and_then(|chunk| journal::decode_beginning(&chunk.body));
        Ok(beginning.map(|(_, beginning)| beginning))
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

    /// The graph of a run's workflow, which all its runs share.
    pub(super) fn graph(&self, started: &Started) -> Result<Arc<Graph>, Vec<Problem>> {
        self.documents.workflows.built(&started.workflow)
    }
}
