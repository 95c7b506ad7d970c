//! The shape of JSON Logic, before it is there.

use crate::{ExprError, Host, HostCall, HostFunctions, Limits, Value};

/// A compiled JSON Logic rule.
#[derive(Clone)]
pub struct Rule(#[allow(dead_code)] Value);
/// Rule error.
#[derive(Clone, Debug)]
pub struct RuleError {
    /// Where in the rule.
    pub path: String,
    /// What.
    pub error: ExprError,
}
impl Rule {
    /// Compile.
    #[allow(clippy::result_large_err)]
    pub fn compile(rule: &Value, _: &HostFunctions) -> Result<Self, RuleError> {
        Ok(Self(rule.clone()))
    }
    /// Host calls.
    pub fn host_calls(&self) -> Vec<HostCall> {
        Vec::new()
    }
    /// Holds.
    #[allow(clippy::result_large_err)]
    pub fn holds(&self, _: &Value, _: &dyn Host, _: &Limits) -> Result<bool, ExprError> {
        Ok(true)
    }
}
