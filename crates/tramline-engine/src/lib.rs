//! Runs workflows: the engine drives a run by asking the core for the next decision and carrying it
//! out.
//!
//! Async and free of vendors: storage, tools and language models are traits in [`seams`].

mod attempt;
pub mod audit;
mod catalog;
mod change_watcher;
pub mod clock;
mod driver;
mod engine;
mod fault;
mod journal_writer;
pub mod library;
mod long_work;
pub mod loop_runner;
pub mod plan_history;
pub mod planner;
mod planning;
pub mod policy;
mod recovery;
pub mod registry;
mod replay;
pub mod scrub;
pub mod seams;
pub mod search;
mod services;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod throttle;
mod tool_router;
pub mod usage_stats;
mod workflow_map;

pub use catalog::Catalog;
pub use driver::DriveOutcome;
pub use engine::{
    Admission, Approvals, ApprovedCallResult, ArgumentEdit, DESCENDANTS_MAX, EXPORT_BYTES_MAX,
    EffectPolicy, Engine, EngineOptions, EventStream, ForkRequest, ForkResult, GatedCall,
    GatedCallOutcome, JournalPoint, LoadedRun, PauseAnswer, PersonNeeded, PinnedProcedures,
    PinnedStart, PruneResult, Quota, RUNS_DRIVEN_MAX, ReplayStore, ReservedTools, Respondent,
    Retention, RunHandle, RunHeader, RunOwner, RunStart, SopStart, UnreadableEvent, WaitPolicy,
    ended_fault, in_sop_session, stale_checkpoint,
};
pub use fault::Fault;
pub use journal_writer::run_status;
pub use long_work::{long_work, try_blocking};
pub use loop_runner::LoopRunner;
pub use planning::Planner;
pub use policy::{ToolPattern, ToolPolicy};
pub use recovery::RecoveryResult;
pub use replay::ReplayResult;
pub use services::{ServiceOptions, Services};
pub use settings::Settings;
pub use throttle::{RateLimit, Throttle};
pub use tool_router::ToolRouter;
pub use workflow_map::WorkflowMap;
