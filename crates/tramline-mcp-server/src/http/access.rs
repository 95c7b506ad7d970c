//! Access control: one rule for every request, independent of route, HTTP version and path through the server.
//!
//! A token is valid only after it was compared with the configured ones; the presence of a header proves
//! nothing. A request with a valid token may name any host. On loopback, every other request must name a host
//! that can only mean this machine.

use super::super::caller::Caller;
use super::origin::{self, SingleHeader};
use super::refused_requests::RefusedRequests;
use super::{CommandOf, HttpOptions};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tramline_engine::{Admission, Engine, Respondent, RunOwner};
use tramline_workflow::authority::AnswerChannel;

/// Whether a route requires a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteAccess {
    /// The studio page and the health check: nothing in them is secret, so no token is required.
    Open,
    /// All other routes.
    Guarded,
}

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessRefusal {
    /// It names no host, or more than one.
    BadHost,
    /// It needs a token and has no valid one.
    TokenRequired,
    /// It names a foreign host without a token.
    ForeignHost,
    /// It comes from a page of another origin.
    ForeignOrigin,
}

impl AccessRefusal {
    fn status(self) -> StatusCode {
        match self {
            Self::BadHost => StatusCode::BAD_REQUEST,
            Self::TokenRequired => StatusCode::UNAUTHORIZED,
            Self::ForeignHost | Self::ForeignOrigin => StatusCode::FORBIDDEN,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::BadHost => "bad_host",
            Self::TokenRequired => "token_needed",
            Self::ForeignHost => "foreign_host",
            Self::ForeignOrigin => "foreign_origin",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::BadHost => {
                "exactly one host is required, in `Host` or as the authority of the request"
            }
            Self::TokenRequired => "send the token as `Authorization: Bearer …`",
            Self::ForeignHost => {
                "without a token only local host names are allowed: use localhost or 127.0.0.1, or send a token"
            }
            Self::ForeignOrigin => "pages of another origin may not call this server",
        }
    }
}

impl IntoResponse for AccessRefusal {
    fn into_response(self) -> Response {
        let error = serde_json::json!({"kind": self.kind(), "message": self.message()});
        let told = serde_json::json!({ "error": error });
        let mut response = super::json_response(self.status(), &told);
        if self == Self::TokenRequired {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// Decides which requests are admitted.
pub(super) struct AccessControl {
    http: HttpOptions,
    /// Whether the server listens on loopback only.
    is_local: bool,
    refused: RefusedRequests,
}

impl AccessControl {
    pub(super) fn new(http: HttpOptions, engine: Engine, command: Option<CommandOf>) -> Self {
        let is_local = http.address.ip().is_loopback();
        Self {
            http,
            is_local,
            refused: RefusedRequests::new(engine, command),
        }
    }

    /// Answers a request to a guarded route that is not admitted, after recording it in the audit.
    pub(super) async fn refuse(&self, request: Request, refusal: AccessRefusal) -> Response {
        let (kind, message) = (refusal.kind(), refusal.message());
        let note = self.refused.note(&request, kind, message);
        // Its body cannot be shared between threads, and is not read.
        drop(request);
        self.refused.write(note).await;
        refusal.into_response()
    }

    /// Admits a request and attaches its caller, or returns why it is rejected.
    pub(super) fn admit(
        &self,
        request: &mut Request,
        area: RouteAccess,
    ) -> Result<(), AccessRefusal> {
        let caller = self.caller(request.headers());
        self.check(request, caller.is_some(), area)?;
        let extensions = request.extensions_mut();
        let Some(caller) = caller else {
            extensions.insert(Admission::Open);
            return Ok(());
        };
        if let Some(channel) = caller.person {
            let name = caller.name.clone().unwrap_or_else(|| "studio".into());
            extensions.insert(Respondent::new(name, channel));
        }
        extensions.insert(Admission::Token);
        extensions.insert(RunOwner(caller.name.clone()));
        extensions.insert(caller);
        Ok(())
    }

    fn check(
        &self,
        request: &Request,
        is_known: bool,
        area: RouteAccess,
    ) -> Result<(), AccessRefusal> {
        let headers = request.headers();
        let authority = origin::authority(request.uri(), headers).ok_or(AccessRefusal::BadHost)?;
        if !is_known && area == RouteAccess::Guarded && !self.http.is_open() {
            return Err(AccessRefusal::TokenRequired);
        }
        if !is_known && self.is_local && !origin::is_loopback_host(authority) {
            return Err(AccessRefusal::ForeignHost);
        }
        match origin::is_same_origin(headers, authority) {
            true => Ok(()),
            false => Err(AccessRefusal::ForeignOrigin),
        }
    }

    /// The caller of a request with a valid token.
    fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        match SingleHeader::of(headers, &header::AUTHORIZATION) {
            SingleHeader::Once(value) => self.caller_of_token(value.strip_prefix("Bearer ")?),
            SingleHeader::Absent | SingleHeader::Invalid => None,
        }
    }

    /// The caller that owns this token. Compares all tokens, so that the time reveals nothing.
    fn caller_of_token(&self, shown: &str) -> Option<Caller> {
        let http = &self.http;
        // A blank token never matches.
        let fits = |token: &str| {
            !token.trim().is_empty() && constant_time_eq(shown.as_bytes(), token.as_bytes())
        };
        let mut found = None;
        for named in &http.named_tokens {
            if fits(&named.token) {
                found = Some(Caller {
                    name: Some(named.name.clone()),
                    person: named.approver.then_some(AnswerChannel::Approver),
                });
            }
        }
        if http.token.as_deref().is_some_and(fits) {
            found = Some(Caller::default());
        }
        if http.studio_key.as_deref().is_some_and(fits) {
            found = Some(Caller {
                name: None,
                person: Some(AnswerChannel::Studio),
            });
        }
        found
    }
}

/// Middleware for routes that require a token if one is configured.
pub(super) async fn require_token(
    State(door): State<Arc<AccessControl>>,
    mut request: Request,
    next: Next,
) -> Response {
    match door.admit(&mut request, RouteAccess::Guarded) {
        Ok(()) => next.run(request).await,
        Err(refusal) => door.refuse(request, refusal).await,
    }
}

/// Middleware for routes without a token.
pub(super) async fn allow_open(
    State(door): State<Arc<AccessControl>>,
    mut request: Request,
    next: Next,
) -> Response {
    match door.admit(&mut request, RouteAccess::Open) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Compares in constant time.
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
