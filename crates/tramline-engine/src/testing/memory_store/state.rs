//! The state that the simulated processes share.

use super::{HeldClaim, Journal, State, StoredDocumentRow};
use crate::ports::{Append, AppendError, ClaimChange, Epoch, JournalChunk, RunRow};
use tramline_workflow::ids::RunId;

impl State {
    /// Whether an append continues after the last event.
    pub(super) fn check_seen(&self, append: &Append) -> Result<(), AppendError> {
        let known = self.durable.runs.get(&append.run);
        let last = known.map_or(0, |known| known.row.last);
        match last == append.seen {
            true => Ok(()),
            false => Err(AppendError::Conflict { last }),
        }
    }

    /// Whether the claim allows an append. Returns the epoch after it.
    pub(super) fn check_claim(
        &self,
        run: &RunId,
        own: u32,
        change: ClaimChange,
    ) -> Result<Epoch, AppendError> {
        let held = self.claims.get(run).copied();
        match change {
            ClaimChange::Keep => Ok(held.map(|held| held.epoch).unwrap_or_default()),
            ClaimChange::Take => self.next_epoch(run, own),
            ClaimChange::Hold(epoch) | ClaimChange::Release(epoch) => {
                if !self.leases || held == Some(HeldClaim { by: own, epoch }) {
                    return Ok(epoch);
                }
                let owner = held.map_or_else(|| "no process".into(), |held| name(held.by));
                Err(owner)
            }
        }
        .map_err(|owner| AppendError::Elsewhere { owner })
    }

    /// Takes the claim on a run, unless another live process holds it.
    pub(super) fn take_claim(&mut self, run: &RunId, own: u32) -> Result<Epoch, String> {
        let epoch = self.next_epoch(run, own)?;
        self.claims
            .insert(run.clone(), HeldClaim { by: own, epoch });
        self.epochs.insert(run.clone(), epoch.0);
        Ok(epoch)
    }

    /// The epoch with which a process would hold the claim, or the live process that holds it.
    fn next_epoch(&self, run: &RunId, own: u32) -> Result<Epoch, String> {
        let next = || self.epochs.get(run).copied().unwrap_or_default() + 1;
        match self.claims.get(run) {
            Some(held) if held.by == own => Ok(held.epoch),
            Some(held) if self.is_live(held) => Err(name(held.by)),
            Some(_) | None if self.leases => Ok(Epoch(next())),
            Some(_) | None => Ok(Epoch::default()),
        }
    }

    fn is_live(&self, held: &HeldClaim) -> bool {
        !self.lapsed.contains(&held.by)
    }

    /// Adds a chunk.
    pub(super) fn append(&mut self, append: Append) {
        let Append {
            run,
            seen,
            last,
            body,
            index_row: head,
            claim: _,
            documents,
        } = append;
        if head.status.is_over() {
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
                pool: None,
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
    }

    pub(super) fn free_claims(&mut self, process: u32) {
        self.claims.retain(|_, held| held.by != process);
    }

    pub(super) fn row(&self, journal: &Journal) -> RunRow {
        RunRow {
            driven: self
                .claims
                .get(&journal.row.run)
                .is_some_and(|held| self.is_live(held)),
            ..journal.row.clone()
        }
    }
}

/// A process as messages name it.
fn name(process: u32) -> String {
    format!("process {process}")
}
