//! What a server offers: its tools as last listed, found by name without waiting.

use super::RedactTool;
use super::lines::TOO_LONG_CODE;
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

/// More tools of one server than this are not kept: the largest servers known have some hundreds.
const TOOLS_MAX: usize = 10_000;

/// Nor more than this of what a server says of them, in bytes of JSON: schemas of many small values take
/// twenty times as much in memory, and the largest servers known say less than a megabyte.
const TOOLS_BYTES_MAX: usize = 4 * 1024 * 1024;

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
    let mut listing = Listing::default();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(params)).await {
            Ok(page) => page,
            // A server without tools need not know the question; one with too many does.
            Err(ServiceError::McpError(error))
                if listing.all.is_empty() && error.code.0 != TOO_LONG_CODE =>
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
        let kept = listing.all.len();
        tracing::warn!(%server, kept, "the server lists more tools than are kept");
    }
    Ok(listing.into_catalog())
}

/// The tools of the pages that came so far, within their bounds.
#[derive(Default)]
struct Listing {
    all: Vec<Arc<Tool>>,
    by_name: HashMap<Str, Arc<Tool>>,
    bytes: usize,
    /// A tool was left out for want of room, or the next one would be.
    is_full: bool,
}

impl Listing {
    /// Adds a page, or as much of it as there is room for.
    fn add(&mut self, server: &Str, page: Vec<rmcp::model::Tool>, redact: &RedactTool) {
        for tool in page {
            self.bytes = self.bytes.saturating_add(json_bytes(&tool));
            if self.all.len() >= TOOLS_MAX || self.bytes > TOOLS_BYTES_MAX {
                self.is_full = true;
                return;
            }
            let Some(tool) = redact(read(server, tool)).map(Arc::new) else {
                tracing::warn!(%server, "a tool has a secret in its name and is left out");
                continue;
            };
            self.by_name
                .insert(tool.name.tool.clone(), Arc::clone(&tool));
            self.all.push(tool);
        }
        self.is_full = self.all.len() >= TOOLS_MAX;
    }

    fn into_catalog(self) -> Catalog {
        Catalog {
            all: Arc::new(self.all),
            at: Some(Instant::now()),
            by_name: self.by_name,
        }
    }
}

/// How long a tool is as JSON.
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
        // What came as JSON can be written as JSON; what cannot is not kept.
        Err(_) => usize::MAX,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// So many tools with descriptions of this length.
    fn page(count: usize, described: usize) -> Vec<rmcp::model::Tool> {
        let tool = |number| {
            serde_json::from_value(json!({
                "name": format!("tool_{number}"), "description": "d".repeat(described),
                "inputSchema": {"type": "object"},
            }))
        };
        (0..count).map(|number| tool(number).unwrap()).collect()
    }

    fn listed(pages: &[Vec<rmcp::model::Tool>]) -> Listing {
        let keep: RedactTool = Arc::new(Some);
        let mut listing = Listing::default();
        for page in pages {
            listing.add(&"s".into(), page.clone(), &keep);
        }
        listing
    }

    #[test]
    fn one_page_of_very_many_tools_is_cut() {
        let listing = listed(&[page(TOOLS_MAX + 5_000, 1)]);
        assert!(listing.is_full);
        let catalog = listing.into_catalog();
        assert_eq!(catalog.all.len(), TOOLS_MAX);
        assert!(catalog.get("tool_0").is_some());
        assert!(catalog.get(&format!("tool_{TOOLS_MAX}")).is_none());
    }

    #[test]
    fn few_tools_with_much_to_say_are_cut_over_all_pages() {
        let described = TOOLS_BYTES_MAX / 8;
        let listing = listed(&[page(3, described), page(3, described), page(3, described)]);
        assert!(listing.is_full);
        assert_eq!(listing.all.len(), 7);
    }

    #[test]
    fn usual_lists_are_whole() {
        let listing = listed(&[page(400, 2_000), page(400, 2_000)]);
        assert!(!listing.is_full);
        assert_eq!(listing.all.len(), 800);
    }
}
