//! `workflow_save` and `workflow_list`: saves to the library and lists it.

use super::describe::add_usage;
use super::source::{called_tools, has_errors, invalid_document, read_document as brought};
use super::{LibraryReplyError, caller_key, reply_or_error, store_error, success, text_argument};
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_catalog::library::{LibraryError, SaveRequest, SavedWorkflow, Saver, WorkflowName};
use tramline_expr::{Map, Str, Value};
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::WORKFLOW_SERVER;

pub(super) async fn workflow_save(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(save(&means, &arguments).await)
}

pub(super) async fn workflow_list(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(list_workflows(&means, &arguments).await)
}

async fn save(means: &CallContext, arguments: &Value) -> Result<CallToolResult, LibraryReplyError> {
    let name = WorkflowName::new(text_argument(arguments, "name"))
        .map_err(|bad| save_error(bad.into()))?;
    let description = text_argument(arguments, "description").trim();
    if description.is_empty() {
        let wrong = LibraryReplyError::new("validation", "the description is empty");
        return Err(wrong.suggesting("describe in a sentence what it does: search uses it"));
    }
    let given = arguments.get("workflow_file").unwrap_or(&Value::Null);
    let document = brought(means, given).await?;
    let (read, flaws) = document.check(means).await;
    let read = read.filter(|_| !has_errors(&flaws));
    let read = read.ok_or_else(|| invalid_document(&flaws))?;
    let tool = Some(text_argument(arguments, "tool")).filter(|tool| !tool.is_empty());
    // Former versions are kept, so that saving in a loop would fill the disk.
    let room = means.engine.check_disk_room().await;
    room.map_err(|full| LibraryReplyError::new("quota", full.to_string()))?;
    let save = SaveRequest {
        name: name.clone(),
        text: document.text.as_str().into(),
        tool: tool.map(Str::from),
        description: description.into(),
        by: means.caller().journal_name(&means.request),
        operator: false,
        saver: Saver::Caller(means.caller().name.clone()),
        force: arguments.get("force").and_then(Value::as_bool) == Some(true),
        recursive: arguments.get("allow_recursion").and_then(Value::as_bool) == Some(true),
    };
    let kept = means
        .catalog
        .library()
        .save(save)
        .await
        .map_err(save_error)?;
    let named: Str = ToolName::new(WORKFLOW_SERVER, name.to_str())
        .to_string()
        .into();
    let uses = means.catalog.registry().usage();
    uses.record_save(
        &caller_key(means),
        &document.text,
        &named,
        &called_tools(&read),
    );
    means.shared.library_changed();
    let mut data = saved_value(means, &kept.saved);
    data.insert("new", kept.new.into());
    data.insert("node_type", named.into());
    Ok(success(data.into(), None))
}

async fn list_workflows(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let filter = Some(text_argument(arguments, "filter")).filter(|filter| !filter.is_empty());
    let library = means.catalog.library();
    let found = library.list(filter).await.map_err(save_error)?;
    // Usage figures are optional in this list.
    let _ = means.catalog.registry().usage().refresh().await;
    let workflows = found.iter().map(|saved| saved_value(means, saved).into());
    let mut data = Map::new();
    data.insert("count", found.len().into());
    data.insert("workflows", Value::array(workflows));
    Ok(success(data.into(), None))
}

/// A saved workflow as shown to agents.
fn saved_value(means: &CallContext, saved: &SavedWorkflow) -> Map {
    let mut told = Map::new();
    told.insert("name", saved.name.clone().into());
    told.insert("description", saved.description.clone().into());
    told.insert("version", saved.version.into());
    told.insert("format", saved.format.clone().into());
    told.insert("saved_by", saved.by.clone().into());
    told.insert("saved_ms", saved.at_ms.into());
    let found = means.engine.workflows().find(&saved.name);
    if let Some(schema) = found.and_then(|found| found.graph.workflow.input_schema.clone()) {
        told.insert("inputs", schema);
    }
    add_usage(
        &mut told,
        means,
        &ToolName::new(WORKFLOW_SERVER, saved.name.clone()),
    );
    told
}

fn save_error(refusal: LibraryError) -> LibraryReplyError {
    let message = refusal.to_string();
    match refusal {
        LibraryError::Name(bad) => {
            let wrong = LibraryReplyError::new("validation", bad.message.clone());
            match bad.suggestion {
                Some(instead) => wrong.suggesting(format!("save it as `{instead}`")),
                None => wrong.suggesting("use lowercase-with-hyphens, such as `count-files`"),
            }
        }
        LibraryError::NameTaken { name, version } => {
            let mut wrong = LibraryReplyError::new("validation", message);
            wrong.details =
                Value::object([("name", name.clone().into()), ("version", version.into())]);
            wrong
                .suggesting(format!(
                    "set force to save it as version {} of `{name}`",
                    version + 1
                ))
                .suggesting("save it under another name")
        }
        LibraryError::NotOwner { name, .. } => {
            let mut wrong = LibraryReplyError::new("forbidden", message);
            wrong.details = Value::object([("name", name.into())]);
            wrong.suggesting("save it under another name")
        }
        LibraryError::Flawed(flaws) => invalid_document(&flaws),
        LibraryError::Ambiguous(names) => {
            let wrong = LibraryReplyError::new("validation", message);
            wrong.suggesting(format!("set `tool` to one of {}", names.join(", ")))
        }
        LibraryError::TooLarge(_) => LibraryReplyError::new("validation", message),
        LibraryError::Recursive { .. } => LibraryReplyError::new("validation", message)
            .suggesting("use `batch` to process a list without recursion")
            .suggesting("set allow_recursion if it should call itself"),
        LibraryError::NotFound { .. } | LibraryError::NoVersion { .. } => {
            LibraryReplyError::new("not_found", message)
                .suggesting("workflow_list lists saved workflows")
        }
        LibraryError::Damaged { .. } | LibraryError::Store(_) => store_error(&message),
    }
}
