//! Child processes that end with everything they started: when they are stopped, when they are
//! dropped, and when this process dies.
//!
//! A [`ProcessTree`] is a child in its own process group. If the program can be its own launcher
//! ([`launch_if_requested`]), a launcher process sits between us and the child: it adopts everything
//! the child leaves behind, even after `setsid`, and ends all of it on request or when we are gone.

#[cfg(target_os = "linux")]
mod descendants;
mod launcher;
mod memory;
mod requests;
#[cfg(target_os = "linux")]
mod supervisor;
mod tree;

pub use launcher::launch_if_requested;
pub use memory::{return_free_pages_regularly, return_freed_memory};
pub use requests::{EndRequest, on_end_requests};
pub use tree::{ProcessTree, TreeCommand, kill_all};
