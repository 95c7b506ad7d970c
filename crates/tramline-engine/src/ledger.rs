//! A run's journal on its way to the store: what is recorded, what is sent, what is durable.
//!
//! Events are applied when recorded and sent in batches, one batch at a time. Nothing that
//! depends on an event may leave the process before [`Ledger::durable`] has reached it; what
//! never left is simply recomputed when somebody else's event came first.

use crate::clock;
use crate::engine::encode_with;
use crate::fault::Fault;
use crate::seams::{Append, AppendError, Head, Hold, Observer, Status, Store};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Instant;
use tramline_core::ids::Seq;
use tramline_core::journal::{Entry, Event, Outcome, StoredDocument, TooLarge};
use tramline_core::run::Run;

/// Room for the first events of a batch, in bytes: what a short run writes, or a layer of some tasks.
const BODY_BYTES: usize = 2 << 10;

/// So many recorded events are sent even if nothing waits for them: bounds what is recomputed.
const BATCH_EVENTS_MAX: usize = 2_048;
/// So many recorded bytes are sent even if nothing waits for them: bounds memory.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// The end of a journal that is not all durable yet.
pub(crate) struct Ledger {
    store: Arc<dyn Store>,
    observer: Option<Arc<dyn Observer>>,
    /// The last event that the observer need not be told of as ours.
    pub(crate) told: Seq,
    /// The last event that is durable.
    pub(crate) durable: Seq,
    /// The bytes of the whole journal.
    pub(crate) bytes: u64,
    /// Whether the claim on the run is ours, as far as what is durable says.
    pub(crate) held: bool,
    /// What the batch under way says of the claim.
    hold: Hold,
    sent: Vec<Entry>,
    recorded: Vec<Entry>,
    body: Vec<u8>,
    /// The documents that recorded events refer to.
    documents: Vec<Arc<StoredDocument>>,
    sending: Option<BoxFuture<'static, Result<(), AppendError>>>,
}

