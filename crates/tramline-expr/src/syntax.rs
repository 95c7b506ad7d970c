//! From source text to a syntax tree.

pub(crate) mod ast;
pub(crate) mod parser;
pub(crate) mod signature;
mod token;
