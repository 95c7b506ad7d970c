//! What a document says of itself as a server, and of the servers it uses.

use super::{ServerInfo, fields};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::text::{nearest, shown};
use tramline_expr::{Str, Value};

/// Reads `server`.
pub(super) fn info(root: At<'_>, flaws: &mut Flaws) -> ServerInfo {
    let Some(server) = fields::given(root, "server") else {
        let hint = "add `server:` with `name` and `version`";
        fields::missing(root, "the document", "server", hint, flaws);
        return ServerInfo::default();
    };
    if server.value.as_object().is_none() {
        let hint = "write `name` and `version` below it";
        fields::wrong(server, "server", "an object", hint, flaws);
        return ServerInfo::default();
    }
    const KNOWN: [&str; 4] = ["name", "version", "title", "instructions"];
    fields::unknown(server, "`server`", &KNOWN, flaws);
    let text = |found: Option<(&Str, At<'_>)>| found.map(|(text, _)| text.clone());
    let name = fields::required(server, "`server`", "name", "name this server", flaws);
    let hint = "give it a version in quotes, like \"1.0.0\"";
    let version = fields::required(server, "`server`", "version", hint, flaws);
    let name = text(name).unwrap_or_default();
    ServerInfo {
        version: text(version).unwrap_or_default(),
        title: text(fields::text(server, "title", flaws)).unwrap_or_else(|| name.clone()),
        instructions: text(fields::text(server, "instructions", flaws)),
        name,
    }
}

/// Reads `mcpServers`, which older files call `servers`.
pub(in crate::formats) fn downstream(root: At<'_>, flaws: &mut Flaws) -> Value {
    let none = Value::object::<Str>([]);
    let (name, servers) = match (fields::given(root, "mcpServers"), root.get("servers")) {
        (Some(_), Some(older)) => {
            flaws.add(
                Code::Duplicate,
                older.place(),
                "`servers` is an older name of `mcpServers`, and both are given",
                "move everything under `mcpServers`",
            );
            return none;
        }
        (Some(servers), None) => ("mcpServers", servers),
        (None, _) => match fields::given(root, "servers") {
            Some(servers) => ("servers", servers),
            None => return none,
        },
    };
    if servers.value.as_object().is_none() {
        let hint = "write one `name:` for each server, and below it its `command` or `url`";
        fields::wrong(servers, name, "an object", hint, flaws);
        return none;
    }
    for (name, server) in servers.fields() {
        entry(name, server, flaws);
    }
    servers.value.clone()
}

/// How a server is reached.
const TRANSPORTS: [&str; 5] = ["stdio", "http", "streamableHttp", "streamable-http", "sse"];

/// Checks one server's entry. Fields nobody knows are left alone: clients keep their own there.
fn entry(name: &str, server: At<'_>, flaws: &mut Flaws) {
    let owner = format!("the server `{}`", shown(name));
    let mut bad = |at: At<'_>, message: String, hint: &str| {
        flaws.add(Code::BadServer, at.place(), message, hint);
    };
    if server.value.as_object().is_none() {
        let message = format!("{owner} must be an object, not {}", server.value.kind());
        bad(server, message, "write its `command` or its `url` below it");
        return;
    }
    for key in ["command", "url", "cwd"] {
        let empty = |value: &Value| value.as_str().is_none_or(|text| text.trim().is_empty());
        if let Some(field) = fields::given(server, key).filter(|field| empty(field.value)) {
            let message = format!("`{key}` of {owner} must be a string that is not empty");
            bad(field, message, "fill it in, or remove it");
        }
    }
    lists(&owner, server, &mut bad);
    let kind = fields::given(server, "type");
    if let Some(kind) = kind {
        transport(&owner, kind, &mut bad);
    }
    let has = |key: &str| fields::given(server, key).is_some();
    let (what, hint) = match kind.and_then(|kind| kind.value.as_str()) {
        Some("stdio") if !has("command") => ("no `command`", "add the `command` that starts it"),
        Some(kind) if kind != "stdio" && !has("url") => {
            ("no `url`", "add the `url` it is reached at")
        }
        None if !has("command") && !has("url") => (
            "neither `command` nor `url`",
            "add the `command` that starts it, or its `url`",
        ),
        Some(_) | None => return,
    };
    bad(server, format!("{owner} has {what}"), hint);
}

/// Checks how a server is reached.
fn transport(owner: &str, kind: At<'_>, bad: &mut impl FnMut(At<'_>, String, &str)) {
    let given = kind.value.as_str().unwrap_or_default();
    if TRANSPORTS.contains(&given) {
        return;
    }
    let hint = match nearest(given, TRANSPORTS.into_iter()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("types are {}", fields::list(&TRANSPORTS)),
    };
    bad(kind, format!("{owner} has an unknown `type`"), &hint);
}

/// Checks `args`, `env` and `headers`.
fn lists(owner: &str, server: At<'_>, bad: &mut impl FnMut(At<'_>, String, &str)) {
    if let Some(args) = fields::given(server, "args") {
        match args.items().find(|item| item.value.as_str().is_none()) {
            _ if args.value.as_array().is_none() => {
                let message = format!(
                    "`args` of {owner} must be a list, not {}",
                    args.value.kind()
                );
                bad(args, message, "write each argument as an item of its own");
            }
            Some(item) => {
                let message = format!(
                    "`args` of {owner} must hold strings, not {}",
                    item.value.kind()
                );
                bad(item, message, "put it into quotes");
            }
            None => {}
        }
    }
    for key in ["env", "headers"] {
        let Some(pairs) = fields::given(server, key) else {
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
            let name = shown(name);
            let message = format!(
                "`{name}` in `{key}` of {owner} must be a string, not {}",
                value.value.kind()
            );
            bad(value, message, "put it into quotes");
        }
    }
}
