//! The OpenAPI document: it has every route, and every reply in the tests matches it.

use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use tramline_expr::Value;
use tramline_workflow::schema::Checker;

static DOCUMENT: LazyLock<Json> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../src/openapi.json")).unwrap());

/// Checks a reply against the document.
pub(crate) fn hold(method: &str, path: &str, status: StatusCode, reply: &Json) {
    let path = path.split('?').next().unwrap_or_default();
    let Some(found) = template(path) else {
        return;
    };
    let operation = &DOCUMENT["paths"][&found][method.to_lowercase()];
    assert!(
        operation.is_object(),
        "{method} {found} is not in the document"
    );
    let responses = &operation["responses"];
    let own = responses
        .get(status.as_str())
        .unwrap_or(&responses["default"]);
    let Some(schema) = own["content"].get("application/json") else {
        return;
    };
    let mut schema = schema["schema"].clone();
    schema["components"] = json!({"schemas": DOCUMENT["components"]["schemas"]});
    let checker = Checker::new(&Value::from(schema)).unwrap_or_else(|_| panic!("{found}"));
    let checked = checker.check(&Value::from(reply.clone()));
    assert!(
        checked.is_ok(),
        "{method} {path} {status}: {:?}: {reply}",
        checked.err()
    );
}

/// The path of the document that matches a request.
fn template(path: &str) -> Option<String> {
    let parts: Vec<_> = path.split('/').collect();
    let fits = |known: &&String| {
        let known: Vec<_> = known.split('/').collect();
        let same = |(a, b): (&&str, &&str)| a == b || a.starts_with('{');
        known.len() == parts.len() && known.iter().zip(&parts).all(same)
    };
    let all = DOCUMENT["paths"].as_object()?;
    // A literal segment wins over a parameter.
    let mut found: Vec<_> = all.keys().filter(fits).cloned().collect();
    found.sort_by_key(|path| path.matches('{').count());
    found.into_iter().next()
}

#[test]
fn every_route_is_told_and_nothing_else() {
    let source = include_str!("../../src/lib.rs");
    let routes = source
        .split("\"/api")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let routes: BTreeSet<_> = routes.map(|rest| format!("/api{rest}")).collect();
    let told = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(routes, told);
}

#[tokio::test]
async fn the_document_is_served() {
    let routes = super::support::api(&super::support::engine());
    let (_, told) = super::support::get(&routes, "/api/openapi.json").await;
    assert_eq!(told["openapi"], "3.1.0");
}
