//! The codes of errors, and what is said of each fault: the same words in every toolset.

use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::{Map, Value};
use tramline_engine::Fault;

/// The kinds of error that tools of ours reply with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// The arguments make no sense, or not now.
    InvalidParams,
    /// No such run, not any more, or not for this caller.
    NotFound,
    /// Too many commands in a short time.
    RateLimited,
    /// Something in us or below us.
    Internal,
}

impl Code {
    pub(super) fn number(self) -> i64 {
        match self {
            Self::InvalidParams => -32602,
            Self::NotFound => -32001,
            Self::RateLimited => -32029,
            Self::Internal => -32603,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InvalidParams => "INVALID_PARAMS",
            Self::NotFound => "NOT_FOUND",
            Self::RateLimited => "RATE_LIMITED",
            Self::Internal => "INTERNAL_ERROR",
        }
    }
}

/// A fault as callers read it: its code, its message, and what belongs to it.
pub(super) struct Described {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) data: Map,
}

impl Described {
    fn new(code: Code, message: String) -> Self {
        let data = Map::new();
        Self {
            code,
            message,
            data,
        }
    }

    fn of(self, run: &RunId) -> Self {
        self.with("workflow_id", run.as_str())
            .with("run_id", run.as_str())
    }

    fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.data.insert(key, value.into());
        self
    }

    /// The same with the checkpoints that wait, the first of them by itself.
    fn waiting_at(self, points: &[Checkpoint]) -> Self {
        let all = points.iter().map(|point| Value::from(point.to_string()));
        let described = self.with("waiting", Value::array(all));
        match points.first() {
            Some(point) => described.with("checkpoint_id", point.to_string()),
            None => described,
        }
    }
}

/// What is said of an id that no run here has, whether or not it could be one.
pub(super) fn no_run(id: &str) -> String {
    format!(
        "there is no run {id} here; a run that was started with a session_id is found only with it"
    )
}

/// Longer texts are no ids of anything: a UUID has 36 characters, ours have 30.
const ID_CHARS_MAX: usize = 64;

/// Whether a text could be the id of a run somewhere, such as a UUID: well-formed, and unknown here.
pub(super) fn is_foreign_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_ours = text.starts_with("run_") || text.starts_with("chk_");
    (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(plain) && !is_ours
}

/// What is said of a fault.
pub(super) fn describe(fault: &Fault) -> Described {
    let message = fault.to_string();
    match fault {
        Fault::NotFound(run) => Described::new(Code::NotFound, no_run(run.as_str())).of(run),
        Fault::Stale { asked, current } => Described::new(Code::InvalidParams, message)
            .of(&asked.run)
            .waiting_at(current),
        Fault::PersonNeeded(needed) => {
            let described = Described::new(Code::InvalidParams, message)
                .of(&needed.asked.run)
                .with("checkpoint_id", needed.asked.to_string())
                .with("reason", needed.reason.word())
                .with("command", needed.command.as_str());
            match &needed.studio {
                Some(studio) => described.with("studio", studio.as_str()),
                None => described,
            }
        }
        Fault::Over { run, status } => Described::new(Code::InvalidParams, message)
            .of(run)
            .with("status", *status),
        Fault::Expired { run } => Described::new(Code::NotFound, message)
            .of(run)
            .with("status", "expired")
            .with("expired", true),
        Fault::Quota(_) => Described::new(Code::RateLimited, message),
        Fault::Refused(_) | Fault::TooLarge(_) => Described::new(Code::InvalidParams, message),
        Fault::BadInput { flaws, .. } => {
            let flaws = flaws.iter().map(|flaw| Value::from(flaw.as_str()));
            Described::new(Code::InvalidParams, message).with("details", Value::array(flaws))
        }
        Fault::Elsewhere { run, .. } | Fault::Damaged { run, .. } => {
            Described::new(Code::Internal, message).of(run)
        }
        Fault::Store(_) => Described::new(Code::Internal, message),
    }
}
