//! Files that change, and what is offered of a loaded file.

use super::{RETAIL, Shop, go, say};
use serde_json::json;

#[test]
fn another_load_and_a_changed_file_leave_conversations_alone() {
    let shop = Shop::new();
    let file = shop.file("desk.md");
    let text = "```mermaid\nflowchart TD\n  START --> ONE[One] --> END([End])\n```\n";
    std::fs::write(&file, text).unwrap();
    let mut talk = shop.talk(&[]);
    let load = json!({"sop_file": file});
    let first = say(&mut talk, "load_graph", load.clone());
    go(&mut talk, "START");
    std::fs::write(&file, text.replace("ONE[One]", "TWO[Two]")).unwrap();
    assert_eq!(
        go(&mut talk, "ONE")["valid"],
        true,
        "it continues with the version it started with"
    );
    let second = say(&mut talk, "load_graph", load.clone());
    assert_ne!(first["session_id"], second["session_id"]);
    let note = second["note"].as_str().unwrap();
    assert!(
        note.contains(first["session_id"].as_str().unwrap()),
        "{note}"
    );
    go(&mut talk, "START");
    assert_eq!(go(&mut talk, "TWO")["valid"], true);
    let back = json!({"node_id": "END", "session_id": first["session_id"]});
    assert_eq!(
        say(&mut talk, "goto_node", back)["path"],
        json!(["START", "ONE", "END"])
    );
    std::fs::write(&file, text.replace("-->", "->")).unwrap();
    let broken = talk.call("load_graph", &load);
    assert_eq!(broken["isError"], true);
    let flaws = &broken["structuredContent"]["error"]["flaws"];
    assert_eq!(flaws[0]["line"], 3, "{flaws}");
    for outside in [
        "/etc/passwd",
        "http://example.com/x.md",
        "https://example.com/x.md",
    ] {
        let refused = talk.call("load_graph", &json!({"sop_file": outside}));
        assert_eq!(refused["isError"], true, "{outside}");
    }
    talk.close();
}

#[test]
fn tools_are_offered_through_the_gate_and_the_system_prompt_is_there_to_be_read() {
    let shop = Shop::new();
    let mut talk = shop.talk(&["--sop", RETAIL]);
    let listed = talk.request("tools/list", &json!({}));
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    for name in [
        "load_graph",
        "goto_node",
        "todo",
        "advance",
        "sop_call",
        "cancel_pending_order",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let early = talk.call("cancel_pending_order", &json!({"order_id": "#W1"}));
    assert_eq!(early["isError"], true);
    say(&mut talk, "load_graph", json!({"sop_file": RETAIL}));
    say(&mut talk, "advance", json!({}));
    let off = talk.call("cancel_pending_order", &json!({"order_id": "#W1"}));
    let off = off["structuredContent"]["error"]["allowed_at"].clone();
    assert_eq!(off, json!(["DO_CANCEL"]));
    let found = talk.call("find_user_id_by_email", &json!({"email": "a@b"}));
    assert_eq!(found["structuredContent"]["email"], "a@b");
    let prompts = talk.request("prompts/list", &json!({}));
    assert_eq!(prompts["prompts"][0]["name"], "retail_customer_support");
    let prompt = talk.request("prompts/get", &json!({"name": "retail_customer_support"}));
    let text = prompt["messages"][0]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        text.contains("## Global Rules") && text.contains("flowchart TD"),
        "{text}"
    );
    assert!(!text.contains("Node Prompts"));
    let uri = "sop://retail_customer_support/system-prompt";
    let read = talk.request("resources/read", &json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["text"], text);
    talk.close();
}
