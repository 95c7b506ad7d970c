//! Time travel, explanations of branches, the debugger, forks, comparisons.

use super::support::*;
use axum::http::StatusCode;
use serde_json::json;
use tramline_engine::RunOwner;
use tramline_workflow::ids::RunId;

#[tokio::test]
async fn a_run_is_shown_as_it_stood_after_each_event() {
    let routes = api(&engine());
    let run = started(&routes, "judge", json!({"input": {"total": 60}})).await;
    let (_, stood) = get(&routes, &format!("/api/runs/{run}/at/1")).await;
    assert_eq!(
        (&stood["event"], &stood["status"]),
        (&json!("started"), &json!("running"))
    );
    assert_eq!(
        stood["nodes"]["price"],
        json!({"status": "idle", "visits": 0})
    );
    let (_, stood) = get(&routes, &format!("/api/runs/{run}/at/3")).await;
    assert_eq!(
        stood["nodes"]["price"],
        json!({"status": "succeeded", "visits": 1})
    );
    assert_eq!(stood["taken"], json!([["in", "price"], ["price", "way"]]));
    assert_eq!(stood["scope_keys"], json!(["in", "price"]));
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    let last = one["events"].as_u64().unwrap();
    let (_, stood) = get(&routes, &format!("/api/runs/{run}/at/{last}")).await;
    assert_eq!(
        (&stood["status"], &stood["event"]),
        (&json!("completed"), &json!("finished"))
    );
    assert_eq!(stood["nodes"]["lucky"]["status"], "skipped");
    assert!(
        stood["taken"]
            .as_array()
            .unwrap()
            .contains(&json!(["way", "dear"]))
    );
    for (seq, wanted) in [("0", 404), ("99", 404), ("x", 400)] {
        let (status, told) = get(&routes, &format!("/api/runs/{run}/at/{seq}")).await;
        assert_eq!(status.as_u16(), wanted, "{told}");
        assert!(told["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn a_timeline_is_numbers_in_pages() {
    let routes = api(&engine());
    let run = started(&routes, "judge", json!({"input": {"total": 60}})).await;
    let (_, first) = get(&routes, &format!("/api/runs/{run}/timeline?most=2")).await;
    assert_eq!(first["nodes"][1], "price");
    let bar = first["steps"][1].as_array().unwrap();
    assert_eq!(
        (&bar[0], &bar[1], &bar[2], &bar[5]),
        (&json!(2), &json!(1), &json!(1), &json!(1))
    );
    let next = &first["next"];
    assert_eq!(next, &json!(2));
    let (_, rest) = get(&routes, &format!("/api/runs/{run}/timeline?after={next}")).await;
    assert_eq!(rest["steps"].as_array().unwrap().len(), 3);
    assert!(rest.get("next").is_none());
}

#[tokio::test]
async fn a_choice_tells_why_with_every_operand() {
    let routes = api(&engine());
    let run = started(&routes, "judge", json!({"input": {"total": 7}})).await;
    let (_, step) = get(&routes, &format!("/api/runs/{run}/steps/3")).await;
    assert_eq!(
        (&step["node"], &step["kind"]),
        (&json!("way"), &json!("choose"))
    );
    let why = &step["why"];
    assert_eq!(why["picked"], "lucky");
    let (first, second) = (&why["rules"][0], &why["rules"][1]);
    assert_eq!(
        (&first["held"], &second["held"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(first["tree"]["text"], ">");
    assert_eq!(
        first["tree"]["children"][0],
        json!({"text": "price", "value": 14, "children": []})
    );
    assert_eq!(second["tree"]["children"][0]["value"], 7);
    assert_eq!(second["tree"]["children"][0]["text"], "$.in.total");
    assert_eq!(step["seqs"], json!({"started": null, "finished": 4}));
    let (_, step) = get(&routes, &format!("/api/runs/{run}/steps/2")).await;
    assert_eq!(
        (&step["expression"], &step["output"]),
        (&json!("$.in.total * 2"), &json!(14))
    );
    assert!(step.get("why").is_none());
    let (status, _) = get(&routes, &format!("/api/runs/{run}/steps/40")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_run_is_halted_stepped_and_let_go() {
    let routes = api(&engine());
    let body = json!({"input": {"total": 1}, "breakpoints": [{"node": "price"}]});
    let run = started(&routes, "judge", body).await;
    let at = |path: &str| format!("/api/runs/{run}/{path}");
    let (_, one) = get(&routes, &format!("/api/runs/{run}")).await;
    assert_eq!(one["questions"][0]["node"], "price");
    let (status, told) = post(&routes, &at("step"), json!({})).await;
    assert_eq!((status, &told["stepping"]), (StatusCode::OK, &json!(true)));
    let one = rested(&routes, &run).await;
    assert_eq!(one["questions"][0]["node"], "way", "{one}");
    let breaks = json!({"breakpoints": [{"node": "cheap", "when": "price = 2"}]});
    let (_, told) = sent(
        &routes,
        "PUT",
        &at("breakpoints"),
        Some(breaks.clone()),
        RunOwner::default(),
    )
    .await;
    assert_eq!(told["breakpoints"], breaks["breakpoints"]);
    post(&routes, &at("continue"), json!({})).await;
    let one = rested(&routes, &run).await;
    assert_eq!(
        (&one["questions"][0]["node"], &one["stepping"]),
        (&json!("cheap"), &json!(false))
    );
    let (_, stood) = get(&routes, &at(&format!("at/{}", one["events"]))).await;
    assert_eq!(stood["nodes"]["cheap"]["status"], "waiting");
    post(&routes, &at("continue"), json!({})).await;
    assert_eq!(rested(&routes, &run).await["status"], "completed");
    let (status, told) = post(&routes, &at("pause"), json!({})).await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::CONFLICT, &json!("over"))
    );
    let bad = json!({"breakpoints": [{"node": "nowhere"}]});
    let (status, _) = sent(
        &routes,
        "PUT",
        &at("breakpoints"),
        Some(bad),
        RunOwner::default(),
    )
    .await;
    assert!(status.is_client_error());
}

#[tokio::test]
async fn a_fork_goes_another_way_and_both_are_compared() {
    let routes = api(&engine());
    let run = started(&routes, "judge", json!({"input": {"total": 60}})).await;
    let fork = format!("/api/runs/{run}/fork");
    let (status, told) = post(&routes, &fork, json!({"step": 2, "output": 1})).await;
    assert_eq!(status, StatusCode::CREATED, "{told}");
    let other = told["run_id"].as_str().unwrap();
    let one = rested(&routes, other).await;
    assert_eq!(one["outcome"]["result"], "cheap");
    assert_eq!(one["forked_from"]["run_id"], json!(run));
    let (_, both) = get(&routes, &format!("/api/compare?left={run}&right={other}")).await;
    assert_eq!(both["same"], false);
    let steps = both["steps"].as_array().unwrap();
    let at = |node: &str| steps.iter().find(|pair| pair["node"] == node).unwrap();
    assert_eq!(
        (&at("in")["same"], &at("price")["same"]),
        (&json!(true), &json!(false))
    );
    assert!(at("dear").get("right").is_none());
    assert!(at("cheap").get("left").is_none());
    let (_, told) = post(&routes, &fork, json!({"input": {"total": 7}})).await;
    let anew = rested(&routes, told["run_id"].as_str().unwrap()).await;
    assert_eq!(anew["outcome"]["result"], "lucky");
    assert_eq!(anew["forked_from"], json!({"run_id": run, "seq": 1}));
    let anew = anew["run_id"].as_str().unwrap();
    for (left, right, fork) in [(run.as_str(), anew, "right"), (anew, run.as_str(), "left")] {
        let path = format!("/api/compare?left={left}&right={right}");
        let (_, both) = get(&routes, &path).await;
        assert_eq!(both["forked"], json!({"fork": fork, "seq": 1}), "{both}");
    }
    let path = format!("/api/compare?left={other}&right={anew}");
    assert!(get(&routes, &path).await.1.get("forked").is_none());
    let (_, trace) = get(&routes, &format!("/api/runs/{anew}/trace")).await;
    assert_eq!(trace["forked_from"]["run_id"], json!(run));
    let (status, told) = post(&routes, &fork, json!({"input": {"total": "x"}})).await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::BAD_REQUEST, &json!("refused"))
    );
    let (status, _) = post(&routes, &fork, json!({"input": {}, "step": 2})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (status, _) = post(&routes, &fork, json!({"step": 77})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn nobody_looks_into_the_runs_of_another() {
    let engine = engine();
    let routes = api(&engine);
    let (run, _) = waiting(&engine, Some("ann")).await;
    let _: RunId = run.parse().unwrap();
    let own = || RunOwner(Some("ann".into()));
    for path in ["timeline", "at/1", "steps/1", "graph", "events"] {
        let path = format!("/api/runs/{run}/{path}");
        assert_eq!(get(&routes, &path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let (status, _) = asked(&routes, &format!("/api/runs/{run}/at/1"), None, own()).await;
    assert_eq!(status, StatusCode::OK);
    for path in ["pause", "step", "continue", "fork"] {
        let path = format!("/api/runs/{run}/{path}");
        assert_eq!(
            post(&routes, &path, json!({})).await.0,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}
