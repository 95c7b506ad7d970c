//! Edits of markdown workflows.

use crate::edit::{GraphEdit, apply_edits};
use crate::{Format, KnownServers, ReadOptions, SourceKind};
use serde_json::json;

const TEXT: &str = r#"# A file, or what stands in for it

## Inputs

### path

- type: string

## Steps

### wanted

The file itself. <!-- it may be missing -->

- type: read-file
- path: ${path}
- on-error: instead
- next: tell

### instead

- type: read-file
- path: other.txt
- next: tell

### tell

Takes whichever was read.

- type: transform

```jsonata expr
{ "text": wanted.content ?? instead.content }
```

## Outputs

### text

- source: ${tell.text}
"#;

fn made(text: &str, edits: serde_json::Value) -> Result<String, String> {
    let edits: Vec<GraphEdit> = serde_json::from_value(edits).unwrap();
    let form = Some(SourceKind::Workflows(Format::Markdown));
    apply_edits(text, form, None, &edits).map(|edited| edited.text)
}

/// The text after the edits, which must be valid.
fn after(text: &str, edits: serde_json::Value) -> String {
    let made = made(text, edits).unwrap();
    let hint = ReadOptions {
        format: Some(Format::Markdown),
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    // The editor shows references to a removed step as flaws; the rest must be valid.
    let text = made.replace("wanted.content ?? instead.content", "1");
    let read = crate::read(text.as_bytes(), hint);
    let read = read.unwrap_or_else(|flaws| panic!("{made}\n{flaws:?}"));
    assert_eq!(read.document.workflows.len(), 1, "{made}");
    made
}

#[test]
fn a_step_is_put_below_another_and_taken_away_again() {
    let node = json!({"id": "trim", "kind": "compute", "type": "transform", "params": {"expr": "$trim(wanted.content)"}});
    let text = after(
        TEXT,
        json!([{"op": "add_node", "after": "wanted", "node": node}]),
    );
    let wanted = TEXT
        .replace("on-error: instead\n- next: tell", "on-error: instead\n- next: trim")
        .replace(
            "### instead\n",
            "### trim\n\n- type: transform\n- next: tell\n- expr: $trim(wanted.content)\n\n### instead\n",
        );
    assert_eq!(text, wanted);
    assert_eq!(
        after(&text, json!([{"op": "remove_node", "id": "trim"}])),
        TEXT
    );
}

#[test]
fn a_step_comes_last_and_goes_again() {
    let node = json!({"id": "say", "kind": "call", "type": "read-file", "params": {"path": "x"}});
    let text = after(
        TEXT,
        json!([{"op": "add_node", "after": "tell", "node": node}]),
    );
    let wanted = TEXT.replace(
        "```\n\n## Outputs",
        "```\n\n### say\n\n- type: read-file\n- path: x\n\n## Outputs",
    );
    assert_eq!(text, wanted);
    assert_eq!(
        after(&text, json!([{"op": "remove_node", "id": "say"}])),
        TEXT
    );
    let short = "# T\n\n## Steps\n\n### a\n\n- type: read-file\n- path: x\n";
    let text = after(short, json!([{"op": "add_node", "node": node}]));
    assert!(text.starts_with(short.trim_end()) && text.contains("\n\n### say\n"));
    assert_eq!(
        after(&text, json!([{"op": "remove_node", "id": "say"}])),
        short
    );
}

#[test]
fn a_step_is_renamed_wherever_it_is_named() {
    let text = after(
        TEXT,
        json!([
            {"op": "rename_node", "id": "instead", "to": "spare"},
            {"op": "rename_node", "id": "tell", "to": "the-end"},
        ]),
    );
    let wanted = TEXT
        .replace("### instead", "### spare")
        .replace("on-error: instead", "on-error: spare")
        .replace("?? instead.content", "?? spare.content")
        .replace("### tell", "### the-end")
        .replace("next: tell", "next: the-end")
        .replace("${tell.text}", "${the-end.text}");
    assert_eq!(text, wanted);
}

#[test]
fn edges_are_added_and_removed() {
    let text = made(
        TEXT,
        json!([{"op": "disconnect", "from": "wanted", "to": "instead"}]),
    )
    .unwrap();
    assert_eq!(text, TEXT.replace("- on-error: instead\n", ""));
    let text = made(
        &text,
        json!([{"op": "connect", "from": "wanted", "to": "instead", "label": "error"}]),
    )
    .unwrap();
    assert_eq!(
        text,
        TEXT.replace(
            "- on-error: instead\n- next: tell\n\n### instead",
            "- next: tell\n- on-error: instead\n\n### instead"
        )
    );
    let text = made(
        TEXT,
        json!([{"op": "disconnect", "from": "wanted", "to": "tell"}]),
    )
    .unwrap();
    assert_eq!(text, TEXT.replacen("next: tell", "next: end", 1));
    let text = made(
        &text,
        json!([{"op": "connect", "from": "wanted", "to": "instead"}]),
    )
    .unwrap();
    assert_eq!(text, TEXT.replacen("next: tell", "next: instead", 1));
    let refused = made(
        TEXT,
        json!([{"op": "connect", "from": "wanted", "to": "instead"}]),
    );
    assert!(
        refused
            .unwrap_err()
            .contains("disconnect `wanted` from `tell` first")
    );
}

#[test]
fn what_led_to_a_step_leads_to_what_came_after_it() {
    let text = after(TEXT, json!([{"op": "remove_node", "id": "instead"}]));
    let section = TEXT.find("### instead").unwrap()..TEXT.find("### tell").unwrap();
    let wanted = TEXT.replace(&TEXT[section], "");
    assert_eq!(text, wanted.replace("- on-error: instead\n", ""));
    let first = after(TEXT, json!([{"op": "remove_node", "id": "wanted"}]));
    assert!(first.contains("## Steps\n\n### instead\n"));
    let refused = made(
        &TEXT.replace("## Steps", "## Stepps"),
        json!([{"op": "remove_node", "id": "tell"}]),
    );
    assert!(refused.unwrap_err().starts_with("fix the text first"));
}

#[test]
fn a_rule_of_a_choice_leads_on() {
    let text = "# T\n\n## Steps\n\n### which\n\n- type: switch\n- rules:\n    - rule: {\"==\": [1, 2]}\n      action: a\n- next: end\n\n### a\n\n- type: read-file\n- path: x\n- next: end\n\n### b\n\n- type: read-file\n- path: y\n- next: end\n";
    let rule = r#"{"==": [1, 3]}"#;
    let more = after(
        text,
        json!([{"op": "connect", "from": "which", "to": "b", "label": rule}]),
    );
    assert!(
        more.contains("action: a\n    - rule:") && more.contains("action: b\n"),
        "{more}"
    );
    let back = after(
        &more,
        json!([{"op": "disconnect", "from": "which", "to": "b"}]),
    );
    assert_eq!(back, text);
    let renamed = after(
        text,
        json!([{"op": "rename_node", "id": "a", "to": "first"}]),
    );
    assert!(renamed.contains("action: first\n"));
}

#[test]
fn a_parameter_is_set_and_taken_away() {
    let set = |value: serde_json::Value| json!([{"op": "set_field", "id": "wanted", "path": ["params", "path"], "value": value}]);
    let text = after(TEXT, set(json!("b.txt")));
    assert_eq!(text, TEXT.replacen("path: ${path}", "path: b.txt", 1));
    let text = after(
        TEXT,
        json!([{"op": "set_field", "id": "wanted", "path": ["timeout"], "value": "5s"}]),
    );
    assert_eq!(
        text,
        TEXT.replacen("- next: tell\n", "- next: tell\n- timeout: 5s\n", 1)
    );
    let text = after(
        &text,
        json!([{"op": "set_field", "id": "wanted", "path": ["timeout"], "value": null}]),
    );
    assert_eq!(text, TEXT);
}
