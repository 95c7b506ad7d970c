//! The calls of a whole session, kept for rules over arguments and earlier calls.

use super::redacted::masked;
use std::collections::HashMap;
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::{CarriedCall, CarriedState, ToolAnswered, ToolCalled};

/// Calls kept per session for rules, to bound memory. Beyond it, rules that need the history refuse
/// the call.
pub const CALLS_KEPT_MAX: usize = 2_000;
/// Bytes of arguments and results kept per session for rules, to bound memory. Beyond it, rules
/// that need the history refuse the call.
pub const CALL_BYTES_KEPT_MAX: usize = 16 << 20;

/// One call of the session.
#[derive(Clone, Debug)]
pub(super) struct RecordedCall {
    pub(super) call: u32,
    pub(super) tool: ToolName,
    pub(super) arguments: Value,
    /// Whether the bare tool name means another tool.
    is_other: bool,
    state: CallState,
    /// The call that repeats it, while it was in doubt, and counts in its place.
    repeated_by: Option<u32>,
}

#[derive(Clone, Debug)]
enum CallState {
    /// It has not returned, or a person is asked about it.
    Open,
    Done(Value),
    /// It failed and had no effect.
    Failed,
    /// It failed after it was sent; its effect is unknown.
    Unknown,
}

impl RecordedCall {
    /// Whether a name refers to its tool, with the server or, if unambiguous, without.
    fn matches_name(&self, name: &str) -> bool {
        match name.contains(':') {
            true => self.tool.to_string() == name,
            false => self.tool.tool == name && !self.is_other,
        }
    }

    /// Whether it had or may have had an effect.
    pub(super) fn may_have_happened(&self) -> bool {
        !matches!(self.state, CallState::Failed)
    }

    /// The call as it counts in a session that replaces this one, where no result is kept.
    fn carried(&self) -> (ToolCalled, CarriedState) {
        let called = ToolCalled {
            call: self.call,
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            confirmed: None,
            against: None,
            run: None,
            step: None,
            is_other: self.is_other,
            upstream: None,
            rules: Vec::new(),
            // The arguments of the history are masked already.
            redacted: Vec::new(),
            repeats: None,
        };
        let state = match self.may_have_happened() {
            true => CarriedState::Made,
            false => CarriedState::Failed,
        };
        (called, state)
    }

    /// Its result, if it succeeded.
    pub(super) fn result(&self) -> Option<&Value> {
        match &self.state {
            CallState::Done(result) => Some(result),
            CallState::Open | CallState::Failed | CallState::Unknown => None,
        }
    }
}

/// Every call of a session, up to the limits.
#[derive(Clone, Debug, Default)]
pub(super) struct CallHistory {
    /// Whether any rule can use the history; otherwise nothing is kept.
    is_enabled: bool,
    calls: Arc<Vec<RecordedCall>>,
    bytes: usize,
    /// Whether a call was omitted because of the limits.
    is_truncated: bool,
}

