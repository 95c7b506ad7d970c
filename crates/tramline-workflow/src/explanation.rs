//! Explains how an expression or rule got its value, as a tree that can be rendered or sent.

use crate::inspect::RunInspector;
use crate::scope::{self, EvalMoment};
use std::io::{Error, Write};
use std::time::{Duration, Instant};
use tramline_expr::{
    Explanation, ExprError, Expression, Host, Limits, Map, NoHost, Rule, RuleExplanation, Value,
};

/// Bytes of source shown per part of a tree; every enclosing part repeats the same text.
const SOURCE_BYTES_MAX: usize = 300;

/// Bytes of text that a trial evaluation may produce.
pub const TRIAL_TEXT_BYTES_MAX: u64 = 4 << 20;
/// Items that a trial evaluation may produce.
pub const TRIAL_ITEMS_MAX: u64 = 200_000;
/// Milliseconds that a trial evaluation may run, not counting the time it is queued.
pub const TRIAL_TIME_MS_MAX: u64 = 2_000;
/// Bytes of JSON that the result of a trial may have, because it is displayed.
pub const TRIAL_RESULT_BYTES_MAX: usize = 1 << 20;

/// The limits of a trial evaluation that starts now.
pub fn trial_limits(now: Instant) -> Limits {
    Limits {
        bytes: TRIAL_TEXT_BYTES_MAX,
        items: TRIAL_ITEMS_MAX,
        deadline: Some(now + Duration::from_millis(TRIAL_TIME_MS_MAX)),
        ..Limits::default()
    }
}

/// One part of an evaluation, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplanationNode {
    /// The source of the part, or the operator of a rule.
    pub what: String,
    /// The value; `None` if it is undefined or an error.
    pub value: Option<Value>,
    /// The parts it was computed from.
    pub children: Vec<ExplanationNode>,
}

impl ExplanationNode {
    /// The tree of an expression.
    pub fn expression(source: &str, told: &Explanation) -> Self {
        let text = source.get(told.span.clone()).unwrap_or_default();
        let text = match text.len() > SOURCE_BYTES_MAX {
            true => &text[..text.floor_char_boundary(SOURCE_BYTES_MAX)],
            false => text,
        };
        Self {
            what: text.split_whitespace().collect::<Vec<_>>().join(" "),
            value: told.value.clone(),
            children: told
                .children
                .iter()
                .map(|child| Self::expression(source, child))
                .collect(),
        }
    }

    /// The tree of a rule.
    pub fn rule(told: &RuleExplanation) -> Self {
        let what = match told.operator.as_str() {
            "" => "value",
            operator => operator,
        };
        Self {
            what: what.to_owned(),
            value: told.value.clone(),
            children: told.children.iter().map(Self::rule).collect(),
        }
    }

    /// The tree as a value: `what`, `value`, `children`.
    pub fn to_value(&self) -> Value {
        let mut told = Map::new();
        told.insert("what", self.what.as_str().into());
        told.insert("value", self.value.clone().unwrap_or_default());
        if !self.children.is_empty() {
            told.insert(
                "children",
                Value::array(self.children.iter().map(Self::to_value)),
            );
        }
        told.into()
    }
}

/// A trial evaluation: JSONata as text, or a JSON Logic rule.
#[derive(Clone, Copy, Debug)]
pub enum TrialSource<'a> {
    /// A JSONata expression.
    Expression(&'a str),
    /// A JSON Logic rule.
    Rule(&'a Value),
}

/// The data a trial is evaluated on.
#[derive(Clone, Copy)]
pub enum TrialTarget<'a> {
    /// A value, without the history functions.
    Value(&'a Value),
    /// The current state of a run, with its complete history.
    Run(&'a RunInspector),
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct TrialResult {
    /// The value; `None` if it is undefined.
    pub result: Result<Option<Value>, ExprError>,
    /// The explanation of the value.
    pub explanation: Option<ExplanationNode>,
}

/// Evaluates an expression or a rule and explains its value. A value that is too large to display
/// is the error `L0007`.
pub fn evaluate_trial(
    trial: TrialSource<'_>,
    on: TrialTarget<'_>,
    moment: EvalMoment,
    limits: &Limits,
) -> TrialResult {
    let mut tried = match on {
        TrialTarget::Value(value) => evaluate_on_host(trial, value, &RunlessHost(moment), limits),
        TrialTarget::Run(look) => evaluate_on_host(trial, look.scope(), &look.host(moment), limits),
    };
    if let Ok(Some(value)) = &tried.result
        && !is_displayable(value)
    {
        tried.result = Err(ExprError {
            code: "L0007".into(),
            message: format!(
                "the value is more than {TRIAL_RESULT_BYTES_MAX} bytes of JSON; select a part of it"
            ),
            position: None,
            span: None,
            token: None,
            value: None,
        });
    }
    tried
}

/// Whether a value is small enough to display.
fn is_displayable(value: &Value) -> bool {
    struct ByteAllowance(usize);
    impl Write for ByteAllowance {
        fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(Error::other("full"))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }
    serde_json::to_writer(ByteAllowance(TRIAL_RESULT_BYTES_MAX), value).is_ok()
}

fn evaluate_on_host(
    trial: TrialSource<'_>,
    data: &Value,
    host: &dyn Host,
    limits: &Limits,
) -> TrialResult {
    let failed = |error| TrialResult {
        result: Err(error),
        explanation: None,
    };
    match trial {
        TrialSource::Expression(source) => match Expression::compile(source, scope::functions()) {
            Err(error) => failed(error),
            Ok(expression) => {
                let (result, told) = expression.explain(data, host, limits);
                let explained = told.map(|told| ExplanationNode::expression(source, &told));
                TrialResult {
                    result,
                    explanation: explained,
                }
            }
        },
        TrialSource::Rule(rule) => match Rule::compile(rule, scope::functions()) {
            Err(bad) => failed(bad.error),
            Ok(rule) => TrialResult {
                explanation: Some(ExplanationNode::rule(&rule.explain(data, host, limits))),
                result: rule.evaluate(data, host, limits).map(Some),
            },
        },
    }
}

/// A host without a run, and therefore without history.
struct RunlessHost(EvalMoment);

impl Host for RunlessHost {
    fn call(&self, _: usize, _: &[Option<Value>]) -> Result<Option<Value>, String> {
        Err("the history functions are only available in a run".to_owned())
    }

    fn now_ms(&self) -> i64 {
        self.0.now_ms
    }

    fn random(&self) -> f64 {
        NoHost.random()
    }
}
