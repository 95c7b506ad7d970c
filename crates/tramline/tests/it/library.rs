//! The Rust API: every example runs, and what they rely on holds.

#![allow(
    dead_code,
    reason = "the examples' `main` is for `cargo run --example`"
)]

use crate::support::root;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tramline::{
    Answer, Config, Error, Event, OutcomeKind, Run, RunFilter, RunRequest, RunStatus, Tool,
    Tramline,
};

#[path = "../../examples/approve.rs"]
mod approve;
#[path = "../../examples/debug.rs"]
mod debug;
#[path = "../../examples/history.rs"]
mod history;
#[path = "../../examples/hooks.rs"]
mod hooks;
#[path = "../../examples/own_tool.rs"]
mod own_tool;
#[path = "../../examples/planner_loop.rs"]
mod planner_loop;
#[path = "../../examples/run.rs"]
mod run;
#[path = "../../examples/serve.rs"]
mod serve;

/// Paths in the examples are relative to the root of the repository.
fn at_home() {
    std::env::set_current_dir(root()).unwrap();
}

#[tokio::test]
async fn the_run_example_counts_files() {
    at_home();
    assert_eq!(run::count().await.unwrap(), json!({ "count": 2 }));
}

#[tokio::test]
async fn the_planner_loop_example_runs_its_own_plan_with_mock_tools() {
    let response = planner_loop::skills("Which skills does Ada lack?")
        .await
        .unwrap();
    assert!(response.success(), "{response:?}");
    let outputs = response
        .results
        .iter()
        .map(|result| result.output.to_json());
    let outputs: Vec<_> = outputs.collect();
    let wanted = [
        r#"{"missing":["Rust"],"person":"Ada","role":"engineer"}"#,
        r#"{"weeks":2}"#,
    ];
    let sorted = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    for (output, wanted) in outputs.iter().zip(wanted) {
        assert_eq!(sorted(output), sorted(wanted));
    }
    let reply = response.to_value();
    assert_eq!(
        reply.get("planner").and_then(|by| by.as_str()),
        Some("program")
    );
    assert!(reply.get("open").is_none());
    // The planner leaves other messages to the next one.
    let other = planner_loop::skills("hello").await.unwrap();
    assert_eq!(other.to_value().get("planner"), None);
}

#[tokio::test]
async fn the_hooks_example_hears_every_step() {
    at_home();
    let told = hooks::watched().await.unwrap();
    let expected = [
        "entry (entry) succeeded",
        "list (builtin:list-directory) succeeded",
        "count (compute) succeeded",
        "exit (exit) succeeded",
        r#"Completed(Object {"count": Number(2)})"#,
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_approve_example_goes_on_in_another_process() {
    at_home();
    let data = tempfile::tempdir().unwrap();
    let note = data.path().join("note.txt");
    let run = approve::ask(data.path()).await.unwrap();
    assert!(!note.exists(), "nothing is written before the answer");
    let result = approve::agree(data.path(), &run).await.unwrap();
    assert_eq!(result["bytes"], 15);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "Leave at nine.\n");
    approve::at_once(data.path()).await.unwrap();
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "Leave at ten.\n");
}

#[tokio::test]
async fn the_own_tool_example_greets() {
    let greeting = own_tool::welcome("Ada").await.unwrap();
    assert_eq!(greeting, "HELLO, ADA!");
    let error = own_tool::welcome("").await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("at `greet`: [T0501] nobody to greet"),
        "{error}"
    );
}

#[tokio::test]
async fn the_serve_example_is_called_by_another_tramline() {
    at_home();
    let (served, serving) = serve::serve(0).await.unwrap();
    let entry = json!({ "type": "http", "url": serving.url() });
    let caller = Tramline::open(Config::in_memory().server("files", entry)).unwrap();
    let document = json!({
        "version": "1.0",
        "server": { "name": "caller", "version": "1.0.0" },
        "tools": [{
            "name": "count_there",
            "description": "Counts files by a server.",
            "inputSchema": { "type": "object" },
            "nodes": [
                { "id": "entry", "type": "entry", "next": "count" },
                { "id": "count", "type": "mcp", "server": "files", "tool": "count_files",
                  "args": { "directory": "data" }, "next": "exit" },
                { "id": "exit", "type": "exit" },
            ],
        }],
    });
    caller.load_str(&document.to_string()).unwrap();
    let ended = caller.run("count_there", json!({})).await.unwrap();
    assert_eq!(ended.result().unwrap(), json!({ "count": 2 }));
    caller.close().await;
    serving.stop().await.unwrap();
    served.close().await;
}

