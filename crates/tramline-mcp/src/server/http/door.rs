//! Who is let in: the one rule for every request, whichever route, version of HTTP or path through
//! the server it takes.
//!
//! A token counts when it was compared with those that are configured, never because a header is
//! there. A request that showed a right one may name any host; every other one must name this machine
//! as only this machine is named, where only this machine can reach the server.

use super::super::caller::Caller;
use super::Http;
use super::place::{self, Field};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tramline_core::authority::AnswerChannel;
use tramline_engine::{Admission, Owner, Respondent};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// The page and the sign of life: nothing in it is secret, so no token is needed.
    Open,
    /// Everything else.
    Guarded,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It names no host, or several.
    BadHost,
    /// It needs a token and shows none that is right.
    TokenNeeded,
    /// It names a host that may be a stranger's, without a token.
    ForeignHost,
    /// It comes from a page of another place.
    ForeignOrigin,
}

impl Refusal {
    fn status(self) -> StatusCode {
        match self {
            Self::BadHost => StatusCode::BAD_REQUEST,
            Self::TokenNeeded => StatusCode::UNAUTHORIZED,
            Self::ForeignHost | Self::ForeignOrigin => StatusCode::FORBIDDEN,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::BadHost => "bad_host",
            Self::TokenNeeded => "token_needed",
            Self::ForeignHost => "foreign_host",
            Self::ForeignOrigin => "foreign_origin",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::BadHost => "name one host, in `Host` or as the authority of the request",
            Self::TokenNeeded => "show the token as `Authorization: Bearer …`",
            Self::ForeignHost => {
                "without a token only this machine's own names are served: call localhost or 127.0.0.1, or show a token"
            }
            Self::ForeignOrigin => "pages of another origin may not call this server",
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = serde_json::json!({"kind": self.kind(), "message": self.message()});
        let told = serde_json::json!({ "error": error });
        let mut response = super::json(self.status(), &told);
        if self == Self::TokenNeeded {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// Lets requests in.
pub(super) struct Door {
    http: Http,
    /// Whether only this machine reaches the server.
    is_local: bool,
}

impl Door {
    pub(super) fn new(http: Http) -> Self {
        let is_local = http.address.ip().is_loopback();
        Self { http, is_local }
    }

    /// Lets a request in, with the name of its caller; or says why not.
    pub(super) fn admit(&self, request: &mut Request, area: Area) -> Result<(), Refusal> {
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
        extensions.insert(Owner(caller.name.clone()));
        extensions.insert(caller);
        Ok(())
    }

    fn check(&self, request: &Request, is_known: bool, area: Area) -> Result<(), Refusal> {
        let headers = request.headers();
        let authority = place::authority(request.uri(), headers).ok_or(Refusal::BadHost)?;
        if !is_known && area == Area::Guarded && !self.http.is_open() {
            return Err(Refusal::TokenNeeded);
        }
        if !is_known && self.is_local && !place::is_own(authority) {
            return Err(Refusal::ForeignHost);
        }
        match place::is_same_origin(headers, authority) {
            true => Ok(()),
            false => Err(Refusal::ForeignOrigin),
        }
    }

    /// Who shows a token that is right.
    fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        match Field::of(headers, &header::AUTHORIZATION) {
            Field::Once(value) => self.shown_by(value.strip_prefix("Bearer ")?),
            Field::Absent | Field::Unusable => None,
        }
    }

    /// Who shows this. Every token is looked at, so that the time tells nothing.
    fn shown_by(&self, shown: &str) -> Option<Caller> {
        let http = &self.http;
        // A blank token is none, wherever it came from.
        let fits =
            |token: &str| !token.trim().is_empty() && same(shown.as_bytes(), token.as_bytes());
        let mut found = None;
        for named in &http.named {
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
        if http.studio.as_deref().is_some_and(fits) {
            found = Some(Caller {
                name: None,
                person: Some(AnswerChannel::Studio),
            });
        }
        found
    }
}

/// Lets a request through to routes that need a token where one is needed.
pub(super) async fn guarded(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    match door.admit(&mut request, Area::Guarded) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Lets a request through to routes that need none.
pub(super) async fn open(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    match door.admit(&mut request, Area::Open) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Compares in a time that does not tell how much was right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
