//! Models that speak badly, late or not at all, over HTTP, with servers that people use behind.

use super::host::{Host, plan};
use super::stub::StubReply;
use serde_json::{Value, json};

fn good() -> Value {
    json!([{"id": "e", "tool": "all:echo", "args": {"message": "up"}}])
}

fn text(text: &str) -> StubReply {
    StubReply::Text(text.to_owned())
}

fn is_done(told: &Value) {
    assert_eq!(told["status"], "complete", "{told}");
    let said = told["data"]["context"]["e"].to_string();
    assert!(said.contains("up"), "{told}");
}

/// No plan was found: the agent is asked, with the reason.
fn asks(told: &Value, why: &str) {
    assert_eq!(told["status"], "plan_request", "{told}");
    assert!(told["handle"].is_string());
    assert!(told["problems"].to_string().contains(why), "{told}");
}

#[test]
fn malformed_plans_are_repaired_once() {
    let Some(host) = Host::new() else { return };
    for bad in [r#"{"plan": [{"tool": "all:echo", "#, r#"[{"args": {}}, 7]"#] {
        let (told, heard) = host.told(vec![text(bad), plan(&good())], json!({}));
        is_done(&told);
        assert!(heard[1].contains("That cannot be used"), "{}", heard[1]);
        assert_eq!(told["usage"]["tokens"], 18);
    }
    let (told, heard) = host.told(vec![text("I would rather not.")], json!({}));
    asks(&told, "the model returned no valid plan");
    assert_eq!(heard.len(), 2);
}

#[test]
fn prose_around_a_plan_is_passed_over() {
    let Some(host) = Host::new() else { return };
    let plan = json!({"plan": good()});
    let wrapped = format!("Here [as you wished] it is:\n```json\n{plan}\n```\nGood luck {{}}!");
    let (told, heard) = host.told(vec![text(&wrapped)], json!({}));
    is_done(&told);
    assert_eq!(heard.len(), 1);
}

#[test]
fn a_model_that_hangs_is_given_up_in_its_time() {
    let Some(host) = Host::new() else { return };
    let (told, _) = host.told(vec![StubReply::Nothing], json!({}));
    asks(&told, "127.0.0.1");
}

#[test]
fn a_storm_of_refusals_is_outlasted_or_told() {
    let Some(host) = Host::new() else { return };
    let (told, heard) = host.told(
        vec![StubReply::Busy, StubReply::Busy, plan(&good())],
        json!({}),
    );
    is_done(&told);
    assert_eq!(heard.len(), 3);
    let (told, heard) = host.told(vec![StubReply::Busy], json!({}));
    asks(&told, "slow down");
    assert!(heard.len() <= 4, "{}", heard.len());
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again() {
    let Some(host) = Host::new() else { return };
    let torn = StubReply::Torn(r#"{"plan": [{"id": "e", "tool""#.into());
    let (told, heard) = host.told(vec![torn, plan(&good())], json!({}));
    is_done(&told);
    assert_eq!(heard.len(), 2);
}

#[test]
fn what_planning_took_counts_against_the_runs_budget() {
    let Some(host) = Host::new() else { return };
    let budget = json!({"budget": {"tokens": 9}});
    let (told, _) = host.told(vec![plan(&good())], budget);
    assert_eq!(told["status"], "paused", "{told}");
    assert!(told["waiting"].to_string().contains("tokens"), "{told}");
}
