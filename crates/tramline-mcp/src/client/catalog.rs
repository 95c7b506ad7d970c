//! What a server offers: its tools as last listed, found by name without waiting.

use super::RedactTool;
use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, ToolAnnotations};
use rmcp::service::{Peer, ServiceError};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;
use tramline_core::Str;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_engine::seams::{Hints, Tool};

/// More tools than this are not listed: the largest servers known have some hundreds.
const TOOLS_MAX: usize = 10_000;

/// A server that hands out cursors for ever is stopped here.
const PAGES_MAX: usize = 1_000;

/// Names that are alike to this degree are taken for slips of the pen.
const ALIKE: f64 = 0.75;

/// One server's tools.
#[derive(Default)]
pub(super) struct Catalog {
    /// In the server's own order.
    pub(super) all: Arc<Vec<Arc<Tool>>>,
    /// When they were listed; never, if nothing has been.
    pub(super) at: Option<Instant>,
    by_name: HashMap<Str, Arc<Tool>>,
}

impl Catalog {
    pub(super) fn get(&self, tool: &str) -> Option<Arc<Tool>> {
        self.by_name.get(tool).cloned()
    }

    /// What to say of a tool that is not here.
    pub(super) fn unknown(&self, name: &ToolName) -> Failure {
        let known = self.all.iter().map(|tool| tool.name.tool.as_str());
        let ToolName { server, tool } = name;
        unknown(
            format!("server `{server}` has no tool `{tool}`"),
            tool,
            known,
        )
    }
}

/// A failure about a name that nothing has, with the nearest one that something has.
pub(super) fn unknown<'a>(
    says: String,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Failure {
    let nearest = known
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let message = match nearest {
        Some((_, nearest)) => format!("{says}; did you mean `{nearest}`?"),
        None => says,
    };
    Failure::new(FailureKind::UnknownTool, message)
}

/// Asks a server for all its tools, page by page. Secrets in what it says of them are taken out
/// here, before anything is kept.
pub(super) async fn list(
    server: &Str,
    peer: &Peer<RoleClient>,
    redact: &RedactTool,
) -> Result<Catalog, ServiceError> {
    let mut catalog = Catalog::default();
    let mut all = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(params)).await {
            Ok(page) => page,
            // A server without tools need not know the question.
            Err(ServiceError::McpError(_)) if all.is_empty() => break,
            Err(fault) => return Err(fault),
        };
        for tool in page.tools {
            let Some(tool) = redact(read(server, tool)).map(Arc::new) else {
                tracing::warn!(%server, "a tool has a secret in its name and is left out");
                continue;
            };
            catalog
                .by_name
                .insert(tool.name.tool.clone(), Arc::clone(&tool));
            all.push(tool);
        }
        cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
        if cursor.is_none() || all.len() >= TOOLS_MAX {
            break;
        }
    }
    catalog.all = Arc::new(all);
    catalog.at = Some(Instant::now());
    Ok(catalog)
}

fn read(server: &Str, tool: rmcp::model::Tool) -> Tool {
    let schema = |schema: Arc<_>| serde_json::Value::Object(Arc::unwrap_or_clone(schema)).into();
    let annotations = tool.annotations.unwrap_or_default();
    Tool {
        name: ToolName::new(server.clone(), &*tool.name),
        hints: hints(&annotations),
        title: tool.title.or(annotations.title).map(Str::from),
        description: tool.description.map(|text| Str::from(&*text)),
        input_schema: schema(tool.input_schema),
        output_schema: tool.output_schema.map(schema),
    }
}

fn hints(annotations: &ToolAnnotations) -> Hints {
    Hints {
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        idempotent: annotations.idempotent_hint,
        open_world: annotations.open_world_hint,
    }
}
