//! From a syntax tree to a program: paths laid out, parents resolved, variables in slots.

mod ancestry;
mod lower;
pub(crate) mod node;
mod recognise;
mod scope;
mod shape;

use crate::error::Outcome;
use crate::host::{HostCall, HostFunctions};
use crate::syntax::parser::parse;
use crate::value::Str;
use node::Program;
use scope::Scopes;
use std::sync::Arc;

/// Compiles a source.
pub(crate) fn compile(
    source: &str,
    functions: &HostFunctions,
) -> Outcome<(Program, Vec<HostCall>)> {
    compile_inside(source, functions, &[], source.contains("$eval"))
}

/// Compiles a source that runs inside frames that exist already, given by the names of their slots
/// from the outermost in; `named` frames know the names of their own.
pub(crate) fn compile_inside(
    source: &str,
    functions: &HostFunctions,
    frames: &[Option<Arc<[Str]>>],
    named: bool,
) -> Outcome<(Program, Vec<HostCall>)> {
    let (ast, parents) = parse(source)?;
    let (ast, labels) = shape::shape(ast, parents)?;
    let scopes = Scopes::new(functions, labels.len() as u32).inside(frames);
    lower::lower(ast, labels, scopes, named)
}
