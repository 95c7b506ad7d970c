//! `tramline lock`: records what the tools that documents call look like, so that a change is noticed.
//!
//! The lock file lies next to the documents and is meant to be committed with them. `tramline check` compares it with what
//! the servers list.

use super::trust::{self, TrustFlag};
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, documents, output, tool_check};
use crate::app;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::Value;
use tramline_formats::yaml_graph::{CallSite, GraphDocument};
use tramline_workflow::flaw::{Flaw, FlawCode};
use tramline_workflow::ids::{BUILTIN, ToolName};
use tramline_workflow::schema_change::{input_breaks, output_breaks};
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// The file's name.
pub(super) const LOCK_FILE: &str = "tramline.lock";
/// The version of its format.
const VERSION: u32 = 1;
/// Largest lock file, in bytes.
const LOCK_BYTES_MAX: u64 = 64 << 20;
/// Breaks that a message names.
const BREAKS_SHOWN_MAX: usize = 5;

/// Record the tools that documents call in tramline.lock.
#[derive(clap::Args)]
pub(super) struct Lock {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    trusting: TrustFlag,
    #[command(flatten)]
    reach: AccessArgs,
}

/// What the tools of some documents looked like.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ToolLock {
    version: u32,
    /// The tools, by `server:tool`.
    tools: BTreeMap<String, LockedTool>,
}

/// A tool as it was.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LockedTool {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    input_schema: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Json>,
    #[serde(default)]
    annotations: LockedHints,
}

/// A tool's annotations as they were.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LockedHints {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    idempotent: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_world: Option<bool>,
}

impl From<&Tool> for LockedTool {
    fn from(tool: &Tool) -> Self {
        let ToolHints {
            read_only,
            destructive,
            idempotent,
            open_world,
        } = tool.hints;
        Self {
            description: tool.description.as_ref().map(ToString::to_string),
            input_schema: (&tool.input_schema).into(),
            output_schema: tool.output_schema.as_ref().map(Into::into),
            annotations: LockedHints {
                read_only,
                destructive,
                idempotent,
                open_world,
            },
        }
    }
}

/// How a tool differs from what was recorded.
struct ToolChange {
    /// The parts that differ.
    parts: Vec<&'static str>,
    /// Why calls that were right before may be wrong now.
    breaks: Vec<String>,
}

impl LockedTool {
    fn change(&self, now: &Self) -> Option<ToolChange> {
        if self == now {
            return None;
        }
        let value = |json: &Json| Value::from(json.clone());
        let mut breaks = input_breaks(&value(&self.input_schema), &value(&now.input_schema));
        match (&self.output_schema, &now.output_schema) {
            (Some(before), Some(now)) => breaks.extend(output_breaks(&value(before), &value(now))),
            (Some(_), None) => breaks.push("its result is no longer described".to_owned()),
            (None, Some(_) | None) => {}
        }
        breaks.extend(self.annotations.less_safe(&now.annotations));
        let parts = [
            ("its arguments", self.input_schema != now.input_schema),
            ("its result", self.output_schema != now.output_schema),
            ("its annotations", self.annotations != now.annotations),
            ("its description", self.description != now.description),
        ];
        let parts = parts
            .into_iter()
            .filter(|(_, differs)| *differs)
            .map(|(part, _)| part);
        Some(ToolChange {
            parts: parts.collect(),
            breaks,
        })
    }
}

impl LockedHints {
    /// The annotations that promise less than before.
    fn less_safe(&self, now: &Self) -> Vec<String> {
        let lost = [
            (
                "read-only",
                self.read_only == Some(true) && now.read_only != Some(true),
            ),
            (
                "non-destructive",
                self.destructive == Some(false) && now.destructive != Some(false),
            ),
            (
                "idempotent",
                self.idempotent == Some(true) && now.idempotent != Some(true),
            ),
            (
                "closed-world",
                self.open_world == Some(false) && now.open_world != Some(false),
            ),
        ];
        let lost = lost.into_iter().filter(|(_, is_lost)| *is_lost);
        lost.map(|(what, _)| format!("it is no longer {what}"))
            .collect()
    }
}

/// The lock file of a document.
pub(super) fn lock_path(document: &Path) -> PathBuf {
    document.parent().unwrap_or(Path::new("")).join(LOCK_FILE)
}

/// Whether a tool is recorded: those in this binary and workflows change with the documents.
fn is_recorded(name: &ToolName) -> bool {
    name.server != BUILTIN && name.server != WORKFLOW_SERVER
}

