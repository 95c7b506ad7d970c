//! Plans tool calls for intents, runs the plans and learns from them.
//!
//! It may not touch a store: it sees documents through tables of its own, and runs through the engine.

pub mod loop_runner;
pub mod plan_history;
pub mod planner;
mod planning;
mod services;

pub use loop_runner::LoopRunner;
pub use planning::Planner;
pub use services::{ServiceOptions, Services};
