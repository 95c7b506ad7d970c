//! The public face of JSONata: compile once, evaluate often.

use crate::compile::compile;
use crate::compile::node::Program;
use crate::error::{ExprError, Outcome};
use crate::eval::machine::Machine;
use crate::eval::val::Val;
use crate::explain::{Explanation, Room, Tracer};
use crate::host::{Host, HostCall, HostFunctions};
use crate::limits::{Limits, Meter};
use crate::value::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// A compiled JSONata expression. Clones share it; threads may too.
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

    /// Every place where the source names a host function, with its arguments where they are
    /// literals.
    pub fn host_calls(&self) -> &[HostCall] {
        &self.inner.calls
    }

    /// Evaluates on an input. `None` is JSONata's undefined: there is no value.
    pub fn evaluate(
        &self,
        input: &Value,
        host: &dyn Host,
        limits: &Limits,
    ) -> Result<Option<Value>, ExprError> {
        self.evaluate_with(Some(input), None, host, limits)
    }

    /// Evaluates with variables given, and perhaps without an input.
    pub fn evaluate_with(
        &self,
        input: Option<&Value>,
        variables: Option<&Map>,
        host: &dyn Host,
        limits: &Limits,
    ) -> Result<Option<Value>, ExprError> {
        limits.hold(host, |limits| {
            let mut machine = Machine::new(host, &self.inner.functions, variables, limits);
            let result = machine.run(&self.inner.program, input);
            self.outcome(result)
        })
    }

    /// Evaluates and tells how the result came about, also when it ends in an error.
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
        (self.outcome(result), explanation)
    }

    /// Evaluates as a part of something larger, on that thing's meter.
    pub(crate) fn evaluate_metered(
        &self,
        input: &Value,
        host: &dyn Host,
        meter: &Meter,
    ) -> Result<Option<Value>, ExprError> {
        let mut machine = Machine::metered(host, &self.inner.functions, None, meter.fork());
        let result = machine.run(&self.inner.program, Some(input));
        meter.rejoin(&machine.meter);
        self.outcome(result)
    }

    /// The same, telling how the result came about.
    pub(crate) fn explain_metered(
        &self,
        input: &Value,
        host: &dyn Host,
        meter: &Meter,
        room: &mut Room,
    ) -> (Result<Option<Value>, ExprError>, Option<Explanation>) {
        let mut machine = Machine::metered(host, &self.inner.functions, None, meter.fork());
        machine.tracer = Some(Tracer::within(std::mem::take(room)));
        let result = machine.run(&self.inner.program, Some(input));
        meter.rejoin(&machine.meter);
        let told = machine.tracer.take().map(Tracer::split);
        let explanation = told.and_then(|(explanation, left)| {
            *room = left;
            explanation
        });
        (self.outcome(result), explanation)
    }

    fn outcome(&self, result: Outcome<Val>) -> Result<Option<Value>, ExprError> {
        match result {
            Ok(val) => Ok(val.into_value()),
            Err(flaw) => Err(flaw.into_error(&self.inner.source)),
        }
    }
}

/// How a value of an expression came about: the evaluation tree with the value of every operand.
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
