//! Compiles a syntax tree into a program: paths become steps, parents are resolved, variables get
//! slots.

mod desugar;
mod lower;
pub(crate) mod node;
mod optimize;
mod parents;
mod scope;

use crate::error::ExprResult;
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
) -> ExprResult<(Program, Vec<HostCall>)> {
    compile_inside(source, functions, &[], source.contains("$eval"))
}

/// Compiles a source that runs inside existing frames, given by the names of their slots from the
/// outermost in. With `named`, the program's own frames record the names of their slots.
pub(crate) fn compile_inside(
    source: &str,
    functions: &HostFunctions,
    frames: &[Option<Arc<[Str]>>],
    named: bool,
) -> ExprResult<(Program, Vec<HostCall>)> {
    let (ast, parents) = parse(source)?;
    let (ast, labels) = desugar::desugar(ast, parents)?;
    let scopes = Scopes::new(functions, labels.len() as u32).with_frames(frames);
    lower::lower(ast, labels, scopes, named)
}
