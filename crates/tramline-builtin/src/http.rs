//! `http`: a request to an allowed host. No host is allowed by default.

use crate::arguments::{Arguments, bad_arguments};
use crate::describe;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::{Map, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::text::RedactText;

/// The largest body, in bytes: responses go into the journal.
const BODY_BYTES_MAX: usize = 16 << 20;
/// The maximum number of redirects; more are treated as a loop.
const REDIRECTS_MAX: usize = 5;

/// A host that may be called: `api.example.com`, `*.example.com`, `localhost:8080`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    subdomains: bool,
    port: Option<u16>,
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("invalid host `{text}`; write api.example.com, *.example.com or host:port");
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') => {
                (host, Some(port.parse().map_err(|_| wrong())?))
            }
            _ => (text, None),
        };
        let (host, below) = host
            .strip_prefix("*.")
            .map_or((host, false), |host| (host, true));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
        if host.is_empty() || !host.chars().all(plain) {
            return Err(wrong());
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            subdomains: below,
            port,
        })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}",
            if self.subdomains { "*." } else { "" },
            self.host
        )?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl HostPattern {
    fn matches(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().map(str::to_ascii_lowercase) else {
            return false;
        };
        let named = if self.subdomains {
            host.strip_suffix(&self.host)
                .is_some_and(|rest| rest.ends_with('.'))
        } else {
            host == self.host
        };
        named
            && self
                .port
                .is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

pub(crate) fn tool() -> (&'static str, Tool) {
    describe(
        "http",
        "Makes an HTTP request to an allowed host. A JSON body is returned parsed. A status of \
         400 or more is a failure.",
        ToolHints {
            open_world: Some(true),
            ..ToolHints::default()
        },
    )
}

pub(crate) struct HttpTool {
    hosts: Arc<[HostPattern]>,
    redact: RedactText,
    /// Built on the first request: loading certificates takes longer than a whole small run.
    client: OnceLock<Result<Client, String>>,
}

impl HttpTool {
    pub(crate) fn new(hosts: Vec<HostPattern>, redact: RedactText) -> Self {
        Self {
            hosts: hosts.into(),
            redact,
            client: OnceLock::new(),
        }
    }

    /// Whether any host may be called.
    pub(crate) fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    fn client(&self) -> Result<&Client, Failure> {
        let made = self.client.get_or_init(|| {
            // Fails only if a provider is installed already, which is fine.
            let _ = rustls::crypto::ring::default_provider().install_default();
            Client::builder()
                // Redirects are followed by hand: the library would forward headers.
                .redirect(redirect::Policy::none())
                .no_proxy()
                .build()
                .map_err(|error| error.to_string())
        });
        made.as_ref()
            .map_err(|error| Failure::new(FailureKind::Unavailable, error.clone()))
    }

    pub(crate) async fn call(&self, values: &Value, timeout: Duration) -> Result<Value, Failure> {
        let given = Arguments::new("http", values, &ARGUMENTS)?;
        let mut url = self.check_allowed(given.text("url")?)?;
        add_query(&given, &mut url)?;
        let method = given.text_or("method", "GET")?.to_ascii_uppercase();
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| bad_arguments(format!("http: invalid method `{method}`")))?;
        let (headers, body) = headers_and_body(&given)?;
        let request = OutgoingRequest {
            url,
            method,
            headers,
            body,
        };
        self.follow(request, Instant::now() + timeout).await
    }

    /// Sends a request, following redirects.
    async fn follow(&self, mut request: OutgoingRequest, until: Instant) -> Result<Value, Failure> {
        for hop in 0..=REDIRECTS_MAX {
            let url = request.url.clone();
            let left = until.saturating_duration_since(Instant::now());
            let sent = request.send(self.client()?, left).await;
            let answer = sent.map_err(|error| {
                let failure = unreachable_host(&self.url_without_query(&url), &error);
                match hop {
                    0 => failure,
                    // The first request was sent, and may have been carried out.
                    _ => failure.after_sending(),
                }
            })?;
            let Some(next) = redirect_target(&answer, &url) else {
                return read_response(answer, &self.url_without_query(&url)).await;
            };
            if !self.hosts.iter().any(|pattern| pattern.matches(&next)) {
                let host = next.host_str().unwrap_or_default();
                let message = format!(
                    "{} redirected to `{host}`, which is not allowed; --allow-host {host} allows it",
                    self.url_without_query(&url)
                );
                return Err(Failure::new(FailureKind::Forbidden, message).after_sending());
            }
            request.redirect(answer.status(), next);
        }
        let message = format!(
            "{}: more than {REDIRECTS_MAX} redirects",
            self.url_without_query(&request.url)
        );
        Err(Failure::new(FailureKind::BadAnswer, message).after_sending())
    }

    /// Host and path of a URL. Its query may contain a key, and a secret in the path may contain a `?`, so the whole
    /// URL is redacted before the query is cut off.
    fn url_without_query(&self, url: &Url) -> String {
        let mut shown = url.clone();
        // Fails only for URLs without a host.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        let clean = self.redact.redact(shown.as_str());
        let place = clean.split(['?', '#']).next().unwrap_or_default();
        place
            .split_once("://")
            .map_or(place, |(_, place)| place)
            .to_owned()
    }

    fn check_allowed(&self, text: &str) -> Result<Url, Failure> {
        let url =
            Url::parse(text).map_err(|error| bad_arguments(format!("http: `{text}`: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad_arguments(format!(
                "http: `{}` is not an HTTP URL scheme",
                url.scheme()
            )));
        }
        if self.hosts.iter().any(|pattern| pattern.matches(&url)) {
            return Ok(url);
        }
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        let host = url.host_str().unwrap_or_default();
        let allowed = if hosts.is_empty() {
            "none".to_owned()
        } else {
            hosts.join(", ")
        };
        let message = format!(
            "`{host}` is not an allowed host (allowed: {allowed}); --allow-host {host} allows it"
        );
        Err(Failure::new(FailureKind::Forbidden, message))
    }
}

