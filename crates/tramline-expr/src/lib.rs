//! Expressions for people who run other people's expressions: JSONata and JSON Logic with limits
//! that hold.
//!
//! The crate knows values and expressions and nothing of graphs, files, clocks or networks.
//! [`Value`] is what flows through everything built on it: a clone is a reference count, key order
//! is kept, and evaluation never converts its input.

mod compile;
mod error;
mod eval;
mod explain;
mod expression;
mod functions;
mod host;
mod limits;
mod logic;
mod syntax;
mod text;
mod value;

pub use error::ExprError;
pub use explain::Explanation;
pub use expression::{Expression, explain};
pub use host::{Host, HostCall, HostFunctions, NoHost};
pub use limits::Limits;
pub use logic::{Rule, RuleError, RuleExplanation};
pub use value::{Map, Number, Str, Value};
