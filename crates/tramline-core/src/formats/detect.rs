//! Which format a document is in, by what only that format has.

use super::document::At;
use super::{Flaws, Format};
use crate::flaw::{Code, Flaw};
use tramline_expr::Value;

/// The format of a document, or the flaw that nothing tells it.
pub(super) fn format(root: At<'_>) -> Result<Format, Vec<Flaw>> {
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
        // What is no object at all is told by the reader of YAML graphs.
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
        let mut flaws = Flaws::default();
        flaws.add(
            Code::Missing,
            root.place(),
            "nothing tells what kind of workflow this is",
            "a YAML graph has `tools`, a DAG `tasks`, a plan `plan`, an IR `nodes`, markdown `## Steps`",
        );
        Err(flaws.sorted())
    }
}
