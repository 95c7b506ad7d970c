//! The first to see a request: what is MCP goes to the server, everything else to the routes.
//!
//! MCP has one path. To find it among routes, a router copies them for every request, which is a good part
//! of what a short call takes.

use super::Http;
use super::direct::Direct;
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// Where MCP is spoken, and below it.
const PATH: &str = "/mcp";

/// Hands requests on.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) http: Arc<Http>,
    pub(super) direct: Arc<Direct>,
    pub(super) routes: Router,
}

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if !is_mcp(request.uri().path()) {
            return Box::pin(self.routes.call(request));
        }
        let (http, direct) = (Arc::clone(&self.http), Arc::clone(&self.direct));
        Box::pin(async move {
            Ok(match http.admit(request) {
                Ok(request) => direct.answer(request).await,
                Err(refusal) => *refusal,
            })
        })
    }
}

fn is_mcp(path: &str) -> bool {
    let below = path.strip_prefix(PATH);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::is_mcp;

    #[test]
    fn the_path_and_what_lies_below_it_is_ours() {
        assert!(["/mcp", "/mcp/", "/mcp/below"].into_iter().all(is_mcp));
        assert!(
            !["/", "/mcpx", "/x/mcp", "/studio", ""]
                .into_iter()
                .any(is_mcp)
        );
    }
}
