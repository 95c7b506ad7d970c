//! Prompts that documents declare, and those of procedures.

use crate::SharedState;
use crate::elicitation;
use crate::resources::Cursor;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest,
    InputRequests, InputRequiredResult, JsonObject, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage,
};
use rmcp::service::{RequestContext, RoleServer};
use std::time::Duration;
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::content::{DeclaredPrompt, PromptQuestion, fill_in};

/// The name of a prompt's question among the client's answers.
const QUESTION: &str = "answer";
/// How long the user of an older client may take to answer a prompt's question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// One page of prompts.
pub(crate) fn list(
    shared: &SharedState,
    cursor: Option<&str>,
) -> Result<ListPromptsResult, ErrorData> {
    let offset = Cursor::parse(cursor)?.offset()?;
    let catalog = shared.catalog();
    let declared = catalog
        .server
        .content
        .iter()
        .flat_map(|content| &content.prompts);
    let all: Vec<_> = declared
        .map(describe)
        .chain(shared.toolset_prompts())
        .collect();
    let (items, next) = crate::resources::static_page(all, offset);
    let mut listed = ListPromptsResult::with_all_items(items)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Public);
    listed.next_cursor = next.map(|next| next.to_string());
    Ok(listed)
}

fn describe(declared: &DeclaredPrompt) -> Prompt {
    let arguments = declared.arguments.iter().map(|argument| {
        let shown = PromptArgument::new(argument.name.as_str()).with_required(argument.required);
        match &argument.description {
            Some(says) => shown.with_description(says.as_str()),
            None => shown,
        }
    });
    let arguments: Vec<_> = arguments.collect();
    let description = declared.description.as_ref().map(Str::as_str);
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let prompt = Prompt::new(declared.name.as_str(), description, arguments);
    match &declared.title {
        Some(title) => prompt.with_title(title.as_str()),
        None => prompt,
    }
}

/// Returns one prompt, or the question that it asks first.
pub(crate) async fn get(
    shared: &SharedState,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let catalog = shared.catalog();
    let mut declared = catalog
        .server
        .content
        .iter()
        .flat_map(|content| &content.prompts);
    let Some(prompt) = declared.find(|it| it.name == request.name) else {
        return shared.toolset_prompt(&request.name).map(Into::into);
    };
    let mut given = texts(request.arguments.unwrap_or_default());
    for argument in prompt.arguments.iter().filter(|it| it.required) {
        if !given.iter().any(|(name, _)| argument.name == name.as_str()) {
            let message = format!(
                "prompt `{}` needs the argument `{}`",
                prompt.name, argument.name
            );
            return Err(ErrorData::invalid_params(message, None));
        }
    }
    if let Some(question) = &prompt.ask {
        let answered = request
            .input_responses
            .as_ref()
            .and_then(|all| all.get(QUESTION));
        let answered =
            answered.and_then(|it| serde_json::from_value::<ElicitResult>(it.clone()).ok());
        match ask(question, answered, context).await? {
            PromptAnswer::Given(answers) => given.extend(texts(answers)),
            PromptAnswer::Asked(carried) => return Ok(GetPromptResponse::InputRequired(*carried)),
        }
    }
    // An optional argument that was left out is empty.
    let missing = prompt
        .arguments
        .iter()
        .map(|argument| argument.name.to_string());
    for name in missing.collect::<Vec<_>>() {
        if !given.iter().any(|(known, _)| *known == name) {
            given.push((name, String::new()));
        }
    }
    let messages = prompt
        .messages
        .iter()
        .map(|message| fill_message(message, &given));
    let mut result = GetPromptResult::new(messages.collect::<Result<_, _>>()?);
    result.description = prompt.description.as_ref().map(ToString::to_string);
    Ok(result.into())
}

fn fill_message(
    (role, content): &(Str, Value),
    given: &[(String, String)],
) -> Result<PromptMessage, ErrorData> {
    let message = Value::object([
        ("role", Value::from(role.clone())),
        ("content", fill_in(content, given)),
    ]);
    serde_json::from_value((&message).into()).map_err(|error| {
        ErrorData::internal_error(
            format!("the prompt's message is not valid content: {error}"),
            None,
        )
    })
}

/// Arguments as texts: strings as they are, anything else as JSON.
fn texts(arguments: JsonObject) -> Vec<(String, String)> {
    let pairs = arguments.into_iter().map(|(name, value)| match value {
        serde_json::Value::String(text) => (name, text),
        other => (name, other.to_string()),
    });
    pairs.collect()
}

/// What came of a prompt's question.
enum PromptAnswer {
    /// The fields of the answer.
    Given(JsonObject),
    /// The request ends with the question.
    Asked(Box<InputRequiredResult>),
}

async fn ask(
    question: &PromptQuestion,
    answered: Option<ElicitResult>,
    context: &RequestContext<RoleServer>,
) -> Result<PromptAnswer, ErrorData> {
    if let Some(answer) = answered {
        return accepted(question, answer).map(PromptAnswer::Given);
    }
    if !elicitation::shows_forms(context) && !elicitation::asks_without_session(context) {
        let message = "this prompt asks its user a question, and the client cannot show one";
        return Err(ErrorData::invalid_params(message, None));
    }
    let schema = serde_json::from_value::<ElicitationSchema>((&question.schema).into());
    let schema = schema.map_err(|error| {
        ErrorData::internal_error(
            format!("the schema of the question is not supported: {error}"),
            None,
        )
    })?;
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.message.to_string(),
        requested_schema: schema,
    };
    if elicitation::asks_without_session(context) {
        let mut requests = InputRequests::new();
        requests.insert(
            QUESTION.to_owned(),
            InputRequest::Elicitation(ElicitRequest::new(form)),
        );
        let carried = InputRequiredResult::new(Some(requests), None);
        return Ok(PromptAnswer::Asked(Box::new(carried)));
    }
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, context.peer.create_elicitation(form)).await;
    match answer {
        Ok(Ok(answer)) => accepted(question, answer).map(PromptAnswer::Given),
        Ok(Err(error)) => Err(ErrorData::internal_error(
            format!("the user could not be asked: {error}"),
            None,
        )),
        Err(_) => Err(ErrorData::internal_error(
            "the user did not answer in time",
            None,
        )),
    }
}

fn accepted(question: &PromptQuestion, answer: ElicitResult) -> Result<JsonObject, ErrorData> {
    if answer.action != ElicitationAction::Accept {
        return Err(ErrorData::invalid_params(
            "the user did not answer the prompt's question",
            None,
        ));
    }
    let content = answer.content.unwrap_or_default();
    let checker = tramline_workflow::schema::Checker::new(&question.schema);
    let checked = checker.map(|checker| checker.check(&content.clone().into()));
    match (checked, content) {
        (Ok(Err(flaws)), _) => {
            let says: Vec<_> = flaws
                .iter()
                .map(|(at, says)| format!("{at} {says}"))
                .collect();
            Err(ErrorData::invalid_params(
                format!("invalid answer: {}", says.join("; ")),
                None,
            ))
        }
        (_, serde_json::Value::Object(fields)) => Ok(fields),
        (_, _) => Ok(JsonObject::new()),
    }
}
