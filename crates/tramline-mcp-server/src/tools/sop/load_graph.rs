//! `load_graph`: reads a procedure and those it includes, and starts an SOP session.

use super::annotation_warnings;
use super::pinned::{self, PinnedLookup, PinnedProcedure};
use super::session::is_over_http;
use super::sop_reply;
use crate::document_check::flaws_value as flaws_told;
use crate::reply;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::ToolCallRequest;
use tramline_engine::{Engine, Fault, PinnedStart, SopStart};
use tramline_expr::{Map, Str, Value};
use tramline_formats::sop_markdown;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::flaw::Flaw;
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;
use tramline_workflow::sop::{Sop, SopFiles};

/// How long reading a file may take.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a procedure cannot be loaded.
pub(crate) enum LoadError {
    /// A file that cannot be read.
    Unreadable(Str, Failure),
    /// A file with flaws.
    Flawed(Str, Vec<Flaw>),
    /// Too many files.
    TooMany(String),
}

/// A procedure with those that it includes.
pub(crate) struct LoadedProcedure {
    pub(crate) sops: Vec<Arc<Sop>>,
    pub(crate) files: Vec<Str>,
    pub(crate) warnings: Vec<(Str, Flaw)>,
}

pub(super) async fn load_graph(means: CallContext, arguments: Value) -> CallToolResult {
    let file = arguments.get("sop_file").and_then(Value::as_str);
    let (pin, loaded) = match means.shared.toolset_state.sop.pinned() {
        Some(pinned) => match pinned::find(pinned, file) {
            PinnedLookup::Found(name, loaded) => (Some(name), loaded),
            PinnedLookup::Refused(message) => {
                return reply::fault_reply(&Fault::Rejected(message), None);
            }
        },
        None => {
            let Some(file) = file else {
                let message = "sop_file is required: the path or https URL of a procedure";
                return reply::fault_reply(&Fault::Rejected(message.into()), None);
            };
            match load_procedure(&means.engine, file, ReadAuthority::Agent).await {
                Ok(loaded) => (None, loaded),
                Err(unusable) => return unusable.reply(),
            }
        }
    };
    match start_session(&means, file.unwrap_or_default(), pin, &loaded).await {
        Ok(told) => reply::success(&told),
        Err(fault) => reply::fault_reply(&fault, None),
    }
}

async fn start_session(
    means: &CallContext,
    file: &str,
    pin: Option<Str>,
    loaded: &LoadedProcedure,
) -> Result<Value, Fault> {
    let guide = SopStart {
        sops: loaded.sops.clone(),
        files: loaded.files.clone(),
        session: None,
        origin: Value::object([("sop_file", Value::from(file))]),
        owner: means.caller().name,
        by: Some(means.respondent().name),
        ttl_ms: means.shared.options.ttl_ms(),
        pinned: pin.clone(),
    };
    let PinnedStart { id, ended } = means.engine.start_pinned_session(guide).await?;
    let seats = &means.shared.toolset_state.sop;
    seats.list_procedure(&loaded.sops[0]);
    let before = match is_over_http(means) {
        true => None,
        false => seats.set_current_session(id.clone()),
    };
    let mut told = sop_reply::procedure_fields(&loaded.sops[0]);
    told.insert("session_id", id.as_str().into());
    told.insert("pinned", pin.is_some().into());
    sop_reply::add_first_steps(&loaded.sops[0], is_over_http(means), &mut told);
    if !loaded.warnings.is_empty() {
        let flaws = loaded.warnings.iter();
        let told_of = flaws.map(|(file, flaw)| Value::from(format!("{file}:{flaw}")));
        told.insert("warnings", Value::array(told_of));
    }
    if !ended.is_empty() {
        let ended: Vec<&str> = ended.iter().map(|it| it.as_str()).collect();
        let (most, counts) = match means.engine.pins().map_or(1, |pins| pins.sessions_max) {
            0 | 1 => (
                "one session".to_owned(),
                " and those under max_calls and once_per",
            ),
            most => (format!("{most} sessions"), ""),
        };
        let note = format!(
            "session {} has ended: a caller can have {most} of a pinned procedure at a time; its calls in \
             doubt{counts} still count",
            ended.join(", "),
        );
        told.insert("note", note.into());
    } else if let Some(before) = before.filter(|_| pin.is_none()) {
        let note = format!(
            "this replaces session {before} as the current one; use its session_id to return to it"
        );
        told.insert("note", note.into());
    }
    Ok(told.into())
}