/// A request that can be redirected.
struct OutgoingRequest {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<String>,
}

impl OutgoingRequest {
    async fn send(&self, client: &Client, timeout: Duration) -> Result<Response, reqwest::Error> {
        let request = client
            .request(self.method.clone(), self.url.clone())
            .timeout(timeout)
            .headers(self.headers.clone());
        match &self.body {
            Some(body) => request.body(body.clone()),
            None => request,
        }
        .send()
        .await
    }

    /// Prepares the redirected request. Another origin gets none of the headers meant for the
    /// first, because any of them may be a credential; the content type stays with the body.
    fn redirect(&mut self, status: StatusCode, next: Url) {
        let turns_to_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if turns_to_get {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
        }
        if next.origin() != self.url.origin() {
            let kind = self.headers.remove(CONTENT_TYPE);
            self.headers.clear();
            if let Some(kind) = kind.filter(|_| self.body.is_some()) {
                self.headers.insert(CONTENT_TYPE, kind);
            }
        }
        self.url = next;
    }
}

/// The redirect target of a response, if it has one.
fn redirect_target(answer: &Response, url: &Url) -> Option<Url> {
    let follows = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let to = answer.headers().get(LOCATION).filter(|_| follows)?;
    let next = url.join(to.to_str().ok()?).ok()?;
    matches!(next.scheme(), "http" | "https").then_some(next)
}

