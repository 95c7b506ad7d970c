//! Our own resources, below `tramline://`: runs, saved workflows, and the formats of documents.

use super::ranges::{self, READ_BYTES_MAX, TextRange};
use super::{STATIC_TTL_MS, not_found, shorten_result};
use crate::SharedState;
use crate::caller::Caller;
use crate::tools::{Toolset, current_state};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;
use std::sync::Arc;
use tramline_engine::{Fault, LoadedRun};
use tramline_expr::Value;
use tramline_formats::{SourceKind, guide};
use tramline_views::trace::{self, Trace};
use tramline_workflow::ids::RunId;

const SCHEME: &str = "tramline://";
const JSON: &str = "application/json";

/// The toolsets whose agents build and inspect workflows: they read how a run went, and saved documents.
const READER_TOOLSETS: [Toolset; 4] = [
    Toolset::Library,
    Toolset::Debug,
    Toolset::Control,
    Toolset::Runs,
];

/// A URI of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnUri {
    /// The state of a run.
    Run(RunId),
    /// The result of a run: a part of it.
    RunResult {
        /// The run.
        run: RunId,
        /// The first byte.
        offset: usize,
        /// The number of bytes.
        length: usize,
    },
    /// The steps of a run.
    RunTrace {
        /// The run.
        run: RunId,
        /// The first byte of the JSON text.
        offset: usize,
        /// The number of bytes.
        length: usize,
    },
    /// A saved workflow's document.
    Workflow(String),
    /// The page about a format.
    Format(SourceKind),
}

/// The URI of a run's state.
pub(crate) fn run_uri(run: &RunId) -> String {
    format!("{SCHEME}runs/{run}")
}

/// The URI of a run's result.
pub(super) fn result_uri(run: &RunId) -> String {
    format!("{SCHEME}runs/{run}/result")
}

impl OwnUri {
    /// Parses a URI; `None` if it is not one of ours.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let parts: Vec<&str> = path.split('/').collect();
        let number = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.parse::<usize>())
        };
        let range = || {
            Some((
                number("offset").unwrap_or(Ok(0)).ok()?,
                number("length").unwrap_or(Ok(READ_BYTES_MAX)).ok()?,
            ))
        };
        match parts.as_slice() {
            ["runs", run] if query.is_empty() => Some(Self::Run(run.parse().ok()?)),
            ["runs", run, "result"] => {
                let (run, (offset, length)) = (run.parse().ok()?, range()?);
                Some(Self::RunResult {
                    run,
                    offset,
                    length,
                })
            }
            ["runs", run, "trace"] => {
                let (run, (offset, length)) = (run.parse().ok()?, range()?);
                Some(Self::RunTrace {
                    run,
                    offset,
                    length,
                })
            }
            ["workflows", name] if !name.is_empty() => Some(Self::Workflow((*name).to_owned())),
            ["formats", name] => SourceKind::parse(name).map(Self::Format),
            _ => None,
        }
    }

    /// The run that it belongs to.
    pub(crate) fn run(&self) -> Option<&RunId> {
        match self {
            Self::Run(run) | Self::RunResult { run, .. } | Self::RunTrace { run, .. } => Some(run),
            Self::Workflow(_) | Self::Format(_) => None,
        }
    }
}

fn reads_traces(shared: &SharedState) -> bool {
    READER_TOOLSETS
        .into_iter()
        .any(|toolset| shared.has(toolset))
}

/// The resources that every caller sees: the formats, and the saved workflows where the library is served.
pub(super) async fn static_resources(shared: &SharedState) -> Vec<Resource> {
    let formats = SourceKind::ALL.into_iter().map(|kind| {
        let name = kind.as_str();
        let title = guide::title(kind);
        Resource::new(format!("{SCHEME}formats/{name}"), format!("format {name}"))
            .with_title(title)
            .with_description(format!(
                "How to write {title}: one page with three examples"
            ))
            .with_mime_type("text/markdown")
            .with_size(guide::page(kind).len() as u64)
    });
    let mut all: Vec<_> = formats.collect();
    if shared.has(Toolset::Library)
        && let Ok(saved) = shared.callable.library().list(None).await
    {
        all.extend(saved.iter().map(|saved| {
            Resource::new(
                format!("{SCHEME}workflows/{}", saved.name),
                saved.name.as_str(),
            )
            .with_title(saved.name.as_str())
            .with_description(saved.description.as_str())
            .with_mime_type(mime_type(&saved.format))
            .with_size(saved.text.len() as u64)
        }));
    }
    all
}

fn mime_type(format: &str) -> &'static str {
    match format {
        "yaml" => "application/yaml",
        "markdown" | "sop" => "text/markdown",
        _ => JSON,
    }
}

/// The templates of our own resources.
pub(super) fn templates(shared: &SharedState) -> Vec<ResourceTemplate> {
    let template = |path: &str, name: &str, title: &str, says: &str, mime: &str| {
        ResourceTemplate::new(format!("{SCHEME}{path}"), name)
            .with_title(title)
            .with_description(says)
            .with_mime_type(mime)
    };
    let mut all = vec![
        template(
            "runs/{run_id}",
            "run",
            "A run",
            "Status, result or error, and open questions; subscribe to learn of changes",
            JSON,
        ),
        template(
            "runs/{run_id}/result{?offset,length}",
            "result",
            "A result",
            "The result of a run, whole or in parts",
            JSON,
        ),
        template(
            "formats/{format}",
            "format",
            "A format",
            "How to write documents: one page with three examples",
            "text/markdown",
        ),
    ];
    if reads_traces(shared) {
        all.push(template(
            "runs/{run_id}/trace{?offset,length}",
            "trace",
            "A trace",
            "The steps of a run with inputs and outputs",
            JSON,
        ));
    }
    if shared.has(Toolset::Library) {
        all.push(template(
            "workflows/{name}",
            "workflow",
            "A saved workflow",
            "The document of a saved workflow",
            "text/plain",
        ));
    }
    all
}

