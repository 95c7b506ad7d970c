//! SOP sessions of an agent: over pipes and HTTP, with real tools behind the gate.

use crate::support::{Tramline, root};
use crate::test_servers::{StdioClient, serve};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};

mod commands;
mod files;
mod many;
mod memory;
mod pinned;

const RETAIL: &str = "examples/sop/retail/retail.md";

/// A data directory, and a shop's server next to it.
struct Shop {
    place: Tramline,
}

impl Shop {
    fn new() -> Self {
        let place = Tramline::new();
        let inner = place.data.path().join("shop");
        let tools = root().join("crates/tramline/tests/sop/tools.yaml");
        let servers = json!({"mcpServers": {"retail-tools": {
            "command": env!("CARGO_BIN_EXE_tramline"),
            "args": ["serve", tools, "--data-dir", inner],
        }}});
        std::fs::write(place.data.path().join("mcp.json"), servers.to_string()).unwrap();
        Self { place }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.data.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = serve(&[], &self.place.data_dir());
        command
            .args(["--toolsets", "sop", "--mcp-config"])
            .arg(self.file("mcp.json"))
            .arg("--root")
            .arg(root())
            .arg("--root")
            .arg(self.place.data.path())
            .args(more);
        command
    }

    fn talk(&self, more: &[&str]) -> StdioClient {
        let child = self
            .command(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        StdioClient::start(child)
    }
}

/// Calls a tool and returns its reply as data.
fn say(talk: &mut StdioClient, tool: &str, arguments: Value) -> Value {
    let result = talk.call(tool, &arguments);
    result["structuredContent"].clone()
}

fn go(talk: &mut StdioClient, node: &str) -> Value {
    say(talk, "goto_node", json!({"node_id": node}))
}

/// Calls a tool; if a person is asked about it, that person approves at another terminal.
fn call(shop: &Shop, talk: &mut StdioClient, tool: &str, arguments: Value) -> Value {
    let confirm = "the customer said yes";
    let called = json!({"tool": tool, "arguments": arguments, "confirm": confirm});
    let told = say(talk, "sop_call", called.clone());
    if told["status"] != "approval_required" {
        return told;
    }
    let question = told["checkpoint_id"].as_str().unwrap();
    let agreed = shop.place.run(&["runs", "approve", question, "--json"]);
    assert!(agreed.out().contains("completed"), "{}", agreed.out());
    say(talk, "sop_call", called)
}

fn todos(one: &str, two: &str, three: &str, note: Option<&str>) -> Value {
    let mut list = json!([
        {"content": "Change the address of the pending order", "status": one, "completion_node": "END_MOD"},
        {"content": "Change the profile address", "status": two, "completion_node": "END_UADDR"},
        {"content": "Exchange the tablet", "status": three, "completion_node": "END_EXCH"}
    ]);
    if let Some(note) = note {
        list[1]["note"] = note.into();
    }
    json!({ "todos": list })
}

#[test]
fn sophia_martin_has_three_wishes() {
    let shop = Shop::new();
    let mut talk = shop.talk(&[]);
    let loaded = say(&mut talk, "load_graph", json!({"sop_file": RETAIL}));
    assert_eq!(loaded["agent"], "retail_customer_support");
    assert_eq!(loaded["version"], "1.0");
    assert_eq!(loaded["entry_node"], "START");
    assert_eq!(loaded["graph"]["node_count"], 50);
    let decisions = loaded["graph"]["decision_nodes"].as_array().unwrap();
    assert!(decisions.contains(&json!("MOD_TYPE")));
    assert_eq!(
        loaded["system_prompt_sections"],
        json!(["Role", "Global Rules", "Domain Reference", "SOP Flowchart"])
    );
    assert!(loaded["session_id"].as_str().unwrap().starts_with("run_"));

    // Planning.
    let planned = say(
        &mut talk,
        "todo",
        todos("pending", "pending", "pending", None),
    );
    assert_eq!(
        planned["summary"],
        json!({"pending": 3, "in_progress": 0, "completed": 0})
    );

    // Authentication.
    let start = go(&mut talk, "START");
    assert_eq!(
        start,
        json!({
            "node": {"id": "START", "type": "stadium", "description": "Customer writes"},
            "edges": [{"to": "AUTH", "condition": null}],
            "path": ["START"],
            "valid": true
        })
    );
    let auth = go(&mut talk, "AUTH");
    assert_eq!(
        auth["node"]["tools"],
        json!(["find_user_id_by_email", "find_user_id_by_name_zip"])
    );
    let found = call(
        &shop,
        &mut talk,
        "find_user_id_by_email",
        json!({"email": "sophia.martin4832@example.com"}),
    );
    assert_eq!(found["user_id"], "sophia_martin_8570");
    go(&mut talk, "GREET");

    // The first request: another address for a pending order.
    let route = go(&mut talk, "ROUTE");
    assert_eq!(route["edges"].as_array().unwrap().len(), 7);
    assert_eq!(
        route["edges"][1],
        json!({"to": "CHK_CANCEL", "condition": "cancel order"})
    );
    say(
        &mut talk,
        "goto_node",
        json!({"node_id": "CHK_MOD", "slots": {"order_id": "#W1", "change": "address"}}),
    );
    let off = go(&mut talk, "DO_MOD_ADDR");
    assert_eq!(off["valid"], false);
    assert_eq!(off["error"], "Cannot reach DO_MOD_ADDR from CHK_MOD");
    assert_eq!(off["current_node"], "CHK_MOD");
    assert_eq!(off["valid_next"], json!(["IS_PENDING_M"]));
    let unknown = go(&mut talk, "COLLECT_MOD_ADR");
    assert_eq!(unknown["did_you_mean"], "COLLECT_MOD_ADDR");
    // The other order's address is looked up, and stored for later.
    let luggage = call(
        &shop,
        &mut talk,
        "get_order_details",
        json!({"order_id": "#W9"}),
    );
    let note = format!(
        "Use {} from order #W9",
        luggage["address"].as_str().unwrap()
    );
    say(
        &mut talk,
        "todo",
        todos("in_progress", "pending", "pending", Some(&note)),
    );
    call(
        &shop,
        &mut talk,
        "get_order_details",
        json!({"order_id": "#W1"}),
    );
    go(&mut talk, "IS_PENDING_M");
    go(&mut talk, "MOD_TYPE");
    let collect = go(&mut talk, "COLLECT_MOD_ADDR");
    assert_eq!(collect["node"]["slots"][0]["name"], "new_address");
    let early = call(
        &shop,
        &mut talk,
        "modify_pending_order_address",
        json!({"order_id": "#W1"}),
    );
    let early = &early["error"];
    assert_eq!(early["current_node"], "COLLECT_MOD_ADDR");
    assert_eq!(early["allowed_at"], json!(["DO_MOD_ADDR"]));
    assert_eq!(early["path"], json!(["COLLECT_MOD_ADDR", "DO_MOD_ADDR"]));
    let slots = json!({"new_address": {"street": "456 Elm Ave"}});
    say(
        &mut talk,
        "goto_node",
        json!({"node_id": "DO_MOD_ADDR", "slots": slots}),
    );
    // An agent's confirmation is not enough: a person is asked, and a rejection is reported with
    // its reason.
    let wanted = json!({
        "tool": "modify_pending_order_address",
        "arguments": {"order_id": "#W0"},
        "confirm": "the customer said yes",
    });
    // A rule requires looking the order up first, and says so.
    let unknown = say(&mut talk, "sop_call", wanted.clone());
    let first = json!([{"tool": "get_order_details", "arguments": {"order_id": "#W0"}}]);
    assert_eq!(unknown["error"]["call_first"], first, "{unknown}");
    let look_up = json!({"order_id": "#W0"});
    call(&shop, &mut talk, "get_order_details", look_up);
    let unasked = say(&mut talk, "sop_call", wanted.clone());
    assert_eq!(unasked["status"], "approval_required", "{unasked}");
    let question = unasked["checkpoint_id"].as_str().unwrap();
    let no = ["runs", "reject", question, "--why", "not that order"];
    shop.place.run(&no);
    let refused = say(&mut talk, "sop_call", wanted);
    assert_eq!(refused["error"]["status"], "rejected", "{refused}");
    let says = refused["error"]["message"].as_str().unwrap();
    assert!(says.contains("not that order"), "{says}");
    assert_eq!(
        call(
            &shop,
            &mut talk,
            "modify_pending_order_address",
            json!({"order_id": "#W1"})
        )["done"],
        true
    );
    go(&mut talk, "TELL_MOD");
    let end = go(&mut talk, "END_MOD");
    assert_eq!(
        end["todo_reminder"],
        "Reached completion node END_MOD. Update todos and proceed to next task."
    );
    assert_eq!(end["edges"], json!([]));
    say(
        &mut talk,
        "todo",
        todos("completed", "in_progress", "pending", Some(&note)),
    );

    // The second: the profile. This time with automatic moves.
    let slots = json!({"user_address": {"street": "456 Elm Ave"}});
    go(&mut talk, "ROUTE");
    let on = say(
        &mut talk,
        "advance",
        json!({"node_id": "COLLECT_USER_ADDR", "slots": slots}),
    );
    assert_eq!(on["node"]["id"], "DO_USER_ADDR");
    assert_eq!(on["passed"][0]["id"], "COLLECT_USER_ADDR");
    let user = json!({"user_id": "sophia_martin_8570"});
    call(&shop, &mut talk, "modify_user_address", user);
    let end = say(&mut talk, "advance", json!({}));
    assert_eq!(end["node"]["id"], "END_UADDR");
    assert!(end["todo_reminder"].is_string());
    say(
        &mut talk,
        "todo",
        todos("completed", "completed", "in_progress", None),
    );

    // The third: the tablet.
    go(&mut talk, "ROUTE");
    say(
        &mut talk,
        "advance",
        json!({"node_id": "CHK_EXCH", "slots": {"order_id": "#W2"}}),
    );
    call(
        &shop,
        &mut talk,
        "get_order_details",
        json!({"order_id": "#W2"}),
    );
    let on = say(&mut talk, "advance", json!({}));
    assert_eq!(on["node"]["id"], "COLLECT_EXCH", "{on}");
    call(
        &shop,
        &mut talk,
        "get_product_details",
        json!({"product_id": "tablet"}),
    );
    let slots = json!({"exchanges": [["t1", "t2"]], "payment_method_id": "gift_card"});
    let on = say(&mut talk, "advance", json!({"slots": slots}));
    assert_eq!(on["node"]["id"], "DO_EXCH", "{on}");
    call(
        &shop,
        &mut talk,
        "calculate",
        json!({"expression": "880-922"}),
    );
    call(
        &shop,
        &mut talk,
        "exchange_delivered_order_items",
        json!({"order_id": "#W2", "item_ids": ["t1"], "new_item_ids": ["t2"], "payment_method_id": "card_1"}),
    );
    let end = say(&mut talk, "advance", json!({}));
    assert_eq!(end["node"]["id"], "END_EXCH");
    let done = say(
        &mut talk,
        "todo",
        todos("completed", "completed", "completed", None),
    );
    assert_eq!(
        done["summary"],
        json!({"pending": 0, "in_progress": 0, "completed": 3})
    );
    talk.close();
}

#[test]
fn a_killed_server_loses_nothing_of_a_conversation() {
    let shop = Shop::new();
    let mut talk = shop.talk(&[]);
    let loaded = say(&mut talk, "load_graph", json!({"sop_file": RETAIL}));
    let session = loaded["session_id"].as_str().unwrap().to_owned();
    say(&mut talk, "advance", json!({}));
    call(
        &shop,
        &mut talk,
        "find_user_id_by_email",
        json!({"email": "a@b"}),
    );
    say(
        &mut talk,
        "todo",
        todos("pending", "pending", "pending", None),
    );
    let before = say(
        &mut talk,
        "advance",
        json!({"node_id": "CHK_MOD", "slots": {"order_id": "#W1"}}),
    );
    assert_eq!(before["node"]["id"], "CHK_MOD", "{before}");
    talk.kill();

    let mut talk = shop.talk(&[]);
    let nothing = talk.call("goto_node", &json!({"node_id": "START"}));
    assert_eq!(nothing["isError"], true, "{nothing}");
    let on = json!({"node_id": "CHK_MOD", "slots": {"change": "items"}, "session_id": session});
    let after = say(&mut talk, "goto_node", on);
    assert_eq!(after["path"], before["path"]);
    assert_eq!(after["valid"], true);
    let called = json!({"tool": "get_order_details", "arguments": {"order_id": "#W1"}, "session_id": session});
    say(&mut talk, "sop_call", called);
    let on = say(&mut talk, "advance", json!({"session_id": session}));
    assert_eq!(on["node"]["id"], "COLLECT_MOD_ITEMS", "{on}");
    talk.close();
    let shown = shop.place.run(&["sop", "show", &session]);
    assert!(
        shown.out().contains("on to COLLECT_MOD_ITEMS"),
        "{}",
        shown.out()
    );
    let listed = shop
        .place
        .run(&["sop", "audit", RETAIL, "--run", &session, "--json"])
        .json();
    let legal = listed.get("summary").and_then(|it| it.get("legal"));
    assert_eq!(
        legal.and_then(tramline::expr::Value::as_u64),
        Some(1),
        "{listed}"
    );
}
