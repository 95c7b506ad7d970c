//! The engine over fakes: random graphs, crashes at any point, external commands.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail loudly"
)]

mod amendments;
mod answer_and_resume;
mod append_conflicts;
mod audit;
mod authority;
mod budgets;
mod calls;
mod control;
mod crashes;
mod damaged;
mod debugging;
mod descendants;
mod documents;
mod expiry;
mod forms;
mod gate_arguments;
mod graph_features;
mod imported_runs;
mod layers;
mod leases;
mod long_runs;
mod may_have_happened;
mod policy;
mod proposals;
mod quotas;
mod retention;
mod settings;
mod several_engines;
mod stale_cache;
mod start_keys;
mod support;
mod waits;
