//! A server's tools as last listed, found by name without waiting.

use super::RedactTool;
use super::bounded_reader::TOO_LONG_CODE;
use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, ToolAnnotations};
use rmcp::service::{Peer, ServiceError};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::Str;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// Maximum number of tools kept per server: the largest known servers have a few hundred.
const TOOLS_MAX: usize = 10_000;

/// Maximum total size of a server's tool descriptions, in bytes of JSON. Schemas with many small values take
/// twenty times as much memory, and the largest known servers send less than a megabyte.
const TOOLS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum number of pages in one listing, against servers that return cursors forever.
const PAGES_MAX: usize = 1_000;

/// Minimum similarity (Jaro-Winkler) at which a name is treated as a typo.
const SIMILARITY_MIN: f64 = 0.75;

/// One server's tools.
#[derive(Default)]
pub(super) struct ServerToolList {
    /// In the server's order.
    pub(super) tools: Arc<Vec<Arc<Tool>>>,
    /// When they were listed; `None` if never.
    pub(super) listed_at: Option<Instant>,
    by_name: HashMap<Str, Arc<Tool>>,
}

impl ServerToolList {
    pub(super) fn get(&self, tool: &str) -> Option<Arc<Tool>> {
        self.by_name.get(tool).cloned()
    }

    /// The failure for a tool that is not in the catalog.
    pub(super) fn unknown_name(&self, name: &ToolName) -> Failure {
        let known = self.tools.iter().map(|tool| tool.name.tool.as_str());
        let ToolName { server, tool } = name;
        unknown(
            format!("server `{server}` has no tool `{tool}`"),
            tool,
            known,
        )
    }
}

/// The failure for an unknown name, with the closest known name as a suggestion.
pub(super) fn unknown<'a>(
    says: String,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Failure {
    let nearest = known
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .filter(|(likeness, _)| *likeness >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let message = match nearest {
        Some((_, nearest)) => format!("{says}; did you mean `{nearest}`?"),
        None => says,
    };
    Failure::new(FailureKind::UnknownTool, message)
}

/// Lists all tools of a server, page by page. Removes secrets before anything is stored.
pub(super) async fn list_tools(
    server: &Str,
    peer: &Peer<RoleClient>,
    redact: &RedactTool,
) -> Result<ServerToolList, ServiceError> {
    let mut listing = ToolListBuilder::default();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(params)).await {
            Ok(page) => page,
            // A server without tools may not implement `tools/list`; an oversized answer is still an error.
            Err(ServiceError::McpError(error))
                if listing.tools.is_empty() && error.code.0 != TOO_LONG_CODE =>
            {
                break;
            }
            Err(fault) => return Err(fault),
        };
        listing.add(server, page.tools, redact);
        cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
        if cursor.is_none() || listing.is_full {
            break;
        }
    }
    if listing.is_full {
        let kept = listing.tools.len();
        tracing::warn!(%server, kept, "the server lists more tools than the limit; the rest are ignored");
    }
    Ok(listing.build())
}

/// The tools of the pages read so far, within the limits.
#[derive(Default)]
struct ToolListBuilder {
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<Str, Arc<Tool>>,
    bytes: usize,
    /// A limit is reached, so further tools are ignored.
    is_full: bool,
}

impl ToolListBuilder {
    /// Adds a page, up to the limits.
    fn add(&mut self, server: &Str, page: Vec<rmcp::model::Tool>, redact: &RedactTool) {
        for tool in page {
            self.bytes = self.bytes.saturating_add(json_bytes(&tool));
            if self.tools.len() >= TOOLS_MAX || self.bytes > TOOLS_BYTES_MAX {
                self.is_full = true;
                return;
            }
            let Some(tool) = redact(read_tool(server, tool)).map(Arc::new) else {
                tracing::warn!(%server, "ignored a tool whose name contains a secret");
                continue;
            };
            self.by_name
                .insert(tool.name.tool.clone(), Arc::clone(&tool));
            self.tools.push(tool);
        }
        self.is_full = self.tools.len() >= TOOLS_MAX;
    }

    fn build(self) -> ServerToolList {
        ServerToolList {
            tools: Arc::new(self.tools),
            listed_at: Some(Instant::now()),
            by_name: self.by_name,
        }
    }
}

/// Size of a tool as JSON, in bytes.
fn json_bytes(tool: &rmcp::model::Tool) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, tool) {
        Ok(()) => counter.0,
        // Cannot happen for a value that was read from JSON; counted as too large if it does.
        Err(_) => usize::MAX,
    }
}

fn read_tool(server: &Str, tool: rmcp::model::Tool) -> Tool {
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

fn hints(annotations: &ToolAnnotations) -> ToolHints {
    ToolHints {
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        idempotent: annotations.idempotent_hint,
        open_world: annotations.open_world_hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `count` tools with descriptions of this length.
    fn page(count: usize, described: usize) -> Vec<rmcp::model::Tool> {
        let tool = |number| {
            serde_json::from_value(json!({
                "name": format!("tool_{number}"), "description": "d".repeat(described),
                "inputSchema": {"type": "object"},
            }))
        };
        (0..count).map(|number| tool(number).unwrap()).collect()
    }

    fn listed(pages: &[Vec<rmcp::model::Tool>]) -> ToolListBuilder {
        let keep: RedactTool = Arc::new(Some);
        let mut listing = ToolListBuilder::default();
        for page in pages {
            listing.add(&"s".into(), page.clone(), &keep);
        }
        listing
    }

    #[test]
    fn one_page_of_very_many_tools_is_cut() {
        let listing = listed(&[page(TOOLS_MAX + 5_000, 1)]);
        assert!(listing.is_full);
        let catalog = listing.build();
        assert_eq!(catalog.tools.len(), TOOLS_MAX);
        assert!(catalog.get("tool_0").is_some());
        assert!(catalog.get(&format!("tool_{TOOLS_MAX}")).is_none());
    }

    #[test]
    fn few_tools_with_much_to_say_are_cut_over_all_pages() {
        let described = TOOLS_BYTES_MAX / 8;
        let listing = listed(&[page(3, described), page(3, described), page(3, described)]);
        assert!(listing.is_full);
        assert_eq!(listing.tools.len(), 7);
    }

    #[test]
    fn usual_lists_are_whole() {
        let listing = listed(&[page(400, 2_000), page(400, 2_000)]);
        assert!(!listing.is_full);
        assert_eq!(listing.tools.len(), 800);
    }
}
