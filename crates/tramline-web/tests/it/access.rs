//! The studio's key: exchanged for a one-time code, once, within its lifetime.

use crate::support::post;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tower::ServiceExt;
use tramline_web::{FurtherAddress, StudioAccess};

const KEY: &str = "00112233445566778899aabbccddeeff";
const PATH: &str = "/api/studio/key";
const URL: &str = "http://127.0.0.1:9/studio";
const LIFETIME: Duration = Duration::from_secs(300);

/// The routes with a test clock and a test terminal.
struct AccessFixture {
    access: Arc<StudioAccess>,
    routes: Router,
    now: Arc<Mutex<Instant>>,
    printed: Arc<Mutex<Vec<String>>>,
}

impl AccessFixture {
    fn new() -> Self {
        let printed = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&printed);
        let print = move |address: &str| to.lock().unwrap().push(address.to_owned());
        let now = Arc::new(Mutex::new(Instant::now()));
        let clock = Arc::clone(&now);
        let access = StudioAccess::new(KEY, FurtherAddress::Printed(Box::new(print)))
            .with_clock(move || *clock.lock().unwrap());
        access.serve_at(URL);
        let access = Arc::new(access);
        let routes = tramline_web::studio(Arc::clone(&access));
        Self {
            access,
            routes,
            now,
            printed,
        }
    }

    fn code(&self) -> String {
        let address = self.access.fresh_address().unwrap().unwrap();
        code_of(&address)
    }

    fn later(&self, by: Duration) {
        *self.now.lock().unwrap() += by;
    }
}

fn code_of(address: &str) -> String {
    let code = address.strip_prefix(&format!("{URL}#code=")).unwrap();
    assert_eq!(code.len(), 32, "128 bits: {code}");
    code.to_owned()
}

#[tokio::test]
async fn a_code_is_exchanged_once() {
    let bench = AccessFixture::new();
    let code = bench.code();
    let (status, reply) = post(&bench.routes, PATH, json!({"code": code})).await;
    assert_eq!((status, &reply["key"]), (StatusCode::OK, &json!(KEY)));
    assert!(bench.printed.lock().unwrap().is_empty());
    let (status, reply) = post(&bench.routes, PATH, json!({"code": code})).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    assert_eq!(reply["error"]["kind"], "bad_code");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("used before, or has expired") && message.contains("terminal"));
    // The terminal shows another code, the reply does not.
    let printed = bench.printed.lock().unwrap().clone();
    let next = code_of(&printed[0]);
    assert!(!reply.to_string().contains(&next) && !reply.to_string().contains(KEY));
    let (status, _) = post(&bench.routes, PATH, json!({"code": next})).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_code_expires() {
    let bench = AccessFixture::new();
    let (early, late) = (bench.code(), bench.code());
    bench.later(LIFETIME - Duration::from_nanos(1));
    assert_eq!(
        post(&bench.routes, PATH, json!({"code": early})).await.0,
        StatusCode::OK
    );
    bench.later(Duration::from_nanos(1));
    assert_eq!(
        post(&bench.routes, PATH, json!({"code": late})).await.0,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn what_is_no_code_gets_nothing_and_floods_no_terminal() {
    let bench = AccessFixture::new();
    let code = bench.code();
    let longer = format!("{code}0");
    for shown in ["", "0", &code[1..], &longer, KEY, &code.to_uppercase()] {
        if shown == code {
            continue;
        }
        let (status, reply) = post(&bench.routes, PATH, json!({"code": shown})).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{shown}: {reply}");
    }
    for _ in 0..50 {
        let (status, _) = post(&bench.routes, PATH, json!({})).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
    assert_eq!(bench.printed.lock().unwrap().len(), 3, "four codes at most");
    // None of these requests used up the code.
    assert_eq!(
        post(&bench.routes, PATH, json!({"code": code})).await.0,
        StatusCode::OK
    );
    bench.later(LIFETIME);
    post(&bench.routes, PATH, json!({})).await;
    assert_eq!(bench.printed.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn only_short_json_of_one_field_is_read() {
    let bench = AccessFixture::new();
    let code = bench.code();
    let (status, _) = post(&bench.routes, PATH, json!({"code": "x".repeat(1 << 10)})).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let (status, _) = post(&bench.routes, PATH, json!({"code": code, "more": 1})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let form = Request::post(PATH)
        .header("content-type", "text/plain")
        .body(Body::from(json!({"code": code}).to_string()));
    let reply = bench.routes.clone().oneshot(form.unwrap()).await.unwrap();
    assert_eq!(reply.status(), StatusCode::FORBIDDEN);
    let asked = Request::post(PATH)
        .header("content-type", "application/json")
        .body(Body::from(json!({"code": code}).to_string()));
    let reply = bench.routes.clone().oneshot(asked.unwrap()).await.unwrap();
    assert_eq!(reply.headers()["cache-control"], "no-store");
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains(KEY));
}

#[tokio::test]
async fn where_nothing_is_printed_the_refusal_says_what_to_do() {
    let access = StudioAccess::new(KEY, FurtherAddress::Unavailable("ask the operator"));
    access.serve_at(URL);
    let routes = tramline_web::studio(Arc::new(access));
    let (status, reply) = post(&routes, PATH, json!({"code": "x"})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("ask the operator"), "{message}");
}
