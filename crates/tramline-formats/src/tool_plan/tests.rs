//! Plans as planners write them, valid and invalid.

use super::*;
use tramline_workflow::tool_schema::BuiltinSchemas;
use tramline_workflow::workflow::Action;

fn read(text: &str) -> Vec<(String, String)> {
    let plan = ToolPlan::read(text).unwrap();
    let told = |step: &PlannedStep| (step.tool.to_string(), step.args.to_json());
    plan.steps.iter().map(told).collect()
}

fn wrong(text: &str) -> Vec<String> {
    ToolPlan::read(text).unwrap_err()
}

#[test]
fn a_plan_is_found_in_whatever_is_around_it() {
    let plain = r#"[{"tool": "a", "args": {"x": 1}}, {"tool": "b"}]"#;
    let expected = [("a", r#"{"x":1}"#), ("b", "{}")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    for text in [
        plain.to_owned(),
        format!("```json\n{plain}\n```"),
        format!("Sure! Here is [the] plan {{as asked}}:\n\n{plain}\n\nI hope that helps [1]."),
        format!("{{\"plan\": {plain}}}"),
        format!("{{\"thought\": \"hm\", \"steps\": {plain}}} done"),
        r#"[{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": null}]"#.to_owned(),
    ] {
        assert_eq!(read(&text), expected, "{text}");
    }
    assert!(read("[]").is_empty());
    assert!(read("Nothing is needed: []").is_empty());
}

#[test]
fn all_problems_are_reported_at_once() {
    assert_eq!(
        wrong("I cannot do that."),
        ["there is no JSON array in the response"]
    );
    assert_eq!(wrong("{\"a\": 1}"), ["a plan must be an array of steps"]);
    assert_eq!(
        wrong("[{\"tool\": \"a\", "),
        ["there is no JSON array in the response"]
    );
    assert_eq!(
        wrong(
            r#"[{"tool": ""}, 3, {"tool": "a", "args": [1], "why": "x"}, {"tool": "b", "id": "step_3"}]"#
        ),
        [
            "step 1 does not name a tool: `tool` must be text",
            "step 2 is not an object with `tool` and `args`",
            "step 3 has the unknown field `why`",
            "step 3: `args` must be an object",
            "step 4: the id `step_3` is already used",
        ]
    );
    let many = vec![r#"{"tool": "a"}"#; 65].join(",");
    assert_eq!(
        wrong(&format!("[{many}]")),
        ["65 steps exceed the limit of 64"]
    );
}

#[test]
fn a_plan_becomes_a_chain() {
    let plan = r#"[{"tool": "s:a"}, {"tool": "s:b", "args": {"from": "$OUTPUT[step_1].path"}}]"#;
    let plan = ToolPlan::read(plan).unwrap();
    let graph = plan.graph("plan", OnError::Stop, &BuiltinSchemas).unwrap();
    let calls = graph
        .workflow
        .nodes
        .iter()
        .filter(|node| matches!(node.action, Action::Call { .. }));
    assert_eq!(calls.count(), 2);
    let labels = |graph: &Graph| {
        let between = graph
            .workflow
            .edges
            .iter()
            .filter(|edge| edge.from == "step_1");
        between
            .map(|edge| edge.label.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(&graph), ["default"]);
    let graph = plan
        .graph("plan", OnError::Continue, &BuiltinSchemas)
        .unwrap();
    assert_eq!(labels(&graph), ["default", "error"]);
}

#[test]
fn a_reference_to_a_step_that_is_not_there_is_a_flaw() {
    let plan = ToolPlan::read(r#"[{"tool": "s:a", "args": {"from": "$OUTPUT[step_9]"}}]"#).unwrap();
    let flaws = plan
        .graph("plan", OnError::Stop, &BuiltinSchemas)
        .unwrap_err();
    assert!(flaws[0].message.contains("step_9"), "{flaws:?}");
}

#[test]
fn brackets_without_end_take_no_time() {
    let text = "[".repeat(200_000);
    assert_eq!(wrong(&text).len(), 1);
    let text = "{\"a\":".repeat(100_000);
    assert_eq!(wrong(&text).len(), 1);
}

fn plan(text: &str) -> ToolPlan {
    ToolPlan::read(text).unwrap()
}

fn outputs(json: &str) -> Map {
    let value = Value::from_json(json).unwrap();
    value.as_object().cloned().unwrap()
}

#[test]
fn what_earlier_steps_gave_is_put_in_as_data() {
    let gave = outputs(r#"{"a": {"n": 7, "list": [1, {"x": "$OUTPUT[b]"}]}, "b": "hi"}"#);
    let given = plan(
        r#"[{"id": "c", "tool": "t", "args": {"n": "$OUTPUT[a].n", "last": ["$OUTPUT[a].list[-1].x"],
            "text": "say $OUTPUT[b], $OUTPUT[a].n times", "own": "$OUTPUT[z].y", "plain": "$OUTPUT"}}]"#,
    );
    let args = given.steps[0].with_outputs(&gave).unwrap().args.to_json();
    let literal = |value: &str| format!(r#"{{"type":"literal","value":{value}}}"#);
    let expected = format!(
        r#"{{"n":{},"last":[{}],"text":{},"own":"$OUTPUT[z].y","plain":"$OUTPUT"}}"#,
        literal("7"),
        literal(r#""$OUTPUT[b]""#),
        literal(r#""say hi, 7 times""#),
    );
    assert_eq!(args, expected);
}

#[test]
fn what_cannot_be_substituted_is_reported() {
    let gave = outputs(r#"{"a": {"n": 7}}"#);
    let given = plan(
        r#"[{"id": "c", "tool": "t", "args": {"x": "$OUTPUT[a].m.k"}},
            {"id": "d", "tool": "t", "args": {"x": "$OUTPUT[a].n and $OUTPUT[c]"}}]"#,
    );
    let wrong = |at: usize| given.steps[at].with_outputs(&gave).unwrap_err();
    assert_eq!(wrong(0), "the output of `a` has no `.m.k`");
    assert!(wrong(1).contains("an earlier one"), "{}", wrong(1));
}

#[test]
fn steps_of_two_plans_have_distinct_ids() {
    let taken = ["a".into(), "a_2".into()].into();
    let given = plan(
        r#"[{"id": "a", "tool": "t", "args": {"x": "$OUTPUT[b]"}}, {"id": "b", "tool": "t", "args": {"x": ["$OUTPUT[a].n"]}}]"#,
    );
    let told = given.with_unique_ids(&taken);
    let ids: Vec<_> = told.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["a_3", "b"]);
    assert_eq!(told.steps[1].args.to_json(), r#"{"x":["$OUTPUT[a_3].n"]}"#);
    let given = plan(r#"[{"id": "a", "tool": "t", "args": {"x": {"expr": "b.c"}}}]"#);
    assert_eq!(given.clone().with_unique_ids(&taken), given);
}
