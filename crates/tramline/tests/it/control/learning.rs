//! Plans that were carried out for an intent inform the next plan: over stdio, with a process for
//! every call.

use super::{ControlProject, TestTransport, layered, two};
use serde_json::{Value, json};

fn learnt(desk: &ControlProject) -> Value {
    let shown = desk.place.run(&["learn", "show", "--json"]);
    assert_eq!(shown.code(), 0, "{}", shown.err());
    serde_json::from_str(&shown.out()).unwrap()
}

/// A plan that was carried out for an intent.
fn done_for(desk: &ControlProject, intent: &str) {
    let tasks = json!([
        {"id": "sum", "tool": "u:add", "arguments": {"a": 1, "b": 2}, "depends_on": []},
        {"id": "say", "tool": "u:echo", "arguments": {"n": 3}, "depends_on": ["sum"]}]);
    let told = desk.call(
        "execute_dag",
        json!({"intent": intent, "workflow": {"tasks": tasks}}),
    );
    assert_eq!(told["status"], "complete", "{told}");
}

fn planned(desk: &ControlProject, intent: &str) -> Value {
    let told = desk.call("execute_dag", json!({ "intent": intent }));
    match told.get("plan") {
        Some(plan) => plan.clone(),
        None => told,
    }
}

#[test]
fn a_similar_intent_is_planned_from_the_past() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let wish = "prepare the nightly figures for the harbour office";
    let before = planned(&desk, wish);
    for where_to in ["town", "river", "island"] {
        let intent = format!("prepare the nightly figures for the {where_to} office");
        done_for(&desk, &intent);
    }
    let after = planned(&desk, wish);
    let sure = |plan: &Value| plan["confidence"].as_f64().unwrap();
    assert!(sure(&after) > sure(&before), "{before} {after}");
    let why = after["nodes"][0]["why"].to_string();
    assert!(why.contains("past runs"), "{after}");
    assert!(
        after["edges"][0]["why"].as_str().unwrap().contains('%'),
        "{after}"
    );
    let shown = learnt(&desk);
    assert!(shown["intents"].as_u64().unwrap() >= 3, "{shown}");
    assert_eq!(shown["pairs"][0]["from"], "u:add");
    let forgot = desk.place.run(&["learn", "forget", "--all"]);
    assert_eq!(forgot.code(), 0, "{}", forgot.err());
    assert_eq!(learnt(&desk)["intents"], 0);
}

#[test]
fn a_bad_lesson_is_found_by_its_words_and_forgotten() {
    let desk = ControlProject::new(TestTransport::Stdio);
    done_for(&desk, "prepare the nightly figures for the harbour office");
    done_for(&desk, "count the boats on the river");
    let shown = |words: &str| desk.place.run(&["learn", "show", words]).out();
    let boats = shown("boats");
    assert!(boats.contains("count the boats on the river"), "{boats}");
    assert!(boats.contains("u:add -> u:echo"), "{boats}");
    assert!(!boats.contains("harbour"), "{boats}");
    let lessons = learnt(&desk)["lessons"].clone();
    let mut lessons = lessons.as_array().unwrap().iter();
    let bad = lessons.find(|one| one["intent"].as_str().unwrap().contains("boats"));
    let id = bad.unwrap()["id"].as_str().unwrap();
    assert!(boats.contains(id), "{boats}");
    let forgot = desk.place.run(&["learn", "forget", id]);
    assert_eq!(forgot.code(), 0, "{}", forgot.err());
    assert!(!shown("boats").contains("river"));
    assert!(shown("harbour").contains("nightly figures"));
}

#[test]
fn learning_can_be_switched_off() {
    let mut desk = ControlProject::new(TestTransport::Stdio);
    let config = desk.file("config.yaml");
    std::fs::write(&config, "learn: false\n").unwrap();
    desk.flags = vec!["--config".to_owned(), config.to_string_lossy().into_owned()];
    done_for(&desk, "prepare the nightly figures");
    assert_eq!(learnt(&desk)["intents"], 0);
}

#[test]
fn a_requirement_becomes_tasks_that_are_explained() {
    let desk = ControlProject::new(TestTransport::Stdio);
    let first = desk.call("execute_dag", layered(two()));
    let wish = json!({"workflow_id": first["workflow_id"], "new_requirement": "echo"});
    let told = desk.call("replan", wish);
    assert_eq!(told["status"], "replanned", "{told}");
    assert_eq!(told["new_tasks"][0]["tool"], "u:echo", "{told}");
    assert!(
        !told["plan"]["nodes"][0]["why"]
            .as_array()
            .unwrap()
            .is_empty(),
        "{told}"
    );
}
