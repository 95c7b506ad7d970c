//! The system prompt of each procedure, as a prompt, as a resource and as a skill.

use crate::SharedState;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptResult, Prompt, PromptMessage, ReadResourceResult, Resource,
    ResourceContents, Role,
};
use tramline_views::skill::Skill;

const SCHEME: &str = "sop://";

/// URI of a procedure's system prompt.
pub(super) fn prompt_uri(name: &str) -> String {
    format!("{SCHEME}{name}/system-prompt")
}

/// The names of the procedures.
pub(crate) fn procedure_names(shared: &SharedState) -> Vec<String> {
    let all = shared.toolset_state.sop.procedures();
    all.iter().map(|sop| sop.name.to_string()).collect()
}

/// A skill for each procedure.
pub(crate) fn skills(shared: &SharedState) -> Vec<Skill> {
    let all = shared.toolset_state.sop.procedures();
    all.iter().map(|sop| Skill::of_procedure(sop)).collect()
}

/// A prompt for each procedure.
pub(crate) fn prompts(shared: &SharedState) -> Vec<Prompt> {
    let all = shared.toolset_state.sop.procedures();
    let prompts = all.iter().map(|sop| {
        let says = format!("The system prompt of the procedure {}", sop.name);
        Prompt::new(sop.name.as_str(), Some(says), None)
    });
    prompts.collect()
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
pub(crate) fn resources(shared: &SharedState) -> Vec<Resource> {
    let all = shared.toolset_state.sop.procedures();
    let resources = all.iter().map(|sop| {
        Resource::new(prompt_uri(&sop.name), sop.name.as_str())
            .with_description("The system prompt of this procedure")
            .with_mime_type("text/markdown")
    });
    resources.collect()
}

/// Returns one resource.
pub(crate) fn read_resource(shared: &SharedState, uri: &str) -> Option<ReadResourceResult> {
    let name = uri.strip_prefix(SCHEME)?.strip_suffix("/system-prompt")?;
    let sop = shared.toolset_state.sop.procedure(name)?;
    let contents = ResourceContents::text(sop.system_prompt(), uri).with_mime_type("text/markdown");
    let result = ReadResourceResult::new(vec![contents]);
    Some(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

fn unknown_procedure(what: &str) -> ErrorData {
    let what = tramline_workflow::text::display_name(what);
    let message = format!("unknown procedure `{what}`; load_graph loads one");
    ErrorData::invalid_params(message, None)
}
