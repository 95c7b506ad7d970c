//! Commands that hold only as long as a run waits at the checkpoint their caller has seen.

use super::{Engine, stale};
use crate::audit::CommandNote;
use crate::fault::Fault;
use tramline_core::graph::Patch;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::Event;
use tramline_core::run::Run;
use tramline_core::{Str, Value};

/// Refuses a command about a checkpoint that does not wait any more, naming those that do.
fn still_waits(run: &Run, seen: Option<Seq>) -> Result<(), Fault> {
    match seen {
        Some(seq) if !run.pauses.contains_key(&seq) => Err(stale(run, seq)),
        Some(_) | None => Ok(()),
    }
}

impl Engine {
    /// Extends a run's graph, if it still waits at the checkpoint `seen`, where one is given.
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
        let came = self.put_patch(id, &patch, &by, seen).await;
        self.commanded(said, &came).await?;
        came
    }

    async fn put_patch(
        &self,
        id: &RunId,
        patch: &Patch,
        by: &Str,
        seen: Option<Seq>,
    ) -> Result<(), Fault> {
        self.is_discreet_of_agent(patch)?;
        self.say(id, |run| {
            still_waits(run, seen)?;
            self.may_amend(&run.started)?;
            Ok(Event::Amended {
                patch: patch.clone(),
                by: by.clone(),
            })
        })
        .await
    }

    /// Whether this process drives a run.
    pub fn drives(&self, id: &RunId) -> bool {
        self.0.live().contains_key(id)
    }
}
