//! The calls that a document means to make, as far as they can be seen where it cannot be used.
//!
//! A reader gives nothing of a document that has flaws. That one of its calls is a slip too is told
//! all the same, so that whoever mends it mends everything at once.

use super::document::{self, At};
use super::yaml_graph::CallSite;
use crate::ids::ToolName;

/// The calls that are written in a document.
pub fn written(bytes: &[u8]) -> Vec<CallSite> {
    let Ok(tree) = document::read(bytes) else {
        return Vec::new();
    };
    let root = tree.root();
    let tools = root.get("tools").into_iter().flat_map(|at| at.items());
    let owners = tools.chain([root]).chain(root.get("workflow"));
    let lists =
        owners.flat_map(|owner| [owner.get("nodes"), owner.get("tasks"), owner.get("plan")]);
    let nodes = lists.flatten().flat_map(|at| at.items());
    nodes.filter_map(call).collect()
}

/// The call of a node: a server and a tool beside each other, or both in one name.
fn call(node: At<'_>) -> Option<CallSite> {
    let text = |key: &str| node.get(key).filter(|at| at.value.as_str().is_some());
    if let (Some(server), Some(tool)) = (text("server"), text("tool")) {
        let name = ToolName::new(server.value.as_str()?, tool.value.as_str()?);
        return Some(CallSite {
            name,
            server: server.place(),
            tool: tool.place(),
        });
    }
    let named = text("tool").or_else(|| text("type"))?;
    let (server, tool) = named.value.as_str()?.split_once(':')?;
    if server.is_empty() || tool.is_empty() {
        return None;
    }
    Some(CallSite {
        name: ToolName::new(server, tool),
        server: named.place(),
        tool: named.place(),
    })
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn calls_are_seen_in_what_cannot_be_used() {
        for (text, calls) in [
            (
                "tools:\n  - name: t\n    nodes:\n      - { id: a, type: mcp, server: s, tool: x, next: nowhere }\n",
                &["s:x"][..],
            ),
            (
                r#"{"tasks":[{"id":"a","tool":"s:x","depends_on":["b"]},{"id":"a","tool":"s:y"}]}"#,
                &["s:x", "s:y"],
            ),
            (
                r#"{"nodes":[{"id":"a","type":"s:x"},{"type":"http"}]}"#,
                &["s:x"],
            ),
            ("tools: [", &[]),
            ("just text", &[]),
        ] {
            let found: Vec<_> = written(text.as_bytes())
                .iter()
                .map(|call| call.name.to_string())
                .collect();
            assert_eq!(found, calls, "{text}");
        }
    }
}
