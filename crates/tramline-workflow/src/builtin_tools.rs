//! The arguments and results of the built-in tools, as JSON Schemas.
//!
//! They are known here, so that a document is checked against them wherever it is read; the tools
//! themselves are elsewhere.

use crate::tool_schema::ToolSchema;
use std::sync::LazyLock;
use tramline_expr::Value;

/// Name, schema of the arguments, schema of the result.
const TABLE: [(&str, &str, &str); 10] = [
    (
        "copy-file",
        r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"overwrite":{"type":"boolean","default":false},"create_dirs":{"type":"boolean","default":false}},"required":["from","to"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"bytes":{"type":"integer"},"copied":{"type":"boolean"}},"required":["from","to","bytes","copied"]}"#,
    ),
    (
        "delete-file",
        r#"{"type":"object","properties":{"path":{"type":"string"},"confirm_delete":{"type":"boolean"}},"required":["path"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"path":{"type":"string"},"deleted":{"type":"boolean"}},"required":["path","deleted"]}"#,
    ),
    (
        "finalize_summary",
        r#"{"type":"object","properties":{"message":{"type":"string","description":"The user's request"},"results":{"description":"The results of the steps; filled in if omitted"},"instructions":{"type":"string"}},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"summary":{"type":"string"},"usage":{"type":"object","properties":{"tokens":{"type":"integer"}},"required":["tokens"]}},"required":["summary","usage"]}"#,
    ),
    (
        "http",
        r#"{"type":"object","properties":{"url":{"type":"string"},"method":{"type":"string"},"headers":{"type":"object"},"params":{"type":"object"},"body":{},"auth_token":{"type":"string"},"api_key":{"type":"string"},"api_key_header":{"type":"string"}},"required":["url"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"status":{"type":"integer"},"headers":{"type":"object"},"body":{}},"required":["status","headers","body"]}"#,
    ),
    (
        "list-directory",
        r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"path":{"type":"string"},"entries":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"kind":{"enum":["file","directory","other"]},"size":{"type":"integer"}},"required":["name","kind","size"]}}},"required":["path","entries"]}"#,
    ),
    (
        "llm",
        r#"{"type":"object","properties":{"prompt":{"type":"string"},"system":{"type":"string"},"output_schema":{"type":"object"},"model":{"type":"string"},"temperature":{"type":"number","minimum":0},"max_tokens":{"type":"integer","minimum":1}},"required":["prompt"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"response":{},"usage":{"type":"object","properties":{"tokens":{"type":"integer"}},"required":["tokens"]}},"required":["response","usage"]}"#,
    ),
    (
        "move-file",
        r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"overwrite":{"type":"boolean","default":false},"create_dirs":{"type":"boolean","default":false}},"required":["from","to"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"bytes":{"type":"integer"},"moved":{"type":"boolean"}},"required":["from","to","bytes","moved"]}"#,
    ),
    (
        "read-file",
        r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"encoding":{"enum":["utf-8","base64"]},"bytes":{"type":"integer"}},"required":["path","content","encoding","bytes"]}"#,
    ),
    (
        "shell",
        r#"{"type":"object","properties":{"command":{"type":"string"},"stdin":{},"cwd":{"type":"string"},"env":{"type":"object"},"ignore_errors":{"type":"boolean","default":false},"strip_newline":{"type":"boolean","default":true}},"required":["command"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":"integer"},"encoding":{"enum":["utf-8","base64"]},"json":{}},"required":["stdout","stderr","exit_code","encoding"]}"#,
    ),
    (
        "write-file",
        r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"encoding":{"enum":["utf-8","base64"]},"create_dirs":{"type":"boolean"}},"required":["path","content"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"path":{"type":"string"},"bytes":{"type":"integer"}},"required":["path","bytes"]}"#,
    ),
];

static SCHEMAS: LazyLock<Vec<(&str, ToolSchema)>> = LazyLock::new(|| {
    let read = |text| Value::from_json(text).unwrap_or_default();
    let rows = TABLE.iter();
    rows.map(|(name, input, output)| {
        let schema = ToolSchema {
            input: read(input),
            output: Some(read(output)),
            is_exact: true,
        };
        (*name, schema)
    })
    .collect()
});

/// The schemas of a built-in tool.
pub fn schema(name: &str) -> Option<&'static ToolSchema> {
    let found = SCHEMAS.iter().find(|(known, _)| *known == name);
    found.map(|(_, schema)| schema)
}

/// The names of the built-in tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_json() {
        for (name, _, _) in TABLE {
            let schema = schema(name).unwrap();
            assert!(schema.input.as_object().is_some(), "{name}");
            assert!(
                schema.output.as_ref().unwrap().as_object().is_some(),
                "{name}"
            );
        }
    }
}
