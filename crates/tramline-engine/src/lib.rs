//! Makes workflows happen: drives runs by asking the core what comes next and doing it.
//!
//! Async, and free of vendors: what stores, calls and completes stands behind three [`seams`].

pub mod clock;
mod drive;
mod engine;
mod fault;
mod ledger;
mod lookout;
mod perform;
mod recover;
pub mod seams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod toolbox;

pub use drive::Ended;
pub use engine::{Engine, Follow, Handle, Loaded, Options, Start};
pub use fault::Fault;
pub use ledger::status;
pub use recover::Recovered;
pub use toolbox::Toolbox;
