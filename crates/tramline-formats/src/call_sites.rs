//! Tool calls found in a document, even if the document is invalid.
//!
//! A reader returns no workflows for an invalid document. Its calls are still checked, so that all
//! problems are reported at once.

use super::yaml_graph::CallSite;
use tramline_expr::Value;
use tramline_syntax::document::{self, Spanned};
use tramline_workflow::ids::ToolName;

/// The tool calls written in a document.
pub fn find_call_sites(bytes: &[u8]) -> Vec<CallSite> {
    document::read(bytes).map_or_else(|_| Vec::new(), |tree| call_sites_of(tree.root()))
}

/// The tool calls written in a document that is given as a value. Locations are JSON pointers.
pub fn find_call_sites_in_value(value: &Value) -> Vec<CallSite> {
    document::from_value(value).map_or_else(|_| Vec::new(), |tree| call_sites_of(tree.root()))
}

fn call_sites_of(root: Spanned<'_>) -> Vec<CallSite> {
    if root.value.as_array().is_some() {
        return root.items().filter_map(call_site_of).collect();
    }
    let tools = root.get("tools").into_iter().flat_map(|at| at.items());
    let owners = tools.chain([root]).chain(root.get("workflow"));
    let lists =
        owners.flat_map(|owner| [owner.get("nodes"), owner.get("tasks"), owner.get("plan")]);
    let nodes = lists.flatten().flat_map(|at| at.items());
    nodes.filter_map(call_site_of).collect()
}

/// The call made by a node: `server` and `tool` fields, or `server:tool` in one field.
fn call_site_of(node: Spanned<'_>) -> Option<CallSite> {
    let text = |key: &str| node.get(key).filter(|at| at.value.as_str().is_some());
    if let (Some(server), Some(tool)) = (text("server"), text("tool")) {
        let name = ToolName::new(server.value.as_str()?, tool.value.as_str()?);
        return Some(CallSite {
            name,
            server: server.source_span(),
            tool: tool.source_span(),
        });
    }
    let named = text("tool").or_else(|| text("type"))?;
    let (server, tool) = named.value.as_str()?.split_once(':')?;
    if server.is_empty() || tool.is_empty() {
        return None;
    }
    Some(CallSite {
        name: ToolName::new(server, tool),
        server: named.source_span(),
        tool: named.source_span(),
    })
}

#[cfg(test)]
mod tests {
    use super::find_call_sites;

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
            (r#"[{"id":"a","tool":"s:x","aproval":true}]"#, &["s:x"]),
            (
                r#"{"nodes":[{"id":"a","type":"s:x"},{"type":"http"}]}"#,
                &["s:x"],
            ),
            ("tools: [", &[]),
            ("just text", &[]),
        ] {
            let found: Vec<_> = find_call_sites(text.as_bytes())
                .iter()
                .map(|call| call.name.to_string())
                .collect();
            assert_eq!(found, calls, "{text}");
        }
    }
}
