//! Wishes over a few tools.

use super::*;
use crate::seams::Hints;

fn tool(server: &str, name: &str, says: &str, schema: &str) -> Arc<Tool> {
    Arc::new(Tool {
        name: ToolName::new(server, name),
        title: None,
        description: Some(says.into()),
        input_schema: Value::from_json(schema).unwrap(),
        output_schema: None,
        hints: Hints::default(),
    })
}

fn tools() -> Vec<Arc<Tool>> {
    vec![
        tool(
            "fs",
            "read_file",
            "Reads a file",
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#,
        ),
        tool(
            "fs",
            "list_directory",
            "Lists the files of a directory",
            r#"{"type":"object","properties":{"path":{"type":"string"},"depth":{"type":"integer"}},"required":["path"]}"#,
        ),
        tool(
            "mail",
            "send_message",
            "Sends a message to somebody",
            r#"{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string","description":"What to say"}},"required":["to","text"]}"#,
        ),
        tool("clock", "now", "Tells the time", r#"{"type":"object"}"#),
    ]
}

fn planned(wish: &str) -> Plan {
    plan(wish, None, &tools(), |_| false)
}

#[test]
fn a_wish_with_all_its_arguments_is_complete() {
    let plan = planned("Read the file src/main.rs, then list the directory \"docs and more\"");
    assert!(plan.is_complete(), "{plan:?}");
    let expected = r#"[
        {"id":"read_file","tool":"fs:read_file","arguments":{"path":"src/main.rs"},"depends_on":[]},
        {"id":"list_directory","tool":"fs:list_directory","arguments":{"path":"docs and more"},"depends_on":["read_file"]}
    ]"#;
    assert_eq!(plan.tasks, Value::from_json(expected).unwrap());
}

#[test]
fn what_is_missing_is_named() {
    let plan = planned("send a message to 'ann'");
    assert_eq!(plan.missing.len(), 1);
    assert_eq!(plan.missing[0].argument, "text");
    assert_eq!(plan.missing[0].description.as_deref(), Some("What to say"));
    assert!(!plan.is_complete());
}

#[test]
fn what_no_tool_does_is_said() {
    let plan = planned("paint the fence");
    assert_eq!((plan.tools.len(), plan.confidence), (0, 0.0));
    assert!(plan.explanation.contains("no tool fits"));
    assert!(!planned("tell the time and paint the fence").is_complete());
    assert!(!planned("").is_complete());
}

#[test]
fn the_context_gives_arguments_and_taken_ids_are_left_alone() {
    let context = Value::object([("path", "data.xml".into())]);
    let plan = plan("read the file", Some(&context), &tools(), |id| {
        id == "read_file"
    });
    assert!(plan.is_complete(), "{plan:?}");
    let task = &plan.tasks.as_array().unwrap()[0];
    assert_eq!(task.get("id").and_then(Value::as_str), Some("read_file-2"));
}

#[test]
fn any_text_is_taken() {
    for wish in [
        "'",
        "“ü",
        "a'b' c\"",
        "; ; and then ",
        "ﷺ and ß. ",
        "1e999 -",
        "İ and x",
    ] {
        let _ = planned(wish);
    }
}
