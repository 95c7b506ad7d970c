//! `http`: a request to an allowed host. Nothing is allowed until the operator says so.

use crate::arguments::{Arguments, bad};
use crate::described;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::{Map, Value};
use tramline_engine::seams::{Hints, Tool};

/// Larger bodies are refused: what comes back goes into the journal.
const BODY_BYTES_MAX: usize = 16 << 20;
/// More redirections than this are a loop.
const REDIRECTS_MAX: usize = 5;

/// A host that may be called: `api.example.com`, `*.example.com`, `localhost:8080`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    below: bool,
    port: Option<u16>,
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no host; write api.example.com, *.example.com or host:port");
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
            below,
            port,
        })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.below { "*." } else { "" }, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl HostPattern {
    fn fits(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().map(str::to_ascii_lowercase) else {
            return false;
        };
        let named = if self.below {
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
    described(
        "http",
        "Makes an HTTP request to an allowed host. A JSON body comes back parsed. A status of \
         400 or more is a failure.",
        Hints {
            open_world: Some(true),
            ..Hints::default()
        },
        r#"{"type":"object","properties":{"url":{"type":"string"},"method":{"type":"string"},"headers":{"type":"object"},"params":{"type":"object"},"body":{},"auth_token":{"type":"string"},"api_key":{"type":"string"},"api_key_header":{"type":"string"}},"required":["url"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"status":{"type":"integer"},"headers":{"type":"object"},"body":{}},"required":["status","headers","body"]}"#,
    )
}

pub(crate) struct Http {
    hosts: Arc<[HostPattern]>,
    /// Made at the first request: loading certificates takes longer than a whole small run.
    client: OnceLock<Result<Client, String>>,
}

impl Http {
    pub(crate) fn new(hosts: Vec<HostPattern>) -> Self {
        Self {
            hosts: hosts.into(),
            client: OnceLock::new(),
        }
    }

    /// Whether there is any host that may be called.
    pub(crate) fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    fn client(&self) -> Result<&Client, Failure> {
        let made = self.client.get_or_init(|| {
            // Fails only if a provider is installed already, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
            Client::builder()
                // Redirects are followed by hand: the library would take headers along.
                .redirect(redirect::Policy::none())
                .no_proxy()
                .build()
                .map_err(|error| error.to_string())
        });
        made.as_ref()
            .map_err(|error| Failure::new(FailureKind::Unavailable, error.clone()))
    }

    pub(crate) async fn call(&self, values: &Value, timeout: Duration) -> Result<Value, Failure> {
        let given = Arguments::new("http", values, &KNOWN)?;
        let mut url = self.allowed(given.text("url")?)?;
        query(&given, &mut url)?;
        let method = given.text_or("method", "GET")?.to_ascii_uppercase();
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| bad(format!("http: `{method}` is no method")))?;
        let (headers, body) = content(&given)?;
        let request = Request {
            url,
            method,
            headers,
            body,
        };
        self.follow(request, Instant::now() + timeout).await
    }

    /// Sends a request, and sends it on where it is redirected to.
    async fn follow(&self, mut request: Request, until: Instant) -> Result<Value, Failure> {
        for hop in 0..=REDIRECTS_MAX {
            let url = request.url.clone();
            let left = until.saturating_duration_since(Instant::now());
            let sent = request.send(self.client()?, left).await;
            let answer = sent.map_err(|error| {
                let failure = unreachable_host(&url, &error);
                match hop {
                    0 => failure,
                    // The first request had left, and may have been carried out.
                    _ => failure.after_leaving(),
                }
            })?;
            let Some(next) = redirection(&answer, &url) else {
                return answered(answer, &url).await;
            };
            if !self.hosts.iter().any(|pattern| pattern.fits(&next)) {
                let host = next.host_str().unwrap_or_default();
                let message = format!(
                    "{} redirected to `{host}`, which is not allowed; --allow-host {host} allows it",
                    place(&url)
                );
                return Err(Failure::new(FailureKind::Forbidden, message).after_leaving());
            }
            request.redirect(answer.status(), next);
        }
        let message = format!(
            "{}: more than {REDIRECTS_MAX} redirections",
            place(&request.url)
        );
        Err(Failure::new(FailureKind::BadAnswer, message).after_leaving())
    }

    fn allowed(&self, text: &str) -> Result<Url, Failure> {
        let url = Url::parse(text).map_err(|error| bad(format!("http: `{text}`: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("http: `{}` is no http address", url.scheme())));
        }
        if self.hosts.iter().any(|pattern| pattern.fits(&url)) {
            return Ok(url);
        }
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        let host = url.host_str().unwrap_or_default();
        let allowed = if hosts.is_empty() {
            "none is".to_owned()
        } else {
            hosts.join(", ")
        };
        let message = format!(
            "`{host}` is not an allowed host (allowed: {allowed}); --allow-host {host} allows it"
        );
        Err(Failure::new(FailureKind::Forbidden, message))
    }
}

/// A request that can be sent on.
struct Request {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<String>,
}

impl Request {
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

    /// Turns to where an answer leads. Another origin gets nothing that was meant for the first:
    /// any header may be a credential. What says of which type the body is goes with the body.
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

/// Where an answer redirects to, if it does.
fn redirection(answer: &Response, url: &Url) -> Option<Url> {
    let follows = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let to = answer.headers().get(LOCATION).filter(|_| follows)?;
    let next = url.join(to.to_str().ok()?).ok()?;
    matches!(next.scheme(), "http" | "https").then_some(next)
}

/// An address without its query, which may hold a key.
fn place(url: &Url) -> String {
    format!("{}{}", url.host_str().unwrap_or_default(), url.path())
}

/// The headers and the body that a request has.
fn content(given: &Arguments<'_>) -> Result<(HeaderMap, Option<String>), Failure> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, text: &str| {
        let wrong = || bad(format!("http: header `{name}` cannot be sent"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let value = HeaderValue::from_str(text).map_err(|_| wrong())?;
        headers.append(key, value);
        Ok(())
    };
    let named = given.any("headers").and_then(Value::as_object);
    for (name, value) in named.into_iter().flat_map(Map::iter) {
        let text = value
            .as_str()
            .ok_or_else(|| bad(format!("http: header `{name}` must be a string")))?;
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
const KNOWN: [&str; 8] = [
    "url",
    "method",
    "headers",
    "params",
    "body",
    "auth_token",
    "api_key",
    "api_key_header",
];

/// Puts `params` behind the address.
fn query(given: &Arguments<'_>, url: &mut Url) -> Result<(), Failure> {
    let Some(params) = given.any("params") else {
        return Ok(());
    };
    let named = params.as_object();
    let named = named.ok_or_else(|| given.wrong("params", "an object"))?;
    let mut pairs = url.query_pairs_mut();
    for (name, value) in named.iter() {
        match value {
            Value::String(text) => pairs.append_pair(name, text),
            other => pairs.append_pair(name, &other.to_json()),
        };
    }
    Ok(())
}

/// The headers by which a caller says who it is.
fn credentials<'a>(given: &Arguments<'a>) -> Result<Vec<(&'a str, String)>, Failure> {
    let mut headers = Vec::new();
    let (token, key) = (
        given.text_or("auth_token", "")?,
        given.text_or("api_key", "")?,
    );
    if !token.is_empty() && !key.is_empty() {
        return Err(bad(
            "http takes `auth_token` or `api_key`, not both".to_owned()
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

fn unreachable_host(url: &Url, error: &reqwest::Error) -> Failure {
    let kind = if error.is_timeout() {
        FailureKind::Timeout
    } else {
        FailureKind::Unavailable
    };
    let place = place(url);
    let cause =
        std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    let what = if error.is_timeout() {
        "no answer in time"
    } else {
        "no answer"
    };
    let failure = Failure::new(kind, format!("{place}: {what}{cause}"));
    match error.is_connect() || error.is_builder() {
        true => failure,
        // The request had left, and may have been carried out.
        false => failure.after_leaving(),
    }
}

async fn answered(mut answer: Response, url: &Url) -> Result<Value, Failure> {
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
        .map_err(|error| unreachable_host(url, &error))?
    {
        if bytes.len() + part.len() > BODY_BYTES_MAX {
            let message = format!("the answer holds more than {BODY_BYTES_MAX} bytes");
            return Err(Failure::new(FailureKind::BadAnswer, message).after_leaving());
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
        let place = place(url);
        return Err(
            Failure::new(FailureKind::Tool, format!("{place} answered {status}")).with_data(answer),
        );
    }
    Ok(answer)
}
