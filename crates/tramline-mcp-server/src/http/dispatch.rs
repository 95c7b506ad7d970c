//! Dispatches requests: MCP goes to the server, everything else to the routes.
//!
//! MCP has one path. A router would clone its routes for every request, which is a large part of the time of a
//! short call.

use super::access::{AccessControl, RouteAccess};
use super::stateless::StatelessHandler;
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use std::sync::Arc;
use tower_service::Service;

/// Path of the MCP endpoint and everything below it.
const PATH: &str = "/mcp";

/// Dispatches requests.
#[derive(Clone)]
pub(super) struct Dispatch {
    pub(super) access: Arc<AccessControl>,
    pub(super) stateless: Arc<StatelessHandler>,
    /// Routes besides MCP, behind the same door.
    pub(super) routes: Router,
}

impl Dispatch {
    pub(super) async fn handle(mut self, mut request: Request) -> Response {
        if !is_mcp(request.uri().path()) {
            let Ok(response) = self.routes.call(request).await;
            return response;
        }
        match self.access.admit(&mut request, RouteAccess::Guarded) {
            Ok(()) => self.stateless.answer(request).await,
            Err(refusal) => self.access.refuse(request, refusal).await,
        }
    }
}

pub(super) fn is_mcp(path: &str) -> bool {
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
