//! Resources: what clients read by URI, next to tools.
//!
//! Three kinds: what documents declare under their own URIs, what toolsets serve under theirs (procedures, skills),
//! and our own below `tramline://` (runs, workflows, formats). A run is shown to those who may see it, and to nobody
//! else it exists.

use crate::SharedState;
use crate::caller::Caller;
use own_resources::OwnUri;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_formats::yaml_graph::content::{DeclaredResource, ResourceBody, fill_in_text};

mod listing;
pub(crate) mod own_resources;
mod pages;
mod ranges;
mod results;
pub(crate) mod run_watch;

pub(crate) use listing::RUN_LISTING_TOOLSETS;
pub(crate) use pages::{Cursor, static_page};
pub(crate) use results::{RESULT_BYTES_MAX, shorten_result, shortened_reply};

/// How long a client may use a copy of what only changes with a new version, in milliseconds.
const STATIC_TTL_MS: u64 = 60 * 60 * 1_000;

/// The error for a URI that nothing is served under, or nothing that the caller may see.
pub(crate) fn not_found(uri: &str) -> ErrorData {
    let shown = tramline_workflow::text::display_name(uri);
    let message =
        format!("there is no resource `{shown}` here; resources/list shows what there is");
    ErrorData::invalid_params(message, Some(json!({ "uri": uri })))
}

/// One page of the resources that a caller may see.
pub(crate) async fn list(
    shared: &Arc<SharedState>,
    cursor: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = Cursor::parse(cursor)?;
    let caller = Caller::of(context);
    let (resources, next) = listing::page(shared, &caller, cursor).await?;
    let mut listed = ListResourcesResult::with_all_items(resources)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    listed.next_cursor = next.map(|next| next.to_string());
    Ok(listed)
}

/// The templates.
pub(crate) fn templates(
    shared: &SharedState,
    cursor: Option<&str>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let offset = Cursor::parse(cursor)?.offset()?;
    let catalog = shared.catalog();
    let declared = catalog
        .server
        .content
        .iter()
        .flat_map(|content| &content.resources);
    let declared = declared
        .filter(|it| !it.variables().is_empty())
        .map(declared_template);
    let all: Vec<_> = declared.chain(own_resources::templates(shared)).collect();
    let (items, next) = pages::static_page(all, offset);
    let mut listed = ListResourceTemplatesResult::with_all_items(items)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Public);
    listed.next_cursor = next.map(|next| next.to_string());
    Ok(listed)
}

/// Reads a resource.
pub(crate) async fn read(
    shared: &Arc<SharedState>,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResult, ErrorData> {
    if let Some(contents) = read_declared(shared, uri) {
        return Ok(static_result(contents));
    }
    if let Some(contents) = crate::skills::read(shared, uri) {
        return Ok(static_result(contents));
    }
    match OwnUri::parse(uri) {
        Some(own) => own_resources::read(shared, &own, uri, context).await,
        None => shared
            .read_toolset_resource(uri)
            .ok_or_else(|| not_found(uri)),
    }
}

fn static_result(contents: ResourceContents) -> ReadResourceResult {
    ReadResourceResult::new(vec![contents])
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Public)
}

fn read_declared(shared: &SharedState, uri: &str) -> Option<ResourceContents> {
    let catalog = shared.catalog();
    let mut declared = catalog
        .server
        .content
        .iter()
        .flat_map(|content| &content.resources);
    let (found, given) = declared.find_map(|it| Some((it, it.match_uri(uri)?)))?;
    let mime_type = found.mime_type.as_ref().map(Str::as_str);
    Some(match &found.body {
        ResourceBody::Text(text) => {
            let text = fill_in_text(text, &given);
            ResourceContents::text(text, uri).with_mime_type(mime_type.unwrap_or("text/plain"))
        }
        ResourceBody::Blob(bytes) => {
            let blob = ResourceContents::blob(bytes.as_str(), uri);
            blob.with_mime_type(mime_type.unwrap_or("application/octet-stream"))
        }
    })
}

/// Whether a URI may be subscribed to: it exists for this caller.
pub(crate) async fn exists(
    shared: &Arc<SharedState>,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> bool {
    match OwnUri::parse(uri).and_then(|own| own.run().cloned()) {
        Some(run) => Caller::of(context)
            .load_run(&shared.engine, &run, None)
            .await
            .is_ok(),
        None => read(shared, uri, context).await.is_ok(),
    }
}

fn declared_resource(declared: &DeclaredResource) -> Resource {
    let mut resource = Resource::new(declared.uri.as_str(), declared.name.as_str());
    resource.title = declared.title.as_ref().map(ToString::to_string);
    resource.description = declared.description.as_ref().map(ToString::to_string);
    resource.mime_type = declared.mime_type.as_ref().map(ToString::to_string);
    if let ResourceBody::Text(text) = &declared.body {
        resource.size = Some(text.len() as u64);
    }
    resource
}

fn declared_template(declared: &DeclaredResource) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(declared.uri.as_str(), declared.name.as_str());
    template.title = declared.title.as_ref().map(ToString::to_string);
    template.description = declared.description.as_ref().map(ToString::to_string);
    template.mime_type = declared.mime_type.as_ref().map(ToString::to_string);
    template
}
