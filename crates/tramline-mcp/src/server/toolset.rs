//! Toolsets: groups of tools that an operator switches on as a whole.
//!
//! A front end is one file: a list of [`Own`] tools, and a function for each that reads its
//! arguments, makes one engine call and replies. To add one, add its file, a variant here and the
//! variant's list in [`Toolset::tools`].

use super::caller::Caller;
use super::codes::{self, Code};
use super::seal::State;
use super::{
    Shared, audited, control, debug, library, log, loop_tools, pausing, reply, sop, upstream,
};
use rmcp::model::{
    CallToolResponse, CallToolResult, InputResponses, JsonObject, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use tramline_core::authority::AnswerChannel;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::schema::Checker;
use tramline_core::text::nearest;
use tramline_core::upstream::Upstream;
use tramline_core::{Map, Value};
use tramline_engine::long_work;
use tramline_engine::seams::Hints;
use tramline_engine::{Engine, Fault, Respondent};

/// A group of tools that is switched on as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toolset {
    /// Every graph of the documents, a tool each.
    Graphs,
    /// DAGs of tasks that an agent runs layer by layer.
    Control,
    /// Workflows checked and run from what an agent has written.
    Library,
    /// Looking into runs, and steering them.
    Debug,
    /// The planner loop: a message in, a plan made and done.
    Loop,
    /// Procedures that an agent is walked through.
    Sop,
}

/// A name that no toolset has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no toolset `{given}`; {hint}")]
pub struct UnknownToolset {
    given: String,
    hint: String,
}

impl Toolset {
    /// Every toolset.
    pub const ALL: [Self; 6] = [
        Self::Graphs,
        Self::Control,
        Self::Library,
        Self::Debug,
        Self::Loop,
        Self::Sop,
    ];

    /// The toolset as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Graphs => "graphs",
            Self::Control => "control",
            Self::Library => "library",
            Self::Debug => "debug",
            Self::Loop => "loop",
            Self::Sop => "sop",
        }
    }

    /// The tools that are always in it; those of graphs come from documents.
    pub(super) fn tools(self) -> &'static [Own] {
        match self {
            Self::Graphs => &[],
            Self::Control => control::TOOLS,
            Self::Library => library::TOOLS,
            Self::Debug => debug::TOOLS,
            Self::Loop => loop_tools::TOOLS,
            Self::Sop => sop::TOOLS,
        }
    }
}

impl FromStr for Toolset {
    type Err = UnknownToolset;

    fn from_str(text: &str) -> Result<Self, UnknownToolset> {
        let found = Self::ALL.into_iter().find(|set| set.as_str() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str);
            let hint = match nearest(text, names.into_iter()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", names.join(", ")),
            };
            let given = tramline_core::text::shown(text);
            UnknownToolset { given, hint }
        })
    }
}

/// What a tool of ours works with.
pub(super) struct Means {
    /// The engine.
    pub(super) engine: Engine,
    /// What all connections share.
    pub(super) shared: Arc<Shared>,
    /// The request: whom to tell of progress, when to stop.
    pub(super) context: RequestContext<RoleServer>,
    /// How much log the caller wants.
    pub(super) log: Option<log::From>,
    /// What the caller brings back from a call that ended with a question.
    pub(super) brought: Option<(State, InputResponses)>,
}

impl Means {
    /// Who calls.
    pub(super) fn caller(&self) -> Caller {
        Caller::of(&self.context)
    }

    /// Who answers when the caller answers by a tool: an agent, which relays what it was told.
    pub(super) fn respondent(&self) -> Respondent {
        let caller = self.caller();
        let channel = caller.person.unwrap_or(AnswerChannel::Agent);
        Respondent {
            shows_forms: pausing::shows_forms(&self.context),
            ..Respondent::new(caller.by(&self.context), channel)
        }
    }

    /// The span of the caller's that the call belongs to.
    pub(super) fn upstream(&self) -> Option<Upstream> {
        upstream::of(&self.context)
    }

    /// Refuses arguments that name a run of another: to this caller there is no such run.
    async fn admit(&self, arguments: &Value) -> Result<(), Fault> {
        let session = arguments.get("session_id").and_then(Value::as_str);
        let caller = self.caller();
        for run in named(arguments) {
            caller.load(&self.engine, &run, session).await?;
        }
        Ok(())
    }
}

/// An id among arguments that is well-formed and can be no run here.
fn foreign(arguments: &Value) -> Option<&str> {
    let ids = ["run_id", "first", "second"].into_iter();
    let mut ids = ids.filter_map(|key| arguments.get(key).and_then(Value::as_str));
    ids.find(|id| codes::is_foreign_id(id))
}

/// The runs that arguments name, by whatever key our tools take them.
fn named(arguments: &Value) -> Vec<RunId> {
    let text = |key| arguments.get(key).and_then(Value::as_str);
    if text("workflow_id").is_some() {
        // The control tools see to it themselves, in their own words.
        return Vec::new();
    }
    let runs = ["run_id", "first", "second"].into_iter().filter_map(text);
    let runs = runs.filter_map(|id| id.parse().ok());
    let point = text("checkpoint_id").and_then(|id| id.parse::<Checkpoint>().ok());
    runs.chain(point.map(|point| point.run)).collect()
}