#[tokio::test]
async fn the_debug_example_forks() {
    at_home();
    let (result, forked) = debug::debugged().await.unwrap();
    assert_eq!(result["sum"], 6);
    assert_eq!(forked["sum"], 103);
}

#[tokio::test]
async fn the_history_example_reads_what_failed() {
    at_home();
    let data = tempfile::tempdir().unwrap();
    let (whole, early) = history::read(data.path()).await.unwrap();
    assert_eq!(whole.session.as_deref(), Some("nightly"));
    assert_eq!(whole.step_at("list").unwrap().status, "failed");
    assert_eq!(early.steps.len(), 1);
    assert!(early.outcome.is_none());
}

const SLOW: &str = r#"
version: "1.0"
server: { name: slow, version: "1.0.0" }
tools:
  - name: wait_for_it
    description: Calls a tool that ends when it is let.
    inputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: slow }
      - { id: slow, type: mcp, server: app, tool: slow, args: {}, next: exit }
      - { id: exit, type: exit }
"#;

/// A Tramline with a tool that ends when the semaphore gets a permit; a closed semaphore means that
/// it was cancelled.
fn slow(config: Config) -> (Tramline, Arc<tokio::sync::Semaphore>) {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let inner = Arc::clone(&gate);
    let work = move |_: Value| {
        let gate = Arc::clone(&inner);
        async move { gate.acquire().await.map(|permit| permit.forget()) }
    };
    let tool = Tool::with_schema("slow", "Takes its time.", json!({}), work);
    let tramline = Tramline::open(config.tool(tool)).unwrap();
    tramline.load_str(SLOW).unwrap();
    (tramline, gate)
}

/// Drops a request while its call is in flight, and finds its run.
async fn dropped(tramline: &Tramline, request: RunRequest) -> Run {
    let (tell, told) = tokio::sync::oneshot::channel();
    let mut tell = Some(tell);
    let request = request.on_step_start(move |step| {
        if step.node == "slow" {
            let _ = tell.take().map(|tell| tell.send(()));
        }
    });
    tokio::select! {
        ended = request.into_future() => panic!("{ended:?}"),
        heard = told => heard.unwrap(),
    }
    let page = tramline.runs(RunFilter::default()).await.unwrap();
    tramline.get(&page.rows[0].run).await.unwrap()
}

#[tokio::test]
async fn a_dropped_request_goes_on_unless_it_is_to_be_aborted() {
    let (tramline, gate) = slow(Config::in_memory());
    let run = dropped(&tramline, tramline.run("wait_for_it", json!({}))).await;
    gate.add_permits(1);
    assert_eq!(
        run.wait().await.unwrap().kind,
        OutcomeKind::Completed(Value::Null)
    );

    let request = tramline.run("wait_for_it", json!({})).abort_on_drop();
    let aborted = dropped(&tramline, request).await;
    assert_ne!(aborted.id(), run.id());
    let how = aborted.wait().await.unwrap().kind;
    assert!(matches!(how, OutcomeKind::Aborted { .. }), "{how:?}");
}

#[tokio::test]
async fn a_run_is_paused_followed_and_waited_for_by_several() {
    let (tramline, gate) = slow(Config::in_memory());
    let run = tramline.start("wait_for_it", json!({})).await.unwrap();
    let mut follow = run.follow();
    loop {
        let event = follow.next().await.unwrap().unwrap();
        if matches!(&event, Event::StepStarted(step) if step.node == "slow") {
            break;
        }
    }
    run.pause().await.unwrap();
    gate.add_permits(1);
    let (first, second) = tokio::join!(run.wait(), run.wait());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first, second);
    assert_eq!(first.questions()[0].node.as_deref(), Some("exit"));
    run.continue_run().await.unwrap();
    assert!(matches!(
        run.wait().await.unwrap().kind,
        OutcomeKind::Completed(_)
    ));
    let mut last = None;
    while let Some(event) = follow.next().await.unwrap() {
        last = Some(event);
    }
    assert!(matches!(last, Some(Event::Finished(_))), "{last:?}");
}

