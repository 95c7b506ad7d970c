//! `tramline audit`: who did and decided what, why and with what result, as JSON lines or a table.

use super::output::{Column, Table};
use super::{CliError, CliResult, CommonArgs, Exit, output, runs};
use serde_json::Value as Json;
use tramline_engine::clock;
use tramline_workflow::ids::RunId;
use tramline_workflow::text::{
    display_name, format_timestamp, parse_duration_ms, parse_timestamp_ms,
};

/// Print the audit log.
#[derive(clap::Args)]
pub(super) struct Audit {
    /// Only since this time: an age (30m, 2h, 7d), a date (2026-11-16), an RFC 3339 time, or
    /// milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<i64>,
    /// Only about this run
    #[arg(long, value_name = "RUN", value_parser = runs::run_id)]
    run: Option<RunId>,
    /// Print a table for people instead of JSON lines
    #[arg(long)]
    table: bool,
}

fn parse_since(text: &str) -> Result<i64, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    if let Some(at) = parse_timestamp_ms(text) {
        return Ok(at);
    }
    let ago = parse_duration_ms(text).and_then(|ms| i64::try_from(ms).ok());
    let ago = ago.ok_or_else(|| {
        "write an age such as 30m, 2h or 7d, a date such as 2026-11-16, or a time such as \
         2026-11-16T05:00:00Z"
            .to_owned()
    })?;
    Ok(clock::now_ms().saturating_sub(ago))
}

pub(super) async fn main(common: CommonArgs, verb: Audit) -> CliResult {
    let engine = runs::open(&common)?.engine;
    let notes = engine
        .audit_notes(verb.since.unwrap_or(0), verb.run.as_ref())
        .await;
    let notes = notes.map_err(CliError::from)?;
    match verb.table {
        _ if notes.is_empty() => {
            output::status_line("nothing is recorded for this time and run");
        }
        false => notes.iter().for_each(output::line),
        true => table(&notes).print(),
    }
    Ok(Exit::Done)
}

/// The entries as table rows: one for each command, and one below it for each decision.
fn table(notes: &[Json]) -> Table<7> {
    let mut rows = Table::new([
        Column::fixed("TIME"),
        Column::flexible("DOOR", 6),
        Column::flexible("BY", 6),
        Column::flexible("COMMAND", 8),
        Column::flexible("RUN", 9),
        Column::flexible("RESULT", 6),
        Column::flexible("DETAILS", 8),
    ]);
    for note in notes {
        let text = |at: &Json, key: &str| display_name(at[key].as_str().unwrap_or_default());
        let at_ms = note["at_ms"].as_i64().unwrap_or_default();
        let details = [text(note, "why"), text(note, "error")];
        let details: Vec<_> = details.into_iter().filter(|one| !one.is_empty()).collect();
        rows.row([
            format_timestamp(at_ms),
            text(note, "door"),
            text(note, "by"),
            text(note, "command"),
            text(note, "run_id"),
            text(note, "result"),
            details.join("; "),
        ]);
        for decision in note["decisions"].as_array().into_iter().flatten() {
            let details = decision_details(decision);
            rows.row([
                String::new(),
                text(decision, "via"),
                text(decision, "by"),
                format!("- {}", text(decision, "answer")),
                text(decision, "checkpoint_id"),
                text(decision, "reason"),
                format!("{} {details}", text(decision, "tool"))
                    .trim()
                    .to_owned(),
            ]);
        }
    }
    rows
}

/// What was decided: the arguments that the call got, and those that were proposed if a person edited them; the rest
/// of the answer; and why it was refused.
fn decision_details(decision: &Json) -> String {
    let field = |key: &str| match &decision[key] {
        Json::Null => None,
        Json::String(text) => Some(display_name(text)),
        value => Some(display_name(&value.to_string())),
    };
    let arguments = field("arguments");
    let arguments = match field("edited_arguments") {
        Some(edited) => {
            let proposed = arguments.unwrap_or_default();
            Some(format!("{edited} (edited; proposed: {proposed})"))
        }
        None => arguments,
    };
    let named = |key: &str| field(key).map(|value| format!("{key}: {value}"));
    let parts = [
        arguments,
        named("output"),
        named("extension"),
        named("refused"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join("; ")
}
