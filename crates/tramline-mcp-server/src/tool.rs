//! A built-in tool: its definition, the context of a call to it, and what happens before the call.

use crate::caller::Caller;
use crate::error_codes::{self, ReplyCode};
use crate::request_state::RequestState;
use crate::{SharedState, audit_log, client_log, elicitation, reply, trace_context};
use rmcp::model::{
    CallToolResponse, CallToolResult, InputResponses, JsonObject, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tramline_catalog::Catalog;
use tramline_engine::long_work;
use tramline_engine::ports::ToolHints;
use tramline_engine::{Engine, Fault, Respondent};
use tramline_expr::{Map, Value};
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::schema::{Checker, SchemaErrors};
use tramline_workflow::trace_context::TraceContext;

/// Context of a tool call.
pub(super) struct CallContext {
    /// The engine.
    pub(super) engine: Engine,
    /// Everything that can be called.
    pub(super) catalog: Catalog,
    /// State shared by all connections.
    pub(super) shared: Arc<SharedState>,
    /// The request: peer, metadata and cancellation.
    pub(super) request: RequestContext<RoleServer>,
    /// Minimum log level that the caller wants.
    pub(super) log: Option<client_log::MinLevel>,
    /// State and answers of an earlier call that ended with a question.
    pub(super) client_answers: Option<(RequestState, InputResponses)>,
}

impl CallContext {
    /// The caller.
    pub(super) fn caller(&self) -> Caller {
        Caller::of(&self.request)
    }

    /// The respondent when the caller answers through a tool: an agent that relays an answer.
    pub(super) fn respondent(&self) -> Respondent {
        let caller = self.caller();
        let channel = caller.person.unwrap_or(AnswerChannel::Agent);
        Respondent {
            shows_forms: elicitation::shows_forms(&self.request),
            ..Respondent::new(caller.journal_name(&self.request), channel)
        }
    }

    /// The caller's trace context.
    pub(super) fn trace_context(&self) -> Option<TraceContext> {
        trace_context::from_request(&self.request)
    }

    /// Rejects arguments that name another caller's run, as if it did not exist.
    async fn check_visible(&self, arguments: &Value) -> Result<(), Fault> {
        let session = arguments.get("session_id").and_then(Value::as_str);
        let caller = self.caller();
        for run in named_runs(arguments) {
            caller.load_run(&self.engine, &run, session).await?;
        }
        Ok(())
    }
}

/// A run id in the arguments that is well-formed but cannot exist here.
fn foreign_run_id(arguments: &Value) -> Option<&str> {
    let ids = ["run_id", "first", "second"].into_iter();
    let mut ids = ids.filter_map(|key| arguments.get(key).and_then(Value::as_str));
    ids.find(|id| error_codes::is_foreign_id(id))
}

/// The runs that arguments name, under any key.
fn named_runs(arguments: &Value) -> Vec<RunId> {
    let text = |key| arguments.get(key).and_then(Value::as_str);
    let runs = ["run_id", "first", "second"].into_iter().filter_map(text);
    let runs = runs.filter_map(|id| id.parse().ok());
    let point = text("checkpoint_id").and_then(|id| id.parse::<Checkpoint>().ok());
    runs.chain(point.map(|point| point.run)).collect()
}

/// The future of a reply.
pub(super) type ReplyFuture = Pin<Box<dyn Future<Output = CallToolResponse> + Send>>;

/// The reply of a tool that never asks the client.
pub(super) fn without_elicitation(
    answer: impl Future<Output = CallToolResult> + Send + 'static,
) -> ReplyFuture {
    Box::pin(async { answer.await.into() })
}

/// Definition of a built-in tool.
pub(super) struct ToolDef {
    /// Its name, unique among tools and graphs.
    pub(super) name: &'static str,
    /// Its display name.
    pub(super) title: &'static str,
    /// When to use it and what it returns, for agents.
    pub(super) description: &'static str,
    /// JSON Schema of its arguments, checked before `answer` runs.
    pub(super) input_schema: &'static str,
    /// Its annotations.
    pub(super) hints: ToolHints,
    /// How its calls are checked and recorded.
    pub(super) rules: CallRules,
    /// Reads the arguments, makes one engine call, replies.
    pub(super) call: fn(CallContext, Value) -> ReplyFuture,
}

/// How calls of a tool are checked and recorded.
#[derive(Clone, Copy)]
pub(super) struct CallRules {
    /// The reply for arguments that the schema rejects.
    pub(super) invalid_arguments: fn(&ToolDef, &Value, &SchemaErrors) -> CallToolResult,
    /// Whether the tool itself checks that its caller may see the runs it names.
    pub(super) checks_caller: bool,
    /// Whether every call is an event of a journal, so that the audit log need not record it.
    pub(super) is_journaled: bool,
    /// Arguments that are never written to the audit log.
    pub(super) secret_arguments: &'static [&'static str],
}

