//! What an agent brings: the name of a workflow that is known here, a file, or a document.

use super::{With, Wrong, caller_key};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::failure::FailureKind;
use tramline_core::flaw::{Flaw, Severity};
use tramline_core::formats::yaml_graph::{self, BUILTIN, CallSite, Document, Listing};
use tramline_core::formats::{self, Elsewhere, Hint};
use tramline_core::graph::Graph;
use tramline_core::ids::ToolName;
use tramline_core::text::{nearest, shown};
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Map, Str, Value};
use tramline_engine::library::TEXT_BYTES_MAX;

/// Servers get so long to say what tools they have.
const ASK_MAX: Duration = Duration::from_secs(15);
/// A file is read in this time, or its disk hangs.
const READ_MAX: Duration = Duration::from_secs(10);
/// So many names are shown to who named none of them.
const NAMES_SHOWN: usize = 20;

/// What was brought.
pub(super) enum Brought {
    /// A workflow that is known here, with where it is to be found again.
    Known(Arc<Graph>, Value),
    /// A document.
    Text(Text),
}

/// A document as text.
pub(super) struct Text {
    pub(super) text: String,
    /// What a workflow is called that says no name of its own.
    name: String,
}

/// Finds or reads what was brought.
pub(super) async fn bring(with: With<'_>, given: &Value) -> Result<Brought, Wrong> {
    if let Some(name) = given.as_str().filter(|text| is_name(text)) {
        // What is known here counts where the store cannot be read; a run would say so.
        let _ = with.engine.library().refresh().await;
        if let Some(known) = with.engine.workflows().find(name) {
            return Ok(Brought::Known(known.graph, known.origin));
        }
        if !is_path(name) {
            return Err(unknown(with, name));
        }
    }
    text(with, given).await.map(Brought::Text)
}

/// The document that was brought, as text or as the path of a file.
pub(super) async fn text(with: With<'_>, given: &Value) -> Result<Text, Wrong> {
    let (text, name) = match given {
        Value::String(path) if is_name(path) => (file(with, path).await?, stem(path)),
        Value::String(text) => (text.to_string(), "workflow".to_owned()),
        other => (other.to_json(), "workflow".to_owned()),
    };
    if text.len() > TEXT_BYTES_MAX {
        let message = format!(
            "the workflow has {} bytes; {TEXT_BYTES_MAX} can be read",
            text.len()
        );
        let wrong = Wrong::new("validation", message);
        return Err(wrong.suggesting("split it into several workflows that call each other"));
    }
    Ok(Text { text, name })
}

/// Whether a text is too short to be a document.
fn is_name(text: &str) -> bool {
    !text.contains(['\n', '{']) && !text.trim_start().starts_with('[')
}

fn is_path(text: &str) -> bool {
    const ENDINGS: [&str; 4] = [".yaml", ".yml", ".json", ".md"];
    text.contains(['/', '\\']) || ENDINGS.iter().any(|ending| text.ends_with(ending))
}

/// A file's name without what it ends with.
fn stem(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.split('.').next().unwrap_or(name).to_owned()
}

/// A file inside the allowed directories. It is another way to read a file, so whatever stands
/// before `read-file` stands before this.
async fn file(with: With<'_>, path: &str) -> Result<String, Wrong> {
    let itself = "bring the document itself as text or object";
    if let Some(why) = with
        .engine
        .refuses_own_use(&ToolName::new(BUILTIN, "read-file"))
    {
        return Err(Wrong::new("forbidden", why).suggesting(itself));
    }
    let read = with.engine.tools().document(path, READ_MAX).await;
    read.map_err(|failure| {
        let kind = match failure.kind {
            FailureKind::Forbidden => "validation",
            _ => "not_found",
        };
        Wrong::new(kind, failure.message.clone())
            .suggesting(format!("{itself}, or name a file inside the allowed roots"))
    })
}

impl Text {
    /// Reads the document.
    pub(super) fn read(&self) -> Result<Document, Vec<Flaw>> {
        let hint = Hint {
            name: &self.name,
            elsewhere: Elsewhere::Any,
            ..Hint::default()
        };
        formats::read(self.text.as_bytes(), hint).map(|read| read.document)
    }

    /// Everything that is wrong with it, the calls of one that cannot be used among it.
    pub(super) async fn check(&self, with: With<'_>) -> (Option<Document>, Vec<Flaw>) {
        match self.read() {
            Ok(document) => {
                let mut flaws = document.warnings.clone();
                let own = document.workflows.iter();
                let own = own.map(|graph| graph.workflow.name.clone()).collect();
                flaws.extend(known_calls(with, &document.calls, own).await);
                (Some(document), flaws)
            }
            Err(mut flaws) => {
                let calls = formats::calls::written(self.text.as_bytes());
                flaws.extend(known_calls(with, &calls, Vec::new()).await);
                flaws.sort_by_key(|flaw| (flaw.place.line, flaw.place.column));
                flaws.dedup();
                (None, flaws)
            }
        }
    }

    /// The document, if nothing keeps it from being used.
    pub(super) async fn sound(&self, with: With<'_>) -> Result<Document, Wrong> {
        match self.check(with).await {
            (Some(document), flaws) if !fatal(&flaws) => Ok(document),
            (_, flaws) => Err(unusable(&flaws)),
        }
    }
}

