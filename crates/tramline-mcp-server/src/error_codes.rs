//! Error codes, and one description of each fault for all toolsets.

use tramline_engine::Fault;
use tramline_expr::{Map, Value};
use tramline_workflow::ids::{Checkpoint, RunId};

/// Error codes in replies of our tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyCode {
    /// The arguments are invalid, or not valid now.
    InvalidParams,
    /// The run does not exist, no longer exists, or is not visible to this caller.
    NotFound,
    /// Too many commands in a short time.
    RateLimited,
    /// An error in the server or below it.
    Internal,
}

impl ReplyCode {
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

/// A fault as shown to callers: code, message and data.
pub(super) struct DescribedFault {
    pub(super) code: ReplyCode,
    pub(super) message: String,
    pub(super) data: Map,
}

impl DescribedFault {
    fn new(code: ReplyCode, message: String) -> Self {
        let data = Map::new();
        Self {
            code,
            message,
            data,
        }
    }

    fn with_run(self, run: &RunId) -> Self {
        self.with("workflow_id", run.as_str())
            .with("run_id", run.as_str())
    }

    fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.data.insert(key, value.into());
        self
    }

    /// Adds the checkpoints that are waiting, and the first of them separately.
    fn waiting_at(self, points: &[Checkpoint]) -> Self {
        let all = points.iter().map(|point| Value::from(point.to_string()));
        let described = self.with("waiting", Value::array(all));
        match points.first() {
            Some(point) => described.with("checkpoint_id", point.to_string()),
            None => described,
        }
    }
}

/// The message for an id that is unknown here, well-formed or not.
pub(super) fn run_not_found(id: &str) -> String {
    format!(
        "run {id} not found; a run started with a session_id is only found with that session_id"
    )
}

/// Maximum length of an id, in characters: a UUID has 36, ours have 30.
const ID_CHARS_MAX: usize = 64;

/// Whether a text could be a run id of another system, such as a UUID: well-formed, but unknown here.
pub(super) fn is_foreign_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_ours = text.starts_with("run_") || text.starts_with("chk_");
    (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(plain) && !is_ours
}

/// Commands in messages of the engine, with the tools that do the same.
const TOOLS_OF_COMMANDS: [(&str, &str); 3] = [
    ("`tramline runs show ", "`run_read`"),
    ("`tramline sop show ", "`load_graph`"),
    ("`tramline runs`", "`runs_list`"),
];

/// A message of the engine for an agent: it can call tools, while commands are its operator's.
pub(super) fn for_agents(message: &str) -> String {
    let mut text = message.to_owned();
    for (command, tool) in TOOLS_OF_COMMANDS {
        while let Some(start) = text.find(command) {
            let Some(end) = text[start + 1..].find('`') else {
                break;
            };
            text.replace_range(start..start + 1 + end + 1, tool);
        }
    }
    text.replace("`tramline ", "the operator's `tramline ")
}

/// Describes a fault.
pub(super) fn describe_fault(fault: &Fault) -> DescribedFault {
    let message = for_agents(&fault.to_string());
    match fault {
        Fault::NotFound(run) => {
            DescribedFault::new(ReplyCode::NotFound, run_not_found(run.as_str())).with_run(run)
        }
        Fault::Stale { asked, current } => DescribedFault::new(ReplyCode::InvalidParams, message)
            .with_run(&asked.run)
            .waiting_at(current),
        Fault::PersonNeeded(needed) => {
            let described = DescribedFault::new(ReplyCode::InvalidParams, message)
                .with_run(&needed.checkpoint.run)
                .with("checkpoint_id", needed.checkpoint.to_string())
                .with("reason", needed.reason.as_str())
                .with("command", needed.command.as_str());
            match &needed.studio {
                Some(studio) => described.with("studio", studio.as_str()),
                None => described,
            }
        }
        Fault::Ended { run, status } => DescribedFault::new(ReplyCode::InvalidParams, message)
            .with_run(run)
            .with("status", *status),
        Fault::Expired { run } => DescribedFault::new(ReplyCode::NotFound, message)
            .with_run(run)
            .with("status", "expired")
            .with("expired", true),
        Fault::KeyReused { run, .. } => {
            DescribedFault::new(ReplyCode::InvalidParams, message).with_run(run)
        }
        Fault::Quota(_) => DescribedFault::new(ReplyCode::RateLimited, message),
        Fault::Rejected(_) | Fault::TooLarge(_) => {
            DescribedFault::new(ReplyCode::InvalidParams, message)
        }
        Fault::InvalidInput { flaws, .. } => {
            let flaws = flaws.iter().map(|flaw| Value::from(flaw.as_str()));
            DescribedFault::new(ReplyCode::InvalidParams, message)
                .with("details", Value::array(flaws))
        }
        Fault::Elsewhere { run, .. } | Fault::Damaged { run, .. } => {
            DescribedFault::new(ReplyCode::Internal, message).with_run(run)
        }
        Fault::Store(_) => DescribedFault::new(ReplyCode::Internal, message),
    }
}

#[cfg(test)]
mod tests {
    use super::for_agents;

    #[test]
    fn agents_are_led_to_tools_and_operators_to_commands() {
        for (message, told) in [
            (
                "step 3 has not ended; `tramline runs show run_1` lists the steps",
                "step 3 has not ended; `run_read` lists the steps",
            ),
            (
                "there is no run x; `tramline runs` lists them",
                "there is no run x; `runs_list` lists them",
            ),
            (
                "the quota is 5; `tramline runs rm` removes old runs",
                "the quota is 5; the operator's `tramline runs rm` removes old runs",
            ),
            ("nothing", "nothing"),
            (
                "`tramline runs show without an end",
                "the operator's `tramline runs show without an end",
            ),
        ] {
            assert_eq!(for_agents(message), told);
        }
    }
}
