//! What a request brings: read whole, and what is wrong with it told like everything else.

use crate::told::Wrong;
use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use tramline_core::upstream::Upstream;

/// A body of JSON.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Wrong;

    async fn from_request(request: Request, state: &S) -> Result<Self, Wrong> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(bad) => Err(Wrong::with(bad.status(), bad.body_text())),
        }
    }
}

/// A body of text, whatever is in it.
pub(crate) struct Text(pub(crate) String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Wrong;

    async fn from_request(request: Request, state: &S) -> Result<Self, Wrong> {
        match String::from_request(request, state).await {
            Ok(text) => Ok(Self(text)),
            Err(bad) => Err(Wrong::with(bad.status(), bad.body_text())),
        }
    }
}

/// What stands after the question mark.
pub(crate) struct Given<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Given<T> {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Wrong> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(given)) => Ok(Self(given)),
            Err(bad) => Err(Wrong::with(bad.status(), bad.body_text())),
        }
    }
}

/// What stands in the path, where it is more than text.
pub(crate) struct Named<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Wrong> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(named)) => Ok(Self(named)),
            Err(bad) => Err(Wrong::with(bad.status(), bad.body_text())),
        }
    }
}

/// The caller's span, if its headers name one. What is malformed is taken for not there.
pub(crate) struct Traced(pub(crate) Option<Upstream>);

impl<S: Send + Sync> FromRequestParts<S> for Traced {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let said = Upstream::read(|name| parts.headers.get(name)?.to_str().ok());
        Ok(Self(said))
    }
}
