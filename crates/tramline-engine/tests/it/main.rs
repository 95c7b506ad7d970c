//! The engine over fakes: random graphs, crashes anywhere, words from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail loudly"
)]

mod audit;
mod authority;
mod brought_runs;
mod budgets;
mod calls;
mod control;
mod crashes;
mod damaged;
mod debugging;
mod documents;
mod expiry;
mod families;
mod flat;
mod going_on;
mod growth;
mod language;
mod layers;
mod learning;
mod loops;
mod may_have_happened;
mod overtaken;
mod policy;
mod proposals;
mod quotas;
mod retention;
mod settings;
mod several_engines;
mod stale_copy;
mod support;
