//! What an expression can access: every node's latest output, and the history functions.

use crate::run::Run;
use std::cell::Cell;
use std::sync::OnceLock;
use tramline_expr::{Host, HostFunctions, Value};

/// The functions with which an expression accesses the history of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistoryFunction {
    PreviousNode,
    ExecutionCount,
    NodeExecution,
    NodeExecutions,
}

impl HistoryFunction {
    const ALL: [(Self, &'static str); 4] = [
        (Self::PreviousNode, "previousNode"),
        (Self::ExecutionCount, "executionCount"),
        (Self::NodeExecution, "nodeExecution"),
        (Self::NodeExecutions, "nodeExecutions"),
    ];

    pub(crate) fn at(place: usize) -> Option<Self> {
        Self::ALL.get(place).map(|(function, _)| *function)
    }
}

/// The host functions that expressions are compiled with.
pub fn functions() -> &'static HostFunctions {
    static FUNCTIONS: OnceLock<HostFunctions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| HostFunctions::new(HistoryFunction::ALL.map(|(_, name)| name)))
}

/// The time and random seed of an evaluation, given by the caller because this crate has no clock.
#[derive(Clone, Copy, Debug)]
pub struct EvalMoment {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// A seed for `$random`.
    pub seed: u64,
}

/// A run as seen by one token: the previous visits depend on the path it took.
pub(crate) struct RunView<'a> {
    pub(crate) run: &'a Run,
    /// The visit that the token came from.
    pub(crate) from: Option<u32>,
    pub(crate) moment: EvalMoment,
    /// How many random numbers were drawn, so that they differ.
    pub(crate) draws: Cell<u64>,
}

impl Host for RunView<'_> {
    fn call(&self, function: usize, arguments: &[Option<Value>]) -> Result<Option<Value>, String> {
        let argument = |at: usize| arguments.get(at).and_then(Option::as_ref);
        let function = HistoryFunction::at(function).ok_or("no such history function")?;
        match function {
            HistoryFunction::PreviousNode => {
                let back = whole(argument(0), "n", Some(1))?;
                if back < 1 {
                    return Err(format!("$previousNode counts back from 1, not {back}"));
                }
                Ok(self.run.history.before(self.from, back as u64))
            }
            HistoryFunction::ExecutionCount => {
                let id = node_id(argument(0), "$executionCount")?;
                Ok(Some(Value::from(
                    self.run.history.count(self.run.graph.find(id)),
                )))
            }
            HistoryFunction::NodeExecution => {
                let id = node_id(argument(0), "$nodeExecution")?;
                let index = whole(argument(1), "index", None)?;
                Ok(self.run.history.nth(self.run.graph.find(id), index))
            }
            HistoryFunction::NodeExecutions => {
                let id = node_id(argument(0), "$nodeExecutions")?;
                Ok(Some(Value::array(
                    self.run.history.all(self.run.graph.find(id)),
                )))
            }
        }
    }

    fn now_ms(&self) -> i64 {
        self.moment.now_ms
    }

    fn random_draws(&self) -> u64 {
        self.draws.get()
    }

    fn rewind_random(&self, drawn: u64) {
        self.draws.set(drawn);
    }

    fn random(&self) -> f64 {
        // SplitMix64: good enough to spread a seed, but not for secrets.
        self.draws.set(self.draws.get() + 1);
        let stride = self.draws.get().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.moment.seed.wrapping_add(stride);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn node_id<'v>(argument: Option<&'v Value>, function: &str) -> Result<&'v str, String> {
    argument
        .and_then(Value::as_str)
        .ok_or_else(|| format!("{function} takes a node id as its first argument"))
}

fn whole(argument: Option<&Value>, name: &str, default: Option<i64>) -> Result<i64, String> {
    match argument {
        None => default.ok_or_else(|| format!("`{name}` is missing")),
        Some(value) => value
            .as_i64()
            .ok_or_else(|| format!("`{name}` must be a whole number, not {}", value.kind())),
    }
}
