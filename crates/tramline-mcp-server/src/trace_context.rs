//! The caller's trace context, from `_meta` or from HTTP headers.

use rmcp::service::{RequestContext, RoleServer};
use tramline_workflow::trace_context::TraceContext;

/// The caller's trace context, if any. `_meta` takes precedence, because a header may belong to the connection.
pub(super) fn from_request(context: &RequestContext<RoleServer>) -> Option<TraceContext> {
    let meta = TraceContext::read(|name| context.meta.get(name)?.as_str());
    meta.or_else(|| {
        let parts = context.extensions.get::<axum::http::request::Parts>()?;
        TraceContext::read(|name| parts.headers.get(name)?.to_str().ok())
    })
}
