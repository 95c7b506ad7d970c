//! The journal writer of a run: which events are recorded, sent and durable.
//!
//! Events are applied when they are recorded, and sent in batches, one at a time. Nothing that
//! depends on an event may leave the process before [`Ledger::durable`] has reached it. Other
//! events are simply recomputed if another writer appends first.

use crate::clock;
use crate::engine::encode_with_documents;
use crate::fault::Fault;
use crate::ports::{
    Append, AppendError, ClaimChange, Epoch, Observer, RunIndexRow, RunStatus, Store,
};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Instant;
use tramline_workflow::ids::Seq;
use tramline_workflow::journal::{Entry, Event, EventTooLarge, Outcome, StoredDocument};
use tramline_workflow::run::Run;

/// Initial capacity of a batch, in bytes: the events of a short run, or of a layer of a few tasks.
const BODY_BYTES: usize = 2 << 10;

/// Recorded events that are sent even if nothing waits for them: bounds what must be recomputed.
const BATCH_EVENTS_MAX: usize = 2_048;
/// Recorded bytes that are sent even if nothing waits for them: bounds memory.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// The end of a journal that is not yet durable.
pub(crate) struct JournalWriter {
    store: Arc<dyn Store>,
    observer: Option<Arc<dyn Observer>>,
    /// The last event that the observer already knows or need not see as ours.
    pub(crate) reported: Seq,
    /// The last event that is durable.
    pub(crate) durable: Seq,
    /// The size of the whole journal in bytes.
    pub(crate) bytes: u64,
    /// Our claim on the run, by what is durable.
    pub(crate) claim: Option<Epoch>,
    /// The claim change of the batch in flight.
    claim_change: ClaimChange,
    sent: Vec<Entry>,
    recorded: Vec<Entry>,
    body: Vec<u8>,
    /// The documents that recorded events refer to.
    documents: Vec<Arc<StoredDocument>>,
    sending: Option<BoxFuture<'static, Result<Epoch, AppendError>>>,
}

