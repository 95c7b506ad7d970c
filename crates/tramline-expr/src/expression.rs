//! The public API of JSONata: compile once, evaluate often.

use crate::compile::compile;
use crate::compile::node::Program;
use crate::error::{ExprError, ExprResult};
use crate::eval::machine::Machine;
use crate::eval::val::Val;
use crate::explain::{Explanation, ExplanationBudget, Tracer};
use crate::host::{Host, HostCall, HostFunctions};
use crate::limits::{Limits, Meter};
use crate::value::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// A compiled JSONata expression. Clones share the program, also across threads.
#[derive(Clone)]
pub struct Expression {
    inner: Arc<Inner>,
}

struct Inner {
    source: Box<str>,
    program: Program,
    functions: HostFunctions,
    calls: Vec<HostCall>,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression")
            .field(&self.inner.source)
            .finish()
    }
}

impl Expression {
    /// Compiles a source that may call these host functions.
    pub fn compile(source: &str, functions: &HostFunctions) -> Result<Self, ExprError> {
        let (program, calls) =
            compile(source, functions).map_err(|flaw| flaw.into_error(source))?;
        Ok(Self {
            inner: Arc::new(Inner {
                source: source.into(),
                program,
                functions: functions.clone(),
                calls,
            }),
        })
    }

    /// The source it was compiled from.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// Every use of a host function in the source, with its literal arguments.
    pub fn host_calls(&self) -> &[HostCall] {
        &self.inner.calls
    }

    /// Evaluates on an input. `None` is JSONata's undefined.
    pub fn evaluate(
        &self,
        input: &Value,
        host: &dyn Host,
        limits: &Limits,
    ) -> Result<Option<Value>, ExprError> {
        self.evaluate_with(Some(input), None, host, limits)
    }

    /// Evaluates with variables, and optionally without an input.
    pub fn evaluate_with(
        &self,
        input: Option<&Value>,
        variables: Option<&Map>,
        host: &dyn Host,
        limits: &Limits,
    ) -> Result<Option<Value>, ExprError> {
        limits.evaluate_within(host, |limits| {
            let mut machine = Machine::new(host, &self.inner.functions, variables, limits);
            let result = machine.run(&self.inner.program, input);
            self.finish(result)
        })
    }

    /// Evaluates and explains how the result was computed, even if it is an error.
    pub fn explain(
        &self,
        input: &Value,
        host: &dyn Host,
        limits: &Limits,
    ) -> (Result<Option<Value>, ExprError>, Option<Explanation>) {
        let mut machine = Machine::new(host, &self.inner.functions, None, limits);
        machine.tracer = Some(Tracer::default());
        let result = machine.run(&self.inner.program, Some(input));
        let explanation = machine.tracer.take().and_then(Tracer::finish);
        (self.finish(result), explanation)
    }

    /// Evaluates as part of a larger evaluation, on its meter.
    pub(crate) fn evaluate_metered(
        &self,
        input: &Value,
        host: &dyn Host,
        meter: &Meter,
    ) -> Result<Option<Value>, ExprError> {
        let mut machine = Machine::with_meter(host, &self.inner.functions, None, meter.fork());
        let result = machine.run(&self.inner.program, Some(input));
        meter.rejoin(&machine.meter);
        self.finish(result)
    }

    /// Like `evaluate_metered`, with an explanation.
    pub(crate) fn explain_metered(
        &self,
        input: &Value,
        host: &dyn Host,
        meter: &Meter,
        room: &mut ExplanationBudget,
    ) -> (Result<Option<Value>, ExprError>, Option<Explanation>) {
        let mut machine = Machine::with_meter(host, &self.inner.functions, None, meter.fork());
        machine.tracer = Some(Tracer::with_budget(std::mem::take(room)));
        let result = machine.run(&self.inner.program, Some(input));
        meter.rejoin(&machine.meter);
        let told = machine.tracer.take().map(Tracer::into_parts);
        let explanation = told.and_then(|(explanation, left)| {
            *room = left;
            explanation
        });
        (self.finish(result), explanation)
    }

    fn finish(&self, result: ExprResult<Val>) -> Result<Option<Value>, ExprError> {
        match result {
            Ok(val) => Ok(val.into_value()),
            Err(flaw) => Err(flaw.into_error(&self.inner.source)),
        }
    }
}

/// Explains the value of an expression: the evaluation tree with the value of every operand.
pub fn explain(
    expression: &Expression,
    input: &Value,
    host: &dyn Host,
    limits: &Limits,
) -> Result<Explanation, ExprError> {
    match expression.explain(input, host, limits) {
        (_, Some(explanation)) => Ok(explanation),
        (Err(error), None) => Err(error),
        (Ok(value), None) => Ok(Explanation {
            span: 0..expression.source().len(),
            value,
            children: Vec::new(),
        }),
    }
}
