//! The node types and the tools they stand for.

use crate::KnownServers;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;

/// The version in written IRs.
pub(super) const IR_VERSION: &str = "0.1.0";

/// The built-in types.
pub(super) const BUILTINS: [&str; 10] = [
    "http",
    "llm",
    "shell",
    "read-file",
    "write-file",
    "copy-file",
    "move-file",
    "delete-file",
    "list-directory",
    "finalize_summary",
];

/// Renamed arguments of built-in tools: tool, old name, current name.
pub(super) const ARGUMENT_ALIASES: [(&str, &str, &str); 8] = [
    ("read-file", "file_path", "path"),
    ("write-file", "file_path", "path"),
    ("delete-file", "file_path", "path"),
    ("copy-file", "source_path", "from"),
    ("copy-file", "dest_path", "to"),
    ("move-file", "source_path", "from"),
    ("move-file", "dest_path", "to"),
    ("list-directory", "directory", "path"),
];

/// Renamed outputs of built-in tools: tool, old name, current name.
pub(super) const OUTPUT_ALIASES: [(&str, &str, &str); 5] = [
    ("read-file", "file_path", "path"),
    ("llm", "llm_usage", "usage"),
    ("http", "response", "body"),
    ("http", "status_code", "status"),
    ("http", "response_headers", "headers"),
];

/// The names of all servers, declared in the document or configured elsewhere.
pub(super) fn known_servers(servers: &Value, elsewhere: KnownServers<'_>) -> Vec<Str> {
    let own = servers.as_object().into_iter().flat_map(|map| map.keys());
    let others = match elsewhere {
        KnownServers::Configured(names) => names,
        KnownServers::Any => &[],
    };
    own.chain(others).cloned().collect()
}

/// Whether this is a pflow type, some of whose parameters are not tool arguments.
pub(super) fn is_pflow_type(kind: &str) -> bool {
    BUILTINS.contains(&kind) || (kind.starts_with("mcp-") && !kind.contains(':'))
}

/// The tool for a type.
pub(super) fn tool_for_type(kind: &str, servers: &[Str]) -> Option<ToolName> {
    if BUILTINS.contains(&kind) {
        return Some(ToolName::new(BUILTIN, kind));
    }
    if let Some((server, tool)) = kind.split_once(':') {
        return (!server.is_empty() && !tool.is_empty()).then(|| ToolName::new(server, tool));
    }
    let rest = kind.strip_prefix("mcp-")?;
    // A server's name may contain hyphens, so known servers are tried first.
    let after = |server: &Str| {
        Some((
            server.clone(),
            rest.strip_prefix(server.as_str())?.strip_prefix('-')?,
        ))
    };
    let known = servers.iter().filter_map(after);
    if let Some((server, tool)) = known.max_by_key(|(server, _)| server.len()) {
        return (!tool.is_empty()).then(|| ToolName::new(server, tool));
    }
    let (server, tool) = rest.split_once('-')?;
    (!server.is_empty() && !tool.is_empty()).then(|| ToolName::new(server, tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_name_tools() {
        let servers = ["slack".into(), "slack-team".into()];
        let cases = [
            ("http", Some("builtin:http")),
            ("files:read", Some("files:read")),
            (
                "mcp-slack-team-send-message",
                Some("slack-team:send-message"),
            ),
            ("mcp-slack-send", Some("slack:send")),
            ("mcp-github-create-issue", Some("github:create-issue")),
            ("mcp-github", None),
            ("teleport", None),
        ];
        for (kind, name) in cases {
            let found = tool_for_type(kind, &servers).map(|name| name.to_string());
            assert_eq!(found.as_deref(), name, "{kind}");
        }
    }
}
