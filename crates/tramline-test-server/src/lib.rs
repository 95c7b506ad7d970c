//! Test support around the misbehaving server: finds its program, inspects its processes from
//! outside, and runs soak tests that kill the program under test.

pub mod postgres_server;
pub mod processes;
pub mod program;
pub mod soak;