impl JournalWriter {
    /// A writer for a run that is not claimed. Its first batch claims the run, unless the run needs
    /// no driver after it.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        observer: Option<Arc<dyn Observer>>,
        durable: Seq,
        bytes: u64,
    ) -> Self {
        let (sent, recorded, body) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            store,
            observer,
            reported: durable,
            durable,
            bytes,
            claim: None,
            claim_change: ClaimChange::Keep,
            sent,
            recorded,
            body,
            documents: Vec::new(),
            sending: None,
        }
    }

    /// Records the first event of a run with the documents that it refers to. The event is not
    /// applied.
    pub(crate) fn open(
        &mut self,
        entry: Entry,
        documents: Vec<Arc<StoredDocument>>,
    ) -> Result<(), Fault> {
        self.encode(entry, &documents)?;
        self.documents.extend(documents);
        Ok(())
    }

    /// Records an event and applies it. An event that is too large changes nothing.
    pub(crate) fn record(&mut self, run: &mut Run, event: Event) -> Result<Seq, Fault> {
        if let Event::Run(event) = &event {
            run.check_exact(event)
                .map_err(|message| damaged_journal(run, &message))?;
        }
        let entry = Entry {
            seq: run.seq + 1,
            at_ms: clock::now_ms(),
            event,
        };
        let seq = entry.seq;
        self.encode(entry, &[])?;
        if let Some(entry) = self.recorded.last() {
            run.apply(entry)
                .map_err(|illegal| damaged_journal(run, &illegal))?;
        }
        Ok(seq)
    }

    /// Records a command to a run, if it is legal. If it is not, discard both run and writer.
    pub(crate) fn record_command(&mut self, run: &mut Run, event: Event) -> Result<(), Fault> {
        match self.record(run, event) {
            Ok(_) => Ok(()),
            Err(Fault::Damaged { message, .. }) => Err(Fault::Rejected(message)),
            Err(fault) => Err(fault),
        }
    }

    fn encode(
        &mut self,
        entry: Entry,
        documents: &[Arc<StoredDocument>],
    ) -> Result<(), EventTooLarge> {
        let before = self.body.len();
        if before == 0 {
            self.body.reserve(BODY_BYTES);
        }
        encode_with_documents(&entry, documents, &mut self.body)?;
        self.bytes += (self.body.len() - before) as u64;
        self.recorded.push(entry);
        Ok(())
    }

    /// Whether the batch should be sent before more is recorded.
    pub(crate) fn is_full(&self) -> bool {
        self.recorded.len() >= BATCH_EVENTS_MAX || self.body.len() >= BATCH_BYTES_MAX
    }

    /// Whether we hold the claim on the run, by what is durable.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claim.is_some()
    }

    /// Whether everything recorded is durable.
    pub(crate) fn is_settled(&self) -> bool {
        self.recorded.is_empty() && self.sending.is_none()
    }

    /// Whether there are recorded events and no batch in flight after which they would be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.recorded.is_empty() && self.sending.is_none()
    }

    /// Whether a batch is in flight.
    pub(crate) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// Starts to send the recorded events, unless a batch is in flight. If the run only waits after
    /// them, its claim is released with them.
    pub(crate) fn send(&mut self, run: &Run, rests: bool) {
        if self.sending.is_some() || self.recorded.is_empty() {
            return;
        }
        self.claim_change = match (rests || run.outcome.is_some(), self.claim) {
            (true, Some(epoch)) => ClaimChange::Release(epoch),
            (false, None) => ClaimChange::Take,
            (false, Some(epoch)) => ClaimChange::Hold(epoch),
            (true, None) => ClaimChange::Keep,
        };
        self.sent = std::mem::take(&mut self.recorded);
        let append = Append {
            run: run.id.clone(),
            seen: self.durable,
            last: self.sent.last().map_or(self.durable, |entry| entry.seq),
            body: std::mem::take(&mut self.body),
            index_row: index_row(run),
            claim: self.claim_change,
            documents: std::mem::take(&mut self.documents),
        };
        let store = Arc::clone(&self.store);
        self.sending = Some(match self.observer.clone() {
            None => Box::pin(async move { store.append(append).await }),
            Some(observer) => Box::pin(async move {
                let began = Instant::now();
                let done = store.append(append).await;
                observer.on_append_time(began.elapsed(), done.is_err());
                done
            }),
        });
    }

    /// Waits for the batch in flight. Cancel-safe: the append continues.
    pub(crate) async fn wait_sent(&mut self, run: &Run) -> Result<(), AppendError> {
        let Some(sending) = &mut self.sending else {
            return std::future::pending().await;
        };
        let done = sending.await;
        self.sending = None;
        if let Ok(epoch) = &done {
            self.durable = self.sent.last().map_or(self.durable, |entry| entry.seq);
            self.report_durable(run);
            self.sent.clear();
            match self.claim_change {
                ClaimChange::Keep | ClaimChange::Hold(_) => {}
                ClaimChange::Take => self.claim = Some(*epoch),
                ClaimChange::Release(_) => self.claim = None,
            }
        }
        done.map(drop)
    }

    /// Reports the durable events to the observer, if there is one.
    fn report_durable(&self, run: &Run) {
        let Some(observer) = &self.observer else {
            return;
        };
        let ours = self
            .sent
            .partition_point(|entry| entry.seq <= self.reported);
        let (past, new) = self.sent.split_at(ours);
        if !past.is_empty() {
            observer.on_fork(run, past);
        }
        observer.on_append(run, new);
    }

    /// Discards and returns what is not durable, after another writer appended first.
    pub(crate) fn discard(&mut self) -> Vec<Entry> {
        self.body.clear();
        self.documents.clear();
        self.sending = None;
        let mut entries = std::mem::take(&mut self.sent);
        entries.append(&mut self.recorded);
        entries
    }
}

/// The run index entry of a run.
pub(crate) fn index_row(run: &Run) -> RunIndexRow {
    RunIndexRow {
        status: run_status(run),
        workflow: run.graph.workflow.name.clone(),
        session: run.started.session.clone(),
        started_ms: run.started_ms,
        updated_ms: run.updated_ms,
    }
}

/// The status of a run.
pub fn run_status(run: &Run) -> RunStatus {
    match &run.outcome {
        Some(outcome) => outcome_status(outcome),
        None if run.is_paused() => RunStatus::Paused,
        None => RunStatus::Running,
    }
}

/// The status of a run with this outcome.
pub(crate) fn outcome_status(outcome: &Outcome) -> RunStatus {
    match outcome {
        Outcome::Completed { .. } => RunStatus::Completed,
        Outcome::Failed { .. } => RunStatus::Failed,
        Outcome::Rejected { .. } => RunStatus::Rejected,
        Outcome::Aborted { .. } if outcome.is_expired() => RunStatus::Expired,
        Outcome::Aborted { .. } => RunStatus::Aborted,
    }
}

pub(crate) fn damaged_journal(run: &Run, illegal: &impl ToString) -> Fault {
    Fault::Damaged {
        run: run.id.clone(),
        message: illegal.to_string(),
    }
}
