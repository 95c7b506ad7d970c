//! Which runs this process may drive: those that were started in its own environment.
//!
//! Policy, servers, roots and hosts belong to the process that drives a run. A process with others would call other servers,
//! write other files, or not ask where the operator demands it. It records an answer, and leaves the rest of the run to a
//! process in the run's own environment.

use super::{Engine, LoadedRun, RunHandle};
use crate::fault::Fault;
use crate::ports::RunStatus;
use std::time::Duration;
use tramline_expr::Value;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::RunStarted;

/// How long a process that has the run's servers may take to resume it, before another one is started for it.
const HAND_OVER_MAX: Duration = Duration::from_secs(2);

/// How often to check whether it was resumed, in addition to change notifications.
const HAND_OVER_POLL: Duration = Duration::from_millis(50);

/// The environment of a process, and how to resume runs of others.
pub trait RunEnvironment: Send + Sync {
    /// Whether a run with this origin was started in this environment.
    fn covers(&self, origin: &Value) -> bool;

    /// Resumes a run in its own environment, outside of this process.
    fn resume_outside(&self, run: &RunId);
}

impl Engine {
    /// Sets the environment of this process. Without one, it drives every run. The first call counts.
    pub fn set_environment(&self, environment: impl RunEnvironment + 'static) {
        let _ = self.0.environment.set(Box::new(environment));
    }

    /// Whether a run was started in another environment. Runs that this process drives or has paused are its own.
    pub(super) async fn is_foreign(
        &self,
        id: &RunId,
        loaded: Option<&LoadedRun>,
    ) -> Result<bool, Fault> {
        if self.0.active_runs().contains_key(id) || self.0.paused_runs.contains(id) {
            return Ok(false);
        }
        let Some(environment) = self.0.environment.get() else {
            return Ok(false);
        };
        if self.is_of_other_pool(id).await? {
            return Ok(true);
        }
        let own;
        let started = match loaded {
            Some(loaded) => &loaded.run.started,
            None => {
                own = self.load(id).await?;
                &own.run.started
            }
        };
        let origin = self.root_origin(started).await?;
        Ok(!origin.is_null() && !environment.covers(&origin))
    }

    /// Whether a run belongs to a pool that this process does not serve.
    async fn is_of_other_pool(&self, id: &RunId) -> Result<bool, Fault> {
        if self.0.store.good_until().is_none() {
            return Ok(false);
        }
        let row = self.0.store.row(id).await?;
        Ok(row.is_some_and(|row| !self.0.store.serves_pool(row.pool.as_deref())))
    }

    /// The origin of the run that a run was called by, directly or not, or its own.
    async fn root_origin(&self, started: &RunStarted) -> Result<Value, Fault> {
        let mut origin = started.origin.clone();
        let mut parent = started.parent.clone();
        while let Some(step) = parent {
            match self.load(&step.run).await {
                Ok(loaded) => {
                    origin = loaded.run.started.origin.clone();
                    parent = loaded.run.started.parent.clone();
                }
                // The parent is an SOP session, or was removed: what the child recorded counts.
                Err(Fault::NotFound(_) | Fault::Rejected(_)) => break,
                Err(fault) => return Err(fault),
            }
        }
        Ok(origin)
    }

    /// The error for driving a run of another environment here.
    pub(super) async fn check_environment(&self, id: &RunId) -> Result<(), Fault> {
        match self.is_foreign(id, None).await? {
            false => Ok(()),
            true => Err(foreign_fault(id)),
        }
    }

    /// Lets a process in the run's own environment resume an answered run: one that is alive, or else a new one.
    pub(super) fn hand_over(&self, id: &RunId) {
        let (engine, id) = (self.clone(), id.clone());
        self.0.tasks.spawn(async move {
            let mut rows = engine.watch_row(&id).every(HAND_OVER_POLL);
            let waiting = async {
                while let Ok(Some(row)) = rows.next().await
                    && !row.driven
                    && row.index_row.status == RunStatus::Running
                {}
            };
            let is_resumed = tokio::time::timeout(HAND_OVER_MAX, waiting).await.is_ok();
            // A process of this environment would not be of the run's pool, either.
            if engine.is_of_other_pool(&id).await.unwrap_or_default() {
                return;
            }
            if let (false, Some(environment)) = (is_resumed, engine.0.environment.get()) {
                environment.resume_outside(&id);
            }
        });
    }

    /// Resumes a run here if it was started in this environment, otherwise outside. Returns no handle then, and if another
    /// process drives it.
    pub async fn resume_or_hand_over(&self, id: &RunId) -> Result<Option<RunHandle>, Fault> {
        if self.is_foreign(id, None).await? {
            self.hand_over(id);
            return Ok(None);
        }
        self.resume(id).await.map(Some)
    }
}

pub(super) fn foreign_fault(id: &RunId) -> Fault {
    Fault::Rejected(format!(
        "{id} was started with another configuration, or with other servers, roots or hosts; \
         `tramline runs resume {id}` resumes it with its own"
    ))
}
