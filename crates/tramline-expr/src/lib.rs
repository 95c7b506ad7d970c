//! Expressions for people who run other people's expressions: JSONata and JSON Logic with limits
//! that hold.
//!
//! The crate knows values and expressions and nothing of graphs, files, clocks or networks.
//! [`Value`] is what flows through everything built on it: a clone is a reference count, key order
//! is kept, and evaluation never converts its input.

#[allow(dead_code, unused_imports)] // the evaluators call it
mod text;
mod value;

pub use value::{Map, Number, Str, Value};
