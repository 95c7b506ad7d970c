//! Requests over a few tools.

use super::*;
use tramline_engine::ports::ToolHints;

fn tool(server: &str, name: &str, says: &str, schema: &str) -> Arc<Tool> {
    Arc::new(Tool {
        name: ToolName::new(server, name),
        title: None,
        description: Some(says.into()),
        input_schema: Value::from_json(schema).unwrap(),
        output_schema: None,
        hints: ToolHints::default(),
    })
}

fn tools() -> Vec<Arc<Tool>> {
    vec![
        tool(
            "fs",
            "read_file",
            "Reads a file",
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#,
        ),
        tool(
            "fs",
            "list_directory",
            "Lists the files of a directory",
            r#"{"type":"object","properties":{"path":{"type":"string"},"depth":{"type":"integer"}},"required":["path"]}"#,
        ),
        tool(
            "mail",
            "send_message",
            "Sends a message to somebody",
            r#"{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string","description":"What to say"}},"required":["to","text"]}"#,
        ),
        tool("clock", "now", "Tells the time", r#"{"type":"object"}"#),
    ]
}

fn planned(wish: &str) -> TaskPlan {
    plan_with_tools(wish, None, &tools(), |_| false)
}

#[test]
fn a_request_with_all_its_arguments_is_complete() {
    let plan = planned("Read the file src/main.rs, then list the directory \"docs and more\"");
    assert!(plan.is_complete(), "{plan:?}");
    let expected = r#"[
        {"id":"read_file","tool":"fs:read_file","arguments":{"path":"src/main.rs"},"depends_on":[]},
        {"id":"list_directory","tool":"fs:list_directory","arguments":{"path":"docs and more"},"depends_on":["read_file"]}
    ]"#;
    assert_eq!(plan.tasks, Value::from_json(expected).unwrap());
}

#[test]
fn what_is_missing_is_named() {
    let plan = planned("send a message to 'ann'");
    assert_eq!(plan.missing.len(), 1);
    assert_eq!(plan.missing[0].argument, "text");
    assert_eq!(plan.missing[0].description.as_deref(), Some("What to say"));
    assert!(!plan.is_complete());
}

#[test]
fn what_no_tool_does_is_said() {
    let plan = planned("paint the fence");
    assert_eq!((plan.tools.len(), plan.confidence), (0, 0.0));
    assert!(plan.explanation.contains("no tool fits"));
    assert!(!planned("tell the time and paint the fence").is_complete());
    assert!(!planned("").is_complete());
}

#[test]
fn the_context_gives_arguments_and_taken_ids_are_left_alone() {
    let context = Value::object([("path", "data.xml".into())]);
    let plan = plan_with_tools("read the file", Some(&context), &tools(), |id| {
        id == "read_file"
    });
    assert!(plan.is_complete(), "{plan:?}");
    let task = &plan.tasks.as_array().unwrap()[0];
    assert_eq!(task.get("id").and_then(Value::as_str), Some("read_file-2"));
}

