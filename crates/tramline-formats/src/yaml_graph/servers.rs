//! The server that a document describes, and the servers it uses.

use super::{ServerInfo, fields};
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::{display_name, nearest};

/// Reads `server`.
pub(super) fn server_info(root: Spanned<'_>, flaws: &mut FlawCollector) -> ServerInfo {
    let Some(server) = fields::present(root, "server") else {
        let hint = "add `server:` with `name` and `version`";
        fields::report_missing(root, "the document", "server", hint, flaws);
        return ServerInfo::default();
    };
    if server.value.as_object().is_none() {
        let hint = "write `name` and `version` below it";
        fields::report_wrong_type(server, "server", "an object", hint, flaws);
        return ServerInfo::default();
    }
    const KNOWN: [&str; 4] = ["name", "version", "title", "instructions"];
    fields::warn_unknown(server, "`server`", &KNOWN, flaws);
    let text = |found: Option<(&Str, Spanned<'_>)>| found.map(|(text, _)| text.clone());
    let name = fields::required_string(server, "`server`", "name", "name this server", flaws);
    let hint = "give it a version in quotes, like \"1.0.0\"";
    let version = fields::required_string(server, "`server`", "version", hint, flaws);
    let name = text(name).unwrap_or_default();
    ServerInfo {
        version: text(version).unwrap_or_default(),
        title: text(fields::optional_string(server, "title", flaws))
            .unwrap_or_else(|| name.clone()),
        instructions: text(fields::optional_string(server, "instructions", flaws)),
        name,
    }
}

/// Reads `mcpServers` or its legacy name `servers`.
pub(crate) fn downstream_servers(root: Spanned<'_>, flaws: &mut FlawCollector) -> Value {
    let none = Value::object::<Str>([]);
    let (name, servers) = match (fields::present(root, "mcpServers"), root.get("servers")) {
        (Some(_), Some(older)) => {
            flaws.add(
                FlawCode::Duplicate,
                older.source_span(),
                "`servers` is a legacy name of `mcpServers`, and both are given",
                "move everything under `mcpServers`",
            );
            return none;
        }
        (Some(servers), None) => ("mcpServers", servers),
        (None, _) => match fields::present(root, "servers") {
            Some(servers) => ("servers", servers),
            None => return none,
        },
    };
    if servers.value.as_object().is_none() {
        let hint = "write one `name:` for each server, and below it its `command` or `url`";
        fields::report_wrong_type(servers, name, "an object", hint, flaws);
        return none;
    }
    for (name, server) in servers.fields() {
        check_server(name, server, flaws);
    }
    servers.value.clone()
}

/// The supported transports.
const TRANSPORTS: [&str; 5] = ["stdio", "http", "streamableHttp", "streamable-http", "sse"];

/// Checks a server's entry. Unknown fields are allowed, because clients keep their own there.
fn check_server(name: &str, server: Spanned<'_>, flaws: &mut FlawCollector) {
    let owner = format!("the server `{}`", display_name(name));
    let mut bad = |at: Spanned<'_>, message: String, hint: &str| {
        flaws.add(FlawCode::BadServer, at.source_span(), message, hint);
    };
    if server.value.as_object().is_none() {
        let message = format!("{owner} must be an object, not {}", server.value.kind());
        bad(server, message, "write its `command` or its `url` below it");
        return;
    }
    for key in ["command", "url", "cwd"] {
        let empty = |value: &Value| value.as_str().is_none_or(|text| text.trim().is_empty());
        if let Some(field) = fields::present(server, key).filter(|field| empty(field.value)) {
            let message = format!("`{key}` of {owner} must be a non-empty string");
            bad(field, message, "fill it in, or remove it");
        }
    }
    check_lists(&owner, server, &mut bad);
    let kind = fields::present(server, "type");
    if let Some(kind) = kind {
        check_transport(&owner, kind, &mut bad);
    }
    let has = |key: &str| fields::present(server, key).is_some();
    let (what, hint) = match kind.and_then(|kind| kind.value.as_str()) {
        Some("stdio") if !has("command") => ("no `command`", "add the `command` that starts it"),
        Some(kind) if kind != "stdio" && !has("url") => ("no `url`", "add its `url`"),
        None if !has("command") && !has("url") => (
            "neither `command` nor `url`",
            "add the `command` that starts it, or its `url`",
        ),
        Some(_) | None => return,
    };
    bad(server, format!("{owner} has {what}"), hint);
}

/// Checks the transport.
fn check_transport(
    owner: &str,
    kind: Spanned<'_>,
    bad: &mut impl FnMut(Spanned<'_>, String, &str),
) {
    let given = kind.value.as_str().unwrap_or_default();
    if TRANSPORTS.contains(&given) {
        return;
    }
    let hint = match nearest(given, TRANSPORTS.into_iter()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("types are {}", fields::quoted_list(&TRANSPORTS)),
    };
    bad(kind, format!("{owner} has an unknown `type`"), &hint);
}

/// Checks `args`, `env` and `headers`.
fn check_lists(owner: &str, server: Spanned<'_>, bad: &mut impl FnMut(Spanned<'_>, String, &str)) {
    if let Some(args) = fields::present(server, "args") {
        match args.items().find(|item| item.value.as_str().is_none()) {
            _ if args.value.as_array().is_none() => {
                let message = format!(
                    "`args` of {owner} must be a list, not {}",
                    args.value.kind()
                );
                bad(args, message, "write each argument as a separate item");
            }
            Some(item) => {
                let message = format!(
                    "`args` of {owner} must contain strings, not {}",
                    item.value.kind()
                );
                bad(item, message, "quote it");
            }
            None => {}
        }
    }
    for key in ["env", "headers"] {
        let Some(pairs) = fields::present(server, key) else {
            continue;
        };
        if pairs.value.as_object().is_none() {
            let message = format!(
                "`{key}` of {owner} must be an object, not {}",
                pairs.value.kind()
            );
            bad(pairs, message, "write each as `NAME: value`");
        }
        for (name, value) in pairs.fields().filter(|(_, at)| at.value.as_str().is_none()) {
            let name = display_name(name);
            let message = format!(
                "`{name}` in `{key}` of {owner} must be a string, not {}",
                value.value.kind()
            );
            bad(value, message, "quote it");
        }
    }
}
