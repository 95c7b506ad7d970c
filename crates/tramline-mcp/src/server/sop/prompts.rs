//! The system prompt of each procedure, as a prompt and as a resource.

use crate::server::Shared;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, ListPromptsResult, ListResourcesResult, Prompt, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, Role,
};

const SCHEME: &str = "sop://";

/// Where the system prompt of a procedure is read.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{name}/system-prompt")
}

/// A prompt for each procedure.
pub(in super::super) fn list(shared: &Shared) -> ListPromptsResult {
    let all = shared.seats.procedures();
    let prompts = all.iter().map(|sop| {
        let says = format!("The system prompt of the procedure {}", sop.name);
        Prompt::new(sop.name.as_str(), Some(says), None)
    });
    ListPromptsResult::with_all_items(prompts.collect())
}

/// One of the prompts.
pub(in super::super) fn get(shared: &Shared, name: &str) -> Result<GetPromptResult, ErrorData> {
    let sop = shared.seats.procedure(name).ok_or_else(|| unknown(name))?;
    let message = PromptMessage::new_text(Role::User, sop.system_prompt());
    Ok(GetPromptResult::new(vec![message]))
}

/// A resource for each procedure.
pub(in super::super) fn list_resources(shared: &Shared) -> ListResourcesResult {
    let all = shared.seats.procedures();
    let resources = all.iter().map(|sop| {
        Resource::new(uri(&sop.name), sop.name.as_str())
            .with_description("The system prompt of this procedure")
            .with_mime_type("text/markdown")
    });
    ListResourcesResult::with_all_items(resources.collect())
}

/// One of the resources.
pub(in super::super) fn read(shared: &Shared, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let name = uri
        .strip_prefix(SCHEME)
        .and_then(|it| it.strip_suffix("/system-prompt"));
    let sop = name.and_then(|name| shared.seats.procedure(name));
    let sop = sop.ok_or_else(|| unknown(uri))?;
    let contents = ResourceContents::text(sop.system_prompt(), uri).with_mime_type("text/markdown");
    Ok(ReadResourceResult::new(vec![contents]))
}

fn unknown(what: &str) -> ErrorData {
    let what = tramline_core::text::shown(what);
    let message = format!("there is no procedure `{what}`; load_graph loads one");
    ErrorData::invalid_params(message, None)
}
