//! The shape of the evaluator, before it is there.

use crate::{Str, Value};
use std::ops::Range;
use std::time::Instant;

/// A compiled JSONata expression.
#[derive(Clone)]
pub struct Expression(Str);
/// A compiled JSON Logic rule.
#[derive(Clone)]
pub struct Rule(#[allow(dead_code)] Value);
/// Names of host functions.
pub struct HostFunctions(#[allow(dead_code)] Vec<Str>);
/// One use of a host function.
pub struct HostCall {
    /// Which.
    pub function: usize,
    /// Literal arguments.
    pub arguments: Vec<Option<Value>>,
    /// Called or used as a value.
    pub called: bool,
}
/// Surroundings.
pub trait Host {
    /// Calls.
    fn call(&self, function: usize, arguments: &[Option<Value>]) -> Result<Option<Value>, String>;
    /// Now.
    fn now_ms(&self) -> i64;
    /// Chance.
    fn random(&self) -> f64;
}
/// Limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Fuel.
    pub fuel: u64,
    /// Depth.
    pub depth: u32,
    /// Bytes.
    pub bytes: u64,
    /// Items.
    pub items: u64,
    /// Deadline.
    pub deadline: Option<Instant>,
}
/// Error.
#[derive(Clone, Debug)]
pub struct ExprError {
    /// Code.
    pub code: Str,
    /// Message.
    pub message: String,
    /// Position.
    pub position: Option<usize>,
    /// Span.
    pub span: Option<Range<usize>>,
    /// Token.
    pub token: Option<Str>,
    /// Value.
    pub value: Option<Value>,
}
/// Rule error.
#[derive(Clone, Debug)]
pub struct RuleError {
    /// Where in the rule.
    pub path: String,
    /// What.
    pub error: ExprError,
}
impl HostFunctions {
    /// New.
    pub fn new<I: IntoIterator<Item = &'static str>>(names: I) -> Self {
        Self(names.into_iter().map(Str::from).collect())
    }
}
impl Expression {
    /// Compile.
    pub fn compile(source: &str, _: &HostFunctions) -> Result<Self, ExprError> {
        Ok(Self(source.into()))
    }
    /// Source.
    pub fn source(&self) -> &str {
        &self.0
    }
    /// Host calls.
    pub fn host_calls(&self) -> &[HostCall] {
        &[]
    }
    /// Evaluate.
    pub fn evaluate(
        &self,
        _: &Value,
        _: &dyn Host,
        _: &Limits,
    ) -> Result<Option<Value>, ExprError> {
        Ok(Some(self.0.clone().into()))
    }
}
impl Rule {
    /// Compile.
    pub fn compile(rule: &Value, _: &HostFunctions) -> Result<Self, RuleError> {
        Ok(Self(rule.clone()))
    }
    /// Host calls.
    pub fn host_calls(&self) -> Vec<HostCall> {
        Vec::new()
    }
    /// Holds.
    pub fn holds(&self, _: &Value, _: &dyn Host, _: &Limits) -> Result<bool, ExprError> {
        Ok(true)
    }
}
impl std::fmt::Display for ExprError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
