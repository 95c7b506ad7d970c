//! Extractors: parse a request, and report errors in the usual shape.

use crate::response::ApiError;
use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use tramline_workflow::trace_context::TraceContext;

/// A JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(bad) => Err(ApiError::with_status(bad.status(), bad.body_text())),
        }
    }
}

/// A text body of any content.
pub(crate) struct TextBody(pub(crate) String);

impl<S: Send + Sync> FromRequest<S> for TextBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match String::from_request(request, state).await {
            Ok(text) => Ok(Self(text)),
            Err(bad) => Err(ApiError::with_status(bad.status(), bad.body_text())),
        }
    }
}

/// The query string.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(given)) => Ok(Self(given)),
            Err(bad) => Err(ApiError::with_status(bad.status(), bad.body_text())),
        }
    }
}

/// Typed path parameters.
pub(crate) struct PathParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(named)) => Ok(Self(named)),
            Err(bad) => Err(ApiError::with_status(bad.status(), bad.body_text())),
        }
    }
}

/// The caller's span, if its headers name one. Malformed headers are ignored.
pub(crate) struct CallerTrace(pub(crate) Option<TraceContext>);

impl<S: Send + Sync> FromRequestParts<S> for CallerTrace {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let said = TraceContext::read(|name| parts.headers.get(name)?.to_str().ok());
        Ok(Self(said))
    }
}
