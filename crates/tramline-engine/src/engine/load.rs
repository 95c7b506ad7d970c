//! Loads runs from their journals.

use super::{Engine, EngineInner, RunOwner};
use crate::fault::Fault;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_workflow::graph::{Graph, Problem};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{self, Entry, Event, FirstEvent, RunStarted, SopEvent};
use tramline_workflow::run::Run;

/// A run with its journal.
pub struct LoadedRun {
    /// The state of the run.
    pub run: Run,
    /// The journal.
    pub entries: Vec<Entry>,
    /// The size of the journal in bytes.
    pub bytes: u64,
}

/// The first line of a journal, for front ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunHeader {
    /// The owner of the run.
    pub owner: RunOwner,
    /// Whether it is an SOP session.
    pub is_sop_session: bool,
}

impl Engine {
    /// The first event of a run or an SOP session.
    pub async fn run_header(&self, id: &RunId) -> Result<RunHeader, Fault> {
        let first = self.0.first_event(id).await?;
        let begun = |owner: Option<Str>, guided| RunHeader {
            owner: RunOwner(owner),
            is_sop_session: guided,
        };
        match first {
            Some(FirstEvent::Started(started)) => Ok(begun(started.owner, false)),
            Some(FirstEvent::SopStarted(guided)) => Ok(begun(guided.owner, true)),
            None => Err(Fault::NotFound(id.clone())),
        }
    }
}

impl EngineInner {
    /// The events after `after`, with their size in bytes.
    pub(crate) async fn read_events(
        &self,
        id: &RunId,
        after: Seq,
    ) -> Result<(Vec<Entry>, u64), Fault> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for chunk in self.store.read(id, after).await? {
            bytes += chunk.body.len() as u64;
            let mut first = chunk.first.max(after + 1);
            let mut body = journal::skip_lines(&chunk.body, (first - chunk.first) as usize);
            if first == 1
                && let Some((at_ms, beginning)) = journal::decode_first_event(body)
            {
                let event = match self.with_documents(id, beginning).await {
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

    /// The first event of a run or session; `None` if it cannot be read. It may contain only the
    /// digests of its documents.
    pub(super) async fn first_event(&self, id: &RunId) -> Result<Option<FirstEvent>, Fault> {
        let chunks = self.store.read(id, 0).await?;
        let first = chunks.first();
        let beginning = first.and_then(|chunk| journal::decode_first_event(&chunk.body));
        Ok(beginning.map(|(_, beginning)| beginning))
    }

    /// Loads a run from its journal.
    pub(crate) async fn load(&self, id: &RunId) -> Result<LoadedRun, Fault> {
        let (entries, bytes) = self.read_events(id, 0).await?;
        if entries.is_empty() {
            return Err(Fault::NotFound(id.clone()));
        }
        if let Some(Event::Sop(SopEvent::SopStarted(_))) = entries.first().map(|entry| &entry.event)
        {
            return Err(Fault::Rejected(format!(
                "{id} is an SOP session: move it with `goto_node`, read it with `tramline sop show {id}`"
            )));
        }
        let run = Run::fold(id.clone(), entries.iter().cloned(), |started| {
            self.graph(started)
        })
        .map_err(|illegal| Fault::Damaged {
            run: id.clone(),
            message: illegal.to_string(),
        })?;
        Ok(LoadedRun {
            run,
            entries,
            bytes,
        })
    }

    /// The graph of a run's workflow, shared by all its runs.
    pub(super) fn graph(&self, started: &RunStarted) -> Result<Arc<Graph>, Vec<Problem>> {
        self.documents.workflows.built(&started.workflow)
    }
}
