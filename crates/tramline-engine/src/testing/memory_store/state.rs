//! The state that the simulated processes share.

use super::{Journal, State, StoredDocumentRow};
use crate::ports::{Append, JournalChunk, RunRow};
use tramline_workflow::ids::Seq;

impl State {
    /// Adds a chunk, or returns the last event if it is not the one seen.
    pub(super) fn append(&mut self, append: Append) -> Result<(), Seq> {
        let Append {
            run,
            seen,
            last,
            body,
            index_row: head,
            claim: _,
            documents,
        } = append;
        let over = head.status.is_over();
        let known = self
            .durable
            .runs
            .get(&run)
            .map_or(0, |known| known.row.last);
        if known != seen {
            return Err(known);
        }
        if over {
            self.claims.remove(&run);
        }
        for document in documents {
            let kept = self.durable.referred.entry(document.digest);
            let kept = kept.or_insert_with(|| StoredDocumentRow {
                body: document.body.clone(),
                ..StoredDocumentRow::default()
            });
            kept.by.insert(run.clone());
        }
        let entry = self.durable.runs.entry(run.clone());
        let journal = entry.or_insert_with(|| Journal {
            row: RunRow {
                run,
                last,
                bytes: 0,
                index_row: head.clone(),
                driven: false,
            },
            chunks: Vec::new(),
        });
        journal.row.last = last;
        journal.row.bytes += body.len() as u64;
        journal.row.index_row = head;
        journal.chunks.push(JournalChunk {
            first: seen + 1,
            last,
            body,
        });
        Ok(())
    }

    pub(super) fn free_claims(&mut self, process: u32) {
        self.claims.retain(|_, owner| *owner != process);
    }

    pub(super) fn row(&self, journal: &Journal) -> RunRow {
        RunRow {
            driven: self.claims.contains_key(&journal.row.run),
            ..journal.row.clone()
        }
    }
}
