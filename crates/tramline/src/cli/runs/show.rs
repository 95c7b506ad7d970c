//! `tramline runs show`: a run read step by step.

use super::super::output::{self, brief, span};
use super::super::{Common, Done, Exit, moment};
use super::{open, past};
use tramline_core::ids::RunId;
use tramline_core::trace::{Step, Trace};
use tramline_engine::{At, Loaded, status};

/// Values longer than this are cut unless asked for whole.
pub(in super::super) const VALUE_CHARS_MAX: usize = 160;

/// Read a run.
#[derive(clap::Args)]
pub(super) struct Show {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// As it stood after this step, or after this event
    #[arg(long, value_name = "STEP|event:SEQ", value_parser = moment::at)]
    at: Option<At>,
    /// Show values whole
    #[arg(long)]
    full: bool,
}

pub(super) async fn main(common: Common, verb: Show) -> Done {
    let most = if verb.full {
        usize::MAX
    } else {
        VALUE_CHARS_MAX
    };
    if let Some(at) = verb.at {
        return past::main(&common, &verb.run, at, most).await;
    }
    let house = open(&common)?;
    let loaded = house.engine.load(&verb.run).await?;
    show(&loaded, common.json, most);
    Ok(Exit::Done)
}

/// Prints a run step by step.
pub(in super::super) fn show(loaded: &Loaded, json: bool, most: usize) {
    let status = status(&loaded.run).as_str();
    let trace = Trace::of(&loaded.run.id, &loaded.run.graph, &loaded.entries);
    if json {
        let mut shown = serde_json::to_value(&trace).unwrap_or_default();
        if let Some(map) = shown.as_object_mut() {
            map.insert("status".into(), status.into());
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
    output::text_line(&format!("input   {}", brief(&trace.input, most)));
    for step in &trace.steps {
        show_step(step, most);
    }
    for asked in &trace.pauses {
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
    }
    if let Some(outcome) = &trace.outcome {
        output::text_line(&format!("outcome {}", brief(outcome, most)));
    }
}

fn show_step(step: &Step, most: usize) {
    let took = step.duration_ms.map_or_else(|| "open".to_owned(), span);
    let tool = step.tool.as_deref().unwrap_or(step.kind);
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
    if let Some(input) = &step.input {
        line("input", brief(input, most));
    }
    if let Some(expression) = &step.expression {
        let text = expression.as_str().map_or_else(
            || brief(expression, most),
            |text| text.trim().replace('\n', "\n                   "),
        );
        line("expression", text);
    }
    for failure in &step.retried {
        line("retried", failure.to_string());
    }
    if let Some(output) = &step.output {
        line("output", brief(output, most));
    }
    if let Some(error) = &step.error {
        line("error", error.to_string());
    }
}
