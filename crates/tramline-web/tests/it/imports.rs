//! Importing files as runs: without secrets, atomically.

use super::support::*;
use axum::Router;
use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use tramline_engine::testing::FakeTools;
use tramline_engine::{EXPORT_BYTES_MAX, Engine, RunOwner, RunStart, ToolPolicy};
use tramline_expr::Value;

const SECRET: &str = "sk-\"quoted\"-0123456789";
const PIN: &str = "4711";

/// A run with this input from a place where no secrets were known, as a file.
async fn file(input: Json) -> Json {
    let engine = engine();
    let handle = engine
        .start(RunStart::new(graph(), Value::from(input)))
        .await
        .unwrap();
    let run = handle.run.clone();
    handle.wait().await.unwrap();
    let (_, file) = get(&api(&engine), &format!("/api/runs/{run}/export")).await;
    file
}

/// Everything that can be read of a run, in the journal and over the API.
async fn read(engine: &Engine, routes: &Router, run: &str) -> String {
    let entries = engine.entries(&run.parse().unwrap()).await.unwrap();
    let mut all = String::new();
    for entry in entries {
        all += &serde_json::to_string(&entry.event).unwrap();
    }
    let paths = [
        "",
        "/trace",
        "/events?whole=true",
        "/timeline",
        "/export",
        "/at/2",
        "/steps/1",
        "/graph",
        "/amendments",
    ];
    for path in paths {
        all += &asked_text(routes, &format!("/api/runs/{run}{path}"))
            .await
            .1;
    }
    all
}

#[tokio::test]
async fn a_secret_in_a_file_reaches_nothing_however_it_is_spelt() {
    let engine = secretive(
        FakeTools::contract_tools("t"),
        &[("KEY", SECRET), ("PIN", PIN)],
        ToolPolicy::default(),
    );
    let routes = api(&engine);
    let input =
        json!({"text": format!("a {SECRET} b"), SECRET: 1, "pin": 4711, "deep": [{"x": SECRET}]});
    let mut file = file(input).await;
    // A time that happens to contain a short secret stays a time.
    for entry in file["journal"].as_array_mut().unwrap() {
        entry[0] = json!(1_764_711_000_000_i64);
    }
    let plain = file.to_string();
    let spelt: String = SECRET
        .chars()
        .map(|one| format!("\\u{:04x}", u32::from(one)))
        .collect();
    let escaped = plain.replace(&SECRET.replace('"', "\\\""), &spelt);
    assert_ne!(plain, escaped);
    for text in [plain, escaped] {
        let (status, told) = brought(&routes, text).await;
        assert_eq!(status, StatusCode::CREATED, "{told}");
        let run = told["run_id"].as_str().unwrap();
        let all = read(&engine, &routes, run).await;
        assert!(all.contains("[redacted:KEY]") && all.contains("a [redacted"));
        for form in [SECRET, &SECRET.replace('"', "\\\""), &spelt] {
            assert!(!all.contains(form), "{form}: {all}");
        }
        let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
        assert_eq!(one["input"]["pin"], "[redacted:PIN]", "{one}");
        assert_eq!(one["started_ms"], 1_764_711_000_000_i64);
    }
}

/// Nothing was stored.
async fn nothing(engine: &Engine, routes: &Router, why: &str) {
    let (_, listed) = get(routes, "/api/runs").await;
    assert_eq!(listed["runs"], json!([]), "{why}");
    assert_eq!(engine.store().usage().await.unwrap().bytes, 0, "{why}");
}

