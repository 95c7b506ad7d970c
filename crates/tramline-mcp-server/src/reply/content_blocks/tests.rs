//! Content blocks, and data that only resembles them.

use super::read;
use tramline_expr::Value;

/// Every kind of block, with all optional fields.
const BLOCKS: &[&str] = &[
    r#"{"type":"text","text":""}"#,
    r#"{"type":"text","text":"a","annotations":{"audience":["user"]},"_meta":{"a":1}}"#,
    r#"{"type":"image","data":"AAEC","mimeType":"image/png"}"#,
    r#"{"type":"audio","data":"AA==","mimeType":"audio/wav","annotations":{"priority":0.5}}"#,
    r#"{"type":"resource","resource":{"uri":"test://a","text":"b"}}"#,
    r#"{"type":"resource","resource":{"uri":"test://a","mimeType":"x/y","blob":"AA=="},"_meta":{}}"#,
    r#"{"type":"resource_link","uri":"test://a","name":"a"}"#,
    r#"{"type":"resource_link","uri":"test://a","name":"a","title":"A","description":"b",
        "mimeType":"text/plain","size":3,"icons":[{"src":"test://icon"}]}"#,
];

/// Values that stay data.
const DATA: &[&str] = &[
    r#"null"#,
    r#""text""#,
    r#"{}"#,
    r#"[]"#,
    r#"{"type":"text"}"#,
    r#"{"type":"text","text":1}"#,
    r#"{"type":"text","text":"a","score":1}"#,
    r#"{"type":"text","text":"a","annotations":"b"}"#,
    r#"{"type":"text","text":"a","annotations":{"audience":["nobody"]}}"#,
    r#"{"type":"Text","text":"a"}"#,
    r#"{"text":"a"}"#,
    r#"{"type":"image","data":"AAEC"}"#,
    r#"{"type":"image","data":"not base64","mimeType":"image/png"}"#,
    r#"{"type":"resource","resource":{"uri":"test://a"}}"#,
    r#"{"type":"resource","resource":{"uri":"test://a","text":"b","blob":"AA=="}}"#,
    r#"{"type":"resource","resource":{"text":"b"}}"#,
    r#"{"type":"resource_link","uri":"test://a"}"#,
    r#"{"type":"resource_link","uri":"test://a","name":"a","size":"3"}"#,
    r#"{"type":"tool_use","id":"1","name":"a","input":{}}"#,
    r#"[{"type":"text","text":"a"},{"type":"text"}]"#,
    r#"[{"type":"text","text":"a"},"b"]"#,
    r#"[[{"type":"text","text":"a"}]]"#,
];

fn value(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

#[test]
fn blocks_are_passed_on_whole() {
    for text in BLOCKS {
        let one = value(text);
        let blocks = read(&one).unwrap_or_else(|| panic!("no block: {text}"));
        assert_eq!(blocks.len(), 1);
        let written = serde_json::to_value(&blocks[0]).unwrap();
        assert_eq!(Value::from(written), one);
    }
    let all = value(&format!("[{}]", BLOCKS.join(",")));
    assert_eq!(read(&all).map(|blocks| blocks.len()), Some(BLOCKS.len()));
}

#[test]
fn what_resembles_a_block_stays_data() {
    for text in DATA {
        assert_eq!(read(&value(text)), None, "{text}");
    }
}
