//! A request to the loop: the fields that callers send, parsed and validated.

use tramline_catalog::library::WorkflowName;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::Budget;

/// Most messages in one request.
const MESSAGES_MAX: usize = 200;
/// Longest message, in bytes.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Largest request, in bytes, since it is written to a journal.
const REQUEST_BYTES_MAX: usize = 1 << 20;
/// Longest label, in bytes.
const LABEL_BYTES_MAX: usize = 256;

/// What happens when a step of a plan fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The next step starts.
    Continue,
    /// No further step starts.
    Stop,
    /// The planner replans once; after that as [`OnFailure::Stop`].
    #[default]
    Replan,
}

impl OnFailure {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Continue, Self::Stop, Self::Replan];

    /// The value as callers write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Stop => "stop",
            Self::Replan => "replan",
        }
    }
}

impl std::str::FromStr for OnFailure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.as_str() == text);
        found.ok_or_else(|| "`on_error` is continue, stop or replan".to_owned())
    }
}

/// A request to the loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopRequest {
    /// The mode in the caller's words, passed on to the planner.
    pub mode: Str,
    /// The chat session it belongs to. Without one, nothing is remembered.
    pub session: Option<Str>,
    /// The messages, each `{role, content}`, the latest last.
    pub messages: Vec<Value>,
    /// Additional context.
    pub context: Map,
    /// Hints for the planner, in the caller's own format.
    pub recommendations: Vec<Value>,
    /// The tools that may be used: `server:tool`, a tool's own name, or `server:*`. `None` allows all.
    pub available_tools: Option<Vec<Str>>,
    /// A plan, if no planner is needed.
    pub plan: Option<Value>,
    /// What happens when a step of the plan fails.
    pub on_error: OnFailure,
    /// Whether any problem rejects the whole plan.
    pub strict: bool,
    /// What its runs may use before they ask for more.
    pub budget: Option<Budget>,
    /// The name under which a successful plan is saved as a workflow.
    pub save_as: Option<Str>,
}

impl LoopRequest {
    /// A request with this message.
    pub fn new(message: impl Into<Str>) -> Self {
        let content = Value::from(message.into());
        Self {
            mode: "general".into(),
            messages: vec![Value::object([
                ("role", "user".into()),
                ("content", content),
            ])],
            ..Self::default()
        }
    }

