//! Tramline as a server, seen by a real client of each era.

mod approvals;
mod authority;
mod control;
mod debugging;
mod direct;
mod effects;
mod elsewhere;
mod http;
mod library;
mod loops;
mod sessions;
mod settings;
mod slow_clients;
mod sop;
mod stopping;
pub(crate) mod support;
mod tasks;
mod telling;
mod toolsets;