/// Reads one of our resources.
pub(super) async fn read(
    shared: &Arc<SharedState>,
    own: &OwnUri,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResult, ErrorData> {
    match own {
        OwnUri::Format(kind) => {
            let page =
                ResourceContents::text(guide::page(*kind), uri).with_mime_type("text/markdown");
            Ok(ReadResourceResult::new(vec![page])
                .with_ttl_ms(STATIC_TTL_MS)
                .with_cache_scope(CacheScope::Public))
        }
        OwnUri::Workflow(name) => read_workflow(shared, name, uri).await,
        OwnUri::Run(run) => {
            let loaded = load(shared, run, uri, context).await?;
            let mut state = current_state(&shared.engine, &loaded).await;
            shorten_result(&mut state, run);
            Ok(run_contents(
                &loaded,
                uri,
                Value::from(state).to_json(),
                None,
            ))
        }
        OwnUri::RunResult {
            run,
            offset,
            length,
        } => {
            let loaded = load(shared, run, uri, context).await?;
            let outcome = loaded.run.outcome.as_ref();
            let shown = outcome.map(|outcome| trace::outcome_value(&loaded.run.graph, outcome));
            let result = shown.as_ref().and_then(|shown| shown.get("result"));
            let text = match result {
                Some(Value::String(text)) => text.to_string(),
                Some(result) => result.to_json(),
                None => return Err(not_found(uri)),
            };
            Ok(part(&loaded, uri, &text, *offset, *length))
        }
        OwnUri::RunTrace {
            run,
            offset,
            length,
        } if reads_traces(shared) => {
            let loaded = load(shared, run, uri, context).await?;
            let trace = Trace::of(run, &loaded.run.graph, &loaded.entries);
            let text = serde_json::to_string(&trace).unwrap_or_default();
            Ok(part(&loaded, uri, &text, *offset, *length))
        }
        OwnUri::RunTrace { .. } => Err(not_found(uri)),
    }
}

async fn load(
    shared: &Arc<SharedState>,
    run: &RunId,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> Result<LoadedRun, ErrorData> {
    let loaded = Caller::of(context)
        .load_run(&shared.engine, run, None)
        .await;
    loaded.map_err(|fault| match fault {
        Fault::NotFound(_) => not_found(uri),
        // An SOP session is not shown as a run.
        Fault::Rejected(_) => not_found(uri),
        other => ErrorData::internal_error(other.to_string(), None),
    })
}

async fn read_workflow(
    shared: &SharedState,
    name: &str,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    if !shared.has(Toolset::Library) {
        return Err(not_found(uri));
    }
    let saved = shared.callable.library().list(None).await;
    let saved = saved.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let found = saved
        .iter()
        .find(|saved| saved.name == name)
        .ok_or_else(|| not_found(uri))?;
    let contents =
        ResourceContents::text(found.text.as_str(), uri).with_mime_type(mime_type(&found.format));
    Ok(ReadResourceResult::new(vec![contents])
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private))
}

/// A part of a long text, with where the next part begins.
fn part(
    loaded: &LoadedRun,
    uri: &str,
    text: &str,
    offset: usize,
    length: usize,
) -> ReadResourceResult {
    let TextRange {
        text,
        offset,
        next,
        total,
    } = ranges::range(text, offset, length);
    let mut told = json!({"tramline/offset": offset, "tramline/totalBytes": total});
    if let (Some(next), Some(map)) = (next, told.as_object_mut()) {
        map.insert("tramline/nextOffset".into(), json!(next));
    }
    run_contents(loaded, uri, text.to_owned(), Some(told))
}

/// Contents about a run: final once the run has ended.
fn run_contents(
    loaded: &LoadedRun,
    uri: &str,
    text: String,
    meta: Option<serde_json::Value>,
) -> ReadResourceResult {
    let mut contents = ResourceContents::text(text, uri).with_mime_type(JSON);
    if let Some(serde_json::Value::Object(meta)) = meta {
        contents = contents.with_meta(MetaObject(meta));
    }
    let ttl = match loaded.run.outcome {
        Some(_) => STATIC_TTL_MS,
        None => 0,
    };
    ReadResourceResult::new(vec![contents])
        .with_ttl_ms(ttl)
        .with_cache_scope(CacheScope::Private)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_parsed_as_they_are_written() {
        let run = RunId::new(1, 1);
        assert_eq!(
            OwnUri::parse(&run_uri(&run)),
            Some(OwnUri::Run(run.clone()))
        );
        let whole = OwnUri::RunResult {
            run: run.clone(),
            offset: 0,
            length: READ_BYTES_MAX,
        };
        assert_eq!(OwnUri::parse(&result_uri(&run)), Some(whole));
        let part = format!("{}?offset=5&length=7", result_uri(&run));
        assert_eq!(
            OwnUri::parse(&part),
            Some(OwnUri::RunResult {
                run,
                offset: 5,
                length: 7
            })
        );
        for odd in [
            "tramline://",
            "tramline://runs/x",
            "tramline://formats/x",
            "tramline://runs/run_1/result?offset=-1",
            "other://runs/run_1",
        ] {
            assert_eq!(OwnUri::parse(odd), None, "{odd}");
        }
    }
}
