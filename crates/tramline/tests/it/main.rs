//! The real program as its users meet it: commands, processes, servers that misbehave.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod children;
mod kill_smoke;
mod processes;
mod unruly;
