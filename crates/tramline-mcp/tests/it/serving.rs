//! Tramline as a server, seen by a real client of each era.

mod approvals;
mod authority;
mod control;
mod debugging;
mod direct;
mod effects;
mod http;
mod library;
mod loops;
mod settings;
mod sop;
mod support;
mod tasks;
mod telling;
mod toolsets;