#[tokio::test]
async fn bad_files_are_refused_with_why_and_leave_nothing_behind() {
    let engine = engine();
    let routes = api(&engine);
    let sound = file(json!({})).await;
    let with = |change: &dyn Fn(&mut Json)| {
        let mut file = sound.clone();
        change(&mut file);
        file.to_string()
    };
    let text = sound.to_string();
    let elsewhere = api(&super::support::engine());
    let run = started(&elsewhere, "judge", json!({"input": {"total": 1}})).await;
    let (_, mut gap) = get(&elsewhere, &format!("/api/runs/{run}/export")).await;
    gap["journal"].as_array_mut().unwrap().remove(2);
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let long = "x".repeat(100_000);
    let bad: Vec<(&str, String, &str)> = vec![
        ("empty", String::new(), "EOF"),
        ("truncated", text[..text.len() / 2].to_owned(), "EOF"),
        (
            "too deep",
            with(&|file| file["journal"][0][1]["Started"]["input"] = json!("DEEP"))
                .replace("\"DEEP\"", &deep),
            "recursion",
        ),
        (
            "another version",
            with(&|file| file["tramline_run"] = json!(9)),
            "version 9",
        ),
        (
            "no journal",
            with(&|file| file["journal"] = json!([])),
            "no first event",
        ),
        (
            "no first event",
            with(&|file| {
                file["journal"].as_array_mut().unwrap().remove(0);
            }),
            "no first event",
        ),
        (
            "begun twice",
            with(&|file| {
                let journal = file["journal"].as_array_mut().unwrap();
                journal.insert(1, journal[0].clone());
            }),
            "event 2",
        ),
        (
            "in another order",
            with(&|file| file["journal"].as_array_mut().unwrap().swap(1, 2)),
            "event 3",
        ),
        ("a gap", gap.to_string(), "event 3"),
        (
            "an unknown event",
            with(&|file| file["journal"][1][1] = json!({"Exploded": {}})),
            "Exploded",
        ),
        (
            "a long unknown event",
            with(&|file| file["journal"][1][1] = json!({long.as_str(): {}})),
            "xxxx",
        ),
        (
            "a node that is not there",
            text.replace("\"node\":0", "\"node\":99"),
            "event",
        ),
        (
            "a time before all times",
            with(&|file| file["journal"][1][0] = json!(i64::MIN)),
            "valid event time",
        ),
        (
            "a time after all times",
            with(&|file| file["journal"][1][0] = json!(i64::MAX)),
            "valid event time",
        ),
        (
            "a graph that cannot be",
            with(&|file| {
                file["journal"][0][1]["Started"]["workflow"]["edges"][0]["to"] = json!("nowhere")
            }),
            "event 1",
        ),
    ];
    for (why, text, says) in bad {
        let (status, told) = brought(&routes, text).await;
        let message = told["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(
            (status, &told["error"]["kind"]),
            (StatusCode::BAD_REQUEST, &json!("refused")),
            "{why}: {told}"
        );
        assert!(
            message.starts_with("invalid export file: "),
            "{why}: {message}"
        );
        assert!(
            message.contains(says) && message.len() < 500,
            "{why}: {message}"
        );
        nothing(&engine, &routes, why).await;
    }
    let (status, told) = brought(&routes, vec![b'"'; EXPORT_BYTES_MAX + 1]).await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::PAYLOAD_TOO_LARGE, &json!("too_large"))
    );
    let (status, told) = brought(&routes, vec![0xff, 0xfe]).await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::BAD_REQUEST, &json!("bad_request"))
    );
    let large = " ".repeat(EXPORT_BYTES_MAX + 1);
    assert!(engine.import(&large, RunOwner::default()).await.is_err());
    nothing(&engine, &routes, "too large").await;
}

#[tokio::test]
async fn a_file_that_comes_twice_is_two_runs_beside_the_first() {
    let engine = engine();
    let routes = api(&engine);
    let (run, _) = waiting(&engine, None).await;
    let (_, file) = get(&routes, &format!("/api/runs/{run}/export")).await;
    let mut ids = vec![run];
    for _ in 0..2 {
        let (status, told) = brought(&routes, file.to_string()).await;
        assert_eq!(status, StatusCode::CREATED, "{told}");
        ids.push(told["run_id"].as_str().unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    let (_, one) = get(
        &routes,
        &format!("/api/runs/{}", file["run_id"].as_str().unwrap()),
    )
    .await;
    assert_eq!(one["status"], "paused");
}

/// Every leaf of a JSON file.
fn leaves(at: &str, value: &Json, found: &mut Vec<String>) {
    match value {
        Json::Object(map) => map
            .iter()
            .for_each(|(key, below)| leaves(&format!("{at}/{key}"), below, found)),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(place, below)| leaves(&format!("{at}/{place}"), below, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            found.push(at.to_owned());
        }
    }
}

#[tokio::test]
async fn whatever_is_changed_in_a_file_it_is_refused_or_can_be_looked_at() {
    let engine = engine();
    let routes = api(&engine);
    let run = started(&routes, "judge", json!({"input": {"total": 60}})).await;
    let (_, sound) = get(&routes, &format!("/api/runs/{run}/export")).await;
    let mut places = Vec::new();
    leaves("", &sound, &mut places);
    assert!(places.len() > 50, "{places:?}");
    let wrong = [
        json!(null),
        json!(-1),
        json!(u64::MAX),
        json!("x"),
        json!([]),
    ];
    let mut taken = 0;
    for place in &places {
        for value in &wrong {
            let mut file = sound.clone();
            *file.pointer_mut(place).unwrap() = value.clone();
            let (status, told) = brought(&routes, file.to_string()).await;
            if status != StatusCode::CREATED {
                assert_eq!(told["error"]["kind"], "refused", "{place} {value}: {told}");
                continue;
            }
            taken += 1;
            let copy = told["run_id"].as_str().unwrap();
            for path in [
                "",
                "/trace",
                "/timeline",
                "/graph",
                "/at/3",
                "/steps/3",
                "/export",
            ] {
                let path = format!("/api/runs/{copy}{path}");
                let (status, _) = asked_text(&routes, &path).await;
                assert!(
                    !status.is_server_error(),
                    "{place} {value} {path}: {status}"
                );
            }
        }
    }
    assert!(taken > 0);
}