/// On whose authority a procedure is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadAuthority {
    /// The operator, who pins it: the tool policy does not apply.
    Operator,
    /// An agent: the tool policy applies.
    Agent,
}

/// Reads a procedure and all that it includes.
async fn load_procedure(
    engine: &Engine,
    file: &str,
    right: ReadAuthority,
) -> Result<LoadedProcedure, LoadError> {
    let mut gathering = SopFiles::new(file);
    let mut warnings = Vec::new();
    while let Some(file) = gathering.next_file().map_err(LoadError::TooMany)? {
        let place = &file.path;
        let text = read_file(engine, place, right).await;
        let text = text.map_err(|failure| LoadError::Unreadable(place.clone(), failure))?;
        let name = place.rsplit(['/', '\\']).next().unwrap_or(place);
        let name = name.split('.').next().unwrap_or(name);
        let read = sop_markdown::read(text.as_bytes(), name);
        let read = read.map_err(|flaws| LoadError::Flawed(place.clone(), flaws))?;
        let annotated = annotation_warnings::read_only_conflicts(engine, &read.sop);
        let told = read.warnings.into_iter().chain(annotated);
        warnings.extend(told.map(|flaw| (place.clone(), flaw)));
        gathering.add(file, read.sop);
    }
    Ok(LoadedProcedure {
        sops: gathering.sops,
        files: gathering.files,
        warnings,
    })
}

/// Reads a procedure to be pinned, with the access rights of the built-in tools.
pub(crate) async fn read_procedure(
    engine: &Engine,
    place: &str,
) -> Result<(PinnedProcedure, Vec<String>), String> {
    let loaded = load_procedure(engine, place, ReadAuthority::Operator).await;
    let loaded = loaded.map_err(|unusable| unusable.message())?;
    let warnings = loaded.warnings.iter();
    let warnings = warnings.map(|(file, flaw)| format!("{file}:{flaw}"));
    let warnings = warnings.collect();
    let procedure = PinnedProcedure {
        location: place.to_owned(),
        paths: vec![Default::default(); loaded.sops.len()],
        sops: loaded.sops,
        files: loaded.files,
    };
    Ok((procedure, warnings))
}

/// Reads a file inside the allowed directories, or an https address on an allowed host. The built-in tools
/// enforce both.
async fn read_file(engine: &Engine, place: &str, right: ReadAuthority) -> Result<String, Failure> {
    let is_address = place.contains("://");
    if is_address && !place.starts_with("https://") {
        let message = format!("`{place}` is not an https address; only https is allowed");
        return Err(Failure::new(FailureKind::Forbidden, message));
    }
    let tool = match is_address {
        true => ToolName::new(BUILTIN, "http"),
        false => ToolName::new(BUILTIN, "read-file"),
    };
    let refused = engine.own_use_denial(&tool);
    if let Some(why) = refused.filter(|_| right == ReadAuthority::Agent) {
        return Err(Failure::new(FailureKind::Forbidden, why));
    }
    if !is_address {
        return engine.tools().document(place, READ_TIMEOUT).await;
    }
    let call = ToolCallRequest {
        tool,
        arguments: Value::object([("url", Value::from(place))]),
        key: "load_graph".into(),
        timeout: READ_TIMEOUT,
        cancel: CancellationToken::new(),
        progress: None,
        upstream: None,
    };
    let answer = engine.tools().call(call).await?;
    let text = answer.get("body").and_then(Value::as_str);
    Ok(text.unwrap_or_default().to_owned())
}

impl LoadError {
    /// The reason as text.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Unreadable(file, failure) => format!("cannot read {file}: {failure}"),
            Self::Flawed(file, flaws) => {
                let lines: Vec<String> =
                    flaws.iter().map(|flaw| format!("{file}:{flaw}")).collect();
                lines.join("\n")
            }
            Self::TooMany(says) => says.clone(),
        }
    }

    fn reply(&self) -> CallToolResult {
        let mut error = Map::new();
        match self {
            Self::Flawed(file, flaws) => {
                let message = format!("{file} has {} flaws", flaws.len());
                error.insert("message", message.into());
                error.insert("flaws", flaws_told(flaws));
            }
            Self::Unreadable(..) | Self::TooMany(_) => {
                error.insert("message", self.message().into());
            }
        }
        reply::error_reply(error)
    }
}
