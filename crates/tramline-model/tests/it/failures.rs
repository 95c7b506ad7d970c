//! Endpoints that are busy, silent, unreachable or interrupted.

use crate::server::{Reply, Server};
use crate::{endpoint, prompt};
use serde_json::json;
use std::time::{Duration, Instant};
use tramline_engine::ports::{Model, ModelAnswer};
use tramline_model::{Dialect, Endpoint, HttpModel};
use tramline_workflow::failure::{Failure, FailureKind};

fn busy(status: u16, headers: &'static str) -> Reply {
    let body = json!({"error": {"message": "come back later"}}).to_string();
    Reply::Whole(status, headers, body)
}

fn word(text: &str) -> String {
    json!({"choices": [{"delta": {"content": text}}]}).to_string()
}

fn fine() -> Reply {
    Reply::Stream(vec![word("fine"), "[DONE]".into()])
}

async fn ask(script: Vec<Reply>, patience: Duration) -> (Result<ModelAnswer, Failure>, usize) {
    let server = Server::start(script).await;
    let endpoint = Endpoint {
        timeout: patience,
        ..endpoint(Dialect::OpenAi, &server.url)
    };
    let answer = HttpModel::new(endpoint).complete(prompt("Hi", None)).await;
    (answer, server.asked().len())
}

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn who_is_busy_is_asked_again() {
    let script = vec![
        busy(429, "retry-after: 0\r\n"),
        busy(503, ""),
        busy(500, ""),
        fine(),
    ];
    let (answer, asked) = ask(script, LONG).await;
    assert_eq!((answer.unwrap().text.as_str(), asked), ("fine", 4));
}

#[tokio::test]
async fn a_storm_of_refusals_ends() {
    let script = vec![busy(429, "retry-after: 0\r\n"); 10];
    let (answer, asked) = ask(script, LONG).await;
    let failure = answer.unwrap_err();
    assert_eq!((failure.kind, asked), (FailureKind::Unavailable, 4));
    let says = "127.0.0.1 answered 429 Too Many Requests: come back later (after 4 attempts)";
    assert_eq!(failure.message, says);
}

#[tokio::test]
async fn a_wait_that_is_asked_for_and_too_long_is_not_waited() {
    let began = Instant::now();
    let (answer, asked) = ask(
        vec![busy(429, "retry-after: 3600\r\n")],
        Duration::from_secs(3),
    )
    .await;
    assert_eq!(answer.unwrap_err().kind, FailureKind::Unavailable);
    assert_eq!(asked, 1);
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn who_breaks_off_is_asked_again() {
    let script = vec![
        Reply::Torn(vec![word("fi")]),
        Reply::Stream(vec![word("f")]),
        fine(),
    ];
    let (answer, asked) = ask(script, LONG).await;
    assert_eq!((answer.unwrap().text.as_str(), asked), ("fine", 3));
    let script = vec![Reply::Torn(vec![word("fi")]); 4];
    let failure = ask(script, LONG).await.0.unwrap_err();
    assert!(
        failure.message.contains("stopped in the middle"),
        "{failure}"
    );
}

#[tokio::test]
async fn who_hangs_is_left() {
    let script = vec![Reply::Silent, Reply::Stuck(vec![word("f")]), fine()];
    let (answer, asked) = ask(script, LONG).await;
    assert_eq!((answer.unwrap().text.as_str(), asked), ("fine", 3));
    let failure = ask(vec![Reply::Silent; 4], Duration::from_millis(600))
        .await
        .0
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
}

#[tokio::test]
async fn a_key_that_is_wrong_is_told_once_and_not_shown() {
    let (answer, asked) = ask(vec![busy(401, ""); 4], LONG).await;
    let failure = answer.unwrap_err();
    assert_eq!((failure.kind, asked), (FailureKind::Forbidden, 1));
    assert!(failure.message.contains("check the API key"), "{failure}");
    assert!(!format!("{failure:?}").contains("very-secret"));
}

#[tokio::test]
async fn a_request_that_is_wrong_is_not_repeated() {
    let (answer, asked) = ask(vec![busy(400, ""); 4], LONG).await;
    assert_eq!(
        (answer.unwrap_err().kind, asked),
        (FailureKind::BadAnswer, 1)
    );
}

#[tokio::test]
async fn nobody_there_is_said() {
    let nowhere = Endpoint {
        attempts: 2,
        ..endpoint(Dialect::OpenAi, "http://127.0.0.1:9")
    };
    let failure = HttpModel::new(nowhere)
        .complete(prompt("Hi", None))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(
        failure.message.starts_with("127.0.0.1 cannot be reached"),
        "{failure}"
    );
}

#[tokio::test]
async fn an_answer_without_end_is_refused() {
    let lines = vec![word(&"x".repeat(1 << 20)); 6];
    let failure = ask(vec![Reply::Stream(lines)], LONG).await.0.unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadAnswer);
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_heard() {
    let error = json!({"error": {"message": "overloaded"}}).to_string();
    let (answer, asked) = ask(vec![Reply::Stream(vec![word("f"), error]), fine()], LONG).await;
    assert_eq!((answer.unwrap().text.as_str(), asked), ("fine", 2));
}

#[tokio::test]
async fn a_refusal_that_echoes_the_key_does_not_give_it_away() {
    let key = "sk-very-secret";
    // Whole, in a body that is not JSON, and where the message is cut in the middle of it.
    let cut = format!("{}{key} is wrong", "x".repeat(295));
    for says in [
        format!("Incorrect API key provided: {key}"),
        cut,
        format!("authorization: Bearer {key}"),
        format!("Incorrect API key provided: {}", key.to_uppercase()),
        "Incorrect API key provided: sk-very-s".to_owned(),
        "the key that ends with ery-secret is revoked".to_owned(),
        "Incorrect API key provided: sk-v******cret.".to_owned(),
        "Incorrect API key provided: SK-V…CRET".to_owned(),
    ] {
        let json = json!({"error": {"message": says}}).to_string();
        for body in [json, says.clone()] {
            for status in [401, 400, 404] {
                let script = vec![Reply::Whole(status, "", body.clone())];
                let (answer, _) = ask(script, LONG).await;
                let failure = answer.unwrap_err().message.to_lowercase();
                assert!(!failure.contains("sk-v"), "{failure}");
                assert!(!failure.contains("cret"), "{failure}");
            }
        }
    }
    let event = json!({"error": {"message": format!("bad key {key}")}}).to_string();
    let (answer, _) = ask(vec![Reply::Stream(vec![event]); 4], LONG).await;
    let failure = answer.unwrap_err().message;
    assert!(!failure.contains("sk-v"), "{failure}");
}
