//! `tramline runs show`: prints a run step by step.

use super::super::output::{self, shorten, span};
use super::super::run_environment::{self, ResumeArgs};
use super::super::{CliResult, CommonArgs, Exit, position};
use super::{open, show_at};
use crate::app::App;
use tramline_engine::{JournalPoint, LoadedRun, QuestionReader, run_status};
use tramline_expr::Value;
use tramline_views::pause_view::{self, Extent};
use tramline_views::trace::{Trace, TracePause, TraceStep};
use tramline_workflow::ids::RunId;
use tramline_workflow::node_kind::NodeKind;

/// Longer values are truncated unless `--full` is given, in characters.
pub(in super::super) const VALUE_CHARS_MAX: usize = 160;

/// Show a run.
#[derive(clap::Args)]
pub(super) struct ShowRunArgs {
    /// The run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// Its state after this step or event
    #[arg(long, value_name = "STEP|event:SEQ", value_parser = position::parse_position)]
    at: Option<JournalPoint>,
    /// Show values in full
    #[arg(long)]
    full: bool,
}

pub(super) async fn main(common: CommonArgs, verb: ShowRunArgs) -> CliResult {
    let most = if verb.full {
        usize::MAX
    } else {
        VALUE_CHARS_MAX
    };
    if let Some(at) = verb.at {
        return show_at::main(&common, &verb.run, at, most).await;
    }
    let house = open(&common)?;
    let loaded = house.engine.load(&verb.run).await?;
    let questions = match loaded.run.is_paused() {
        true => questions(&common, &house, &loaded, verb.full).await,
        false => Vec::new(),
    };
    print_run(&loaded, common.json, most, &questions);
    Ok(Exit::Done)
}

/// The run's questions, each with its call. The run's own environment shows what a call would
/// change; without it, the journal provides the rest.
async fn questions(common: &CommonArgs, house: &App, loaded: &LoadedRun, full: bool) -> Vec<Value> {
    let again = ResumeArgs::quiet_run(loaded.run.id.clone());
    let reopened = run_environment::reopen(common, &again).await.ok();
    let engine = reopened
        .as_ref()
        .map_or(&house.engine, |(own, _)| &own.engine);
    let extent = match full {
        true => Extent::Whole,
        false => Extent::Bounded,
    };
    let mut questions = Vec::new();
    for (seq, pause) in &loaded.run.pauses {
        questions.push(
            engine
                .pause_detail(loaded, *seq, pause, extent, QuestionReader::Person)
                .await,
        );
    }
    questions
}

/// Prints a run step by step.
pub(in super::super) fn show(loaded: &LoadedRun, json: bool, most: usize) {
    print_run(loaded, json, most, &[]);
}

fn print_run(loaded: &LoadedRun, json: bool, most: usize, questions: &[Value]) {
    let status = run_status(&loaded.run).as_str();
    let trace = Trace::of(&loaded.run.id, &loaded.run.graph, &loaded.entries);
    if json {
        let mut shown = serde_json::to_value(&trace).unwrap_or_default();
        if let Some(map) = shown.as_object_mut() {
            map.insert("status".into(), status.into());
            if !questions.is_empty() {
                map.insert("questions".into(), serde_json::json!(questions));
            }
        }
        output::line(&shown);
        return;
    }
    let took = span(trace.updated_ms - trace.started_ms);
    output::text_line(&format!(
        "{}  {}  {status}  {took}",
        trace.run_id, trace.workflow
    ));
    if let Some(from) = &trace.forked_from {
        let (run, seq) = (&from.run_id, from.seq);
        output::text_line(&format!("forked  from {run} after event {seq}"));
    }
    output::text_line(&format!("input   {}", shorten(&trace.input, most)));
    for step in &trace.steps {
        show_step(step, most);
    }
    for asked in &trace.pauses {
        show_question(asked, most, questions);
    }
    if let Some(outcome) = &trace.outcome {
        output::text_line(&format!("outcome {}", shorten(outcome, most)));
    }
}

/// Prints a question: with its call while it waits, and with the edits once it was answered.
fn show_question(asked: &TracePause, most: usize, questions: &[Value]) {
    let about = asked.node.as_deref().unwrap_or("the run");
    let answer = match (&asked.answer, &asked.by) {
        (Some(answer), Some(note)) => match note.via {
            Some(via) if via.is_relayed() => format!("{answer} by {} (relayed)", note.by),
            _ => format!("{answer} by {}", note.by),
        },
        _ => "waits for an answer".to_owned(),
    };
    output::text_line(&format!(
        "asked   {} at {about}: {answer}  {}",
        asked.kind, asked.checkpoint
    ));
    let waiting = questions.iter().find(|question| {
        question.get("checkpoint_id").and_then(Value::as_str) == Some(&asked.checkpoint)
    });
    for line in waiting.map(pause_view::detail_lines).unwrap_or_default() {
        output::text_line(&format!("        {line}"));
    }
    if let Some(edited) = &asked.edited_arguments {
        let call = asked.call.as_ref();
        let before = call.and_then(|call| call.get("arguments")).cloned();
        let line = |name: &str, value: &Value| {
            output::text_line(&format!("        {name:<10} {}", shorten(value, most)));
        };
        line("asked with", &before.unwrap_or_default());
        line("edited to", edited);
    }
}

fn show_step(step: &TraceStep, most: usize) {
    let took = step.duration_ms.map_or_else(|| "open".to_owned(), span);
    let tool = step.tool.as_deref();
    let tool = tool.unwrap_or_else(|| NodeKind::label_of(step.kind));
    let label = step
        .label
        .as_ref()
        .map_or_else(String::new, |label| format!(" -> {label}"));
    let attempts = if step.attempts > 1 {
        format!("  {} attempts", step.attempts)
    } else {
        String::new()
    };
    output::text_line(&format!(
        "{:>4}  {}  {tool}  {}  {took}{attempts}{label}",
        step.step, step.node, step.status
    ));
    let line = |name: &str, text: String| output::text_line(&format!("        {name:<10} {text}"));
    let lines = |name: &str, text: String| {
        let mut name = name;
        for part in text.lines() {
            line(name, part.to_owned());
            name = "";
        }
    };
    if let Some(input) = &step.input {
        line("input", shorten(input, most));
    }
    if let Some(expression) = &step.expression {
        let text = expression.as_str().map_or_else(
            || shorten(expression, most),
            |text| text.trim().replace('\n', "\n                   "),
        );
        line("expression", text);
    }
    for failure in &step.retried {
        lines("retried", failure.to_string());
    }
    if let Some(output) = &step.output {
        line("output", shorten(output, most));
    }
    if let Some(error) = &step.error {
        lines("error", error.to_string());
    }
    if step.may_have_happened {
        let says =
            "the call may have happened: its result is not known; check before you repeat it";
        line("unknown", says.to_owned());
    }
}
