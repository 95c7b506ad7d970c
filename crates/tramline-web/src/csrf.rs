//! Request checks and response headers for every route.
//!
//! The server has checked token, host and origin before.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tramline_engine::RunOwner;

/// What a page may load and where it may be embedded: only our own origin.
const PAGE_POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Accepts commands only as JSON, and sets the security headers for browsers.
pub(crate) async fn check_and_harden(mut request: Request, next: Next) -> Response {
    if !is_safe_request(request.method(), request.headers()) {
        let says = "send JSON, with `content-type: application/json`";
        return (StatusCode::FORBIDDEN, says).into_response();
    }
    // Without named tokens, no run has an owner.
    request.extensions_mut().get_or_insert_default::<RunOwner>();
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}

/// Whether a request only reads or is JSON, which a form on another site cannot send without a
/// preflight.
fn is_safe_request(method: &Method, headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    method == Method::GET || is_json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_json() {
        let sent = |method, kind: Option<&'static str>| {
            let kind = kind.map(header::HeaderValue::from_static);
            let kind = kind.map(|kind| (header::CONTENT_TYPE, kind));
            is_safe_request(&method, &kind.into_iter().collect())
        };
        assert!(sent(Method::GET, None));
        assert!(!sent(Method::POST, None));
        assert!(!sent(Method::POST, Some("text/plain")));
        assert!(sent(Method::POST, Some("application/json; charset=utf-8")));
    }
}
