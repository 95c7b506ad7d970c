//! The calls of a whole conversation, kept for rules over arguments and earlier calls.

use crate::failure::{Failure, FailureKind};
use crate::ids::ToolName;
use crate::journal::{ToolAnswered, ToolCalled};
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

/// More calls than this are not kept for rules. Rules that need them are then refused.
pub const CALLS_KEPT_MAX: usize = 2_000;
/// Arguments and results of more bytes than this are not kept, for the same reason.
pub const CALL_BYTES_KEPT_MAX: usize = 16 << 20;

/// One call of the conversation.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) call: u32,
    pub(super) tool: ToolName,
    pub(super) arguments: Value,
    /// Whether the tool's name alone means another tool.
    is_other: bool,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// It has not come back, or a person is asked about it.
    Open,
    Done(Value),
    /// It failed, and had no effect.
    Failed,
    /// It failed after it left; its effect is unknown.
    Unknown,
}

impl Made {
    /// Whether a name means its tool: with the server, or alone where that means it.
    fn is_meant(&self, name: &str) -> bool {
        match name.contains(':') {
            true => self.tool.to_string() == name,
            false => self.tool.tool == name && !self.is_other,
        }
    }

    /// Whether it had an effect, or may have had one.
    pub(super) fn may_have_happened(&self) -> bool {
        !matches!(self.state, State::Failed)
    }

    /// What it gave, if it succeeded.
    pub(super) fn result(&self) -> Option<&Value> {
        match &self.state {
            State::Done(result) => Some(result),
            State::Open | State::Failed | State::Unknown => None,
        }
    }
}

/// Every call of a conversation, up to the limits.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Whether any rule can ask: otherwise nothing is kept.
    is_kept: bool,
    made: Arc<Vec<Made>>,
    bytes: usize,
    /// Whether a call was left out because of the limits.
    is_cut: bool,
}

impl History {
    pub(super) fn new(is_kept: bool) -> Self {
        Self {
            is_kept,
            ..Self::default()
        }
    }

    /// Whether calls are missing because there were too many.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn called(&mut self, called: &ToolCalled) {
        if !self.is_kept {
            return;
        }
        let bytes = self.bytes + called.arguments.to_json().len();
        if self.made.len() >= CALLS_KEPT_MAX || bytes > CALL_BYTES_KEPT_MAX {
            self.is_cut = true;
            return;
        }
        self.bytes = bytes;
        Arc::make_mut(&mut self.made).push(Made {
            call: called.call,
            tool: called.tool.clone(),
            arguments: called.arguments.clone(),
            is_other: called.is_other,
            state: State::Open,
        });
    }

    pub(super) fn answered(&mut self, called: &ToolCalled, answered: &ToolAnswered) {
        let Some(place) = self.made.iter().rposition(|it| it.call == answered.call) else {
            return;
        };
        // Where a person has changed the arguments, those count.
        if let Some(edited) = &answered.edited_arguments {
            self.edited(answered.call, edited);
        }
        let made = Arc::make_mut(&mut self.made);
        match &answered.failure {
            None => {
                let bytes = self.bytes + answered.output.to_json().len();
                if bytes > CALL_BYTES_KEPT_MAX {
                    self.is_cut = true;
                    made[place].state = State::Unknown;
                } else {
                    self.bytes = bytes;
                    made[place].state = State::Done(answered.output.clone());
                }
            }
            Some(failure) if never_left(called, failure) => {
                made.remove(place);
            }
            Some(failure) if has_unknown_effect(failure) => made[place].state = State::Unknown,
            Some(_) => made[place].state = State::Failed,
        }
    }

    /// Counts other arguments for a call than those that it was announced with.
    pub(super) fn edited(&mut self, call: u32, arguments: &Value) {
        let Some(place) = self.made.iter().rposition(|it| it.call == call) else {
            return;
        };
        if self.made[place].arguments != *arguments {
            self.bytes += arguments.to_json().len();
            Arc::make_mut(&mut self.made)[place].arguments = arguments.clone();
        }
    }

    /// Leaves a call out.
    pub(super) fn forget(&mut self, call: u32) {
        Arc::make_mut(&mut self.made).retain(|it| it.call != call);
    }

    /// A call by its number.
    pub(super) fn find(&self, call: u32) -> Option<&Made> {
        self.made.iter().find(|it| it.call == call)
    }

    /// The calls of these tools, in order.
    pub(super) fn of<'a>(&'a self, tools: &'a [Str]) -> impl DoubleEndedIterator<Item = &'a Made> {
        let made = self.made.iter();
        made.filter(move |it| tools.iter().any(|name| it.is_meant(name)))
    }

    /// What expressions see as `calls`: the calls that succeeded, by tool. Every one of `named` is
    /// there, with an empty list if it was not called.
    pub(super) fn to_value<'a>(&self, named: impl Iterator<Item = &'a Str>) -> Value {
        let mut lists: Vec<(Str, Vec<Value>)> = named.map(|it| (it.clone(), Vec::new())).collect();
        let mut places: HashMap<Str, usize> =
            lists.iter().map(|it| it.0.clone()).zip(0..).collect();
        for made in self.made.iter() {
            let Some(result) = made.result() else {
                continue;
            };
            let pairs = [("args", made.arguments.clone()), ("result", result.clone())];
            let told = Value::object(pairs);
            let whole: Str = made.tool.to_string().into();
            let whole = Some(&whole).filter(|_| !made.tool.server.is_empty());
            let short = Some(&made.tool.tool).filter(|_| !made.is_other);
            for name in [whole, short].into_iter().flatten() {
                let place = *places.entry(name.clone()).or_insert(lists.len());
                if place == lists.len() {
                    lists.push((name.clone(), Vec::new()));
                }
                lists[place].1.push(told.clone());
            }
        }
        let lists = lists.into_iter().map(|(name, list)| (name, list.into()));
        lists.collect::<Map>().into()
    }
}

/// Whether a failed call was stopped before it left.
fn never_left(called: &ToolCalled, failure: &Failure) -> bool {
    if failure.may_have_happened {
        return false;
    }
    match failure.kind {
        FailureKind::Rejected
        | FailureKind::Forbidden
        | FailureKind::UnknownTool
        | FailureKind::BadArguments => true,
        // Only a question that was withdrawn ends like this without a call.
        FailureKind::Cancelled => called.run.is_some(),
        FailureKind::Tool
        | FailureKind::Unavailable
        | FailureKind::Timeout
        | FailureKind::BadAnswer
        | FailureKind::Expression
        | FailureKind::Schema
        | FailureKind::Limit
        | FailureKind::Stalled
        | FailureKind::NotRecorded => false,
    }
}

/// Whether a call that failed may have had an effect all the same.
fn has_unknown_effect(failure: &Failure) -> bool {
    if failure.may_have_happened {
        return true;
    }
    match failure.kind {
        FailureKind::Timeout
        | FailureKind::BadAnswer
        | FailureKind::Cancelled
        | FailureKind::Limit => true,
        FailureKind::Tool
        | FailureKind::Unavailable
        | FailureKind::UnknownTool
        | FailureKind::BadArguments
        | FailureKind::Expression
        | FailureKind::Forbidden
        | FailureKind::Schema
        | FailureKind::Stalled
        | FailureKind::Rejected
        | FailureKind::NotRecorded => false,
    }
}
