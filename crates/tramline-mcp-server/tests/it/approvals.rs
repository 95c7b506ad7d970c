//! A run that asks, and how a client's user answers.

use super::support::{
    ERAS, Era, approving, connect, connect_with, filled, forms, over, request, services,
    structured, tools,
};
use rmcp::model::{
    CallToolResponse, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode,
};
use rmcp::service::ServiceError;
use serde_json::json;
use std::sync::Arc;
use tramline_engine::ports::RunFilter;
use tramline_engine::testing::MemoryStore;
use tramline_mcp_server::Toolset;
use tramline_planner::Services;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Event, Outcome, RunEvent};

fn asking() -> Vec<Arc<Graph>> {
    vec![approving("act")]
}

/// An engine of its own over a shared store, like another process.
fn process(store: &MemoryStore) -> Services {
    services(store.clone(), tools())
}

#[tokio::test]
async fn an_approval_is_asked_for_and_the_same_run_goes_on() {
    for era in ERAS {
        let services = process(&MemoryStore::default());
        let server = over(services.clone(), &[Toolset::Graphs], asking());
        let mut client = connect_with(&server, era, forms()).await;
        client.queue_answer(filled(json!({"decision": "approve", "reason": "fine"})));
        let result = client.call("act", json!({"a": 1})).await;
        assert_eq!(structured(&result), &json!({"a": 1}), "{era:?}");
        let ElicitRequestParams::FormElicitationParams { message, .. } =
            client.next_question().await
        else {
            panic!("no form");
        };
        assert!(
            message.contains("t:work") && message.contains("it acts"),
            "{message}"
        );
        let runs = services
            .engine
            .runs(RunFilter::default())
            .await
            .unwrap()
            .rows;
        assert_eq!(runs.len(), 1);
        let loaded = services.engine.load(&runs[0].run).await.unwrap();
        let answered = loaded.entries.iter().any(|entry| {
            matches!(&entry.event, Event::Run(RunEvent::Answered { by, why, .. })
                if by == "MCP client test" && why.as_deref() == Some("fine"))
        });
        assert!(answered, "{:?}", loaded.entries);
    }
}

