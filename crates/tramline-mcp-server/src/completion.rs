//! Completions: values for the arguments of prompts and of resource templates.

use crate::SharedState;
use crate::caller::Caller;
use crate::resources::RUN_LISTING_TOOLSETS;
use crate::tools::{Toolset, visible_runs};
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use rmcp::service::{RequestContext, RoleServer};
use tramline_engine::ports::RunFilter;
use tramline_formats::SourceKind;

/// The values that fit what the user has typed, best first.
pub(crate) async fn complete(
    shared: &SharedState,
    request: &CompleteRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let argument = &request.argument;
    let all = match &request.r#ref {
        Reference::Prompt(prompt) => prompt_values(shared, &prompt.name, &argument.name)?,
        Reference::Resource(template) => {
            template_values(shared, &template.uri, &argument.name, context).await?
        }
        // The library may know more kinds one day.
        _ => Vec::new(),
    };
    let typed = argument.value.to_lowercase();
    let begins = |value: &String| value.to_lowercase().starts_with(&typed);
    let (mut fitting, others): (Vec<_>, Vec<_>) = all.into_iter().partition(begins);
    fitting.extend(
        others
            .into_iter()
            .filter(|value| value.to_lowercase().contains(&typed)),
    );
    let total = fitting.len();
    fitting.truncate(CompletionInfo::MAX_VALUES);
    let has_more = total > fitting.len();
    let info = CompletionInfo::with_pagination(fitting, u32::try_from(total).ok(), has_more);
    let info = info.map_err(|why| ErrorData::internal_error(why, None))?;
    Ok(CompleteResult::new(info))
}

/// The suggested values of a prompt's argument.
fn prompt_values(
    shared: &SharedState,
    prompt: &str,
    argument: &str,
) -> Result<Vec<String>, ErrorData> {
    let catalog = shared.catalog();
    let mut prompts = catalog
        .server
        .content
        .iter()
        .flat_map(|content| &content.prompts);
    if let Some(found) = prompts.find(|it| it.name == prompt) {
        let mut arguments = found.arguments.iter();
        let argument = arguments.find(|it| it.name == argument);
        let values =
            argument.map(|argument| argument.values.iter().map(ToString::to_string).collect());
        return Ok(values.unwrap_or_default());
    }
    match shared.procedure_names().iter().any(|name| name == prompt) {
        true => Ok(Vec::new()),
        false => {
            let shown = tramline_workflow::text::display_name(prompt);
            Err(ErrorData::invalid_params(
                format!("there is no prompt `{shown}`"),
                None,
            ))
        }
    }
}

/// The values of a template's variable that lead to a resource.
async fn template_values(
    shared: &SharedState,
    template: &str,
    variable: &str,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<String>, ErrorData> {
    let lists_runs = RUN_LISTING_TOOLSETS
        .into_iter()
        .any(|toolset| shared.has(toolset));
    match variable {
        "format" if template.starts_with("tramline://formats/") => {
            Ok(SourceKind::ALL.map(|kind| kind.as_str().to_owned()).into())
        }
        "run_id" if template.starts_with("tramline://runs/") && lists_runs => {
            let filter = RunFilter {
                limit: CompletionInfo::MAX_VALUES,
                ..RunFilter::default()
            };
            let caller = Caller::of(context);
            let runs =
                visible_runs(&shared.engine, &caller, filter, CompletionInfo::MAX_VALUES).await;
            let runs = runs.map_err(|fault| ErrorData::internal_error(fault.to_string(), None))?;
            Ok(runs.rows.iter().map(|row| row.run.to_string()).collect())
        }
        "name" if template.starts_with("tramline://workflows/") && shared.has(Toolset::Library) => {
            let saved = shared.callable.library().list(None).await;
            let saved =
                saved.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            Ok(saved.iter().map(|saved| saved.name.to_string()).collect())
        }
        // Any value may lead to a resource.
        _ => Ok(Vec::new()),
    }
}