impl CallHistory {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self {
            is_enabled,
            ..Self::default()
        }
    }

    /// Whether calls are missing because of the limits.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    pub(super) fn record_call(&mut self, called: &ToolCalled) {
        if !self.is_enabled {
            return;
        }
        let bytes = self.bytes + called.arguments.to_json().len();
        if self.calls.len() >= CALLS_KEPT_MAX || bytes > CALL_BYTES_KEPT_MAX {
            self.is_truncated = true;
            return;
        }
        self.bytes = bytes;
        Arc::make_mut(&mut self.calls).push(RecordedCall {
            call: called.call,
            tool: called.tool.clone(),
            arguments: masked(&called.arguments, &called.redacted),
            is_other: called.is_other,
            state: CallState::Open,
            repeated_by: None,
        });
        let earlier = |it: &&mut RecordedCall| Some(it.call) == called.repeats;
        let calls = Arc::make_mut(&mut self.calls);
        if let Some(earlier) = calls.iter_mut().find(earlier) {
            earlier.repeated_by = Some(called.call);
        }
    }

    /// Counts a call in doubt again whose repetition had no effect.
    fn count_repeated(&mut self, repetition: u32) {
        for made in Arc::make_mut(&mut self.calls) {
            made.repeated_by = made.repeated_by.filter(|it| *it != repetition);
        }
    }

    /// Records a call of an earlier session. It counts, but its result is not used.
    pub(super) fn record_carried(&mut self, carried: &CarriedCall) {
        self.record_call(&carried.called);
        let call = carried.called.call;
        if let Some(place) = self.calls.iter().rposition(|it| it.call == call) {
            Arc::make_mut(&mut self.calls)[place].state = match carried.state {
                CarriedState::InDoubt | CarriedState::Made => CallState::Unknown,
                CarriedState::Failed => CallState::Failed,
            };
        }
    }

    /// The calls of some tools, in the form in which they count in a session that replaces this one.
    pub(super) fn carried_calls(
        &self,
        is_counted: impl Fn(&ToolName) -> bool,
    ) -> impl Iterator<Item = (ToolCalled, CarriedState)> {
        let counted = self.calls.iter().filter(move |it| is_counted(&it.tool));
        counted.map(RecordedCall::carried)
    }

    pub(super) fn record_result(&mut self, called: &ToolCalled, answered: &ToolAnswered) {
        let Some(place) = self.calls.iter().rposition(|it| it.call == answered.call) else {
            return;
        };
        // If a person edited the arguments, those count.
        if let Some(edited) = &answered.edited_arguments {
            self.replace_arguments(answered.call, edited);
        }
        let made = Arc::make_mut(&mut self.calls);
        match &answered.failure {
            None => {
                let bytes = self.bytes + answered.output.to_json().len();
                if bytes > CALL_BYTES_KEPT_MAX {
                    self.is_truncated = true;
                    made[place].state = CallState::Unknown;
                } else {
                    self.bytes = bytes;
                    made[place].state =
                        CallState::Done(masked(&answered.output, &answered.redacted));
                }
            }
            Some(failure) if was_never_sent(called, failure) => {
                made.remove(place);
                self.count_repeated(answered.call);
            }
            Some(failure) if has_unknown_effect(failure) => made[place].state = CallState::Unknown,
            Some(_) => {
                made[place].state = CallState::Failed;
                self.count_repeated(answered.call);
            }
        }
    }

    /// Replaces the arguments of a call after a person edited them.
    pub(super) fn replace_arguments(&mut self, call: u32, arguments: &Value) {
        let Some(place) = self.calls.iter().rposition(|it| it.call == call) else {
            return;
        };
        if self.calls[place].arguments != *arguments {
            self.bytes += arguments.to_json().len();
            Arc::make_mut(&mut self.calls)[place].arguments = arguments.clone();
        }
    }

    /// Removes a call.
    pub(super) fn remove(&mut self, call: u32) {
        Arc::make_mut(&mut self.calls).retain(|it| it.call != call);
        self.count_repeated(call);
    }

    /// A call by number.
    pub(super) fn find(&self, call: u32) -> Option<&RecordedCall> {
        self.calls.iter().find(|it| it.call == call)
    }

    /// The calls of these tools, in order.
    pub(super) fn calls_of<'a>(
        &'a self,
        tools: &'a [Str],
    ) -> impl DoubleEndedIterator<Item = &'a RecordedCall> {
        let made = self.calls.iter();
        let made = made.filter(|it| it.repeated_by.is_none());
        made.filter(move |it| tools.iter().any(|name| it.matches_name(name)))
    }

    /// The `calls` that expressions see: the calls that succeeded, by tool. Every tool in `named`
    /// is present, with an empty list if it was not called.
    pub(super) fn to_value<'a>(&self, named: impl Iterator<Item = &'a Str>) -> Value {
        let mut lists: Vec<(Str, Vec<Value>)> = named.map(|it| (it.clone(), Vec::new())).collect();
        let mut places: HashMap<Str, usize> =
            lists.iter().map(|it| it.0.clone()).zip(0..).collect();
        for made in self.calls.iter() {
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

/// Whether a failed call was stopped before it was sent.
fn was_never_sent(called: &ToolCalled, failure: &Failure) -> bool {
    if failure.may_have_happened {
        return false;
    }
    match failure.kind {
        FailureKind::Rejected | FailureKind::Forbidden | FailureKind::UnknownTool => true,
        FailureKind::BadArguments => !is_server_error(failure),
        // Only a withdrawn approval request ends this way without a call.
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

/// Whether a server reported the failure, with the code of a JSON-RPC error: the call was sent.
fn is_server_error(failure: &Failure) -> bool {
    let data = failure.data.as_ref();
    data.is_some_and(|data| data.get("code").is_some())
}

/// Whether a failed call may have had an effect.
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
