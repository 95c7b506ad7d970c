//! The options of an engine.

use super::{Approvals, DESCENDANTS_MAX, Quota, RUNS_DRIVEN_MAX};
use crate::policy::ToolPolicy;
use crate::ports::{Observer, Store, StoreFault};
use crate::settings::Settings;
use std::sync::Arc;
use std::time::Duration;
use tramline_expr::Str;
use tramline_workflow::journal::Budget;
use tramline_workflow::next::Ceilings;

/// The audit channel of commands from a program that embeds the engine.
const PROGRAM_CHANNEL: &str = "program";

/// The options of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// How many steps of one run may be in flight at once.
    pub steps_in_flight_max: usize,
    /// The timeout of a call whose node sets none.
    pub call_timeout: Duration,
    /// How long cancelled calls get to notify their servers.
    pub cancel_grace: Duration,
    /// The limits of each evaluation.
    pub expressions: tramline_expr::Limits,
    /// How long one evaluation may take.
    pub expression_time: Duration,
    /// Whether a called workflow becomes a child run; otherwise it is called as a tool.
    pub workflows: bool,
    /// Whether waits end at once, for replays.
    pub skip_waits: bool,
    /// Which tools are denied, and which need approval.
    pub policy: ToolPolicy,
    /// Who may answer a pause, in addition to the core's table.
    pub approvals: Approvals,
    /// The budget of every run before a person is asked, whatever its caller sets.
    pub budget: Option<Budget>,
    /// How much space all runs have together.
    pub quota: Quota,
    /// Upper bounds for the limits that documents set.
    pub ceilings: Ceilings,
    /// How many descendants one run may have.
    pub descendants_max: u64,
    /// How many runs this process drives at once before it rejects new ones.
    pub driven_max: usize,
    /// The name of this process in the journal.
    pub process_name: Str,
    /// The audit channel of commands that no front end records.
    pub audit_channel: &'static str,
    /// Creates temporary stores for replays.
    pub replay_store: Option<ReplayStore>,
    /// The settings that documents and servers refer to; their secrets are redacted from tool
    /// outputs.
    pub settings: Option<Settings>,
    /// The observer of events; `None` costs nothing.
    pub observer: Option<Arc<dyn Observer>>,
}

/// Creates temporary stores.
#[derive(Clone)]
pub struct ReplayStore(Arc<MakeStore>);

type MakeStore = dyn Fn() -> Result<Arc<dyn Store>, StoreFault> + Send + Sync;

impl ReplayStore {
    /// Uses this function to create stores.
    pub fn new(
        make: impl Fn() -> Result<Arc<dyn Store>, StoreFault> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    /// A new, empty store.
    pub fn make(&self) -> Result<Arc<dyn Store>, StoreFault> {
        (self.0)()
    }
}

impl std::fmt::Debug for ReplayStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch")
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            // Enough for any layer that people draw; servers have limits of their own.
            steps_in_flight_max: 64,
            call_timeout: Duration::from_secs(60),
            cancel_grace: Duration::from_secs(2),
            expressions: tramline_expr::Limits::default(),
            expression_time: Duration::from_secs(2),
            workflows: true,
            skip_waits: false,
            policy: ToolPolicy::default(),
            approvals: Approvals::default(),
            budget: None,
            quota: Quota::default(),
            ceilings: Ceilings::default(),
            descendants_max: DESCENDANTS_MAX,
            driven_max: RUNS_DRIVEN_MAX,
            audit_channel: PROGRAM_CHANNEL,
            process_name: format!("process {}", std::process::id()).into(),
            replay_store: None,
            settings: None,
            observer: None,
        }
    }
}
