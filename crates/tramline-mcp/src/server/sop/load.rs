//! `load_graph`: reads a procedure and those it leads into, and begins a conversation.

use super::annotated;
use super::pinned::{self, PinnedLookup, PinnedProcedure};
use super::seat::is_shared;
use super::told;
use crate::server::library::told as flaws_told;
use crate::server::reply;
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::flaw::Flaw;
use tramline_core::formats::sop_markdown;
use tramline_core::formats::yaml_graph::BUILTIN;
use tramline_core::ids::ToolName;
use tramline_core::sop::{Gathering, Sop};
use tramline_core::{Map, Str, Value};
use tramline_engine::seams::Call;
use tramline_engine::{Engine, Fault, Guide};

/// How long a file may take to come.
const READ_MAX: Duration = Duration::from_secs(30);

/// Why a procedure cannot be loaded.
pub(in super::super) enum Unusable {
    /// A file that cannot be had.
    Unread(Str, Failure),
    /// A file with flaws.
    Flawed(Str, Vec<Flaw>),
    /// Too many files.
    TooMany(String),
}

/// A procedure with those that it leads into.
pub(in super::super) struct Loaded {
    pub(in super::super) sops: Vec<Arc<Sop>>,
    pub(in super::super) files: Vec<Str>,
    pub(in super::super) warnings: Vec<(Str, Flaw)>,
}

pub(super) async fn load_graph(means: Means, arguments: Value) -> CallToolResult {
    let file = arguments.get("sop_file").and_then(Value::as_str);
    let (pin, loaded) = match means.shared.seats.pinned() {
        Some(pinned) => match pinned::find(pinned, file) {
            PinnedLookup::Found(name, loaded) => (Some(name), loaded),
            PinnedLookup::Refused(message) => return reply::fault(&Fault::Refused(message), None),
        },
        None => {
            let Some(file) = file else {
                let message = "sop_file is missing: the path or https URL of a procedure";
                return reply::fault(&Fault::Refused(message.into()), None);
            };
            match load(&means.engine, file, Right::Agent).await {
                Ok(loaded) => (None, loaded),
                Err(unusable) => return unusable.reply(),
            }
        }
    };
    match begin(&means, file.unwrap_or_default(), pin, &loaded).await {
        Ok(told) => reply::success(&told),
        Err(fault) => reply::fault(&fault, None),
    }
}

async fn begin(
    means: &Means,
    file: &str,
    pin: Option<Str>,
    loaded: &Loaded,
) -> Result<Value, Fault> {
    let owner = means.caller().name;
    let guide = Guide {
        sops: loaded.sops.clone(),
        files: loaded.files.clone(),
        session: None,
        origin: Value::object([("sop_file", Value::from(file))]),
        owner: owner.clone(),
        ttl_ms: means.shared.conduct.ttl_ms(),
        pinned: pin.clone(),
    };
    let id = means.engine.guide(guide).await?;
    let ended = match &pin {
        Some(name) => means.engine.seat(&id, owner, name.clone()).await?,
        None => Vec::new(),
    };
    let seats = &means.shared.seats;
    seats.know(&loaded.sops[0]);
    let before = match is_shared(means) {
        true => None,
        false => seats.sit(id.clone()),
    };
    let mut told = told::graph(&loaded.sops[0]);
    told.insert("session_id", id.as_str().into());
    told.insert("pinned", pin.is_some().into());
    told::begin(&loaded.sops[0], is_shared(means), &mut told);
    if !loaded.warnings.is_empty() {
        let flaws = loaded.warnings.iter();
        let told_of = flaws.map(|(file, flaw)| Value::from(format!("{file}:{flaw}")));
        told.insert("warnings", Value::array(told_of));
    }
    if !ended.is_empty() {
        let ended: Vec<&str> = ended.iter().map(|it| it.as_str()).collect();
        let note = format!(
            "the conversation {} has ended: a caller has one along a pinned procedure at a time",
            ended.join(", ")
        );
        told.insert("note", note.into());
    } else if let Some(before) = before.filter(|_| pin.is_none()) {
        let note = format!("the conversation {before} is left; its session_id leads back to it");
        told.insert("note", note.into());
    }
    Ok(told.into())
}

