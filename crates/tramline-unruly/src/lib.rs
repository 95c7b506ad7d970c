//! What tests do around the unruly server: find its program, see its processes from outside, and
//! kill whoever drives it to see whether anything is lost.

pub mod processes;
pub mod program;
pub mod soak;