/// The rules of most tools.
pub(super) const PLAIN_RULES: CallRules = CallRules {
    invalid_arguments: |tool, _, errors| reply::bad_arguments(tool.name, errors),
    checks_caller: false,
    is_journaled: false,
    secret_arguments: &[],
};

/// Hints of a tool that starts or resumes runs, with any effects.
pub(super) const RUNS_TOOLS: ToolHints = ToolHints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(false),
    open_world: Some(true),
};

/// Hints of a tool that only reads our store.
pub(super) const READS_ONLY: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

impl ToolDef {
    /// The tool as `tools/list` shows it.
    pub(super) fn describe(&self) -> Tool {
        let input = match serde_json::from_str(self.input_schema) {
            Ok(serde_json::Value::Object(map)) => map,
            Ok(_) | Err(_) => JsonObject::new(),
        };
        Tool::new(self.name, self.description, input)
            .with_title(self.title)
            .with_annotations(annotations(self.hints))
    }

    /// The validator of its arguments, built once because building takes longer than most calls.
    fn checker(&self) -> Option<Arc<Checker>> {
        static MADE: Mutex<BTreeMap<&str, Arc<Checker>>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(checker) = made.get(self.name) {
            return Some(Arc::clone(checker));
        }
        let checker = Checker::new(&Value::from_json(self.input_schema).ok()?).ok()?;
        let checker = Arc::new(checker);
        made.insert(self.name, Arc::clone(&checker));
        Some(checker)
    }

    /// Checks the arguments and answers.
    pub(super) async fn check_and_audit(
        &self,
        means: CallContext,
        arguments: Option<JsonObject>,
    ) -> CallToolResponse {
        let arguments = to_value(arguments);
        if !audit_log::is_audited(self) {
            return self.check_and_call(means, arguments).await;
        }
        let noting = audit_log::audited_call(&means, self.name, &arguments);
        noting.run(self.check_and_call(means, arguments)).await
    }

    async fn check_and_call(&self, means: CallContext, arguments: Value) -> CallToolResponse {
        if let Some(checker) = self.checker()
            && let Err(faults) = checker.check_with(&arguments, long_work)
        {
            return (self.rules.invalid_arguments)(self, &arguments, &faults).into();
        }
        if let Some(id) = foreign_run_id(&arguments) {
            let error = reply::error_object(
                ReplyCode::NotFound,
                error_codes::run_not_found(id),
                Map::new(),
            );
            return reply::error_reply(error).into();
        }
        if !self.rules.checks_caller
            && let Err(fault) = means.check_visible(&arguments).await
        {
            return reply::fault_reply(&fault, None).into();
        }
        (self.call)(means, arguments).await
    }
}

/// The arguments as our value type.
pub(super) fn to_value(arguments: Option<JsonObject>) -> Value {
    let pairs = arguments.unwrap_or_default().into_iter();
    pairs
        .map(|(key, value)| (key, value.into()))
        .collect::<Map>()
        .into()
}

/// The annotations as `tools/list` shows them.
pub(super) fn annotations(hints: ToolHints) -> ToolAnnotations {
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
    use crate::tools::Toolset;

    #[test]
    fn every_tool_has_a_schema_of_an_object_and_a_name_of_its_own() {
        let mut names: Vec<(&str, &str)> = Vec::new();
        for own in Toolset::ALL.into_iter().flat_map(Toolset::tools) {
            let schema = Value::from_json(own.input_schema).unwrap();
            assert_eq!(schema.get("type").and_then(Value::as_str), Some("object"));
            // Only plain schemas support suggestions for misspelled names.
            let checker = Checker::new(&schema).unwrap();
            assert!(checker.is_plain(), "{}", own.name);
            // One tool may be part of several toolsets.
            let same = names.iter().find(|(name, _)| *name == own.name);
            assert!(
                same.is_none_or(|(_, input)| *input == own.input_schema),
                "{} twice",
                own.name
            );
            names.push((own.name, own.input_schema));
        }
    }
}
