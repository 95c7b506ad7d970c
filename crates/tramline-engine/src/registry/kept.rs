//! A server's tools as the store keeps them between processes.

use crate::seams::{Hints, Store, StoreFault, Tool};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_core::ids::ToolName;
use tramline_core::{Str, Value};

/// Under what they are kept, by server.
const KIND: &str = "registry";

/// One server's tools.
#[derive(Clone)]
pub(super) struct Shelf {
    /// The configuration that they were listed under.
    pub(super) print: Option<Str>,
    pub(super) tools: Arc<Vec<Arc<Tool>>>,
}

impl Shelf {
    /// Whether it is the very same list.
    pub(super) fn is(&self, other: &Self) -> bool {
        let pairs = || self.tools.iter().zip(other.tools.iter());
        let same = self.tools.len() == other.tools.len() && pairs().all(|(a, b)| Arc::ptr_eq(a, b));
        self.print == other.print && (Arc::ptr_eq(&self.tools, &other.tools) || same)
    }

    /// Whether it says the same.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.print == other.print
            && self.tools.len() == other.tools.len()
            && (self.tools.iter().zip(other.tools.iter())).all(|(a, b)| alike(a, b))
    }
}

/// Whether two tools say the same of themselves.
pub(super) fn alike(a: &Tool, b: &Tool) -> bool {
    a.name == b.name
        && a.title == b.title
        && a.description == b.description
        && a.hints == b.hints
        && a.input_schema == b.input_schema
        && a.output_schema == b.output_schema
}

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    print: Option<Str>,
    tools: Vec<T>,
}

/// A tool without its server, which all of a list share.
#[derive(Serialize, Deserialize)]
struct KeptTool {
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

/// Keeps a server's tools.
pub(super) async fn put(store: &dyn Store, server: &str, shelf: &Shelf) -> Result<(), StoreFault> {
    let kept = Kept {
        print: shelf.print.clone(),
        tools: shelf.tools.iter().map(|tool| write(tool)).collect(),
    };
    let body = serde_json::to_vec(&kept).unwrap_or_default();
    store.put(KIND, server, body).await
}

/// A server's tools as they were kept; nothing where there are none that can be read.
pub(super) async fn get(store: &dyn Store, server: &str) -> Result<Option<Shelf>, StoreFault> {
    let Some(body) = store.get(KIND, server).await? else {
        return Ok(None);
    };
    let Ok(kept) = serde_json::from_slice::<Kept<KeptTool>>(&body) else {
        return Ok(None);
    };
    let server = Str::from(server);
    let tools = kept.tools.into_iter();
    let tools = tools.map(|tool| Arc::new(read(&server, tool))).collect();
    Ok(Some(Shelf {
        print: kept.print,
        tools: Arc::new(tools),
    }))
}

fn write(tool: &Tool) -> KeptTool {
    let hints = tool.hints;
    KeptTool {
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

fn read(server: &Str, kept: KeptTool) -> Tool {
    let [read_only, destructive, idempotent, open_world] = kept.hints;
    Tool {
        name: ToolName::new(server.clone(), kept.name),
        title: kept.title,
        description: kept.description,
        input_schema: kept.input,
        output_schema: kept.output,
        hints: Hints {
            read_only,
            destructive,
            idempotent,
            open_world,
        },
    }
}
