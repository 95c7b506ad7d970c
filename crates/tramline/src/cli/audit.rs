//! `tramline audit`: what was commanded and decided, by whom, why and with what result, as JSON lines or
//! as a table.

use super::{Common, Done, Exit, Stopped, output, runs};
use serde_json::Value as Json;
use tramline_core::ids::RunId;
use tramline_core::text::{milliseconds, moment_ms, moment_text, shown};
use tramline_engine::clock;

/// Print what was commanded.
#[derive(clap::Args)]
pub(super) struct Audit {
    /// Only since then: how long ago (30m, 2h, 7d), a date (2026-11-16), a moment as in RFC 3339, or
    /// milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<i64>,
    /// Only about this run
    #[arg(long, value_name = "RUN", value_parser = runs::run_id)]
    run: Option<RunId>,
    /// Print a table for people instead of JSON lines
    #[arg(long)]
    table: bool,
}

fn moment(text: &str) -> Result<i64, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    if let Some(at) = moment_ms(text) {
        return Ok(at);
    }
    let ago = milliseconds(text).and_then(|ms| i64::try_from(ms).ok());
    let ago = ago.ok_or_else(|| {
        "write how long ago, such as 30m, 2h or 7d, a date such as 2026-11-16, or a moment such as \
         2026-11-16T05:00:00Z"
            .to_owned()
    })?;
    Ok(clock::now_ms().saturating_sub(ago))
}

pub(super) async fn main(common: Common, verb: Audit) -> Done {
    let engine = runs::open(&common)?.engine;
    let notes = engine
        .notes(verb.since.unwrap_or(0), verb.run.as_ref())
        .await;
    let notes = notes.map_err(Stopped::from)?;
    match verb.table {
        false => notes.iter().for_each(output::line),
        true => table(&notes).iter().for_each(|row| output::text_line(row)),
    }
    Ok(Exit::Done)
}

/// The notes as rows of a table: one for each command, and one below it for each decision.
fn table(notes: &[Json]) -> Vec<String> {
    let mut rows =
        vec![["TIME", "DOOR", "BY", "COMMAND", "RUN", "RESULT", "DETAILS"].map(str::to_owned)];
    for note in notes {
        let text = |at: &Json, key: &str| shown(at[key].as_str().unwrap_or_default());
        let at_ms = note["at_ms"].as_i64().unwrap_or_default();
        let details = [text(note, "why"), text(note, "error")];
        let details: Vec<_> = details.into_iter().filter(|one| !one.is_empty()).collect();
        rows.push([
            moment_text(at_ms),
            text(note, "door"),
            text(note, "by"),
            text(note, "command"),
            text(note, "run_id"),
            text(note, "result"),
            details.join("; "),
        ]);
        for decision in note["decisions"].as_array().into_iter().flatten() {
            let arguments = match &decision["arguments"] {
                Json::Null => String::new(),
                arguments => shown(&arguments.to_string()),
            };
            rows.push([
                String::new(),
                text(decision, "via"),
                text(decision, "by"),
                format!("- {}", text(decision, "answer")),
                text(decision, "checkpoint_id"),
                text(decision, "reason"),
                format!("{} {arguments}", text(decision, "tool"))
                    .trim()
                    .to_owned(),
            ]);
        }
    }
    aligned(&rows)
}

/// Rows with their columns beneath each other.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |at: usize| {
        rows.iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