#[tokio::test]
async fn the_form_shows_the_call_and_takes_other_arguments() {
    for era in ERAS {
        let services = process(&MemoryStore::default());
        let server = over(services.clone(), &[Toolset::Graphs], asking());
        let mut client = connect_with(&server, era, forms()).await;
        let edited = json!({"decision": "approve", "arguments": "{\"a\": 2}"});
        client.queue_answer(filled(edited));
        let result = client.call("act", json!({"a": 1})).await;
        assert_eq!(structured(&result), &json!({"a": 2}), "{era:?}");
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = client.next_question().await
        else {
            panic!("no form");
        };
        for part in [
            "tool: t:work (server t)",
            "a: 1",
            "annotations:",
            "done so far",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        let schema = serde_json::to_value(&requested_schema).unwrap();
        assert_eq!(schema["properties"]["arguments"]["default"], "{\"a\":1}");
    }
}

#[tokio::test]
async fn a_no_ends_the_run_and_closing_the_form_does_not() {
    for era in ERAS {
        let server = over(
            process(&MemoryStore::default()),
            &[Toolset::Graphs],
            asking(),
        );
        let client = connect_with(&server, era, forms()).await;
        client.queue_answer(filled(json!({"decision": "reject", "reason": "not now"})));
        let no = client.call("act", json!({})).await;
        assert_eq!(structured(&no)["error"]["status"], "rejected", "{era:?}");
        client.queue_answer(ElicitResult::new(ElicitationAction::Cancel));
        let closed = client.call("act", json!({})).await;
        let error = &structured(&closed)["error"];
        assert_eq!(error["status"], "paused", "{era:?}");
        assert_eq!(error["waiting"][0]["kind"], "approval");
    }
}

#[tokio::test]
async fn a_client_without_forms_is_told_how_to_answer() {
    for era in ERAS {
        let server = over(
            process(&MemoryStore::default()),
            &[Toolset::Graphs],
            asking(),
        );
        let client = connect(&server, era).await;
        let paused = client.call("act", json!({})).await;
        assert_eq!(structured(&paused)["error"]["status"], "paused");
    }
}

/// The checkpoint where the only run waits.
async fn waits(services: &Services) -> Checkpoint {
    loop {
        if let Some(row) = services
            .engine
            .runs(RunFilter::default())
            .await
            .unwrap()
            .rows
            .first()
        {
            let run = services.engine.load(&row.run).await.unwrap().run;
            if let Some(seq) = run.pauses.keys().next() {
                let (run, seq) = (run.id.clone(), *seq);
                return Checkpoint { run, seq };
            }
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_from_elsewhere_is_heard_while_the_client_is_asked() {
    let store = MemoryStore::default();
    let (ours, theirs) = (process(&store), process(&store));
    let server = over(ours, &[Toolset::Graphs], asking());
    let mut client = connect_with(&server, Era::Legacy, forms()).await;
    let peer = client.service.peer().clone();
    let calling =
        tokio::spawn(async move { peer.call_tool_once(request("act", json!({"a": 2}))).await });
    client.next_question().await;
    let asked = waits(&theirs).await;
    theirs
        .engine
        .approve(&asked, true, "the command line".into(), None)
        .await
        .unwrap();
    let CallToolResponse::Complete(result) = calling.await.unwrap().unwrap() else {
        panic!("not complete");
    };
    assert_eq!(structured(&result), &json!({"a": 2}));
}

#[tokio::test]
async fn a_carried_question_outlives_its_server_and_is_answered_once() {
    let store = MemoryStore::default();
    let first = over(process(&store), &[Toolset::Graphs], asking());
    let client = connect_with(&first, Era::Modern, forms()).await;
    let asked = client
        .service
        .call_tool_once(request("act", json!({"a": 3})))
        .await;
    let Ok(CallToolResponse::InputRequired(asked)) = asked else {
        panic!("not asked: {asked:?}");
    };
    let key = asked.input_requests.unwrap().into_keys().next().unwrap();
    let sealed = asked.request_state.unwrap();
    let answer = filled(json!({"decision": "approve"}));
    let responses = [(key, serde_json::to_value(answer).unwrap())];
    let retry = request("act", json!({"a": 3}))
        .with_input_responses(responses.into_iter().collect())
        .with_request_state(&sealed);

    // Another process with the same store takes the answer, and the run resumes there.
    let second = over(process(&store), &[Toolset::Graphs], asking());
    let client = connect_with(&second, Era::Modern, forms()).await;
    let once = client.service.call_tool_once(retry.clone()).await.unwrap();
    let CallToolResponse::Complete(result) = once else {
        panic!("not complete: {once:?}");
    };
    assert_eq!(structured(&result), &json!({"a": 3}));

    let twice = client.service.call_tool_once(retry.clone()).await.unwrap();
    let CallToolResponse::Complete(refused) = twice else {
        panic!("not refused: {twice:?}");
    };
    let message = structured(&refused)["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("is not waiting for an answer"),
        "{message}"
    );

    let mut forged = retry;
    forged.request_state = Some(format!("{sealed}x"));
    let Err(ServiceError::McpError(refused)) = client.service.call_tool_once(forged).await else {
        panic!("not refused");
    };
    assert_eq!(refused.code, ErrorCode::INVALID_PARAMS);
}

#[tokio::test]
async fn a_carried_question_that_was_answered_elsewhere_goes_on() {
    let store = MemoryStore::default();
    let (ours, theirs) = (process(&store), process(&store));
    let server = over(ours, &[Toolset::Graphs], asking());
    let client = connect_with(&server, Era::Modern, forms()).await;
    let asked = client
        .service
        .call_tool_once(request("act", json!({})))
        .await;
    let Ok(CallToolResponse::InputRequired(asked)) = asked else {
        panic!("not asked: {asked:?}");
    };
    let point = waits(&theirs).await;
    theirs
        .engine
        .approve(&point, false, "the command line".into(), None)
        .await
        .unwrap();
    let answer = filled(json!({"decision": "approve"}));
    let responses = [(point.to_string(), serde_json::to_value(answer).unwrap())];
    let retry = request("act", json!({}))
        .with_input_responses(responses.into_iter().collect())
        .with_request_state(asked.request_state.unwrap());
    let told = client.service.call_tool_once(retry).await.unwrap();
    let CallToolResponse::Complete(told) = told else {
        panic!("not complete: {told:?}");
    };
    assert_eq!(structured(&told)["error"]["status"], "rejected");
    let outcome = theirs.engine.load(&point.run).await.unwrap().run.outcome;
    assert!(
        matches!(outcome, Some(Outcome::Rejected { .. })),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_question_names_the_client_that_asked() {
    for era in ERAS {
        let services = process(&MemoryStore::default());
        let sets = [Toolset::Graphs, Toolset::Control, Toolset::Debug];
        let server = over(services.clone(), &sets, asking());
        let client = connect(&server, era).await;
        client.call("act", json!({"a": 1})).await;
        let task = json!({"id": "one", "tool": "t:work", "arguments": {}, "approval": true});
        let plan = json!({"workflow": {"tasks": [task]}});
        client.call("execute_dag", plan).await;
        let runs = services.engine.runs(RunFilter::default()).await;
        let runs = runs.unwrap().rows;
        assert_eq!(runs.len(), 2, "{era:?}");
        let first = runs[0].run.as_str();
        client.call("run_fork", json!({"run_id": first})).await;
        let runs = services.engine.runs(RunFilter::default()).await;
        let runs = runs.unwrap().rows;
        assert_eq!(runs.len(), 3, "{era:?}");
        for row in runs {
            let shown = services.engine.load_pause_details(&row.run).await;
            let shown = shown.unwrap().remove(0);
            let requested = shown.get("requested").unwrap();
            let by = requested.get("by").and_then(|by| by.as_str());
            assert_eq!(by, Some("agent test"), "{era:?}");
            let lines = tramline_views::pause_view::detail_lines(&shown);
            assert!(lines.join("\n").contains("of agent test"), "{lines:?}");
        }
    }
}
