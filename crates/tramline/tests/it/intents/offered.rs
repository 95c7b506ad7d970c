//! Which tools an agent is offered for an intent.

use super::{Workspace, call};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The share of the needed tools that must be offered.
const OFFERED_MIN: f64 = 0.9;
/// The maximum number of tools offered to an agent.
const TOOLS_MAX: usize = 8;

const NEEDED: &str = include_str!("../../intents/needed.json");

fn names(reply: &Value) -> BTreeSet<String> {
    let tools = reply["plan_request"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("{reply}"));
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_intents_need_is_offered() {
    let Some(house) = Workspace::new() else {
        return;
    };
    let mut client = house.serve(None);
    let needed: Value = serde_json::from_str(NEEDED).unwrap();
    let (mut whole, mut lost) = (0, Vec::new());
    let intents = needed["intents"].as_array().unwrap();
    assert!(intents.len() >= 40);
    for case in intents {
        let reply = call(
            &mut client,
            "execute_dag",
            json!({"intent": case["intent"]}),
        );
        if reply["status"] == "complete" {
            // An intent that certainly only reads ran at once, and needs no plan.
            whole += 1;
            continue;
        }
        let offered = names(&reply);
        assert!(offered.len() <= TOOLS_MAX, "{offered:?}");
        for off in ["builtin:shell", "builtin:llm", "builtin:http"] {
            assert!(!offered.contains(off), "{off} is off: {reply}");
        }
        let met = |any: &Value| {
            let mut any = any.as_array().unwrap().iter().filter_map(Value::as_str);
            any.any(|name| offered.contains(name))
        };
        match case["needs"].as_array().unwrap().iter().all(met) {
            true => whole += 1,
            false => lost.push(format!("{}: {offered:?}", case["intent"])),
        }
    }
    client.close();
    let share = f64::from(whole) / intents.len() as f64;
    println!(
        "{whole} of {} intents get all the tools they need",
        intents.len()
    );
    for one in &lost {
        println!("lost {one}");
    }
    assert!(share >= OFFERED_MIN, "{share}: {lost:#?}");
}

#[test]
fn a_server_that_cannot_be_reached_is_named_and_not_offered() {
    let Some(house) = Workspace::new() else {
        return;
    };
    let config = std::fs::read_to_string(house.path.join("mcp.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    // The program of one server is gone when it is listed again; the other never existed.
    let program = config["mcpServers"]["sqlite"]["command"]
        .as_str()
        .unwrap()
        .to_owned();
    let link = house.path.join("sqlite-server");
    std::os::unix::fs::symlink(program, &link).unwrap();
    config["mcpServers"]["sqlite"]["command"] = json!(link);
    config["mcpServers"]["gone"] = json!({"command": house.path.join("nothing")});
    house.write("mcp.json", &config.to_string());
    let intent = json!({"intent": "Count the customers in the database"});
    let mut client = house.serve(None);
    let reply = call(&mut client, "execute_dag", intent.clone());
    client.close();
    assert!(names(&reply).contains("sqlite:read_query"), "{reply}");
    std::fs::remove_file(&link).unwrap();
    let mut client = house.serve(None);
    let reply = call(&mut client, "execute_dag", intent);
    client.close();
    assert!(
        !names(&reply).iter().any(|name| name.starts_with("sqlite:")),
        "{reply}"
    );
    let servers = reply["plan_request"]["unreachable_servers"].as_array();
    let servers = servers.unwrap_or_else(|| panic!("{reply}"));
    let named: BTreeSet<_> = servers
        .iter()
        .filter_map(|one| one["server"].as_str())
        .collect();
    assert_eq!(named, BTreeSet::from(["gone", "sqlite"]), "{reply}");
    assert!(
        servers
            .iter()
            .all(|one| !one["error"].as_str().unwrap().is_empty())
    );
}