impl ToolLock {
    /// Reads a lock file; `None` if there is none.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, CliError> {
        let cannot = |why: String| {
            CliError::bad_input(format!(
                "{}: {why}; `tramline lock` writes it anew",
                path.display()
            ))
        };
        let size = match std::fs::metadata(path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(error.to_string())),
        };
        if size > LOCK_BYTES_MAX {
            return Err(cannot(format!("larger than {LOCK_BYTES_MAX} bytes")));
        }
        let text = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
        let lock: Self =
            serde_json::from_slice(&text).map_err(|error| cannot(error.to_string()))?;
        match lock.version {
            VERSION => Ok(Some(lock)),
            other => Err(cannot(format!("version {other} is not supported"))),
        }
    }

    /// The calls of a document to tools that are not what was recorded.
    pub(super) fn flaws(
        &self,
        document: &GraphDocument,
        listed: impl Fn(&ToolName) -> Option<Arc<Tool>>,
    ) -> Vec<Flaw> {
        let calls = document.calls.iter().filter(|call| is_recorded(&call.name));
        calls
            .filter_map(|call| self.flaw(document, call, &*listed(&call.name)?))
            .collect()
    }

    fn flaw(&self, document: &GraphDocument, call: &CallSite, tool: &Tool) -> Option<Flaw> {
        let name = call.name.to_string();
        let Some(before) = self.tools.get(&name) else {
            let message = format!("`{name}` is not in {LOCK_FILE}");
            return Some(flaw(FlawCode::ChangedTool, call, message));
        };
        let change = before.change(&LockedTool::from(tool))?;
        let changed = format!("`{name}` has changed since {LOCK_FILE}");
        if change.breaks.is_empty() {
            let message = format!("{changed}: {}", change.parts.join(", "));
            return Some(flaw(FlawCode::ChangedTool, call, message));
        }
        let callers = callers(document, &call.name);
        let shown = change.breaks.iter().take(BREAKS_SHOWN_MAX);
        let shown: Vec<_> = shown.map(String::as_str).collect();
        let more = match change.breaks.len() - shown.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!(
            "{changed} and may break {callers}: {}{more}",
            shown.join("; ")
        );
        Some(flaw(FlawCode::BrokenTool, call, message))
    }
}

/// The workflows of a document that call a tool.
fn callers(document: &GraphDocument, tool: &ToolName) -> String {
    let calls = |graph: &&Arc<tramline_workflow::graph::Graph>| {
        let mut nodes = graph.workflow.nodes.iter();
        nodes.any(|node| node.action.tool() == Some(tool))
    };
    let callers = document.workflows.iter().filter(calls);
    let names: Vec<_> = callers
        .map(|graph| format!("`{}`", graph.workflow.name))
        .collect();
    match names.is_empty() {
        true => "what calls it".to_owned(),
        false => names.join(", "),
    }
}

fn flaw(code: FlawCode, call: &CallSite, message: String) -> Flaw {
    Flaw {
        code,
        span: call.tool.clone(),
        message,
        suggestion: Some("`tramline lock` records the tools as they are now".to_owned()),
    }
}

pub(super) async fn main(common: CommonArgs, verb: Lock) -> CliResult {
    let mut config = common.config(&verb.reach)?;
    let elsewhere = documents::known_servers(&config)?;
    let read = |path: &PathBuf| documents::read_valid(path, &elsewhere, common.json);
    let read = verb.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let named = verb.files.iter().map(PathBuf::as_path).zip(&read);
    trust::restrict_starts(&mut config, named, &verb.files, verb.trusting)?;
    let settings = app::settings_read_only(&config)?;
    let equipment = app::tool_sources(&config, &read, settings)?;
    let saved = app::saved_names(&config).await;
    let answers =
        tool_check::list_tools(&equipment, &read, saved, tool_check::LIST_TOOLS_TIMEOUT).await;
    equipment.servers.shutdown().await;
    if let Some((server, failure)) = answers.failed_servers().next() {
        return Err(CliError {
            exit: Exit::Failed,
            message: format!(
                "could not list the tools of `{server}`, nothing was written: {failure}"
            ),
        });
    }
    let mut locks: BTreeMap<PathBuf, ToolLock> = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    for (path, document) in verb.files.iter().zip(&read) {
        let lock = locks.entry(lock_path(path)).or_default();
        lock.version = VERSION;
        for call in document.calls.iter().filter(|call| is_recorded(&call.name)) {
            match answers.tool(&call.name) {
                Some(tool) => {
                    lock.tools
                        .insert(call.name.to_string(), LockedTool::from(&*tool));
                }
                None => {
                    unknown.insert(call.name.to_string());
                }
            }
        }
    }
    if let Some(missing) = unknown.first() {
        return Err(CliError::bad_input(format!(
            "no server has `{missing}`, nothing was written; `tramline check` shows where it is called"
        )));
    }
    let mut written = Vec::new();
    for (path, lock) in &locks {
        let text = serde_json::to_string_pretty(lock);
        let text = text.map_err(|error| CliError::bad_input(error.to_string()))?;
        output::write_file(path, &(text + "\n"))?;
        written.push(
            serde_json::json!({ "file": path.display().to_string(), "tools": lock.tools.len() }),
        );
    }
    if common.json {
        output::line(&written);
    } else {
        for (path, lock) in &locks {
            output::status_line(&format!("{}: {} tools", path.display(), lock.tools.len()));
        }
    }
    Ok(Exit::Done)
}
