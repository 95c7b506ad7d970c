//! Documents on disk, edits in their graphs, and evaluating expressions.

use super::support::*;
use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tramline_engine::RunOwner;
use tramline_engine::testing::hold_trial_slots;
use tramline_web::{DocumentFiles, Studio};

/// One file, in memory.
struct MemoryFile(Mutex<String>);

impl DocumentFiles for MemoryFile {
    fn read(&self, _: &Path) -> Result<(String, bool), String> {
        Ok((self.0.lock().unwrap().clone(), true))
    }

    fn write(&self, _: &Path, text: &str) -> Result<(), String> {
        text.clone_into(&mut self.0.lock().unwrap());
        Ok(())
    }
}

fn opened(paper: &Arc<MemoryFile>) -> axum::Router {
    let studio = Studio {
        documents: vec!["/somewhere/judge.yaml".into()],
        files: Some(Arc::clone(paper) as _),
        ..Studio::default()
    };
    let engine = engine();
    tramline_web::api(&engine, &catalog(&engine), studio)
}

#[tokio::test]
async fn without_a_token_no_document_is_written() {
    let paper = Arc::new(MemoryFile(Mutex::new(CHOOSES.to_owned())));
    let routes = opened(&paper);
    let (_, read) = get(&routes, "/api/documents/judge.yaml").await;
    let body = json!({"text": "another", "hash": read["hash"]});
    let (status, told) = openly(&routes, "PUT", "/api/documents/judge.yaml", body).await;
    assert_eq!(
        (status, told["error"]["kind"].as_str()),
        (StatusCode::FORBIDDEN, Some("token_needed"))
    );
    assert_eq!(*paper.0.lock().unwrap(), CHOOSES);
}

#[tokio::test]
async fn a_document_is_written_back_unless_it_changed_meanwhile() {
    let paper = Arc::new(MemoryFile(Mutex::new(CHOOSES.to_owned())));
    let routes = opened(&paper);
    let (_, tools) = get(&routes, "/api/tools").await;
    assert_eq!(tools["tools"][0]["document"], "judge.yaml");
    let (_, about) = get(&routes, "/api/about").await;
    assert_eq!(about["documents"], true);
    let (_, all) = get(&routes, "/api/documents").await;
    let one = &all["documents"][0];
    assert_eq!(
        (&one["id"], &one["format"], &one["writable"]),
        (&json!("judge.yaml"), &json!("yaml"), &json!(true))
    );
    let (_, read) = get(&routes, "/api/documents/judge.yaml").await;
    assert_eq!(read["text"], CHOOSES);
    let text = CHOOSES.replace("Judges", "Weighs");
    let put = |hash: &serde_json::Value| {
        let body = json!({"text": text, "hash": hash});
        let routes = routes.clone();
        async move {
            sent(
                &routes,
                "PUT",
                "/api/documents/judge.yaml",
                Some(body),
                RunOwner::default(),
            )
            .await
        }
    };
    let (status, written) = put(&read["hash"]).await;
    assert_eq!(status, StatusCode::OK, "{written}");
    assert_eq!(*paper.0.lock().unwrap(), text);
    let (status, told) = put(&read["hash"]).await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::CONFLICT, &json!("stale"))
    );
    assert_eq!(put(&written["hash"]).await.0, StatusCode::OK);
    for id in ["other.yaml", "..%2Fjudge.yaml"] {
        let path = format!("/api/documents/{id}");
        assert_eq!(get(&routes, &path).await.0, StatusCode::NOT_FOUND, "{id}");
        let body = json!({"text": "x", "hash": "y"});
        let (status, _) = sent(&routes, "PUT", &path, Some(body), RunOwner::default()).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{id}");
    }
}

#[tokio::test]
async fn an_edit_is_a_few_patches_and_what_is_wrong_then() {
    let routes = api(&engine());
    let edits = json!([{"op": "rename_node", "id": "price", "to": "cost"}]);
    let body = json!({"text": CHOOSES, "edits": edits});
    let (status, told) = post(&routes, "/api/edit", body).await;
    assert_eq!(
        (status, &told["flaws"]),
        (StatusCode::OK, &json!([])),
        "{told}"
    );
    let text = told["text"].as_str().unwrap();
    assert!(
        text.contains("# What is dear is looked at twice.") && text.contains("{var: cost}"),
        "{text}"
    );
    assert_eq!(told["patches"].as_array().unwrap().len(), 3);
    let edits = json!([{"op": "disconnect", "from": "price", "to": "way"}]);
    let (_, told) = post(
        &routes,
        "/api/edit",
        json!({"text": CHOOSES, "edits": edits}),
    )
    .await;
    assert_eq!(told["flaws"][0]["node"], "price", "{told}");
    let edits = json!([{"op": "remove_node", "id": "nobody"}]);
    let (status, told) = post(
        &routes,
        "/api/edit",
        json!({"text": CHOOSES, "edits": edits}),
    )
    .await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("refused"))
    );
}

