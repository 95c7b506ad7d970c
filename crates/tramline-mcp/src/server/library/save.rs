//! `workflow_save` and `workflow_list`: into the library, and what is in it.

use super::bring::{called, fatal, text as brought, unusable};
use super::describe::used;
use super::{Wrong, caller_key, fault, made, success, text};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::ids::ToolName;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Map, Str, Value};
use tramline_engine::library::{Name, Refusal, Save, Saved, Saver};

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResult {
    made(save(&means, &arguments).await)
}

pub(super) async fn list(means: Means, arguments: Value) -> CallToolResult {
    made(listed(&means, &arguments).await)
}

async fn save(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let name = Name::new(text(arguments, "name")).map_err(|bad| refused(bad.into()))?;
    let description = text(arguments, "description").trim();
    if description.is_empty() {
        let wrong = Wrong::new("validation", "the description is empty");
        return Err(wrong.suggesting("say in a sentence what it does: it is found by that"));
    }
    let given = arguments.get("workflow_file").unwrap_or(&Value::Null);
    let document = brought(means, given).await?;
    let (read, flaws) = document.check(means).await;
    let read = read.filter(|_| !fatal(&flaws));
    let read = read.ok_or_else(|| unusable(&flaws))?;
    let tool = Some(text(arguments, "tool")).filter(|tool| !tool.is_empty());
    let save = Save {
        name: name.clone(),
        text: document.text.as_str().into(),
        tool: tool.map(Str::from),
        description: description.into(),
        by: means.caller().by(&means.context),
        operator: false,
        saver: Saver::Caller(means.caller().name.clone()),
        force: arguments.get("force").and_then(Value::as_bool) == Some(true),
        recursive: arguments.get("allow_recursion").and_then(Value::as_bool) == Some(true),
    };
    let kept = means.engine.library().save(save).await.map_err(refused)?;
    let named: Str = ToolName::new(WORKFLOW_SERVER, name.to_str())
        .to_string()
        .into();
    let uses = means.engine.registry().uses();
    uses.saved(&caller_key(means), &document.text, &named, &called(&read));
    means.shared.library_changed();
    let mut data = told(means, &kept.saved);
    data.insert("new", kept.new.into());
    data.insert("node_type", named.into());
    Ok(success(data.into(), None))
}

async fn listed(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let filter = Some(text(arguments, "filter")).filter(|filter| !filter.is_empty());
    let library = means.engine.library();
    let found = library.list(filter).await.map_err(refused)?;
    // How often they were used is only beside the point: the list stands without it.
    let _ = means.engine.registry().uses().refresh().await;
    let workflows = found.iter().map(|saved| told(means, saved).into());
    let mut data = Map::new();
    data.insert("count", found.len().into());
    data.insert("workflows", Value::array(workflows));
    Ok(success(data.into(), None))
}

/// A saved workflow as agents read it.
fn told(means: &Means, saved: &Saved) -> Map {
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
    used(
        &mut told,
        means,
        &ToolName::new(WORKFLOW_SERVER, saved.name.clone()),
    );
    told
}

fn refused(refusal: Refusal) -> Wrong {
    let message = refusal.to_string();
    match refusal {
        Refusal::Name(bad) => {
            let wrong = Wrong::new("validation", bad.message.clone());
            match bad.instead {
                Some(instead) => wrong.suggesting(format!("save it as `{instead}`")),
                None => wrong.suggesting("write lowercase-with-hyphens, such as `count-files`"),
            }
        }
        Refusal::Taken { name, version } => {
            let mut wrong = Wrong::new("validation", message);
            wrong.details =
                Value::object([("name", name.clone().into()), ("version", version.into())]);
            wrong
                .suggesting(format!(
                    "set force to save it as version {} of `{name}`",
                    version + 1
                ))
                .suggesting("save it under another name")
        }
        Refusal::NotYours { name, .. } => {
            let mut wrong = Wrong::new("forbidden", message);
            wrong.details = Value::object([("name", name.into())]);
            wrong.suggesting("save it under another name")
        }
        Refusal::Flawed(flaws) => unusable(&flaws),
        Refusal::Several(names) => {
            let wrong = Wrong::new("validation", message);
            wrong.suggesting(format!("set `tool` to one of {}", names.join(", ")))
        }
        Refusal::TooLarge(_) => Wrong::new("validation", message),
        Refusal::Recursive { .. } => Wrong::new("validation", message)
            .suggesting("a list is worked through by `batch`, without recursion")
            .suggesting("set allow_recursion if it is meant to call itself"),
        Refusal::NotFound { .. } | Refusal::NoVersion { .. } => {
            Wrong::new("not_found", message).suggesting("workflow_list shows what is saved")
        }
        Refusal::Damaged { .. } | Refusal::Store(_) => fault(&message),
    }
}
