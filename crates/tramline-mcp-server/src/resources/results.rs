//! Results that are too large for a reply: a preview, and a link to the whole as a resource.

use super::own_resources;
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use tramline_expr::{Map, Value};
use tramline_workflow::ids::RunId;

/// Largest result in a reply, in bytes of JSON: more does not fit into what a model reads.
pub(crate) const RESULT_BYTES_MAX: usize = 256 << 10;
/// What is shown of a larger one, in bytes.
const PREVIEW_BYTES: usize = 4 << 10;

/// The link to the whole result of a run.
fn result_link(run: &RunId, bytes: usize) -> Resource {
    Resource::new(own_resources::result_uri(run), format!("result of {run}"))
        .with_title("The whole result")
        .with_description("Read it in parts with ?offset=…&length=…")
        .with_mime_type("application/json")
        .with_size(bytes as u64)
}

fn preview(text: &str) -> &str {
    &text[..text.floor_char_boundary(PREVIEW_BYTES.min(text.len()))]
}

/// Replaces a large `result` in a run's state by its preview and the URI of the whole.
pub(crate) fn shorten_result(told: &mut Map, run: &RunId) -> Option<Resource> {
    let text = match told.get("result")? {
        Value::String(text) => text.to_string(),
        result => result.to_json(),
    };
    if text.len() <= RESULT_BYTES_MAX {
        return None;
    }
    let link = result_link(run, text.len());
    let shown = Value::object([
        ("preview", Value::from(preview(&text))),
        ("bytes", (text.len() as u64).into()),
        ("resource", link.uri.as_str().into()),
    ]);
    told.insert("result", shown);
    Some(link)
}

/// The reply with a large result: its preview as text, and a link to the whole.
pub(crate) fn shortened_reply(run: &RunId, text: &str) -> CallToolResult {
    let shown = preview(text);
    let says = format!(
        "{shown}\n… the first {} of {} bytes; the resource below has the whole result",
        shown.len(),
        text.len()
    );
    let link = ContentBlock::ResourceLink(result_link(run, text.len()));
    CallToolResult::success(vec![ContentBlock::text(says), link])
}
