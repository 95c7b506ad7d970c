//! What every route asks of a request and says to a browser.
//!
//! Whoever serves the routes has looked at token, host and origin before.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tramline_engine::Owner;

/// What a page may load and where it may be shown: nothing but us.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Takes commands as JSON only, and says to browsers what they may make of the answer.
pub(crate) async fn harden(mut request: Request, next: Next) -> Response {
    if !is_readable(request.method(), request.headers()) {
        let says = "send JSON, with `content-type: application/json`";
        return (StatusCode::FORBIDDEN, says).into_response();
    }
    // Where there are no names, everything is nobody's.
    request.extensions_mut().get_or_insert_default::<Owner>();
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}

/// Whether a request only reads, or is JSON: a form of another page cannot send that unasked.
fn is_readable(method: &Method, headers: &HeaderMap) -> bool {
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
            is_readable(&method, &kind.into_iter().collect())
        };
        assert!(sent(Method::GET, None));
        assert!(!sent(Method::POST, None));
        assert!(!sent(Method::POST, Some("text/plain")));
        assert!(sent(Method::POST, Some("application/json; charset=utf-8")));
    }
}
