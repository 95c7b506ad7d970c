//! What an engine may use and how far it may go.

use super::{Approvals, DESCENDANTS_MAX, Quota, RUNS_DRIVEN_MAX};
use crate::policy::Policy;
use crate::seams::{Embedder, Observer, Store, StoreFault};
use crate::settings::Settings;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::Str;
use tramline_core::journal::Budget;
use tramline_core::next::Ceilings;

/// The door of commands that a program gives which the engine is a part of.
const PROGRAM: &str = "program";

/// What the engine may use and how far it may go.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many steps of one run may be under way at once.
    pub width: usize,
    /// How long a call may take whose node says nothing about it.
    pub call_timeout: Duration,
    /// How long cancelled calls get to tell their servers.
    pub cancel_grace: Duration,
    /// The bounds of each evaluation.
    pub expressions: tramline_core::expr::Limits,
    /// How long one evaluation may take.
    pub expression_time: Duration,
    /// Whether a workflow that a run calls becomes a run of its own; otherwise it is a tool.
    pub workflows: bool,
    /// Whether waits are over at once: for replays, where nobody waits for anything.
    pub hurry: bool,
    /// Which tools may not be called, and which only after a person agreed.
    pub policy: Policy,
    /// Who may answer what a run asks, beside what the table says.
    pub approvals: Approvals,
    /// What every run may use before a person is asked, whatever its caller says.
    pub budget: Option<Budget>,
    /// How much room all runs have together.
    pub quota: Quota,
    /// What documents may not raise their own limits above.
    pub ceilings: Ceilings,
    /// How many runs one run may lead to, through the workflows that it calls.
    pub descendants_max: u64,
    /// How many runs this process drives at once before it refuses to begin others.
    pub driven_max: usize,
    /// Who we are in the journal.
    pub name: Str,
    /// By which door commands come that no front end notes, for the audit.
    pub door: &'static str,
    /// Makes a store that lives as long as it is used: what replays run in.
    pub scratch: Option<Scratch>,
    /// What documents and servers name and never hold; with them, what tools may not give away.
    pub settings: Option<Settings>,
    /// Who tells what texts mean, for search; without one it goes by words and by use.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Who is told what happens; nobody costs nothing.
    pub observer: Option<Arc<dyn Observer>>,
    /// Whether plans that ended well are remembered, and new ones made from them.
    pub learn: bool,
}

/// Makes a store that lives as long as it is used.
#[derive(Clone)]
pub struct Scratch(Arc<MakeStore>);

type MakeStore = dyn Fn() -> Result<Arc<dyn Store>, StoreFault> + Send + Sync;

impl Scratch {
    /// Stores made by this.
    pub fn new(
        make: impl Fn() -> Result<Arc<dyn Store>, StoreFault> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    /// A new one, with nothing in it.
    pub fn make(&self) -> Result<Arc<dyn Store>, StoreFault> {
        (self.0)()
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // Enough for any layer people draw; servers have their own bounds.
            width: 64,
            call_timeout: Duration::from_secs(60),
            cancel_grace: Duration::from_secs(2),
            expressions: tramline_core::expr::Limits::default(),
            expression_time: Duration::from_secs(2),
            workflows: true,
            hurry: false,
            policy: Policy::default(),
            approvals: Approvals::default(),
            budget: None,
            quota: Quota::default(),
            ceilings: Ceilings::default(),
            descendants_max: DESCENDANTS_MAX,
            driven_max: RUNS_DRIVEN_MAX,
            door: PROGRAM,
            name: format!("process {}", std::process::id()).into(),
            scratch: None,
            settings: None,
            embedder: None,
            observer: None,
            learn: true,
        }
    }
}
