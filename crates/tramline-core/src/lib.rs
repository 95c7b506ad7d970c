//! The model of a workflow: graph, journal, run, and the decision about what to do next.
//!
//! Everything here is pure: nothing reads a clock, a file or the network, and nothing is async. The
//! crate must not know how a step is performed, only what follows once it has been.

pub mod authority;
pub mod branch_explanation;
pub mod compare;
mod cycles;
pub mod diagram;
pub mod event_summary;
pub mod explanation;
pub mod failure;
pub mod flaw;
pub mod formats;
pub mod graph;
pub mod ids;
pub mod inspect;
pub mod journal;
pub mod layers;
pub mod next;
pub mod pause_view;
pub mod run;
pub mod schema;
pub mod scope;
pub mod setting_references;
pub mod snapshot;
pub mod sop;
pub mod sop_coverage_chart;
pub mod sop_history;
pub mod sop_session;
pub mod step;
pub mod text;
pub mod text_diff;
pub mod timeline;
pub mod todo;
pub mod trace;
pub mod trace_context;
pub mod workflow;

/// The expression languages, for evaluating expressions outside a run.
pub mod expr {
    pub use tramline_expr::{
        Explanation, ExprError, Expression, Host, HostFunctions, Limits, Rule, RuleError,
        RuleExplanation,
    };
}

pub use tramline_expr::{Map, Number, Str, Value};
