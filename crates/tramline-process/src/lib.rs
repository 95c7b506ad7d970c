//! Child processes that end with everything they started: when they are stopped, when they are
//! dropped, and when this process dies.
//!
//! A [`ProcessTree`] is a child in a process group of its own. Where the program can be its own
//! launcher ([`launch_if_asked`]), a launcher process sits between us and the child: it adopts whatever
//! the child leaves behind, `setsid` or not, and ends all of it when it is asked to or when we are gone.

#[cfg(target_os = "linux")]
mod descendants;
mod launcher;
mod requests;
#[cfg(target_os = "linux")]
mod supervisor;
mod tree;

pub use launcher::launch_if_asked;
pub use requests::{EndRequest, on_end_requests};
pub use tree::{ProcessTree, TreeCommand, kill_all};