impl Ledger {
    /// A ledger for a run that is not claimed. Its first batch claims it, unless nobody needs to
    /// drive the run after that.
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
            told: durable,
            durable,
            bytes,
            held: false,
            hold: Hold::Keep,
            sent,
            recorded,
            body,
            documents: Vec::new(),
            sending: None,
        }
    }

    /// Records the beginning of a run with the documents that it refers to. It is not applied but
    /// made.
    pub(crate) fn open(
        &mut self,
        entry: Entry,
        documents: Vec<Arc<StoredDocument>>,
    ) -> Result<(), Fault> {
        self.write(entry, &documents)?;
        self.documents.extend(documents);
        Ok(())
    }

    /// Records an event and applies it. One that is too large leaves no trace.
    pub(crate) fn record(&mut self, run: &mut Run, event: Event) -> Result<Seq, Fault> {
        run.is_exact(&event)
            .map_err(|message| damaged(run, &message))?;
        let entry = Entry {
            seq: run.seq + 1,
            at_ms: clock::now_ms(),
            event,
        };
        let seq = entry.seq;
        self.write(entry, &[])?;
        if let Some(entry) = self.recorded.last() {
            run.apply(entry).map_err(|illegal| damaged(run, &illegal))?;
        }
        Ok(seq)
    }

    /// Records what somebody says of a run, if it may follow what came before. Both run and ledger
    /// are of no use if it may not.
    pub(crate) fn say(&mut self, run: &mut Run, event: Event) -> Result<(), Fault> {
        match self.record(run, event) {
            Ok(_) => Ok(()),
            Err(Fault::Damaged { message, .. }) => Err(Fault::Refused(message)),
            Err(fault) => Err(fault),
        }
    }

    fn write(&mut self, entry: Entry, documents: &[Arc<StoredDocument>]) -> Result<(), TooLarge> {
        let before = self.body.len();
        if before == 0 {
            self.body.reserve(BODY_BYTES);
        }
        encode_with(&entry, documents, &mut self.body)?;
        self.bytes += (self.body.len() - before) as u64;
        self.recorded.push(entry);
        Ok(())
    }

    /// Whether enough has gathered that it should be sent before more is recorded.
    pub(crate) fn is_full(&self) -> bool {
        self.recorded.len() >= BATCH_EVENTS_MAX || self.body.len() >= BATCH_BYTES_MAX
    }

    /// Whether everything recorded is durable.
    pub(crate) fn is_settled(&self) -> bool {
        self.recorded.is_empty() && self.sending.is_none()
    }

    /// Whether events are recorded that no batch under way will be followed by.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.recorded.is_empty() && self.sending.is_none()
    }

    /// Whether a batch is under way.
    pub(crate) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// Begins to send what is recorded, unless a batch is under way. A run that rests after it is
    /// let go of with it.
    pub(crate) fn send(&mut self, run: &Run, rests: bool) {
        if self.sending.is_some() || self.recorded.is_empty() {
            return;
        }
        self.hold = match (rests || run.outcome.is_some(), self.held) {
            (true, true) => Hold::Give,
            (false, false) => Hold::Take,
            (true, false) | (false, true) => Hold::Keep,
        };
        self.sent = std::mem::take(&mut self.recorded);
        let append = Append {
            run: run.id.clone(),
            seen: self.durable,
            last: self.sent.last().map_or(self.durable, |entry| entry.seq),
            body: std::mem::take(&mut self.body),
            head: head(run),
            hold: self.hold,
            documents: std::mem::take(&mut self.documents),
        };
        let store = Arc::clone(&self.store);
        self.sending = Some(match self.observer.clone() {
            None => Box::pin(async move { store.append(append).await }),
            Some(observer) => Box::pin(async move {
                let began = Instant::now();
                let done = store.append(append).await;
                observer.appended(began.elapsed(), done.is_err());
                done
            }),
        });
    }

    /// Waits for the batch under way. Cancel-safe: what was not awaited to its end goes on.
    pub(crate) async fn sent(&mut self, run: &Run) -> Result<(), AppendError> {
        let Some(sending) = &mut self.sending else {
            return std::future::pending().await;
        };
        let done = sending.await;
        self.sending = None;
        if done.is_ok() {
            self.durable = self.sent.last().map_or(self.durable, |entry| entry.seq);
            self.tell(run);
            self.sent.clear();
            match self.hold {
                Hold::Keep => {}
                Hold::Take => self.held = true,
                Hold::Give => self.held = false,
            }
        }
        done
    }

    /// Tells the observer, if there is one, what became durable.
    fn tell(&self, run: &Run) {
        let Some(observer) = &self.observer else {
            return;
        };
        let ours = self.sent.partition_point(|entry| entry.seq <= self.told);
        let (past, new) = self.sent.split_at(ours);
        if !past.is_empty() {
            observer.forked(run, past);
        }
        observer.saw(run, new);
    }

    /// Gives up what is not durable, after somebody else's event came first, and hands it over.
    pub(crate) fn discard(&mut self) -> Vec<Entry> {
        self.body.clear();
        self.documents.clear();
        self.sending = None;
        let mut entries = std::mem::take(&mut self.sent);
        entries.append(&mut self.recorded);
        entries
    }
}

/// What the list of runs shows of a run.
pub(crate) fn head(run: &Run) -> Head {
    Head {
        status: status(run),
        workflow: run.graph.workflow.name.clone(),
        session: run.started.session.clone(),
        started_ms: run.started_ms,
        updated_ms: run.updated_ms,
    }
}

/// How a run stands.
pub fn status(run: &Run) -> Status {
    match &run.outcome {
        Some(outcome) => ended(outcome),
        None if run.is_paused() => Status::Paused,
        None => Status::Running,
    }
}

/// How a run stands that ended so.
pub(crate) fn ended(outcome: &Outcome) -> Status {
    match outcome {
        Outcome::Completed { .. } => Status::Completed,
        Outcome::Failed { .. } => Status::Failed,
        Outcome::Rejected { .. } => Status::Rejected,
        Outcome::Aborted { .. } if outcome.is_expired() => Status::Expired,
        Outcome::Aborted { .. } => Status::Aborted,
    }
}

pub(crate) fn damaged(run: &Run, illegal: &impl ToString) -> Fault {
    Fault::Damaged {
        run: run.id.clone(),
        message: illegal.to_string(),
    }
}
