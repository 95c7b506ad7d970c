//! Each shape of tool result as JSON, and the step output it becomes.

use super::*;

fn read(json: &str) -> Result<Value, Failure> {
    let tool = ToolName::new("s", "t");
    output(&tool, json, &RedactText::default())
}

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

#[test]
fn structured_content_wins_and_keeps_its_order() {
    let value =
        read(r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"z":1,"a":2}}"#);
    assert_eq!(value.unwrap().to_json(), r#"{"z":1,"a":2}"#);
    let value = read(r#"{"content":[],"structuredContent":null}"#);
    assert_eq!(value.unwrap(), Value::Null);
    let value = read(r#"{"content":[],"structuredContent":0}"#);
    assert_eq!(value.unwrap(), json("0"));
}

#[test]
fn one_text_is_json_or_itself() {
    for (text, expected) in [
        ("plain words", r#""plain words""#),
        (r#"{\"a\": [1]}"#, r#"{"a":[1]}"#),
        ("42", "42"),
        ("false", "false"),
        ("", r#""""#),
        ("{broken", r#""{broken""#),
    ] {
        let value = read(&format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#
        ));
        assert_eq!(value.unwrap(), json(expected), "{text}");
    }
}

#[test]
fn several_items_are_a_list_and_none_is_null() {
    let value = read(
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"[1]"},
            {"type":"image","data":"AA==","mimeType":"image/png"},
            {"type":"resource","resource":{"uri":"file:///x","text":"t"}}]}"#,
    )
    .unwrap();
    assert_eq!(value.at(0), Some(&"a".into()));
    assert_eq!(value.at(1), Some(&json("[1]")));
    assert_eq!(
        value.at(2).unwrap().get("mimeType"),
        Some(&"image/png".into())
    );
    assert_eq!(value.at(3).unwrap().get("type"), Some(&"resource".into()));
    assert_eq!(read(r#"{"content":[]}"#).unwrap(), Value::Null);
    assert_eq!(read("{}").unwrap(), Value::Null);
}

#[test]
fn a_failed_tool_is_a_failure_with_its_words() {
    let failure = read(
        r#"{"isError":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}],
            "structuredContent":{"why":1}}"#,
    )
    .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tool);
    assert_eq!(failure.message, "no\nway");
    let data = failure.data.unwrap();
    assert_eq!(data.get("content").unwrap().as_array().unwrap().len(), 2);
    assert_eq!(data.get("structuredContent"), Some(&json(r#"{"why":1}"#)));
    let failure = read(r#"{"isError":true,"content":[]}"#).unwrap_err();
    assert!(failure.message.contains("without a message"));
}

#[test]
fn content_from_the_future_is_kept() {
    let value = read(r#"{"content":[{"type":"hologram","data":1},{"type":"text","text":"2"}]}"#);
    assert_eq!(value.unwrap(), json(r#"[{"type":"hologram","data":1},2]"#));
    let failure = read(r#"{"content":[{"type":"hologram"}],"isError":true}"#).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tool);
    assert_eq!(
        read(r#"{"odd":1}"#).unwrap_err().kind,
        FailureKind::BadAnswer
    );
}

#[test]
fn protocol_errors_are_told_apart() {
    let tool = ToolName::new("s", "t");
    let kind = |code| rpc_error_failure(&tool, ErrorData::new(ErrorCode(code), "m", None)).kind;
    assert_eq!(kind(-32602), FailureKind::BadArguments);
    assert_eq!(kind(-32603), FailureKind::Tool);
    assert_eq!(kind(TOO_LONG_CODE), FailureKind::BadAnswer);
}

#[test]
fn a_long_message_is_redacted_before_it_is_cut() {
    let tool = ToolName::new("s", "t");
    let secret = "correct horse 7Qz battery 9Kw staple";
    let redact = RedactText::new(move |text| text.replace(secret, "[redacted:K]"));
    for padding in MESSAGE_CHARS_MAX - 60..MESSAGE_CHARS_MAX + 3 {
        let text = format!("{} {secret} end", "p".repeat(padding));
        let answer = format!(r#"{{"isError":true,"content":[{{"type":"text","text":"{text}"}}]}}"#);
        let failure = output(&tool, &answer, &redact).unwrap_err();
        let shown = failure.message;
        assert!(
            !shown.contains("correct") && !shown.contains("horse"),
            "{shown}"
        );
        assert!(shown.chars().count() <= MESSAGE_CHARS_MAX + 1);
    }
}
