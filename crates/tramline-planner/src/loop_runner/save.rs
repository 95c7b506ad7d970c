//! Saves a plan as a workflow of the library: the steps that fulfilled the request, under a name.
//!
//! Only what worked is saved. If several plans were needed, the successful steps of all of them are saved.

use super::CallerContext;
use super::check::summary_arguments;
use super::response::StepResult;
use super::run_plan::is_summary;
use super::state::LoopState;
use std::collections::BTreeSet;
use tramline_catalog::library::{
    DESCRIPTION_CHARS_MAX, Library, LibraryError, SaveRequest, Saver, WorkflowName,
};
use tramline_engine::Fault;
use tramline_expr::{Map, Str, Value};
use tramline_formats::tool_plan::{PlannedStep, ToolPlan};
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// Records the workflow that a plan would be saved as. `runs` are its steps with fully qualified tool names.
pub(super) fn draft_workflow(course: &mut LoopState, runs: &ToolPlan) {
    let Some(name) = course.request.save_as.clone() else {
        return;
    };
    let mut whole = ToolPlan {
        steps: course.saved_steps.clone(),
    };
    for step in &runs.steps {
        let planned = course.plan.steps.iter().find(|one| one.id == step.id);
        let args = planned.map_or_else(|| step.args.clone(), |planned| planned.args.clone());
        let mut step = PlannedStep {
            args,
            ..step.clone()
        };
        if is_summary(&step.tool) {
            step.args = summary_arguments(&step, course.request.last_message(), &[], &whole);
        }
        whole.steps.push(step);
    }
    let mut dag = Map::new();
    dag.insert("name", name.into());
    dag.insert("description", describe(course, &whole).into());
    dag.insert("tasks", whole.tasks());
    course.workflow = Some(dag.into());
}

/// Puts the successful steps of a plan before those of the next one.
pub(super) fn keep_successful_steps(course: &mut LoopState, results: &[StepResult]) {
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
            .then_some(PlannedStep { id, tool, args })
    };
    course.saved_steps = drafted.filter_map(step).collect();
}

fn describe(course: &LoopState, plan: &ToolPlan) -> String {
    let said = course.request.last_message().trim();
    if !said.is_empty() {
        return said.chars().take(DESCRIPTION_CHARS_MAX).collect();
    }
    let tools: Vec<_> = plan.steps.iter().map(|step| step.tool.as_str()).collect();
    let says = format!("Calls {}", tools.join(", "));
    says.chars().take(DESCRIPTION_CHARS_MAX).collect()
}

/// Why a plan cannot be saved later, if that is known before it starts.
pub(super) async fn save_obstacle(
    library: &Library,
    course: &LoopState,
) -> Result<Option<String>, Fault> {
    let (Some(name), Some(text)) = (&course.request.save_as, workflow_text(course)) else {
        return Ok(None);
    };
    match library.get(name, None).await {
        Ok(saved) if saved.text == text.as_str() => Ok(None),
        Ok(saved) => {
            let (name, version) = (saved.name.clone(), saved.version);
            let taken = LibraryError::NameTaken { name, version };
            Ok(Some(format!("`save_as`: {taken}")))
        }
        Err(LibraryError::NotFound { .. }) => Ok(None),
        Err(LibraryError::Store(fault)) => Err(fault.into()),
        Err(other) => Ok(Some(format!("`save_as`: {other}"))),
    }
}

/// Saves the plan under the requested name, and returns the result.
pub(super) async fn save(
    library: &Library,
    course: &LoopState,
    results: &[StepResult],
    terms: &CallerContext,
) -> Option<Value> {
    let name = course.request.save_as.as_ref()?;
    let text = workflow_text(course)?;
    let mut told = Map::new();
    told.insert("name", name.clone().into());
    let failed = results.iter().find(|result| result.error.is_some());
    let kept = match (failed, WorkflowName::new(name)) {
        (Some(failed), _) => Err(format!("step `{}` did not succeed", failed.id)),
        (None, Err(bad)) => Err(bad.to_string()),
        (None, Ok(name)) => {
            let description = course.workflow.as_ref()?.get("description");
            let save = SaveRequest {
                name,
                text: text.into(),
                tool: None,
                description: description
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .into(),
                by: terms.caller.clone().unwrap_or_else(|| "loop".into()),
                operator: false,
                saver: Saver::Caller(terms.owner.clone()),
                force: false,
                recursive: false,
            };
            let kept = library.save(save).await;
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

fn workflow_text(course: &LoopState) -> Option<String> {
    let dag = course.workflow.as_ref()?;
    Some(dag.to_json_pretty())
}
