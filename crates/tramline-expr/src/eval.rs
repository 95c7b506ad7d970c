//! Evaluation of a compiled program.

mod apply;
mod borrowed;
mod call;
mod coerce;
mod construct;
mod field_path;
mod filter;
pub(crate) mod frame;
mod group;
pub(crate) mod machine;
pub(crate) mod operator;
mod path;
mod sink;
pub(crate) mod sort;
mod transform;
mod tuple;
pub(crate) mod val;