#[test]
fn a_value_that_no_task_uses_stops_the_plan() {
    for (wish, unused) in [
        ("read the file src/main.rs in 'Berlin'", r#""Berlin""#),
        ("read the file src/main.rs 'lib.rs'", r#""lib.rs""#),
        ("tell the time of 'Ada'", r#""Ada""#),
        ("tell the time 5", "5"),
        ("read the file ''", r#""""#),
        ("'Do not' tell the time", r#""Do not""#),
    ] {
        let plan = planned(wish);
        assert_eq!(plan.unused_values, [unused], "{wish}: {plan:?}");
        assert!(!plan.is_complete() && !plan.may_run(), "{wish}");
        let says = format!("no task of the plan uses {unused}");
        assert!(plan.objections.contains(&says), "{:?}", plan.objections);
    }
    for wish in ["read the file src/main.rs", "read the file 'src/main.rs'"] {
        assert_eq!(planned(wish).unused_values, [""; 0], "{wish}");
    }
}

#[test]
fn any_text_is_taken() {
    for wish in [
        "'",
        "“ü",
        "a'b' c\"",
        "; ; and then ",
        "ﷺ and ß. ",
        "1e999 -",
        "İ and x",
    ] {
        let _ = planned(wish);
    }
}

fn with_output(tool: Arc<Tool>, output: &str) -> Arc<Tool> {
    Arc::new(Tool {
        output_schema: Some(Value::from_json(output).unwrap()),
        ..(*tool).clone()
    })
}

fn movies() -> Vec<Arc<Tool>> {
    let search = tool(
        "db",
        "search_movie",
        "Finds movies by their title",
        r#"{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}"#,
    );
    let found = r#"{"type":"object","properties":{"results":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}}}}"#;
    let credits = tool(
        "db",
        "movie_credits",
        "Tells who made a film",
        r#"{"type":"object","properties":{"movie_id":{"type":"integer"}},"required":["movie_id"]}"#,
    );
    vec![with_output(search, found), credits]
}

fn asked(
    wish: &str,
    tools: &[Arc<Tool>],
    past: &PrecedentIndex,
    done: &[CompletedTask],
) -> TaskPlan {
    let lookup = |name: &str| {
        let found = tools.iter().find(|tool| tool.name.to_string() == name);
        found.map(Arc::clone)
    };
    make_plan(&PlanInput {
        request: wish,
        context: None,
        search: &SearchResults::among(wish, tools),
        precedents: past,
        lookup: &lookup,
        all_tools: &|| tools.to_vec(),
        is_id_taken: &|_| false,
        completed: done,
    })
}

fn did(intent: &str, tools: &[&str], edges: &[(usize, usize)]) -> Precedent {
    Precedent {
        intent: intent.into(),
        tools: tools.iter().map(|tool| Str::from(*tool)).collect(),
        edges: edges.to_vec(),
        count: 1,
    }
}

fn waits(plan: &TaskPlan) -> Vec<(&str, &str)> {
    let links = plan.links.iter();
    links.map(|link| (&*link.from, &*link.to)).collect()
}

#[test]
fn what_an_argument_needs_is_put_before_it() {
    let wish = "tell the credits, who made the film 'Alien'";
    let plan = asked(wish, &movies(), &PrecedentIndex::default(), &[]);
    let names: Vec<_> = plan.tools.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["db:search_movie", "db:movie_credits"], "{plan:?}");
    let last = &plan.tasks.as_array().unwrap()[1];
    let bound = last.get("arguments").and_then(|all| all.get("movie_id"));
    let bound = bound.and_then(Value::as_str);
    assert_eq!(bound, Some("$OUTPUT[search_movie].results[0].id"));
    assert_eq!(waits(&plan), [("search_movie", "movie_credits")]);
    assert!(plan.links[0].reason.contains("gives movie_id"), "{plan:?}");
}

#[test]
fn what_is_done_gives_arguments() {
    let done = CompletedTask {
        id: "first".into(),
        tool: "search_movie".into(),
        output: Value::from_json(r#"{"results":[{"id":348,"title":"Alien"}]}"#).unwrap(),
    };
    let plan = asked(
        "movie credits",
        &movies(),
        &PrecedentIndex::default(),
        &[done],
    );
    let task = &plan.tasks.as_array().unwrap()[0];
    let expected = r#"{"id":"movie_credits","tool":"db:movie_credits",
        "arguments":{"movie_id":"$OUTPUT[first].results[0].id"},"depends_on":["first"]}"#;
    assert_eq!(task, &Value::from_json(expected).unwrap(), "{plan:?}");
    assert!(plan.missing.is_empty());
}

#[test]
fn the_past_votes_and_makes_surer() {
    let wish = "get the weekly digest out to everybody";
    let before = asked(wish, &tools(), &PrecedentIndex::default(), &[]);
    let plans = ["Monday", "May", "autumn"].map(|when| {
        let intent = format!("get the digest of {when} out to everybody");
        did(&intent, &["fs:read_file", "mail:send_message"], &[(0, 1)])
    });
    let past = PrecedentIndex::new(plans);
    let after = asked(wish, &tools(), &past, &[]);
    assert_eq!(after.tools.len(), 2, "{after:?}");
    assert!(after.confidence > before.confidence, "{before:?} {after:?}");
    assert_eq!(after.reasons[0].vote, 1.0);
    let why = after.reasons[0].reasons.join(" ");
    assert!(why.contains("3 of the 3 nearest past runs"), "{why}");
    assert!(after.links[0].reason.contains("100 %"), "{after:?}");
}

#[test]
fn a_past_of_other_things_does_not_lead_away_from_what_was_found() {
    let none = r#"{"type":"object"}"#;
    let house = [
        tool("house", "list_guests", "Lists the guests of today", none),
        tool("house", "list_rooms", "Lists the rooms of today", none),
    ];
    let tools: Vec<_> = tools().into_iter().chain(house).collect();
    let wish = "list the files of the whole directory today";
    let alone = asked(wish, &tools, &PrecedentIndex::default(), &[]);
    assert_eq!(alone.tools[0].to_string(), "fs:list_directory");
    let past = PrecedentIndex::new([
        did(
            "list the guests of the whole house today",
            &["house:list_guests"],
            &[],
        ),
        did(
            "list the rooms of the whole house today",
            &["house:list_rooms"],
            &[],
        ),
    ]);
    let after = asked(wish, &tools, &past, &[]);
    assert_eq!(after.tasks, alone.tasks, "{after:?}");
    assert_eq!(after.confidence, alone.confidence);
    assert!(after.reasons.iter().all(|reason| reason.vote == 0.0));
    // The same words vote once a tool that was found has been used before.
    let own = did(
        "list the files of the whole house today",
        &["fs:list_directory"],
        &[],
    );
    let near = asked(wish, &tools, &PrecedentIndex::new([own]), &[]);
    assert_eq!(near.reasons[0].vote, 1.0, "{near:?}");
}

#[test]
fn what_has_to_know_which_one_is_led_by_what_finds_it() {
    let none = r#"{"type":"object"}"#;
    let tools = [
        tool("db", "search_movie", "Finds movies by their title", none),
        tool(
            "db",
            "movie_review",
            "Retrieves the reviews of a movie based on its ID",
            none,
        ),
        tool(
            "db",
            "series_review",
            "Retrieves the reviews of a series based on its ID",
            none,
        ),
    ];
    let names = |wish: &str| -> Vec<String> {
        let plan = asked(wish, &tools, &PrecedentIndex::default(), &[]);
        plan.tools.iter().map(ToString::to_string).collect()
    };
    let led = names("retrieve the reviews of the movie Alien");
    assert_eq!(led, ["db:search_movie", "db:movie_review"]);
    let told = names("retrieve the reviews of the movie 348");
    assert_eq!(told, ["db:movie_review"]);
}

#[test]
fn what_never_waited_stands_side_by_side() {
    let one = did(
        "morning round for the team",
        &["fs:read_file", "clock:now", "mail:send_message"],
        &[(0, 2), (1, 2)],
    );
    let plan = asked(
        "morning round for the team",
        &tools(),
        &PrecedentIndex::new([one]),
        &[],
    );
    assert_eq!(plan.tools.len(), 3, "{plan:?}");
    let expected = [("read_file", "send_message"), ("now", "send_message")];
    assert_eq!(waits(&plan), expected, "{plan:?}");
}

#[test]
fn tools_that_are_gone_are_not_planned() {
    let past = PrecedentIndex::new([did(
        "water the plants",
        &["garden:water", "clock:now"],
        &[(0, 1)],
    )]);
    let plan = asked("water the plants", &tools(), &past, &[]);
    assert!(
        plan.tools.iter().all(|tool| tool.server != "garden"),
        "{plan:?}"
    );
}

#[test]
fn what_a_plan_leaves_out_is_named() {
    let plan = planned("tell the time, paint the fence");
    assert_eq!(plan.uncovered, ["paint the fence"], "{plan:?}");
    assert!(plan.explanation.contains("paint the fence"), "{plan:?}");
    let plan = planned("read the file a.txt, send a message to 'ann' with text 'hi'");
    let names: Vec<_> = plan.tools.iter().map(ToString::to_string).collect();
    let whole = names.len() == 2;
    assert!(whole || !plan.uncovered.is_empty(), "{plan:?}");
}

#[test]
fn only_what_surely_just_reads_may_run() {
    let reads = |tool: &Arc<Tool>| {
        let mut tool = (**tool).clone();
        tool.hints.read_only = Some(true);
        Arc::new(tool)
    };
    let safe: Vec<_> = tools().iter().map(reads).collect();
    let may =
        |wish: &str, tools: &[Arc<Tool>]| plan_with_tools(wish, None, tools, |_| false).may_run();
    assert!(may("read file a.txt", &safe));
    assert!(!may("read file a.txt", &tools()), "no tool has annotations");
    for wish in [
        "do not read file a.txt",
        "read file a.txt?",
        "read file a.txt unless it is large",
        "read file",
        "read file a.txt, paint the fence",
        "file a.txt",
    ] {
        assert!(!may(wish, &safe), "{wish}");
    }
}

#[test]
fn a_value_of_the_context_must_fit() {
    let context = Value::object([("path", 7.into())]);
    let plan = plan_with_tools("read the file", Some(&context), &tools(), |_| false);
    assert_eq!(plan.missing.len(), 1, "{plan:?}");
}

proptest::proptest! {
    #[test]
    fn any_request_gives_a_sound_plan(
        wish in "[a-zA-Z0-9 ,.;'\"/äß必]{0,80}",
        intents in proptest::collection::vec(("[a-z ]{0,20}", proptest::collection::vec(0..4_usize, 0..6)), 0..8),
    ) {
        let names = ["fs:read_file", "fs:list_directory", "mail:send_message", "gone:tool"];
        let past = PrecedentIndex::new(intents.iter().map(|(intent, tools)| {
            let tools: Vec<&str> = tools.iter().map(|at| names[*at]).collect();
            let edges: Vec<_> = (1..tools.len()).map(|at| (at - 1, at)).collect();
            did(intent, &tools, &edges)
        }));
        let plan = asked(&wish, &tools(), &past, &[]);
        let tasks = plan.tasks.as_array().unwrap();
        proptest::prop_assert!(tasks.len() <= 64);
        proptest::prop_assert!((0.0..=1.0).contains(&plan.confidence));
        proptest::prop_assert!(plan.alternatives.len() <= 2);
        let mut seen: Vec<&str> = Vec::new();
        for task in tasks {
            let id = task.get("id").and_then(Value::as_str).unwrap();
            proptest::prop_assert!(!seen.contains(&id), "{id} twice");
            for before in task.get("depends_on").and_then(Value::as_array).unwrap() {
                proptest::prop_assert!(seen.contains(&before.as_str().unwrap()));
            }
            seen.push(id);
        }
    }
}
