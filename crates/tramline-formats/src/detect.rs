//! Detects a document's format from fields that only one format has.

use super::Format;
use tramline_expr::Value;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{Flaw, FlawCode};

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
    if has("tools") {
        Ok(Format::Yaml)
    } else if has("tasks") || is_list(inner) || is_list(root.value.get("plan")) {
        Ok(Format::Dag)
    } else if has("ir_version") || (has("nodes") && !has("server")) {
        Ok(Format::Ir)
    } else if YAML.iter().any(|key| has(key)) {
        Ok(Format::Yaml)
    } else {
        let mut flaws = FlawCollector::default();
        flaws.add(
            FlawCode::MissingField,
            root.source_span(),
            "cannot tell which format this document is in",
            "a YAML graph has `tools`, a DAG `tasks`, a plan `plan`, an IR `nodes`, markdown `## Steps`",
        );
        Err(flaws.into_sorted())
    }
}
