//! The system prompt of each procedure, as a prompt and as a resource.

use crate::SharedState;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, ListPromptsResult, ListResourcesResult, Prompt, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, Role,
};

const SCHEME: &str = "sop://";

/// URI of a procedure's system prompt.
pub(super) fn prompt_uri(name: &str) -> String {
    format!("{SCHEME}{name}/system-prompt")
}

/// A prompt for each procedure.
pub(crate) fn list_prompts(shared: &SharedState) -> ListPromptsResult {
    let all = shared.toolset_state.sop.procedures();
    let prompts = all.iter().map(|sop| {
        let says = format!("The system prompt of the procedure {}", sop.name);
        Prompt::new(sop.name.as_str(), Some(says), None)
    });
    ListPromptsResult::with_all_items(prompts.collect())
}

/// Returns one prompt.
pub(crate) fn get_prompt(shared: &SharedState, name: &str) -> Result<GetPromptResult, ErrorData> {
    let sop = shared
        .toolset_state
        .sop
        .procedure(name)
        .ok_or_else(|| unknown_procedure(name))?;
    let message = PromptMessage::new_text(Role::User, sop.system_prompt());
    Ok(GetPromptResult::new(vec![message]))
}

/// A resource for each procedure.
pub(crate) fn list_resources(shared: &SharedState) -> ListResourcesResult {
    let all = shared.toolset_state.sop.procedures();
    let resources = all.iter().map(|sop| {
        Resource::new(prompt_uri(&sop.name), sop.name.as_str())
            .with_description("The system prompt of this procedure")
            .with_mime_type("text/markdown")
    });
    ListResourcesResult::with_all_items(resources.collect())
}

/// Returns one resource.
pub(crate) fn read_resource(
    shared: &SharedState,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let name = uri
        .strip_prefix(SCHEME)
        .and_then(|it| it.strip_suffix("/system-prompt"));
    let sop = name.and_then(|name| shared.toolset_state.sop.procedure(name));
    let sop = sop.ok_or_else(|| unknown_procedure(uri))?;
    let contents = ResourceContents::text(sop.system_prompt(), uri).with_mime_type("text/markdown");
    Ok(ReadResourceResult::new(vec![contents]))
}

fn unknown_procedure(what: &str) -> ErrorData {
    let what = tramline_workflow::text::display_name(what);
    let message = format!("unknown procedure `{what}`; load_graph loads one");
    ErrorData::invalid_params(message, None)
}