#[tokio::test]
async fn expressions_are_tried_out_on_values_and_on_runs() {
    let routes = api(&engine());
    let body = json!({"language": "jsonata", "expression": "a.b + 1", "data": {"a": {"b": 2}}});
    let (_, told) = post(&routes, "/api/eval", body).await;
    assert_eq!(
        (&told["value"], &told["tree"]["children"][0]["value"]),
        (&json!(3), &json!(2))
    );
    let body = json!({"language": "jsonata", "expression": "nothing", "data": {}});
    let (_, told) = post(&routes, "/api/eval", body).await;
    assert_eq!(
        (&told["value"], &told["undefined"]),
        (&json!(null), &json!(true))
    );
    let body = json!({"language": "jsonata", "expression": "1 +", "data": {}});
    let (status, told) = post(&routes, "/api/eval", body).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        told["error"]["code"].is_string() && told["error"]["position"].is_number(),
        "{told}"
    );
    let run = started(&routes, "judge", json!({"input": {"total": 60}})).await;
    let rule = json!({">": [{"var": "price"}, 100]});
    let body = json!({"language": "jsonlogic", "expression": rule, "run_id": run});
    let (_, told) = post(&routes, "/api/eval", body).await;
    assert_eq!(told["value"], true);
    let text = rule.to_string();
    let body = json!({"language": "jsonlogic", "expression": text, "run_id": run, "seq": 2});
    let (_, told) = post(&routes, "/api/eval", body).await;
    assert_eq!(told["value"], false);
    let body =
        json!({"language": "jsonata", "expression": "$executionCount('price')", "run_id": run});
    let (_, told) = post(&routes, "/api/eval", body).await;
    assert_eq!(told["value"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_playground_keeps_to_small_bounds() {
    let routes = api(&engine());
    let cases = [
        // Doubles a text until it is too long.
        (
            "($f := function($s, $n) { $n = 0 ? $s : $f($s & $s, $n - 1) }; $f('aaaaaaaa', 22))",
            "L0003",
        ),
        ("$map([1..900000], function($v) { $v })", "L0004"),
        (
            "($f := function($n) { $n = -1 ? 0 : $f($n + 1) }; $f(0))",
            "L000",
        ),
        // Small enough to build, too large to return.
        (
            "$join($map([1..60000], function($v) { 'aaaaaaaaaaaaaaaaaaaaaaaa' }))",
            "L0007",
        ),
    ];
    for (expression, code) in cases {
        let body = json!({"language": "jsonata", "expression": expression, "data": null});
        let (_, told) = post(&routes, "/api/eval", body).await;
        let found = told["error"]["code"].as_str().unwrap_or_default();
        assert!(found.starts_with(code), "{expression}: {}", told["error"]);
        assert!(told.to_string().len() < 3 << 20, "{expression}");
    }
    let body =
        json!({"language": "jsonata", "expression": "$count([1..1000].{'a': $})", "data": null});
    let (_, told) = post(&routes, "/api/eval", body).await;
    assert_eq!(told["value"], 1000);
    assert!(told.to_string().len() < 1 << 20);
}

/// A request of the playground, and how many of them have been answered.
async fn evaluate(routes: axum::Router, expression: &str, answered: Arc<AtomicUsize>) -> Json {
    let body = json!({"language": "jsonata", "expression": expression, "data": null});
    let (_, told) = post(&routes, "/api/eval", body).await;
    answered.fetch_add(1, Ordering::SeqCst);
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_requests_are_answered_while_the_playground_computes() {
    const EVALUATIONS: usize = 8;
    const LONG: &str = "$sum([1..60].($count($map([1..2000], function($v) { $v * 2 }))))";
    let routes = api(&engine());
    let answered = Arc::new(AtomicUsize::new(0));
    let all: Vec<_> = (0..EVALUATIONS)
        .map(|_| tokio::spawn(evaluate(routes.clone(), LONG, Arc::clone(&answered))))
        .collect();
    // The only worker takes tasks in order: it gets here first only if it computes nothing itself.
    let other = (routes.clone(), Arc::clone(&answered));
    let other = tokio::spawn(async move {
        let (status, _) = get(&other.0, "/api/runs").await;
        assert_eq!(status, StatusCode::OK);
        other.1.load(Ordering::SeqCst)
    });
    assert!(other.await.unwrap() < EVALUATIONS);
    for one in all {
        let told = one.await.unwrap();
        assert!(
            told["value"].is_number() || told["error"]["code"].is_string(),
            "{told}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_playground_computes_no_more_at_once_than_there_are_cores() {
    let routes = api(&engine());
    let held = hold_trial_slots().await;
    assert!(held.is_some());
    let answered = Arc::new(AtomicUsize::new(0));
    let all: Vec<_> = (0..40)
        .map(|_| tokio::spawn(evaluate(routes.clone(), "1 + 1", Arc::clone(&answered))))
        .collect();
    for _ in 0..40 {
        get(&routes, "/api/runs").await;
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
    assert_eq!(answered.load(Ordering::SeqCst), 0, "all slots are taken");
    drop(held);
    for one in all {
        assert_eq!(one.await.unwrap()["value"], 2);
    }
}
