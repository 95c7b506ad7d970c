//! Turns an intent into tasks: planned by a model if one is configured, otherwise suggested from its words for
//! the caller to complete.
//!
//! A model's plan runs like one given by the caller. A plan from words runs at once only if `TaskPlan::may_run`
//! allows it; otherwise nothing runs and the caller is asked for a plan.

use super::error::ControlError;
use super::{plan_explanation, plan_request, read};
use crate::document_check::LIST_TOOLS_TIMEOUT;
use crate::planner;
use crate::tool::CallContext;
use std::collections::BTreeSet;
use tramline_engine::LoadedRun;
use tramline_expr::{Map, Str, Value};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_planner::loop_runner::Proposal;
use tramline_planner::planner::{CompletedTask, TaskPlan};
use tramline_workflow::task_layers::{TaskLayers, TaskResult};
use tramline_workflow::workflow::Action;

/// Maximum length of a finished task's output shown to the model, in characters.
const OUTPUT_CHARS_MAX: usize = 2_000;

/// Result of planning an intent.
pub(super) enum PlannedIntent {
    /// Tasks to run, the explanation of the plan, and the tokens used for planning.
    Tasks(Value, Map, u64),
    /// A suggestion for the caller to complete.
    Suggestion(Map),
}

/// A checked DAG for an intent, or the suggestion to return if no plan may run.
pub(super) async fn plan_dag(
    means: &CallContext,
    wish: &str,
    arguments: &Value,
) -> Result<Result<(Box<GraphDocument>, Map, u64), Map>, ControlError> {
    let about = IntentRequest {
        command: "execute_dag",
        intent: wish,
        context: None,
        arguments,
        run: None,
    };
    match about.plan(means).await? {
        PlannedIntent::Suggestion(told) => Ok(Err(told)),
        PlannedIntent::Tasks(tasks, why, tokens) => {
            let dag = Value::object([("tasks", tasks)]);
            let document = read::read_dag(means, &dag).await?;
            Ok(Ok((Box::new(document), why, tokens)))
        }
    }
}

/// Tasks for a new requirement of a run, or the suggestion to return if none may be added.
pub(super) async fn plan_new_tasks(
    means: &CallContext,
    loaded: &LoadedRun,
    arguments: &Value,
) -> Result<PlannedIntent, ControlError> {
    let about = IntentRequest {
        command: "replan",
        intent: read::text(arguments, "new_requirement").unwrap_or_default(),
        context: arguments.get("available_context"),
        arguments,
        run: Some(loaded),
    };
    about.plan(means).await
}

/// An intent and its context.
struct IntentRequest<'a> {
    command: &'static str,
    intent: &'a str,
    context: Option<&'a Value>,
    arguments: &'a Value,
    /// The run that tasks are added to.
    run: Option<&'a LoadedRun>,
}