/// By whose right a procedure is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    /// The operator's, who pins it: the policy is the operator's too.
    Operator,
    /// An agent's: the policy holds.
    Agent,
}

/// Reads a procedure and all that it leads into.
async fn load(engine: &Engine, file: &str, right: Right) -> Result<Loaded, Unusable> {
    let mut gathering = Gathering::new(file);
    let mut warnings = Vec::new();
    while let Some(file) = gathering.wants().map_err(Unusable::TooMany)? {
        let place = &file.place;
        let text = fetch(engine, place, right).await;
        let text = text.map_err(|failure| Unusable::Unread(place.clone(), failure))?;
        let name = place.rsplit(['/', '\\']).next().unwrap_or(place);
        let name = name.split('.').next().unwrap_or(name);
        let read = sop_markdown::read(text.as_bytes(), name);
        let read = read.map_err(|flaws| Unusable::Flawed(place.clone(), flaws))?;
        let annotated = annotated::writing(engine, &read.sop);
        let told = read.warnings.into_iter().chain(annotated);
        warnings.extend(told.map(|flaw| (place.clone(), flaw)));
        gathering.add(file, read.sop);
    }
    Ok(Loaded {
        sops: gathering.sops,
        files: gathering.files,
        warnings,
    })
}

/// Reads a procedure to be pinned, by the right of the built-in tools.
pub(in super::super) async fn read_procedure(
    engine: &Engine,
    place: &str,
) -> Result<(PinnedProcedure, Vec<String>), String> {
    let loaded = load(engine, place, Right::Operator).await;
    let loaded = loaded.map_err(|unusable| unusable.says())?;
    let warnings = loaded.warnings.iter();
    let warnings = warnings.map(|(file, flaw)| format!("{file}:{flaw}"));
    let warnings = warnings.collect();
    let procedure = PinnedProcedure {
        place: place.to_owned(),
        paths: vec![Default::default(); loaded.sops.len()],
        sops: loaded.sops,
        files: loaded.files,
    };
    Ok((procedure, warnings))
}

/// The text of a file inside the allowed directories, or of an https address on an allowed host.
/// The built-in tools keep to both.
async fn fetch(engine: &Engine, place: &str, right: Right) -> Result<String, Failure> {
    let is_address = place.contains("://");
    if is_address && !place.starts_with("https://") {
        let message = format!("`{place}` is no https address, and only those are read");
        return Err(Failure::new(FailureKind::Forbidden, message));
    }
    let tool = match is_address {
        true => ToolName::new(BUILTIN, "http"),
        false => ToolName::new(BUILTIN, "read-file"),
    };
    let refused = engine.refuses_own_use(&tool);
    if let Some(why) = refused.filter(|_| right == Right::Agent) {
        return Err(Failure::new(FailureKind::Forbidden, why));
    }
    if !is_address {
        return engine.tools().document(place, READ_MAX).await;
    }
    let call = Call {
        tool,
        arguments: Value::object([("url", Value::from(place))]),
        key: "load_graph".into(),
        timeout: READ_MAX,
        cancel: CancellationToken::new(),
        progress: None,
        upstream: None,
    };
    let answer = engine.tools().call(call).await?;
    let text = answer.get("body").and_then(Value::as_str);
    Ok(text.unwrap_or_default().to_owned())
}

impl Unusable {
    /// The reason in a sentence or several.
    pub(in super::super) fn says(&self) -> String {
        match self {
            Self::Unread(file, failure) => format!("{file} cannot be read: {failure}"),
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
            Self::Unread(..) | Self::TooMany(_) => {
                error.insert("message", self.says().into());
            }
        }
        reply::errored(error)
    }
}
