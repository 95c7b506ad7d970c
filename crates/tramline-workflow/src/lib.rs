//! The model of a workflow: graph, journal, run, and the decision about what to do next.
//!
//! Everything here is pure: nothing reads a clock, a file or the network, and nothing is async. The
//! crate must not know how a step is performed, only what follows once it has been.

pub mod authority;
pub mod builtin_tools;
pub mod cycles;
pub mod explanation;
pub mod failure;
pub mod flaw;
pub mod form;
pub mod graph;
pub mod ids;
pub mod inspect;
pub mod journal;
pub mod layers;
pub mod next;
pub mod node_kind;
pub mod run;
pub mod schema;
pub mod schema_change;
pub mod scope;
pub mod setting_references;
pub mod sop;
pub mod step;
pub mod task_layers;
pub mod text;
pub mod todo;
pub mod tool_schema;
pub mod trace_context;
pub mod workflow;
