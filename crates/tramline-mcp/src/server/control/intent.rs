//! An intent as tasks: planned by the model where one is configured, and else suggested from words for
//! the caller to complete.
//!
//! A model's plan is run like one that a caller gave. A plan from words runs at once only if
//! [`Plan::may_run`] says so; otherwise nothing runs and the caller is asked for a plan.

use super::super::toolset::Means;
use super::layers::{End, Layers};
use super::wrong::Wrong;
use super::{read, submitted, why};
use std::collections::BTreeSet;
use std::time::Duration;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::workflow::Action;
use tramline_core::{Map, Str, Value};
use tramline_engine::Loaded;
use tramline_engine::loop_runner::Proposal;
use tramline_engine::planner::{Done, Plan};

/// Servers get so long to say what tools they have.
const ASK_MAX: Duration = Duration::from_secs(15);
/// What a finished task gave is shown to the model so far, in characters.
const GAVE_CHARS_MAX: usize = 2_000;

/// What became of an intent.
pub(super) enum Suggested {
    /// Tasks that are to be run, why they are these, and how many tokens planning took.
    Ready(Value, Map, u64),
    /// A suggestion for the caller to complete.
    Told(Map),
}

/// A DAG for an intent, checked, or what is to be told if there is none that may run.
pub(super) async fn suggest(
    means: &Means,
    wish: &str,
    arguments: &Value,
) -> Result<Result<(Box<Document>, Map, u64), Map>, Wrong> {
    let about = About {
        command: "execute_dag",
        wish,
        context: None,
        arguments,
        loaded: None,
    };
    match about.planned(means).await? {
        Suggested::Told(told) => Ok(Err(told)),
        Suggested::Ready(tasks, why, tokens) => {
            let dag = Value::object([("tasks", tasks)]);
            let document = read::dag(means, &dag).await?;
            Ok(Ok((Box::new(document), why, tokens)))
        }
    }
}

/// Tasks for a requirement of a run, or what is to be told if there are none that may be added.
pub(super) async fn tasks(
    means: &Means,
    loaded: &Loaded,
    arguments: &Value,
) -> Result<Suggested, Wrong> {
    let about = About {
        command: "replan",
        wish: read::text(arguments, "new_requirement").unwrap_or_default(),
        context: arguments.get("available_context"),
        arguments,
        loaded: Some(loaded),
    };
    about.planned(means).await
}

/// An intent and what it is about.
struct About<'a> {
    command: &'static str,
    wish: &'a str,
    context: Option<&'a Value>,
    arguments: &'a Value,
    /// The run that tasks are added to.
    loaded: Option<&'a Loaded>,
}

impl About<'_> {
    async fn planned(&self, means: &Means) -> Result<Suggested, Wrong> {
        let problem = match self.by_model(means).await {
            Proposal::Plan(steps, tokens) => {
                let mut why = Map::new();
                why.insert("planner", "model".into());
                why.insert("explanation", "planned by the model".into());
                return Ok(Suggested::Ready(steps.tasks(), why, tokens));
            }
            Proposal::NoModel => None,
            Proposal::Nothing => Some("the model says that nothing is to be called".to_owned()),
            Proposal::Failed(why) => Some(format!("the model gave no plan: {why}")),
        };
        let mut plan = self.by_words(means).await;
        // What the model would not plan does not run from words either.
        plan.objections.extend(problem);
        if plan.may_run() {
            let mut why = why::of(&plan);
            why.insert("planner", "words".into());
            return Ok(Suggested::Ready(plan.tasks, why, 0));
        }
        let mut told = told(&plan);
        if let Some(loaded) = self.loaded {
            told.insert("workflow_id", loaded.run.id.as_str().into());
            told.insert("new_tasks", plan.tasks.clone());
        }
        let question = submitted::Question {
            command: self.command,
            arguments: self.arguments,
            wish: self.wish,
            context: self.context,
            guess: &plan,
            more: self.finished(),
        };
        question.put(means, &mut told).await?;
        Ok(Suggested::Told(told))
    }

    async fn by_model(&self, means: &Means) -> Proposal {
        let taken: BTreeSet<Str> = match self.loaded {
            Some(loaded) => {
                let nodes = loaded.run.graph.workflow.nodes.iter();
                nodes.map(|node| node.id.clone()).collect()
            }
            None => BTreeSet::new(),
        };
        let context = self.context.and_then(Value::as_object).cloned();
        let mut context = context.unwrap_or_default();
        for (key, value) in self.finished() {
            context.insert(key, value);
        }
        let context = Value::from(context);
        let runner = submitted::runner(means);
        let upstream = means.upstream();
        runner
            .propose(self.wish, Some(&context), &taken, upstream)
            .await
    }

    /// The tasks of the run that are done, which a plan may refer to.
    fn finished(&self) -> Map {
        let mut told = Map::new();
        if let Some(loaded) = self.loaded {
            let tasks = Value::array(done(loaded).iter().map(finished));
            told.insert("finished_tasks", tasks);
        }
        told
    }

    /// The plan of the planner without a model; an empty one if servers take too long to say what
    /// they have.
    async fn by_words(&self, means: &Means) -> Plan {
        let graph = self.loaded.map(|loaded| &loaded.run.graph);
        let taken = |id: &str| graph.is_some_and(|graph| graph.find(id).is_some());
        let done = self.loaded.map(done).unwrap_or_default();
        let (wish, context) = (self.wish, self.context);
        let planning = means.engine.plan(wish, context, &|_| true, &taken, &done);
        match tokio::time::timeout(ASK_MAX, planning).await {
            Ok(Ok(plan)) => plan,
            Ok(Err(_)) | Err(_) => {
                let says = "what can be called could not be listed in time".to_owned();
                Plan {
                    tasks: Value::array([]),
                    explanation: says.clone(),
                    objections: vec![says],
                    ..Plan::default()
                }
            }
        }
    }
}

/// The tasks of a run that ended well, with what they gave.
fn done(loaded: &Loaded) -> Vec<Done> {
    let graph = &loaded.run.graph;
    let tasks = Layers::of(loaded).tasks.into_iter();
    let done = tasks.filter_map(|task| {
        let node = &graph.workflow.nodes[task.node.at()];
        match (task.end, &node.action) {
            (Some(End::Success(output)), Action::Call { tool, .. }) => Some(Done {
                id: node.id.clone(),
                tool: tool.tool.clone(),
                output,
            }),
            _ => None,
        }
    });
    done.collect()
}

/// A finished task as planners read it, with what it gave as far as that is short.
fn finished(done: &Done) -> Value {
    let mut told = Map::new();
    told.insert("id", done.id.clone().into());
    told.insert("tool", done.tool.clone().into());
    let text = done.output.to_json();
    match text.char_indices().nth(GAVE_CHARS_MAX) {
        None => told.insert("output", done.output.clone()),
        Some((at, _)) => told.insert("output_begins", text[..at].into()),
    };
    told.into()
}

fn told(plan: &Plan) -> Map {
    let mut told = Map::new();
    told.insert("status", "suggestion".into());
    let dag = Value::object([("tasks", plan.tasks.clone())]);
    told.insert("suggested_dag", dag);
    for (key, value) in why::of(plan).iter() {
        told.insert(key.clone(), value.clone());
    }
    let reasons = plan.objections.iter();
    let reasons = reasons.map(|why| Value::from(why.as_str()));
    told.insert("why_not_run", Value::array(reasons));
    told
}