impl IntentRequest<'_> {
    async fn plan(&self, means: &CallContext) -> Result<PlannedIntent, ControlError> {
        let problem = match self.plan_by_model(means).await {
            Proposal::Plan(steps, tokens) => {
                let mut why = Map::new();
                why.insert("planner", "model".into());
                why.insert("explanation", "planned by the model".into());
                let tasks = steps.tasks();
                means.engine.audit_plan(&tasks).await;
                return Ok(PlannedIntent::Tasks(tasks, why, tokens));
            }
            Proposal::NoModel => None,
            Proposal::Nothing => {
                Some("the model answered that no tool needs to be called".to_owned())
            }
            Proposal::Failed(why) => Some(format!("the model did not return a plan: {why}")),
        };
        let mut plan = self.plan_from_words(means).await;
        // If the model returned no plan, the plan from words does not run either.
        plan.objections.extend(problem);
        if plan.may_run() {
            let mut why = plan_explanation::explain(&plan);
            why.insert("planner", "words".into());
            means.engine.audit_plan(&plan.tasks).await;
            return Ok(PlannedIntent::Tasks(plan.tasks, why, 0));
        }
        let mut told = suggestion_reply(&plan);
        if let Some(loaded) = self.run {
            told.insert("workflow_id", loaded.run.id.as_str().into());
            told.insert("new_tasks", plan.tasks.clone());
        }
        let question = plan_request::PlanQuestion {
            command: self.command,
            arguments: self.arguments,
            intent: self.intent,
            context: self.context,
            guess: &plan,
            context_fields: self.finished_tasks(),
        };
        question.add_to_reply(means, &mut told).await?;
        Ok(PlannedIntent::Suggestion(told))
    }

    async fn plan_by_model(&self, means: &CallContext) -> Proposal {
        let taken: BTreeSet<Str> = match self.run {
            Some(loaded) => {
                let nodes = loaded.run.graph.workflow.nodes.iter();
                nodes.map(|node| node.id.clone()).collect()
            }
            None => BTreeSet::new(),
        };
        let context = self.context.and_then(Value::as_object).cloned();
        let mut context = context.unwrap_or_default();
        for (key, value) in self.finished_tasks() {
            context.insert(key, value);
        }
        let context = Value::from(context);
        let runner = planner::loop_runner(means);
        let upstream = means.trace_context();
        runner
            .propose(self.intent, Some(&context), &taken, upstream)
            .await
    }

    /// The finished tasks of the run, which a plan may refer to.
    fn finished_tasks(&self) -> Map {
        let mut told = Map::new();
        if let Some(loaded) = self.run {
            let tasks = Value::array(finished_calls(loaded).iter().map(finished));
            told.insert("finished_tasks", tasks);
        }
        told
    }

    /// The plan made without a model; empty if servers take too long to list their tools.
    async fn plan_from_words(&self, means: &CallContext) -> TaskPlan {
        let graph = self.run.map(|loaded| &loaded.run.graph);
        let taken = |id: &str| graph.is_some_and(|graph| graph.find(id).is_some());
        let done = self.run.map(finished_calls).unwrap_or_default();
        let (wish, context) = (self.intent, self.context);
        let planning = means
            .shared
            .planner
            .plan(wish, context, &|_| true, &taken, &done);
        match tokio::time::timeout(LIST_TOOLS_TIMEOUT, planning).await {
            Ok(Ok(plan)) => plan,
            Ok(Err(_)) | Err(_) => {
                let says = "the available tools could not be listed in time".to_owned();
                TaskPlan {
                    tasks: Value::array([]),
                    explanation: says.clone(),
                    objections: vec![says],
                    ..TaskPlan::default()
                }
            }
        }
    }
}

/// The tasks of a run that succeeded, with their outputs.
fn finished_calls(loaded: &LoadedRun) -> Vec<CompletedTask> {
    let graph = &loaded.run.graph;
    let tasks = TaskLayers::of(&loaded.run).tasks.into_iter();
    let done = tasks.filter_map(|task| {
        let node = &graph.workflow.nodes[task.node.index()];
        match (task.result, &node.action) {
            (Some(TaskResult::Success(output)), Action::Call { tool, .. }) => Some(CompletedTask {
                id: node.id.clone(),
                tool: tool.tool.clone(),
                output,
            }),
            _ => None,
        }
    });
    done.collect()
}

/// A finished task as shown to planners, with its output truncated.
fn finished(done: &CompletedTask) -> Value {
    let mut told = Map::new();
    told.insert("id", done.id.clone().into());
    told.insert("tool", done.tool.clone().into());
    let text = done.output.to_json();
    match text.char_indices().nth(OUTPUT_CHARS_MAX) {
        None => told.insert("output", done.output.clone()),
        Some((at, _)) => told.insert("output_begins", text[..at].into()),
    };
    told.into()
}

fn suggestion_reply(plan: &TaskPlan) -> Map {
    let mut told = Map::new();
    told.insert("status", "suggestion".into());
    let dag = Value::object([("tasks", plan.tasks.clone())]);
    told.insert("suggested_dag", dag);
    for (key, value) in plan_explanation::explain(plan).iter() {
        told.insert(key.clone(), value.clone());
    }
    let reasons = plan.objections.iter();
    let reasons = reasons.map(|why| Value::from(why.as_str()));
    told.insert("why_not_run", Value::array(reasons));
    told
}
