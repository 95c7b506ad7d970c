//! How a value came about, as a tree that can be drawn or sent: for expressions and rules alike.

use crate::look::Look;
use crate::scope::{self, Moment};
use std::io::{Error, Write};
use std::time::{Duration, Instant};
use tramline_expr::{
    Explanation, ExprError, Expression, Host, Limits, Map, NoHost, Rule, RuleExplanation, Value,
};

/// Bytes of its source that one part of a tree shows: every part around it shows the same text again.
const SOURCE_BYTES_MAX: usize = 300;

/// Bytes of text that something tried out may make.
pub const TRIAL_TEXT_BYTES_MAX: u64 = 4 << 20;
/// Items that something tried out may make.
pub const TRIAL_ITEMS_MAX: u64 = 200_000;
/// Milliseconds that something tried out may take, once its turn has come.
pub const TRIAL_TIME_MS_MAX: u64 = 2_000;
/// Bytes of JSON that something tried out may come to: it is shown to somebody.
pub const TRIAL_RESULT_BYTES_MAX: usize = 1 << 20;

/// The bounds of something tried out, which begins now.
pub fn trial_limits(now: Instant) -> Limits {
    Limits {
        bytes: TRIAL_TEXT_BYTES_MAX,
        items: TRIAL_ITEMS_MAX,
        deadline: Some(now + Duration::from_millis(TRIAL_TIME_MS_MAX)),
        ..Limits::default()
    }
}

/// A part of an evaluation with what it came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The source of the part, or the operator of a rule.
    pub what: String,
    /// What it came to; nothing if that is undefined, or an error.
    pub value: Option<Value>,
    /// The parts it was made of.
    pub below: Vec<Explained>,
}

impl Explained {
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
            below: told
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
            below: told.children.iter().map(Self::rule).collect(),
        }
    }

    /// The tree as data: `what`, `value`, `children`.
    pub fn to_value(&self) -> Value {
        let mut told = Map::new();
        told.insert("what", self.what.as_str().into());
        told.insert("value", self.value.clone().unwrap_or_default());
        if !self.below.is_empty() {
            told.insert(
                "children",
                Value::array(self.below.iter().map(Self::to_value)),
            );
        }
        told.into()
    }
}

/// Something to be tried out: JSONata as text, or a JSON Logic rule.
#[derive(Clone, Copy, Debug)]
pub enum Trial<'a> {
    /// JSONata.
    Expression(&'a str),
    /// JSON Logic.
    Rule(&'a Value),
}

/// What it is tried out on.
#[derive(Clone, Copy)]
pub enum On<'a> {
    /// A value; the history functions are not there.
    Value(&'a Value),
    /// A run as it stands, with all of its history.
    Run(&'a Look),
}

/// What a trial came to.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The value; nothing if that is undefined.
    pub result: Result<Option<Value>, ExprError>,
    /// How it came about.
    pub explained: Option<Explained>,
}

/// Tries an expression or a rule out, and tells how its value came about. A value that is too large
/// to be shown is an error, `L0007`.
pub fn try_out(trial: Trial<'_>, on: On<'_>, moment: Moment, limits: &Limits) -> Tried {
    let mut tried = match on {
        On::Value(value) => on_host(trial, value, &Plain(moment), limits),
        On::Run(look) => on_host(trial, look.scope(), &look.host(moment), limits),
    };
    if let Ok(Some(value)) = &tried.result
        && !fits(value)
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

/// Whether a value is small enough to be shown.
fn fits(value: &Value) -> bool {
    struct Left(usize);
    impl Write for Left {
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
    serde_json::to_writer(Left(TRIAL_RESULT_BYTES_MAX), value).is_ok()
}

fn on_host(trial: Trial<'_>, data: &Value, host: &dyn Host, limits: &Limits) -> Tried {
    let failed = |error| Tried {
        result: Err(error),
        explained: None,
    };
    match trial {
        Trial::Expression(source) => match Expression::compile(source, scope::functions()) {
            Err(error) => failed(error),
            Ok(expression) => {
                let (result, told) = expression.explain(data, host, limits);
                let explained = told.map(|told| Explained::expression(source, &told));
                Tried { result, explained }
            }
        },
        Trial::Rule(rule) => match Rule::compile(rule, scope::functions()) {
            Err(bad) => failed(bad.error),
            Ok(rule) => Tried {
                explained: Some(Explained::rule(&rule.explain(data, host, limits))),
                result: rule.evaluate(data, host, limits).map(Some),
            },
        },
    }
}

/// The moment alone: no run, so no history.
struct Plain(Moment);

impl Host for Plain {
    fn call(&self, _: usize, _: &[Option<Value>]) -> Result<Option<Value>, String> {
        Err("the history functions need a run to look back over".to_owned())
    }

    fn now_ms(&self) -> i64 {
        self.0.now_ms
    }

    fn random(&self) -> f64 {
        NoHost.random()
    }
}