/// The headers and body of a request.
fn headers_and_body(given: &Arguments<'_>) -> Result<(HeaderMap, Option<String>), Failure> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, text: &str| {
        let wrong = || bad_arguments(format!("http: invalid header `{name}`"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let value = HeaderValue::from_str(text).map_err(|_| wrong())?;
        headers.append(key, value);
        Ok(())
    };
    let named = given.any("headers").and_then(Value::as_object);
    for (name, value) in named.into_iter().flat_map(Map::iter) {
        let text = value
            .as_str()
            .ok_or_else(|| bad_arguments(format!("http: header `{name}` must be a string")))?;
        add(name, text)?;
    }
    for (name, value) in credentials(given)? {
        add(name, &value)?;
    }
    let body = match given.any("body") {
        None => None,
        Some(Value::String(text)) => Some(text.to_string()),
        Some(other) => {
            add("content-type", "application/json")?;
            Some(other.to_json())
        }
    };
    Ok((headers, body))
}

/// The arguments of `http`.
const ARGUMENTS: [&str; 8] = [
    "url",
    "method",
    "headers",
    "params",
    "body",
    "auth_token",
    "api_key",
    "api_key_header",
];

/// Adds `params` to the URL.
fn add_query(given: &Arguments<'_>, url: &mut Url) -> Result<(), Failure> {
    let Some(params) = given.any("params") else {
        return Ok(());
    };
    let named = params.as_object();
    let named = named.ok_or_else(|| given.wrong_type("params", "an object"))?;
    let mut pairs = url.query_pairs_mut();
    for (name, value) in named.iter() {
        match value {
            Value::String(text) => pairs.append_pair(name, text),
            other => pairs.append_pair(name, &other.to_json()),
        };
    }
    Ok(())
}

/// The headers that authenticate the caller.
fn credentials<'a>(given: &Arguments<'a>) -> Result<Vec<(&'a str, String)>, Failure> {
    let mut headers = Vec::new();
    let (token, key) = (
        given.text_or("auth_token", "")?,
        given.text_or("api_key", "")?,
    );
    if !token.is_empty() && !key.is_empty() {
        return Err(bad_arguments(
            "http accepts `auth_token` or `api_key`, not both".to_owned(),
        ));
    }
    if !token.is_empty() {
        headers.push(("authorization", format!("Bearer {token}")));
    }
    if !key.is_empty() {
        headers.push((
            given.text_or("api_key_header", "x-api-key")?,
            key.to_owned(),
        ));
    }
    Ok(headers)
}

fn unreachable_host(place: &str, error: &reqwest::Error) -> Failure {
    let kind = if error.is_timeout() {
        FailureKind::Timeout
    } else {
        FailureKind::Unavailable
    };
    let cause =
        std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    let what = if error.is_timeout() {
        "timed out"
    } else {
        "no response"
    };
    let failure = Failure::new(kind, format!("{place}: {what}{cause}"));
    match error.is_connect() || error.is_builder() {
        true => failure,
        // The request was sent, and may have been carried out.
        false => failure.after_sending(),
    }
}

async fn read_response(mut answer: Response, place: &str) -> Result<Value, Failure> {
    let status = answer.status();
    let headers: Map = answer
        .headers()
        .iter()
        .map(|(name, value)| {
            (
                name.as_str(),
                String::from_utf8_lossy(value.as_bytes())
                    .into_owned()
                    .into(),
            )
        })
        .collect();
    let mut bytes = Vec::new();
    while let Some(part) = answer
        .chunk()
        .await
        .map_err(|error| unreachable_host(place, &error))?
    {
        if bytes.len() + part.len() > BODY_BYTES_MAX {
            let message = format!("the response is larger than {BODY_BYTES_MAX} bytes");
            return Err(Failure::new(FailureKind::BadAnswer, message).after_sending());
        }
        bytes.extend_from_slice(&part);
    }
    let body = match String::from_utf8(bytes) {
        Ok(text) => Value::from_json(&text).unwrap_or_else(|_| text.into()),
        Err(binary) => STANDARD.encode(binary.as_bytes()).into(),
    };
    let answer = Value::object([
        ("status", u32::from(status.as_u16()).into()),
        ("headers", headers.into()),
        ("body", body),
    ]);
    if status.as_u16() >= 400 {
        return Err(
            Failure::new(FailureKind::Tool, format!("{place} returned {status}")).with_data(answer),
        );
    }
    Ok(answer)
}
