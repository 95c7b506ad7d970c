//! What a loop must do with a plan, good or bad, with a model behind HTTP and widely used servers.

use super::host::{Host, plan};
use super::stub::StubReply;
use serde_json::json;

#[test]
fn a_valid_plan_runs_in_order_and_is_summed_up() {
    let Some(host) = Host::new() else { return };
    let steps = json!([{"id": "e", "tool": "all:echo", "args": {"message": "hello"}},
        {"id": "s", "tool": "all:get-sum", "args": {"a": 2, "b": 3}}, {"id": "f", "tool": "finalize_summary", "args": {}}]);
    let (told, heard) = host.told(
        vec![plan(&steps), StubReply::Text("All is well.".into())],
        json!({}),
    );
    assert_eq!(told["status"], "complete", "{told}");
    assert_eq!(told["planner"], "model");
    let context = &told["data"]["context"];
    assert!(context["e"].to_string().contains("hello"), "{context}");
    assert_eq!(context["e"], context["all:echo"]);
    assert!(context["s"].to_string().contains('5'), "{context}");
    assert_eq!(told["data"]["summaryMessage"], "All is well.");
    assert_eq!(heard.len(), 2, "one plan, one summary");
    assert!(heard[0].contains("json_schema") && heard[0].contains("all:get-sum"));
    let many = heard[0].matches("argsSchema").count();
    assert!((2..=20).contains(&many), "{many} tools are shown");
}

#[test]
fn an_unknown_tool_is_told_and_the_rest_runs() {
    let Some(host) = Host::new() else { return };
    let steps = json!([{"tool": "all:whisper", "args": {}}, {"tool": "all:echo", "args": {"message": "x"}}]);
    let (told, heard) = host.told(vec![plan(&steps)], json!({}));
    assert_eq!(told["status"], "complete", "{told}");
    let results = &told["data"]["intermediateResults"];
    assert_eq!(
        (&results[0]["success"], &results[1]["success"]),
        (&json!(false), &json!(true))
    );
    let error = results[0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("there is no tool `all:whisper`"),
        "{error}"
    );
    assert_eq!(heard.len(), 2, "the model was asked to repair it");
    let strict = json!({"strict": true, "plan": steps});
    let (refused, heard) = host.told(vec![plan(&steps)], strict);
    assert!(
        refused["error"]["details"][0]
            .as_str()
            .unwrap()
            .contains("whisper"),
        "{refused}"
    );
    assert!(heard.is_empty(), "a submitted plan is run unchanged");
}

#[test]
fn wrong_arguments_fail_with_the_schemas_words() {
    let Some(host) = Host::new() else { return };
    let steps = json!([{"id": "s", "tool": "all:get-sum", "args": {"a": "two"}}]);
    let request = json!({"on_error": "stop"});
    let (told, heard) = host.told(vec![plan(&steps)], request);
    assert_eq!(told["status"], "failed", "{told}");
    let error = told["data"]["intermediateResults"][0]["error"]
        .as_str()
        .unwrap();
    assert!(
        error.contains("all:get-sum") && error.contains('b'),
        "{error}"
    );
    assert!(
        heard[1].contains("That cannot be used"),
        "it was shown the problem"
    );
    let right = json!([{"id": "s", "tool": "all:get-sum", "args": {"a": 2, "b": 2}}]);
    let (told, _) = host.told(vec![plan(&steps), plan(&right)], json!({}));
    assert_eq!(told["status"], "complete", "{told}");
}

#[test]
fn a_plan_of_no_steps_does_nothing() {
    let Some(host) = Host::new() else { return };
    let (told, heard) = host.told(vec![plan(&json!([]))], json!({}));
    assert_eq!(told["status"], "complete", "{told}");
    assert_eq!(told["data"]["intermediateResults"], json!([]));
    assert_eq!(heard.len(), 1);
}

#[test]
fn a_plan_that_repeats_forever_is_given_up() {
    let Some(host) = Host::new() else { return };
    let steps = json!([{"id": "r", "tool": "files:read_text_file", "args": {"path": host.path.join("none.txt")}}]);
    let (told, heard) = host.told(vec![plan(&steps)], json!({}));
    assert_eq!(told["status"], "failed", "{told}");
    assert_eq!(
        told["data"]["intermediateResults"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(heard.len(), 2, "once for a plan, once for another");
    let endless: Vec<_> = (0..65)
        .map(|_| json!({"tool": "all:echo", "args": {"message": "again"}}))
        .collect();
    let (told, _) = host.told(vec![plan(&json!(endless))], json!({}));
    assert_eq!(told["status"], "plan_request", "{told}");
    assert!(
        told["problems"][0].as_str().unwrap().contains("64"),
        "{told}"
    );
}

#[test]
fn what_failed_is_planned_anew_and_saved_whole() {
    let Some(host) = Host::new() else { return };
    std::fs::write(host.path.join("note.txt"), "seven").unwrap();
    let read = |name: &str| json!({"id": "r", "tool": "files:read_text_file", "args": {"path": host.path.join(name)}});
    let first =
        json!([{"id": "s", "tool": "all:get-sum", "args": {"a": 3, "b": 4}}, read("none.txt")]);
    let script = vec![plan(&first), plan(&json!([read("note.txt")]))];
    let (told, heard) = host.told(script, json!({"save_as": "read-note"}));
    assert_eq!(told["status"], "complete", "{told}");
    assert!(heard[1].contains("A plan that failed"), "{}", heard[1]);
    assert_eq!(told["saved"]["node_type"], "workflow:read-note", "{told}");
    let mut client = host.serve(None);
    let ran = client.call("workflow_execute", &json!({"workflow": "read-note"}));
    let ran = ran["structuredContent"].to_string();
    assert!(
        ran.contains("seven") && ran.contains("\"success\":true"),
        "{ran}"
    );
    client.close();
}
