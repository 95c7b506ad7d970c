//! The span that a caller says its request belongs to: in `_meta`, or in the headers over HTTP.

use rmcp::service::{RequestContext, RoleServer};
use tramline_core::upstream::Upstream;

/// The caller's span, if it names one. What is in `_meta` is nearer to the call than a header, which
/// may be of a connection.
pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Upstream> {
    let meta = Upstream::read(|name| context.meta.get(name)?.as_str());
    meta.or_else(|| {
        let parts = context.extensions.get::<axum::http::request::Parts>()?;
        Upstream::read(|name| parts.headers.get(name)?.to_str().ok())
    })
}
