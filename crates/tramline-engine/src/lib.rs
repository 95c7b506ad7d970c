//! Runs workflows: the engine drives a run by asking the core for the next decision and carrying it
//! out.
//!
//! Async and free of vendors: storage, tools and language models are traits in [`ports`].

mod attempt;
pub mod audit;
mod change_watcher;
pub mod clock;
mod driver;
mod engine;
mod fault;
mod journal_writer;
mod known_schemas;
mod long_work;
pub mod policy;
pub mod ports;
mod recovery;
mod replay;
pub mod scrub;
pub mod settings;
mod take_over;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod throttle;
mod tool_router;
mod workflow_map;

pub use driver::DriveOutcome;
pub use engine::{
    Admission, Approvals, ApprovedCallResult, ArgumentEdit, DESCENDANTS_MAX, EXPORT_BYTES_MAX,
    EffectPolicy, Engine, EngineOptions, EventStream, ForkRequest, ForkResult, GatedCall,
    GatedCallOutcome, JournalPoint, LoadedRun, PauseAnswer, PersonNeeded, PinnedProcedures,
    PinnedStart, PruneResult, QuestionReader, Quota, RUNS_DRIVEN_MAX, ReplayStore, ReservedTools,
    Respondent, Retention, RowWatch, RunEnvironment, RunHandle, RunHeader, RunOwner, RunStart,
    START_KEY_CHARS_MAX, SopStart, StartKey, StartedRun, UnreadableEvent, WaitPolicy, WaitedRun,
    ended_fault, in_sop_session, stale_checkpoint,
};
pub use fault::Fault;
pub use journal_writer::run_status;
pub use known_schemas::KnownSchemas;
pub use long_work::{long_work, try_blocking};
pub use policy::{ToolPattern, ToolPolicy};
pub use recovery::RecoveryResult;
pub use replay::ReplayResult;
pub use settings::Settings;
pub use throttle::{RateLimit, Throttle};
pub use tool_router::ToolRouter;
pub use workflow_map::WorkflowMap;
