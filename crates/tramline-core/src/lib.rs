//! What a workflow means: graph, journal, run, and the decision what comes next.
//!
//! Pure: nothing here reads a clock, a file or the network, and nothing is async. The crate may
//! not know how a step is carried out, only what follows from its having been.

pub mod authority;
pub mod compare;
mod cycles;
pub mod difference;
pub mod explained;
pub mod failure;
pub mod flaw;
pub mod formats;
pub mod graph;
pub mod headline;
pub mod ids;
pub mod journal;
pub mod layers;
pub mod look;
pub mod navigate;
pub mod next;
pub mod picture;
pub mod question;
pub mod run;
pub mod schema;
pub mod scope;
pub mod settings;
pub mod sop;
pub mod step;
pub mod stood;
pub mod text;
pub mod timeline;
pub mod todo;
pub mod trace;
pub mod upstream;
pub mod walked;
pub mod why;
pub mod workflow;

/// The expression languages, for whoever evaluates outside of a run.
pub mod expr {
    pub use tramline_expr::{
        Explanation, ExprError, Expression, Host, HostFunctions, Limits, Rule, RuleError,
        RuleExplanation,
    };
}

pub use tramline_expr::{Map, Number, Str, Value};