/// An answer on its way.
pub(super) type Answering = Pin<Box<dyn Future<Output = CallToolResponse> + Send>>;

/// The answer of a tool that never ends with a question.
pub(super) fn plain(answer: impl Future<Output = CallToolResult> + Send + 'static) -> Answering {
    Box::pin(async { answer.await.into() })
}

/// A tool of ours: how it is described, and what answers it.
pub(super) struct Own {
    /// Its name, no graph's at the same time.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// When to use it and what comes back, for agents.
    pub(super) description: &'static str,
    /// The JSON Schema of its arguments. They are checked against it before `answer` sees them.
    pub(super) input: &'static str,
    /// What it does to the world.
    pub(super) hints: Hints,
    /// Reads, makes one engine call, replies.
    pub(super) answer: fn(Means, Value) -> Answering,
}

/// Of a tool that makes runs go, and with them whatever they call.
pub(super) const ACTS: Hints = Hints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(false),
    open_world: Some(true),
};

/// Of a tool that only looks at what we keep.
pub(super) const LOOKS: Hints = Hints {
    read_only: Some(true),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

impl Own {
    /// The tool as `tools/list` shows it.
    pub(super) fn describe(&self) -> Tool {
        let input = match serde_json::from_str(self.input) {
            Ok(serde_json::Value::Object(map)) => map,
            Ok(_) | Err(_) => JsonObject::new(),
        };
        Tool::new(self.name, self.description, input)
            .with_title(self.title)
            .with_annotations(annotations(self.hints))
    }

    /// What checks its arguments, made once: that takes longer than most answers.
    fn checker(&self) -> Option<Arc<Checker>> {
        static MADE: Mutex<BTreeMap<&str, Arc<Checker>>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(checker) = made.get(self.name) {
            return Some(Arc::clone(checker));
        }
        let checker = Checker::new(&Value::from_json(self.input).ok()?).ok()?;
        let checker = Arc::new(checker);
        made.insert(self.name, Arc::clone(&checker));
        Some(checker)
    }

    /// Checks the arguments and answers.
    pub(super) async fn call(
        &self,
        means: Means,
        arguments: Option<JsonObject>,
    ) -> CallToolResponse {
        let arguments = read(arguments);
        if !audited::is_noted(self) {
            return self.checked(means, arguments).await;
        }
        let noting = audited::begin(&means, self.name, &arguments);
        noting.over(self.checked(means, arguments)).await
    }

    async fn checked(&self, means: Means, arguments: Value) -> CallToolResponse {
        if let Some(checker) = self.checker()
            && let Err(faults) = checker.check_by(&arguments, long_work)
        {
            let theirs = control::misread(self.name, &faults);
            let theirs = theirs.or_else(|| library::misread(self.name, &arguments, &faults));
            let ours = || reply::bad_arguments(self.name, &faults);
            return theirs.unwrap_or_else(ours).into();
        }
        if let Some(id) = foreign(&arguments) {
            let error = reply::coded(Code::NotFound, codes::no_run(id), Map::new());
            return reply::errored(error).into();
        }
        if let Err(fault) = means.admit(&arguments).await {
            return reply::fault(&fault, None).into();
        }
        (self.answer)(means, arguments).await
    }
}

/// The arguments of a call as our own value.
pub(super) fn read(arguments: Option<JsonObject>) -> Value {
    let pairs = arguments.unwrap_or_default().into_iter();
    pairs
        .map(|(key, value)| (key, value.into()))
        .collect::<Map>()
        .into()
}

/// Hints as `tools/list` shows them.
pub(super) fn annotations(hints: Hints) -> ToolAnnotations {
    ToolAnnotations::from_raw(
        None,
        hints.read_only,
        hints.destructive,
        hints.idempotent,
        hints.open_world,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_schema_of_an_object_and_a_name_of_its_own() {
        let mut names: Vec<(&str, &str)> = Vec::new();
        for own in Toolset::ALL.into_iter().flat_map(Toolset::tools) {
            let schema = Value::from_json(own.input).unwrap();
            assert_eq!(schema.get("type").and_then(Value::as_str), Some("object"));
            // Only plain schemas say which name was probably meant.
            let checker = Checker::new(&schema).unwrap();
            assert!(checker.is_plain(), "{}", own.name);
            // One tool may be part of several toolsets.
            let same = names.iter().find(|(name, _)| *name == own.name);
            assert!(
                same.is_none_or(|(_, input)| *input == own.input),
                "{} twice",
                own.name
            );
            names.push((own.name, own.input));
        }
    }

    #[test]
    fn a_slip_in_a_toolsets_name_is_understood() {
        assert_eq!("debug".parse(), Ok(Toolset::Debug));
        let slip = "graph".parse::<Toolset>().unwrap_err().to_string();
        assert_eq!(slip, "there is no toolset `graph`; did you mean `graphs`?");
        let stranger = "zzz".parse::<Toolset>().unwrap_err().to_string();
        assert_eq!(
            stranger,
            "there is no toolset `zzz`; there are graphs, control, library, debug, loop, sop"
        );
    }
}
