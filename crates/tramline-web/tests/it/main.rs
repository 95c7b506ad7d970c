//! The API on a real engine: replies, errors, and whose runs are visible.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod authority;
mod contract;
mod editing;
mod files;
mod history;
mod imports;
mod registry;
mod studio;
mod summary;
mod support;

use axum::http::StatusCode;
use serde_json::json;
use support::{api, asked, asked_text, engine, get, waiting};
use tramline_engine::RunOwner;

#[tokio::test]
async fn a_question_is_listed_and_answered_once() {
    let engine = engine();
    let routes = api(&engine);
    let (run, point) = waiting(&engine, None).await;
    let (_, listed) = get(&routes, "/api/approvals").await;
    assert_eq!(listed["approvals"][0]["checkpoint_id"], point);
    assert_eq!(
        listed["approvals"][0]["options"],
        json!(["proceed", "reject"])
    );
    assert_eq!(listed["approvals"][0]["workflow"], "order");
    let path = format!("/api/approvals/{point}");
    let wrong = asked(
        &routes,
        &path,
        Some(json!({"answer": "retry"})),
        RunOwner::default(),
    )
    .await;
    assert_eq!(wrong.0, StatusCode::BAD_REQUEST);
    assert_eq!(
        wrong.1["error"]["message"],
        "`retry` is not a valid answer; valid answers: proceed, reject"
    );
    let yes = json!({"answer": "proceed", "why": "fine", "by": "ann"});
    let (status, told) = asked(&routes, &path, Some(yes.clone()), RunOwner::default()).await;
    assert_eq!(
        (status, told["run_id"].as_str()),
        (StatusCode::OK, Some(run.as_str()))
    );
    // The run continues after the reply: the events show when it has ended.
    let (_, events) = asked_text(&routes, &format!("/api/runs/{run}/events")).await;
    assert!(
        events.contains("\"completed\"") || events.contains("Completed"),
        "{events}"
    );
    assert!(events.contains("http ann"), "{events}");
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(
        (one["status"].as_str(), &one["questions"]),
        (Some("completed"), &json!([]))
    );
    let (late, told) = asked(&routes, &path, Some(yes), RunOwner::default()).await;
    assert_eq!(
        (late, told["error"]["kind"].as_str()),
        (StatusCode::CONFLICT, Some("over"))
    );
    let (_, trace) = get(&routes, &format!("/api/runs/{run}/trace")).await;
    assert_eq!(trace["steps"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn nobody_sees_or_steers_the_runs_of_another() {
    let engine = engine();
    let routes = api(&engine);
    let (run, point) = waiting(&engine, Some("ann")).await;
    let bob = || RunOwner(Some("bob".into()));
    for owner in [RunOwner::default(), bob()] {
        let (_, listed) = asked(&routes, "/api/runs", None, owner.clone()).await;
        assert_eq!(listed["runs"], json!([]));
        let (_, listed) = asked(&routes, "/api/approvals", None, owner.clone()).await;
        assert_eq!(listed["approvals"], json!([]));
        for path in ["", "/trace", "/events"] {
            let path = format!("/api/runs/{run}{path}");
            let (status, _) = asked(&routes, &path, None, owner.clone()).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        }
        let path = format!("/api/approvals/{point}");
        let yes = Some(json!({"answer": "proceed"}));
        assert_eq!(
            asked(&routes, &path, yes, owner.clone()).await.0,
            StatusCode::NOT_FOUND
        );
        let path = format!("/api/runs/{run}/abort");
        assert_eq!(
            asked(&routes, &path, Some(json!({})), owner).await.0,
            StatusCode::NOT_FOUND
        );
    }
    let ann = RunOwner(Some("ann".into()));
    let (_, listed) = asked(&routes, "/api/runs?status=paused", None, ann.clone()).await;
    assert_eq!(listed["runs"][0]["run_id"], run);
    let path = format!("/api/runs/{run}/abort");
    let (status, told) = asked(&routes, &path, Some(json!({"why": "no"})), ann).await;
    assert_eq!(
        (status, told["status"].as_str()),
        (StatusCode::OK, Some("aborted"))
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_told() {
    let routes = api(&engine());
    let (status, told) = get(&routes, "/api/runs/nonsense").await;
    assert_eq!(
        (status, told["error"]["kind"].as_str()),
        (StatusCode::BAD_REQUEST, Some("bad_request"))
    );
    let (status, _) = get(&routes, "/api/runs?status=happy").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let nobody = "run_00000000000000000000000000";
    let (status, _) = get(&routes, &format!("/api/runs/{nobody}")).await;
    assert!(status.is_client_error());
}

#[tokio::test]
async fn the_page_is_there_and_loads_nothing_from_elsewhere() {
    let studio = support::page();
    for path in ["/studio", "/studio/studio.js", "/studio/studio.css"] {
        let (status, text) = asked_text(&studio, path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{path}"
        );
    }
}
