//! Evaluation of a compiled program.

mod apply;
mod call;
mod construct;
mod filter;
mod fit;
pub(crate) mod frame;
mod group;
pub(crate) mod machine;
pub(crate) mod operator;
mod path;
mod peek;
mod sink;
pub(crate) mod sort;
mod transform;
mod tuple;
pub(crate) mod val;
mod walk;
