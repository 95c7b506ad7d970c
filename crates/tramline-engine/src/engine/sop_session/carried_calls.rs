//! The calls of a session that still count in the one that replaces it.

use super::super::Engine;
use super::approval_run::call_result;
use crate::fault::Fault;
use tramline_sop::SopSession;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::CarriedCall;

impl Engine {
    /// The calls of a session that still count in its successor: those in doubt and, with `counted`,
    /// those that `max_calls` and `once_per` count.
    pub(in super::super) async fn calls_to_carry(
        &self,
        walk: &SopSession,
        counted: bool,
    ) -> Result<Vec<CarriedCall>, Fault> {
        let mut unsent = Vec::new();
        for (call, run) in walk.pending_approvals() {
            if !self.may_have_been_sent(call, run).await? {
                unsent.push(call);
            }
        }
        Ok(walk.calls_to_carry(counted, &unsent))
    }

    /// Whether the call of an approval run was sent, or is being sent.
    async fn may_have_been_sent(&self, call: u32, run: &RunId) -> Result<bool, Fault> {
        if self.0.store.row(run).await?.is_none() {
            return Ok(false);
        }
        let loaded = self.load(run).await?;
        let Some(answered) = call_result(&loaded, call) else {
            return Ok(true);
        };
        Ok(answered
            .failure
            .is_none_or(|failure| failure.may_have_happened))
    }
}
