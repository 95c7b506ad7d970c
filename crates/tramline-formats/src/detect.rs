//! Detects a document's format from fields that only one format has.

use super::Format;
use tramline_expr::Value;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{Flaw, FlawCode, SourceSpan};
use tramline_workflow::text::{nearest, resembles};

/// Whether a document is a single tool of a YAML graph, without the file around it.
pub(super) fn is_bare_tool(root: Spanned<'_>) -> bool {
    let has = |key: &str| root.value.get(key).is_some();
    let nodes = root.value.get("nodes").and_then(Value::as_array);
    let is_entry = |node: &Value| node.get("type").and_then(Value::as_str) == Some("entry");
    !has("tools")
        && !has("server")
        && !has("ir_version")
        && !has("edges")
        && nodes.is_some_and(|nodes| nodes.iter().any(is_entry))
}

/// The IR inside a saved workflow, beside its metadata.
pub(super) fn wrapped_ir(root: Spanned<'_>) -> Option<Spanned<'_>> {
    let inner = root.get("ir")?;
    inner.value.get("nodes").is_some().then_some(inner)
}

/// The format of a document, or a flaw if it cannot be detected.
pub(super) fn detect_format(root: Spanned<'_>) -> Result<Format, Vec<Flaw>> {
    let has = |key: &str| root.value.get(key).is_some();
    let is_list = |value: Option<&Value>| value.is_some_and(|value| value.as_array().is_some());
    let inner = root
        .value
        .get("workflow")
        .and_then(|inner| inner.get("tasks"));
    match root.value {
        Value::Array(items) if items.iter().any(|item| item.get("tool").is_some()) => {
            return Ok(Format::Dag);
        }
        // The YAML graph reader reports a root that is not an object.
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Ok(Format::Yaml);
        }
        Value::Object(_) => {}
    }
    const YAML: [&str; 4] = ["tools", "server", "mcpServers", "executionLimits"];
    if has("tools") || is_bare_tool(root) {
        Ok(Format::Yaml)
    } else if has("tasks") || is_list(inner) || is_list(root.value.get("plan")) {
        Ok(Format::Dag)
    } else if has("ir_version") || (has("nodes") && !has("server")) || wrapped_ir(root).is_some() {
        Ok(Format::Ir)
    } else if YAML.iter().any(|key| has(key)) {
        Ok(Format::Yaml)
    } else {
        let mut flaws = FlawCollector::default();
        if let Some((place, meant)) = mistyped_list(root) {
            flaws.add(
                FlawCode::MissingField,
                place,
                "cannot tell which format this document is in",
                format!("did you mean `{meant}`?"),
            );
            return Err(flaws.into_sorted());
        }
        flaws.add(
            FlawCode::MissingField,
            root.source_span(),
            "cannot tell which format this document is in",
            "a YAML graph has `tools`, a DAG `tasks`, a plan `plan`, an IR `nodes`, markdown `## Steps`",
        );
        Err(flaws.into_sorted())
    }
}

/// A list under another name than the formats have: its key, and the name that was probably meant.
fn mistyped_list(root: Spanned<'_>) -> Option<(SourceSpan, &'static str)> {
    let mut fields = root.fields().enumerate();
    fields.find_map(|(slot, (key, list))| {
        let items = list.value.as_array()?;
        let has = |field: &str| items.iter().any(|item| item.get(field).is_some());
        let meant = match () {
            () if has("nodes") => "tools",
            () if has("tool") => "tasks",
            () if has("type") && has("id") => "nodes",
            () => nearest(key, ["tools", "tasks", "plan", "nodes"].into_iter())
                .filter(|near| resembles(key, near))?,
        };
        Some((root.key_source_span(slot), meant))
    })
}
