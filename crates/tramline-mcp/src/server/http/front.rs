//! The first to see a request: what is MCP goes to the server, everything else to the routes.
//!
//! MCP has one path. To find it among routes, a router copies them for every request, which is a good part
//! of what a short call takes.

use super::direct::Direct;
use super::door::{Area, Door};
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tower_service::Service;

/// Where MCP is spoken, and below it.
const PATH: &str = "/mcp";

/// Hands requests on.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) door: Arc<Door>,
    pub(super) direct: Arc<Direct>,
    /// What is served beside MCP, behind the same door.
    pub(super) routes: Router,
}

impl Front {
    pub(super) async fn answer(mut self, mut request: Request) -> Response {
        if !is_mcp(request.uri().path()) {
            let Ok(response) = self.routes.call(request).await;
            return response;
        }
        match self.door.admit(&mut request, Area::Guarded) {
            Ok(()) => self.direct.answer(request).await,
            Err(refusal) => refusal.into_response(),
        }
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