#[tokio::test]
async fn a_run_that_was_stopped_is_recovered_and_asks_about_its_call() {
    let data = tempfile::tempdir().unwrap();
    let (tramline, _gate) = slow(Config::at(data.path()));
    let run = tramline.start("wait_for_it", json!({})).await.unwrap();
    let mut follow = run.follow();
    while !matches!(follow.next().await.unwrap(), Some(Event::StepStarted(step)) if step.node == "slow")
    {
    }
    tramline.close().await;
    assert_eq!(run.wait().await.unwrap().kind, OutcomeKind::Stopped);

    let (again, _gate) = slow(Config::at(data.path()));
    let recovered = again.recover().await.unwrap();
    assert_eq!(recovered[0].id(), run.id());
    let asked = recovered[0].wait().await.unwrap();
    assert_eq!(asked.questions()[0].kind, "in-doubt");
    let answer = Answer::skip(json!("done by hand")).by("Ada");
    let point = &asked.questions()[0].checkpoint;
    recovered[0].answer(point, answer).await.unwrap();
    let ended = recovered[0].wait().await.unwrap();
    assert_eq!(ended.result().unwrap(), "done by hand");
    let trace = recovered[0].trace().await.unwrap();
    assert_eq!(trace.pauses[0]["by"]["by"], "Ada");
}

#[tokio::test]
async fn the_pause_hook_hears_and_an_unanswered_question_waits() {
    at_home();
    let tramline = Tramline::open(Config::in_memory().root("examples")).unwrap();
    tramline.load_file("examples/graphs/approval.yaml").unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let input = json!({ "path": "examples/never.txt", "text": "No." });
    let ended = tramline
        .run("write_note", input)
        .on_pause(move |question| hears.lock().unwrap().push(question.clone()))
        .answer_with(|_| async { None })
        .await
        .unwrap();
    assert_eq!(ended.questions(), heard.lock().unwrap().as_slice());
    let run = tramline.get(&ended.run).await.unwrap();
    let no = Answer::reject().because("not today");
    run.answer(&ended.questions()[0].checkpoint, no)
        .await
        .unwrap();
    let error = run.wait().await.unwrap().result().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("was rejected at `write`: not today"),
        "{error}"
    );
    let page = tramline.runs(RunFilter {
        status: vec![RunStatus::Rejected],
        ..RunFilter::default()
    });
    assert_eq!(page.await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn what_is_wrong_is_data_with_a_next_step() {
    let tramline = Tramline::open(Config::in_memory()).unwrap();
    let flawed = SLOW
        .replace("next: exit", "next: exot")
        .replace("app", "builtin");
    let Error::Flawed { flaws, .. } = tramline.load_str(&flawed).unwrap_err() else {
        panic!("it has flaws")
    };
    let flaw = flaws.iter().find(|flaw| flaw.code.as_str() == "T0008");
    let flaw = flaw.unwrap();
    assert_eq!(flaw.span.line, 10);
    assert!(flaw.suggestion.as_ref().unwrap().contains("exit"));

    let (tramline, _) = slow(Config::in_memory());
    let error = tramline.run("wait_for_him", json!({})).await.unwrap_err();
    assert!(
        error.to_string().ends_with("did you mean `wait_for_it`?"),
        "{error}"
    );
    let error = tramline.load_str(SLOW).unwrap_err();
    assert!(matches!(error, Error::NameTaken(_)), "{error}");
    assert_eq!(tramline.tools().len(), 1, "what was loaded before stays");
    let file = root().join("examples/graphs/loop.yaml");
    tramline.load_file(&file).unwrap();
    tramline.load_file(&file).unwrap();
    assert_eq!(
        tramline.documents().len(),
        2,
        "a file replaces its earlier version"
    );
    let error = tramline.load_file("no/such.yaml").unwrap_err();
    assert!(error.to_string().contains("no/such.yaml"), "{error}");
}

#[test]
fn everything_is_send() {
    fn send<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    shared::<Tramline>();
    shared::<tramline::Run>();
    shared::<Config>();
    send::<tramline::RunRequest>();
    send::<tramline::RunEvents>();
    send::<tramline::Fork>();
    send::<Error>();
}
