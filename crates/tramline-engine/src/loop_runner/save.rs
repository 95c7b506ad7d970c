//! A plan as a workflow of the library: the steps that did what was asked, under a name.
//!
//! What is saved is what worked. A plan that took several attempts is saved as the steps of all of
//! them that succeeded.

use super::Terms;
use super::check::summed_up;
use super::course::Course;
use super::perform::is_summary;
use super::response::StepResult;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::library::{DESCRIPTION_CHARS_MAX, Name, Refusal, Save, Saver};
use std::collections::BTreeSet;
use tramline_core::formats::tool_plan::{Plan, Planned};
use tramline_core::ids::ToolName;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Map, Str, Value};

/// Writes down in the course what a plan would be saved as. `runs` are its steps with their servers.
pub(super) fn draft(course: &mut Course, runs: &Plan) {
    let Some(name) = course.request.save_as.clone() else {
        return;
    };
    let mut whole = Plan {
        steps: course.kept.clone(),
    };
    for step in &runs.steps {
        let planned = course.plan.steps.iter().find(|one| one.id == step.id);
        let args = planned.map_or_else(|| step.args.clone(), |planned| planned.args.clone());
        let mut step = Planned {
            args,
            ..step.clone()
        };
        if is_summary(&step.tool) {
            step.args = summed_up(&step, course.request.last(), &[], &whole);
        }
        whole.steps.push(step);
    }
    let mut dag = Map::new();
    dag.insert("name", name.into());
    dag.insert("description", describe(course, &whole).into());
    dag.insert("tasks", whole.tasks());
    course.workflow = Some(dag.into());
}

/// Puts the steps of a plan that succeeded before those of the next one.
pub(super) fn keep_done(course: &mut Course, results: &[StepResult]) {
    let tasks = course.workflow.as_ref().and_then(|dag| dag.get("tasks"));
    let drafted = tasks.and_then(Value::as_array).unwrap_or_default().iter();
    let did: BTreeSet<&str> = results
        .iter()
        .chain(&course.earlier)
        .filter(|result| result.error.is_none())
        .map(|result| result.id.as_str())
        .collect();
    let step = |task: &Value| {
        let text = |key| task.get(key).and_then(Value::as_str).map(Str::from);
        let args = task.get("arguments").cloned().unwrap_or_default();
        let (id, tool) = (text("id")?, text("tool")?);
        did.contains(id.as_str())
            .then_some(Planned { id, tool, args })
    };
    course.kept = drafted.filter_map(step).collect();
}

fn describe(course: &Course, plan: &Plan) -> String {
    let said = course.request.last().trim();
    if !said.is_empty() {
        return said.chars().take(DESCRIPTION_CHARS_MAX).collect();
    }
    let tools: Vec<_> = plan.steps.iter().map(|step| step.tool.as_str()).collect();
    let says = format!("Calls {}", tools.join(", "));
    says.chars().take(DESCRIPTION_CHARS_MAX).collect()
}

/// Why a plan could not be saved once it is done, if that is known before it begins.
pub(super) async fn hindrance(engine: &Engine, course: &Course) -> Result<Option<String>, Fault> {
    let (Some(name), Some(text)) = (&course.request.save_as, text(course)) else {
        return Ok(None);
    };
    match engine.library().get(name, None).await {
        Ok(saved) if saved.text == text.as_str() => Ok(None),
        Ok(saved) => {
            let (name, version) = (saved.name.clone(), saved.version);
            let taken = Refusal::Taken { name, version };
            Ok(Some(format!("`save_as`: {taken}")))
        }
        Err(Refusal::NotFound { .. }) => Ok(None),
        Err(Refusal::Store(fault)) => Err(fault.into()),
        Err(other) => Ok(Some(format!("`save_as`: {other}"))),
    }
}

/// Saves what was done under the name that was asked for, and tells what came of that.
pub(super) async fn save(
    engine: &Engine,
    course: &Course,
    results: &[StepResult],
    terms: &Terms,
) -> Option<Value> {
    let name = course.request.save_as.as_ref()?;
    let text = text(course)?;
    let mut told = Map::new();
    told.insert("name", name.clone().into());
    let failed = results.iter().find(|result| result.error.is_some());
    let kept = match (failed, Name::new(name)) {
        (Some(failed), _) => Err(format!("step `{}` did not succeed", failed.id)),
        (None, Err(bad)) => Err(bad.to_string()),
        (None, Ok(name)) => {
            let description = course.workflow.as_ref()?.get("description");
            let save = Save {
                name,
                text: text.into(),
                tool: None,
                description: description
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .into(),
                by: terms.by.clone().unwrap_or_else(|| "loop".into()),
                operator: false,
                saver: Saver::Caller(terms.owner.clone()),
                force: false,
                recursive: false,
            };
            let kept = engine.library().save(save).await;
            kept.map_err(|refusal| refusal.to_string())
        }
    };
    match kept {
        Ok(kept) => {
            let called = ToolName::new(WORKFLOW_SERVER, kept.saved.name.clone());
            told.insert("version", kept.saved.version.into());
            told.insert("new", kept.new.into());
            told.insert("node_type", called.to_string().into());
        }
        Err(says) => {
            told.insert("error", says.into());
        }
    }
    Some(told.into())
}

fn text(course: &Course) -> Option<String> {
    let dag = course.workflow.as_ref()?;
    Some(dag.to_json_pretty())
}
