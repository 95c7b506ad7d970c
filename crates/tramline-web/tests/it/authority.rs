//! Who may answer over HTTP: the run's own token relays, people answer everything, all of it is
//! audited.

use crate::support::{api, asked, openly, waiting};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tower::ServiceExt;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, EngineOptions, Respondent, RunOwner, ToolPattern, ToolPolicy};
use tramline_expr::Value;
use tramline_workflow::authority::AnswerChannel;

/// An engine whose policy asks about its only tool.
fn strict() -> Engine {
    let hints = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let tools = FakeTools::new().tool("t", "look", hints, |arguments: Value| async {
        Ok(arguments)
    });
    let options = EngineOptions {
        policy: ToolPolicy {
            ask: vec![ToolPattern::parse("t:*").unwrap()],
            deny: Vec::new(),
        },
        ..EngineOptions::default()
    };
    Engine::new(Arc::new(MemoryStore::new()), Arc::new(tools), options)
}

/// A request of an authenticated person.
async fn by_person(
    routes: &Router,
    (method, path): (&str, &str),
    body: Json,
    channel: AnswerChannel,
) -> (StatusCode, Json) {
    let text = body.to_string();
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("content-length", text.len())
        .body(Body::from(text))
        .unwrap();
    request
        .extensions_mut()
        .insert(RunOwner(Some("boss".into())));
    request
        .extensions_mut()
        .insert(Respondent::new("boss", channel));
    let response = routes.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn the_runs_own_token_does_not_answer_the_policy_and_people_do() {
    for channel in [AnswerChannel::Approver, AnswerChannel::Studio] {
        let engine = strict();
        let routes = api(&engine);
        let (run, point) = waiting(&engine, Some("ann")).await;
        let path = format!("/api/approvals/{point}");
        let ann = RunOwner(Some("ann".into()));
        for answer in ["proceed", "reject"] {
            let answer = Some(json!({"answer": answer}));
            let (status, told) = asked(&routes, &path, answer, ann.clone()).await;
            assert_eq!(
                (status, told["error"]["kind"].as_str()),
                (StatusCode::FORBIDDEN, Some("person_needed"))
            );
            let says = told["error"]["message"].as_str().unwrap();
            assert!(
                says.contains(&format!("tramline runs approve {point}")),
                "{says}"
            );
        }
        // Debugger commands do not get past the question either.
        for what in ["continue", "step"] {
            let path = format!("/api/runs/{run}/{what}");
            asked(&routes, &path, Some(json!({})), ann.clone()).await;
        }
        assert!(
            engine
                .load(&run.parse().unwrap())
                .await
                .unwrap()
                .run
                .is_paused()
        );
        // A person sees the questions of other callers' runs, reads them and answers, but cannot
        // abort them.
        let (_, listed) = by_person(&routes, ("GET", "/api/approvals"), json!({}), channel).await;
        assert_eq!(listed["approvals"][0]["checkpoint_id"], point, "{listed}");
        let one = format!("/api/runs/{run}");
        assert_eq!(
            by_person(&routes, ("GET", &one), json!({}), channel)
                .await
                .0,
            StatusCode::OK
        );
        let end = format!("/api/runs/{run}/abort");
        let ended = by_person(&routes, ("POST", &end), json!({}), channel).await;
        assert_eq!(ended.0, StatusCode::NOT_FOUND);
        let yes = json!({"answer": "proceed", "why": "fine"});
        let (status, told) = by_person(&routes, ("POST", &path), yes, channel).await;
        assert_eq!(status, StatusCode::OK, "{told}");
    }
}

#[tokio::test]
async fn every_request_that_changes_something_is_noted_before_its_reply() {
    let engine = strict();
    let routes = api(&engine);
    let (run, point) = waiting(&engine, Some("ann")).await;
    let ann = RunOwner(Some("ann".into()));
    let answer = format!("/api/approvals/{point}");
    let steer = |what: &str| format!("/api/runs/{run}/{what}");
    for (path, body, command, result) in [
        (
            answer.clone(),
            json!({"answer": "proceed", "why": "now"}),
            "answer",
            "refused",
        ),
        (steer("pause"), json!({}), "pause", "paused"),
        (steer("abort"), json!({"why": "enough"}), "abort", "aborted"),
        (steer("abort"), json!({}), "abort", "refused"),
        (
            "/api/tools/none/runs".into(),
            json!({"input": {}}),
            "run",
            "refused",
        ),
    ] {
        let before = engine.audit_notes(0, None).await.unwrap().len();
        asked(&routes, &path, Some(body.clone()), ann.clone()).await;
        let notes = engine.audit_notes(0, None).await.unwrap();
        assert_eq!(notes.len(), before + 1, "{path}");
        let note = notes.last().unwrap();
        assert_eq!(
            (
                &note["command"],
                &note["result"],
                &note["door"],
                &note["by"]
            ),
            (
                &json!(command),
                &json!(result),
                &json!("http"),
                &json!("ann")
            ),
            "{note}"
        );
        if command != "run" {
            assert_eq!(note["run_id"], run, "{note}");
        }
    }
    let notes = engine.audit_notes(0, None).await.unwrap();
    assert_eq!(notes[0]["why"], "now");
    assert_eq!(notes[0]["decisions"][0]["reason"], "policy");
    // Requests that only compute or read are not audited.
    let before = notes.len();
    let text = json!({"text": "a"});
    asked(&routes, "/api/check", Some(text), ann.clone()).await;
    asked(&routes, "/api/runs", None, ann).await;
    assert_eq!(engine.audit_notes(0, None).await.unwrap().len(), before);
}

#[tokio::test]
async fn a_question_shows_its_call_and_a_person_can_edit_it() {
    let engine = strict();
    let routes = api(&engine);
    let (run, point) = waiting(&engine, Some("ann")).await;
    // The first question comes from the policy, about the first of the two calls.
    let path = format!("/api/approvals/{point}");
    let person =
        |method, path, body| by_person(&routes, (method, path), body, AnswerChannel::Studio);
    let (_, listed) = person("GET", "/api/approvals", json!(null)).await;
    let call = &listed["approvals"][0]["call"];
    assert_eq!(call["tool"], "t:look");
    assert_eq!(
        (&call["server"], &call["name"]),
        (&json!("t"), &json!("look"))
    );
    assert_eq!(call["arguments"], json!({}));
    assert_eq!(call["annotations"], json!({"readOnlyHint": true}));
    assert_eq!(call["editable"], json!(true));
    assert_eq!(listed["approvals"][0]["requested"]["workflow"], "order");
    assert_eq!(listed["approvals"][0]["requested"]["owner"], "ann");
    assert_eq!(listed["approvals"][0]["done"]["calls"], 0);
    let (_, one) = person("GET", &path, json!(null)).await;
    assert_eq!(one["call"]["arguments"], json!({}));
    // A caller with the run's own token cannot edit, a person can.
    let edit = json!({"answer": "proceed", "arguments": {"more": 1}});
    let ann = RunOwner(Some("ann".into()));
    let (status, told) = asked(&routes, &path, Some(edit.clone()), ann).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{told}");
    let wrong = json!({"answer": "reject", "arguments": {}});
    let (status, _) = person("POST", &path, wrong).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (status, told) = person("POST", &path, edit).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let loaded = engine.load(&run.parse().unwrap()).await.unwrap();
    let trace =
        tramline_views::trace::Trace::of(&loaded.run.id, &loaded.run.graph, &loaded.entries);
    let edited = trace.pauses[0].edited_arguments.as_ref().unwrap();
    assert_eq!(edited.to_json(), r#"{"more":1}"#);
}

#[tokio::test]
async fn without_a_token_questions_for_a_person_stay_open() {
    let engine = crate::support::engine();
    let routes = api(&engine);
    let (run, point) = waiting(&engine, None).await;
    let path = format!("/api/approvals/{point}");
    for answer in ["proceed", "reject"] {
        let (status, told) = openly(&routes, "POST", &path, json!({"answer": answer})).await;
        assert_eq!(
            (status, told["error"]["kind"].as_str()),
            (StatusCode::FORBIDDEN, Some("person_needed"))
        );
        let says = told["error"]["message"].as_str().unwrap();
        assert!(says.contains("without a token"), "{says}");
    }
    // Repeating calls without asking is such an answer too.
    let fork = json!({"repeat_effects": true});
    let (status, told) = openly(&routes, "POST", &format!("/api/runs/{run}/fork"), fork).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{told}");
    // Aborting the run is one of the things agents may do on their own.
    let abort = format!("/api/runs/{run}/abort");
    let (status, told) = openly(&routes, "POST", &abort, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{told}");
}
