//! Requests that a page from elsewhere makes in somebody's browser are refused.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tramline_engine::Owner;

/// What a page may load and where it may be shown: nothing but us.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Lets a request through if it comes from no other place than the one it goes to.
pub(crate) async fn same_place(mut request: Request, next: Next) -> Response {
    if let Err(says) = check(request.method(), request.headers()) {
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

fn check(method: &Method, headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str());
    let host = match text(header::HOST) {
        Some(Ok(host)) => host,
        Some(Err(_)) | None => return Err("the request names no host"),
    };
    let bearer = headers.contains_key(header::AUTHORIZATION);
    // A name that was made to point at this machine is how pages from elsewhere reach it. Who
    // shows a token is not such a page.
    if !bearer && !is_loopback(host) {
        return Err("without a token only this machine's own names are served");
    }
    match text(header::ORIGIN) {
        None => {}
        Some(Ok(origin)) if origin.split_once("://").is_some_and(|(_, at)| at == host) => {}
        Some(_) => return Err("pages from elsewhere may not do this"),
    }
    // What changes something is JSON: a form of another page cannot send that unasked.
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if method != Method::GET && !is_json {
        return Err("send JSON, with `content-type: application/json`");
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, pairs: &[(&'static str, &'static str)]) -> Result<(), &'static str> {
        let pairs = pairs.iter().map(|(name, value)| {
            let value = header::HeaderValue::from_static(value);
            (header::HeaderName::from_static(name), value)
        });
        check(&method, &pairs.collect())
    }

    #[test]
    fn only_the_same_place_is_let_in() {
        let here = ("host", "127.0.0.1:8080");
        assert!(asked(Method::GET, &[here]).is_ok());
        assert!(asked(Method::GET, &[("host", "localhost")]).is_ok());
        assert!(asked(Method::GET, &[("host", "[::1]:99")]).is_ok());
        assert!(asked(Method::GET, &[("host", "evil.example:8080")]).is_err());
        assert!(asked(Method::GET, &[]).is_err());
        assert!(asked(Method::GET, &[here, ("origin", "http://127.0.0.1:8080")]).is_ok());
        assert!(asked(Method::GET, &[here, ("origin", "http://127.0.0.1:9")]).is_err());
        assert!(asked(Method::GET, &[here, ("origin", "null")]).is_err());
        let token = ("authorization", "Bearer x");
        assert!(asked(Method::GET, &[("host", "tram.example"), token]).is_ok());
        assert!(asked(Method::POST, &[here]).is_err());
        assert!(asked(Method::POST, &[here, ("content-type", "text/plain")]).is_err());
        assert!(asked(Method::POST, &[here, ("content-type", "application/json")]).is_ok());
    }
}
