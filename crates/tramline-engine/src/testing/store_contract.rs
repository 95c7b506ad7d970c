//! The contract of every `Store`, as one suite: it panics at the first violation.

#![allow(
    clippy::unwrap_used,
    reason = "a suite fails by panicking, like the tests that call it"
)]

mod claims;
mod documents;
mod journals;
mod listing;
mod stored_documents;

use crate::ports::{Append, ClaimChange, RunIndexRow, RunStatus, Store};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tramline_workflow::ids::{RunId, Seq};

/// A store under test, with a second process on the same data if the store supports one.
pub struct StoreRig {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Another process on the same data.
    pub other: Option<Arc<dyn Store>>,
    /// What must live as long as the stores, such as a directory. Dropped last.
    keep: Option<Box<dyn Any + Send>>,
}

impl fmt::Debug for StoreRig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreRig")
            .field("other", &self.other.is_some())
            .field("keep", &self.keep.is_some())
            .finish_non_exhaustive()
    }
}

impl StoreRig {
    /// A store that only one process can use.
    pub fn new(store: impl Store) -> Self {
        Self {
            store: Arc::new(store),
            other: None,
            keep: None,
        }
    }

    /// Adds a second process on the same data.
    pub fn with_other(mut self, other: impl Store) -> Self {
        self.other = Some(Arc::new(other));
        self
    }

    /// Keeps something alive as long as the stores.
    pub fn keeping(mut self, thing: impl Any + Send) -> Self {
        self.keep = Some(Box::new(thing));
        self
    }
}

/// Checks every promise of the trait, each on a new store made by `make`.
pub async fn store_contract(make: impl AsyncFn() -> StoreRig) {
    journals::starts_empty(make().await).await;
    journals::appends_after_what_was_seen(make().await).await;
    journals::reads_from_the_middle(make().await).await;
    journals::lets_one_of_many_racers_win(make().await).await;
    journals::lets_one_of_two_processes_win(make().await).await;
    journals::refuses_an_empty_chunk(make().await).await;
    journals::keeps_big_chunks(make().await).await;
    journals::removes_runs(make().await).await;
    journals::keeps_documents(make().await).await;
    documents::swaps_what_was_seen(make().await).await;
    documents::loses_no_swap_of_many(make().await).await;
    stored_documents::is_kept_with_its_append(make().await).await;
    stored_documents::is_kept_once(make().await).await;
    stored_documents::goes_with_the_last_that_refers_to_it(make().await).await;
    stored_documents::is_there_for_every_run_while_others_are_removed(make().await).await;
    listing::lists_newest_first(make().await).await;
    listing::filters(make().await).await;
    listing::adds_up(make().await).await;
    listing::follows_the_head(make().await).await;
    listing::pages_through_many_runs(make().await).await;
    claims::belong_to_one_process(make().await).await;
    claims::come_and_go_with_appends(make().await).await;
    claims::die_with_their_process(make().await).await;
    claims::go_to_one_of_many_askers(make().await).await;
    claims::changes_tick(make().await).await;
}

/// The `n`th run: later numbers are newer.
pub(super) fn run(n: u64) -> RunId {
    RunId::new(1_700_000_000_000 + n as i64, u128::from(n))
}

/// A small chunk of the events after `seen`, of a running run.
pub(super) fn chunk(run: &RunId, seen: Seq, last: Seq) -> Append {
    Append {
        run: run.clone(),
        seen,
        last,
        body: format!("{run} {seen}..{last}").into_bytes(),
        index_row: head(RunStatus::Running),
        claim: ClaimChange::Keep,
        documents: Vec::new(),
    }
}

fn head(status: RunStatus) -> RunIndexRow {
    RunIndexRow {
        status,
        workflow: "count_files".into(),
        session: None,
        started_ms: 5,
        updated_ms: 7,
    }
}