fn unknown(with: With<'_>, name: &str) -> Wrong {
    let names = with.engine.workflows().names();
    let message = format!("there is no workflow `{}`", shown(name));
    let wrong = Wrong::new("not_found", message);
    let wrong = match nearest(name, names.iter().map(Str::as_str)) {
        Some(near) => wrong.suggesting(format!("did you mean `{near}`?")),
        None if names.is_empty() => wrong.suggesting("nothing is saved yet: bring a document"),
        None => {
            let names: Vec<_> = names.iter().take(NAMES_SHOWN).map(Str::as_str).collect();
            wrong.suggesting(format!("there are {}", names.join(", ")))
        }
    };
    wrong.suggesting("workflow_discover finds one by what it does")
}

/// What is wrong with the calls of a document that is about to run: servers and tools that are not
/// there. Its servers are asked, so that what their tools say of themselves is known too.
pub(in super::super) async fn check_calls(with: With<'_>, document: &Document) -> Vec<Flaw> {
    let mut servers: Vec<&Str> = document
        .calls
        .iter()
        .map(|call| &call.name.server)
        .collect();
    servers.sort();
    servers.dedup();
    let tools = with.engine.tools();
    let asking = servers.into_iter().map(|server| tools.ask(server));
    // Who does not answer in time is told of by the run.
    let _ = tokio::time::timeout(ASK_MAX, futures_util::future::join_all(asking)).await;
    let own = document.workflows.iter();
    let own = own.map(|graph| graph.workflow.name.clone()).collect();
    known_calls(with, &document.calls, own).await
}

/// What is wrong with calls, as far as the registry knows; only what was never listed is asked.
async fn known_calls(with: With<'_>, calls: &[CallSite], mut workflows: Vec<Str>) -> Vec<Flaw> {
    let registry = with.engine.registry();
    let mut said: BTreeMap<Str, Listing> = BTreeMap::new();
    for call in calls {
        let server = &call.name.server;
        if said.contains_key(server) {
            continue;
        }
        if server == WORKFLOW_SERVER {
            let _ = with.engine.library().refresh().await;
            workflows.extend(with.engine.workflows().names());
            said.insert(
                server.clone(),
                Listing::Tools(std::mem::take(&mut workflows)),
            );
            continue;
        }
        let asked = tokio::time::timeout(ASK_MAX, registry.of_server(server)).await;
        let listing = match asked {
            Ok(Ok(Some(Ok(tools)))) => {
                Listing::Tools(tools.iter().map(|tool| tool.name.tool.clone()).collect())
            }
            Ok(Ok(None)) => Listing::NoServer(registry.servers()),
            Ok(Ok(Some(Err(_))) | Err(_)) | Err(_) => Listing::Silent,
        };
        said.insert(server.clone(), listing);
    }
    yaml_graph::check_calls(calls, |server| {
        said.get(server).cloned().unwrap_or(Listing::Silent)
    })
}

/// Whether something about it keeps a document from being used.
pub(super) fn fatal(flaws: &[Flaw]) -> bool {
    flaws
        .iter()
        .any(|flaw| flaw.code.severity() == Severity::Error)
}

/// Flaws as agents read them.
pub(in super::super) fn told(flaws: &[Flaw]) -> Value {
    Value::array(flaws.iter().map(|flaw| {
        let mut told = Map::new();
        told.insert("code", flaw.code.as_str().into());
        let severity = match flaw.code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        told.insert("severity", severity.into());
        told.insert("line", flaw.place.line.into());
        told.insert("column", flaw.place.column.into());
        told.insert("path", flaw.place.pointer.as_str().into());
        told.insert("message", flaw.message.as_str().into());
        if let Some(suggestion) = &flaw.suggestion {
            told.insert("suggestion", suggestion.as_str().into());
        }
        told.into()
    }))
}

/// A document that cannot be run, as an error: each flaw with its line and what mends it.
pub(super) fn unusable(flaws: &[Flaw]) -> Wrong {
    /// So many are told as suggestions too; all of them are in the details.
    const SUGGESTED_MAX: usize = 10;
    let count = match flaws.len() {
        1 => "a flaw".to_owned(),
        count => format!("{count} flaws"),
    };
    let mut wrong = Wrong::new("validation", format!("the workflow has {count}"));
    wrong.details = told(flaws);
    wrong.suggestions = flaws
        .iter()
        .filter_map(|flaw| {
            let mends = flaw.suggestion.as_ref()?;
            Some(format!("line {}: {mends}", flaw.place.line))
        })
        .take(SUGGESTED_MAX)
        .collect();
    wrong
}

/// The tools that a document calls, as the registry names them.
pub(super) fn called(document: &Document) -> Vec<Str> {
    let mut names: Vec<Str> = document
        .calls
        .iter()
        .map(|call| call.name.to_string().into())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// What the caller looked for is tied to what it has now used with success.
pub(super) fn served(with: With<'_>, names: &[Str]) {
    with.engine
        .registry()
        .uses()
        .served(&caller_key(with), names);
}
