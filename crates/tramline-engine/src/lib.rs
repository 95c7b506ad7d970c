//! Makes workflows happen: drives runs by asking the core what comes next and doing it.
//!
//! Async, and free of vendors: what stores, calls and completes stands behind [`seams`].

pub mod audit;
pub mod clock;
mod drive;
mod engine;
mod fault;
pub mod learnt;
mod ledger;
pub mod library;
mod long_work;
mod lookout;
pub mod loop_runner;
mod perform;
pub mod planner;
pub mod policy;
mod recover;
pub mod registry;
mod replay;
pub mod seams;
pub mod search;
pub mod settings;
mod shelf;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod throttle;
mod toolbox;
pub mod uses;

pub use drive::Ended;
pub use engine::{
    Admission, Approvals, AskedAnswer, At, Begun, Branch, Branched, DESCENDANTS_MAX, Edit, Effects,
    Engine, Follow, Guide, Handle, Loaded, Options, Owner, PORT_BYTES_MAX, PersonNeeded, Pins,
    Pruned, Quota, RUNS_DRIVEN_MAX, Respondent, Retention, Said, Scratch, Start, ToolCall,
    Unreadable, Went, in_conversation, over, stale,
};
pub use fault::Fault;
pub use ledger::status;
pub use long_work::{long_work, try_aside};
pub use loop_runner::LoopRunner;
pub use policy::{Pattern, Policy};
pub use recover::Recovered;
pub use replay::Replayed;
pub use settings::Settings;
pub use shelf::Shelf;
pub use throttle::{Rate, Throttle};
pub use toolbox::Toolbox;
