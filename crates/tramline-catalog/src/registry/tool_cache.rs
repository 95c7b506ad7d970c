//! The store's cache of a server's tools.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_engine::ports::{Store, StoreFault, Tool, ToolHints};
use tramline_expr::{Str, Value};
use tramline_workflow::ids::ToolName;

/// The kind of these documents in the store. The key is the server's name.
const KIND: &str = "registry";

/// One server's tools.
#[derive(Clone)]
pub(super) struct CachedTools {
    /// The fingerprint of the configuration under which they were listed.
    pub(super) fingerprint: Option<Str>,
    pub(super) tools: Arc<Vec<Arc<Tool>>>,
}

impl CachedTools {
    /// Whether both hold the same tool objects.
    pub(super) fn is_identical(&self, other: &Self) -> bool {
        let pairs = || self.tools.iter().zip(other.tools.iter());
        let same = self.tools.len() == other.tools.len() && pairs().all(|(a, b)| Arc::ptr_eq(a, b));
        self.fingerprint == other.fingerprint && (Arc::ptr_eq(&self.tools, &other.tools) || same)
    }

    /// Whether both hold equal tools.
    pub(super) fn is_equal(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            && self.tools.len() == other.tools.len()
            && (self.tools.iter().zip(other.tools.iter())).all(|(a, b)| same_definition(a, b))
    }
}

/// Whether two tools have equal definitions.
pub(super) fn same_definition(a: &Tool, b: &Tool) -> bool {
    a.name == b.name
        && a.title == b.title
        && a.description == b.description
        && a.hints == b.hints
        && a.input_schema == b.input_schema
        && a.output_schema == b.output_schema
}

#[derive(Serialize, Deserialize)]
struct StoredTools<T> {
    print: Option<Str>,
    tools: Vec<T>,
}

/// A tool without its server's name, which the whole list shares.
#[derive(Serialize, Deserialize)]
struct StoredTool {
    name: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Str>,
    input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// Read-only, destructive, idempotent, open world.
    #[serde(default)]
    hints: [Option<bool>; 4],
}

/// Stores a server's tools.
pub(super) async fn put(
    store: &dyn Store,
    server: &str,
    shelf: &CachedTools,
) -> Result<(), StoreFault> {
    let kept = StoredTools {
        print: shelf.fingerprint.clone(),
        tools: shelf.tools.iter().map(|tool| to_stored(tool)).collect(),
    };
    let body = serde_json::to_vec(&kept).unwrap_or_default();
    store.put(KIND, server, body).await
}

/// A server's stored tools; `None` if there are none or they cannot be read.
pub(super) async fn get(
    store: &dyn Store,
    server: &str,
) -> Result<Option<CachedTools>, StoreFault> {
    let Some(body) = store.get(KIND, server).await? else {
        return Ok(None);
    };
    let Ok(kept) = serde_json::from_slice::<StoredTools<StoredTool>>(&body) else {
        return Ok(None);
    };
    let server = Str::from(server);
    let tools = kept.tools.into_iter();
    let tools = tools
        .map(|tool| Arc::new(from_stored(&server, tool)))
        .collect();
    Ok(Some(CachedTools {
        fingerprint: kept.print,
        tools: Arc::new(tools),
    }))
}

fn to_stored(tool: &Tool) -> StoredTool {
    let hints = tool.hints;
    StoredTool {
        name: tool.name.tool.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input: tool.input_schema.clone(),
        output: tool.output_schema.clone(),
        hints: [
            hints.read_only,
            hints.destructive,
            hints.idempotent,
            hints.open_world,
        ],
    }
}

fn from_stored(server: &Str, kept: StoredTool) -> Tool {
    let [read_only, destructive, idempotent, open_world] = kept.hints;
    Tool {
        name: ToolName::new(server.clone(), kept.name),
        title: kept.title,
        description: kept.description,
        input_schema: kept.input,
        output_schema: kept.output,
        hints: ToolHints {
            read_only,
            destructive,
            idempotent,
            open_world,
        },
    }
}
