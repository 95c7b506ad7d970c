//! A thousand concurrent sessions over HTTP, each by its own handle.

use super::{RETAIL, Shop, root};
use crate::control::post;
use crate::test_servers::Http;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

const CONVERSATIONS: usize = 1_000;
const CALLERS: usize = 8;

fn say(server: &Http, tool: &str, arguments: Value) -> Value {
    post(server, &json!({"name": tool, "arguments": arguments}), None)
}

/// Does something for each number below a count, concurrently.
fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return done;
            }
            done.push((at, work(at)));
        }
    };
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, it)| it).collect()
}

#[test]
fn a_thousand_conversations_do_not_mix() {
    let shop = Shop::new();
    let server = Http::start(shop.command(&[]));
    let lost = say(&server, "goto_node", json!({"node_id": "START"}));
    assert!(
        lost["error"]["message"]
            .as_str()
            .unwrap()
            .contains("session_id is required"),
        "{lost}"
    );
    // Without the requirement at AUTH, a hub is legal from anywhere.
    let retail = std::fs::read_to_string(root().join(RETAIL)).unwrap();
    let demand = "must_call: [[find_user_id_by_email, find_user_id_by_name_zip]]\n";
    assert!(retail.contains(demand));
    let file = shop.file("retail.md");
    std::fs::write(&file, retail.replace(demand, "")).unwrap();
    let sessions = each(CONVERSATIONS, |_| {
        let loaded = say(&server, "load_graph", json!({"sop_file": file}));
        loaded["session_id"].as_str().unwrap().to_owned()
    });
    assert_eq!(sessions.iter().collect::<HashSet<_>>().len(), CONVERSATIONS);
    // All of them are open at once; every other one takes another edge.
    each(CONVERSATIONS, |at| {
        let node = if at % 2 == 0 {
            "CHK_CANCEL"
        } else {
            "CHK_RETURN"
        };
        let slots = json!({"order_id": format!("#W{at}")});
        say(
            &server,
            "goto_node",
            json!({"node_id": "ROUTE", "session_id": sessions[at]}),
        );
        say(
            &server,
            "goto_node",
            json!({"node_id": node, "slots": slots, "session_id": sessions[at]}),
        );
    });
    each(CONVERSATIONS, |at| {
        let node = if at % 2 == 0 {
            "CHK_CANCEL"
        } else {
            "CHK_RETURN"
        };
        let again = json!({"node_id": node, "session_id": sessions[at]});
        let stands = say(&server, "goto_node", again);
        assert_eq!(stands["path"], json!(["ROUTE", node]), "{stands}");
    });
}
