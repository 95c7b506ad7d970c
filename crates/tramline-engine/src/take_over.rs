//! Take-over: while a process lives, it resumes runs whose driver has died or given them back.
//!
//! Only for stores with leases: elsewhere a claim ends with its process, and the next process recovers its runs
//! when it starts.

use crate::engine::{Engine, RunHandle};
use crate::fault::Fault;
use crate::ports::{RunRow, RunStatus};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::run::Run;

/// How often the store is asked for runs without a driver: part of the time that a crash delays them.
const TAKE_OVER_EVERY: Duration = Duration::from_millis(500);
/// Runs that are taken over in one turn: the other processes get their share.
const TAKEN_AT_ONCE_MAX: usize = 64;
/// Runs that start to resume at once.
const RESUMED_AT_ONCE_MAX: usize = 16;
/// Turns after which a called run is resumed although its caller runs: the caller is driven elsewhere and waits.
const CALLER_TURNS_MAX: u32 = 10;
/// Runs that are remembered as not ours; beyond this they are read again.
const PASSED_OVER_MAX: usize = 10_000;

/// What a sweep knows of the runs that it left alone.
#[derive(Default)]
pub(crate) struct PassedOver {
    /// Runs of other environments, with their last event then.
    foreign: HashMap<RunId, Seq>,
    /// Runs whose caller is running, with the number of turns.
    called: HashMap<RunId, u32>,
}

impl Engine {
    /// Resumes, until this process stops, every run that is `ours` to drive and has lost its driver. Returns at
    /// once if the store has no leases.
    pub async fn take_over(&self, ours: impl Fn(&Run) -> bool) {
        if self.store().good_until().is_none() {
            return;
        }
        let mut passed = PassedOver::default();
        while !self.is_stopping() {
            // A failing store is reported to callers that use it.
            let taken = self.take_over_once(&ours, &mut passed).await;
            // The drivers run by themselves.
            drop(taken);
            tokio::time::sleep(TAKE_OVER_EVERY).await;
        }
    }

    /// One turn of [`take_over`](Engine::take_over). Returns the runs that this process drives now.
    pub(crate) async fn take_over_once(
        &self,
        ours: &impl Fn(&Run) -> bool,
        passed: &mut PassedOver,
    ) -> Result<Vec<RunHandle>, Fault> {
        let room = self.drive_room().min(TAKEN_AT_ONCE_MAX);
        if room == 0 {
            return Ok(Vec::new());
        }
        let rows = self.store().takeable(room).await?;
        passed
            .called
            .retain(|run, _| rows.iter().any(|row| row.run == *run));
        let turns = Arc::new(Semaphore::new(RESUMED_AT_ONCE_MAX));
        let mut taken = Vec::new();
        for row in rows {
            // A damaged run or one that has just been taken is left alone.
            if self
                .is_takeable(&row, ours, passed)
                .await
                .unwrap_or_default()
            {
                taken.push(self.resume_when_free(row.run, &turns));
            }
        }
        Ok(taken)
    }

    async fn is_takeable(
        &self,
        row: &RunRow,
        ours: &impl Fn(&Run) -> bool,
        passed: &mut PassedOver,
    ) -> Result<bool, Fault> {
        if self.drives(&row.run) || passed.foreign.get(&row.run) == Some(&row.last) {
            return Ok(false);
        }
        let run = self.load(&row.run).await?.run;
        if run.outcome.is_some() {
            return Ok(false);
        }
        if !ours(&run) {
            if passed.foreign.len() >= PASSED_OVER_MAX {
                passed.foreign.clear();
            }
            passed.foreign.insert(row.run.clone(), row.last);
            return Ok(false);
        }
        let Some(parent) = &run.started.parent else {
            return Ok(true);
        };
        match self.store().row(&parent.run).await? {
            // Its caller resumes it, once it is driven again.
            Some(caller) if caller.index_row.status == RunStatus::Running => {
                let turns = passed.called.entry(row.run.clone()).or_default();
                *turns += 1;
                Ok(*turns > CALLER_TURNS_MAX)
            }
            Some(caller) if caller.index_row.status.is_over() => {
                let why = Some("the run that called it has ended".to_owned());
                // It may just have ended by itself, which is fine.
                let _ = self.abort(&row.run, "the calling run".into(), why).await;
                Ok(false)
            }
            Some(_) | None => Ok(true),
        }
    }
}