    /// Sets the chat session.
    #[must_use]
    pub fn session(mut self, session: impl Into<Str>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets the plan: a list of `{tool, args, id?}`.
    #[must_use]
    pub fn plan(mut self, plan: impl Into<serde_json::Value>) -> Self {
        self.plan = Some(Value::from(plan.into()));
        self
    }

    /// Sets what happens when a step fails.
    #[must_use]
    pub fn on_error(mut self, mend: OnFailure) -> Self {
        self.on_error = mend;
        self
    }

    /// Rejects the whole plan if it has any problem.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Parses a caller's request.
    pub fn read(value: &Value) -> Result<Self, String> {
        let text = |key: &str| match value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(format!("`{key}` must be text, not {}", other.kind())),
        };
        let list = |key: &str| match value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.to_vec())),
            Some(other) => Err(format!("`{key}` must be a list, not {}", other.kind())),
        };
        let on_error = match text("on_error")? {
            None => OnFailure::default(),
            Some(way) => way.parse()?,
        };
        let budget = value.get("budget").filter(|budget| !budget.is_null());
        let request = Self {
            mode: text("mode")?.unwrap_or_else(|| "general".into()),
            session: text("sessionId")?,
            messages: list("messages")?.unwrap_or_default(),
            context: match value.get("context") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(map)) => (**map).clone(),
                Some(other) => {
                    return Err(format!("`context` must be an object, not {}", other.kind()));
                }
            },
            recommendations: list("plannerRecommendations")?.unwrap_or_default(),
            available_tools: list("availableTools")?
                .map(|all| tool_names(&all))
                .transpose()?,
            plan: value.get("plan").filter(|plan| !plan.is_null()).cloned(),
            on_error,
            strict: value
                .get("strict")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            budget: budget.map(Budget::parse).transpose()?,
            save_as: text("save_as")?,
        };
        request.check()?;
        Ok(request)
    }

    /// The request in the format for callers.
    pub fn to_value(&self) -> Value {
        let mut told = Map::new();
        let mut put = |key: &'static str, value: Option<Value>| {
            if let Some(value) = value {
                told.insert(key, value);
            }
        };
        let names = |all: &Vec<Str>| Value::array(all.iter().cloned().map(Value::from));
        put("mode", Some(self.mode.clone().into()));
        put("sessionId", self.session.clone().map(Value::from));
        put(
            "messages",
            Some(Value::array(self.messages.iter().cloned())),
        );
        put("context", Some(self.context.clone().into()));
        let hints = Value::array(self.recommendations.iter().cloned());
        put("plannerRecommendations", Some(hints));
        put("availableTools", self.available_tools.as_ref().map(names));
        put("plan", self.plan.clone());
        put("on_error", Some(self.on_error.as_str().into()));
        put("strict", Some(self.strict.into()));
        let budget = self
            .budget
            .and_then(|budget| serde_json::to_value(budget).ok());
        put("budget", budget.map(Value::from));
        put("save_as", self.save_as.clone().map(Value::from));
        told.into()
    }

    /// The text of the last message.
    pub fn last_message(&self) -> &str {
        self.messages.last().map_or("", message_text)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.messages.len() > MESSAGES_MAX {
            return Err(format!(
                "a request may have at most {MESSAGES_MAX} messages"
            ));
        }
        for (number, message) in (1..).zip(&self.messages) {
            if message_text(message).trim().is_empty() {
                return Err(format!(
                    "message {number} has no `content`, which must be text"
                ));
            }
            if message_text(message).len() > MESSAGE_BYTES_MAX {
                return Err(format!(
                    "a message may have at most {MESSAGE_BYTES_MAX} bytes"
                ));
            }
        }
        if self.messages.is_empty() && self.plan.is_none() {
            return Err("`messages` is empty: send at least one, or a `plan`".to_owned());
        }
        for label in [
            Some(&self.mode),
            self.session.as_ref(),
            self.save_as.as_ref(),
        ] {
            if label.is_some_and(|label| label.len() > LABEL_BYTES_MAX) {
                return Err(format!(
                    "`mode`, `sessionId` and `save_as` may have at most {LABEL_BYTES_MAX} bytes"
                ));
            }
        }
        if let Some(name) = &self.save_as {
            WorkflowName::new(name).map_err(|bad| format!("`save_as`: {bad}"))?;
        }
        if self.to_value().to_json().len() > REQUEST_BYTES_MAX {
            return Err(format!(
                "a request may have at most {REQUEST_BYTES_MAX} bytes"
            ));
        }
        Ok(())
    }

    /// Whether a tool may be used.
    /// Whether a tool, named with or without its server, is not among the tools that may be used.
    pub(super) fn excludes(&self, name: &str) -> bool {
        let tool = name
            .split_once(':')
            .map(|(server, tool)| ToolName::new(server, tool));
        let Some(all) = &self.available_tools else {
            return false;
        };
        match tool {
            Some(tool) => !self.may_use(&tool),
            // Without its server, a name may be one of a whole server's tools.
            None => !all.iter().any(|one| {
                one.ends_with(":*") || *one == name || one.ends_with(&format!(":{name}"))
            }),
        }
    }

    pub(super) fn may_use(&self, tool: &ToolName) -> bool {
        let fits = |name: &Str| {
            let all = name
                .strip_suffix(":*")
                .is_some_and(|server| tool.server == server);
            all || *name == tool.tool || *name == tool.to_string()
        };
        self.available_tools
            .as_ref()
            .is_none_or(|all| all.iter().any(fits))
    }
}

/// The text of a message.
pub(super) fn message_text(message: &Value) -> &str {
    message
        .get("content")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Tools by name, or as objects with a name.
fn tool_names(all: &[Value]) -> Result<Vec<Str>, String> {
    let name = |tool: &Value| {
        let name = tool
            .as_str()
            .or_else(|| tool.get("name").and_then(Value::as_str));
        let name = name.map(Str::from);
        name.ok_or_else(|| "`availableTools` must contain names or objects with `name`".to_owned())
    };
    all.iter().map(name).collect()
}
