//! Commands that apply only while a run still waits at the checkpoint that the caller has seen.

use super::{Engine, stale_checkpoint};
use crate::audit::CommandNote;
use crate::fault::Fault;
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Patch;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{Event, RunEvent};
use tramline_workflow::run::Run;

/// Rejects a command for a checkpoint that is no longer pending, and lists the pending ones.
fn check_still_pending(run: &Run, seen: Option<Seq>) -> Result<(), Fault> {
    match seen {
        Some(seq) if !run.pauses.contains_key(&seq) => Err(stale_checkpoint(run, seq)),
        Some(_) | None => Ok(()),
    }
}

impl Engine {
    /// Extends a run's graph. If `seen` is given, the run must still wait at that checkpoint.
    pub async fn amend_at(
        &self,
        id: &RunId,
        patch: Patch,
        by: Str,
        seen: Option<Seq>,
    ) -> Result<(), Fault> {
        let nodes = patch.nodes.iter().map(|node| Value::from(node.id.clone()));
        let said = CommandNote {
            command: "amend",
            run: id,
            by: &by,
            why: None,
            arguments: Some(Value::object([("nodes", Value::array(nodes))])),
        };
        let came = self.append_patch(id, &patch, &by, seen).await;
        self.audit_command(said, &came).await?;
        came
    }

    async fn append_patch(
        &self,
        id: &RunId,
        patch: &Patch,
        by: &Str,
        seen: Option<Seq>,
    ) -> Result<(), Fault> {
        self.reject_agent_secrets(patch)?;
        self.append_command(id, |run| {
            check_still_pending(run, seen)?;
            self.may_amend(&run.started)?;
            Ok(Event::Run(RunEvent::GraphExtended {
                patch: patch.clone(),
                by: by.clone(),
            }))
        })
        .await
    }

    /// Whether this process drives a run.
    pub fn drives(&self, id: &RunId) -> bool {
        self.0.active_runs().contains_key(id)
    }
}
