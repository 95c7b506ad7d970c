//! `tramline sop show`: prints a session from its journal.

use super::output;
use crate::cli::{CliError, CliResult, CommonArgs, Exit, runs};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{Entry, Event, SessionNote, SopEvent, SopPosition, SopStarted};

/// Show a session from its journal.
#[derive(clap::Args)]
pub(super) struct SopShowArgs {
    /// The session: its session_id
    #[arg(value_name = "RUN", value_parser = runs::run_id)]
    run: RunId,
}

pub(super) async fn main(common: &CommonArgs, verb: &SopShowArgs) -> CliResult {
    let house = runs::open(common)?;
    let entries = house.engine.entries(&verb.run).await?;
    house.close().await;
    let begun_ms = entries.first().map_or(0, |entry| entry.at_ms);
    let Some(Event::Sop(SopEvent::SopStarted(begun))) = entries.first().map(|entry| &entry.event)
    else {
        let message = format!(
            "{} is not an SOP session; use `tramline runs show`",
            verb.run
        );
        return Err(CliError::bad_input(message));
    };
    for entry in &entries {
        if common.json {
            output::line(&serde_json::json!({
                "seq": entry.seq,
                "at_ms": entry.at_ms,
                "event": entry.event,
            }));
        } else if let Some(says) = event_line(begun, entry) {
            let since = output::span(entry.at_ms - begun_ms);
            output::text_line(&format!("{since:>12}  {says}"));
        }
    }
    Ok(Exit::Done)
}

fn event_line(begun: &SopStarted, entry: &Entry) -> Option<String> {
    let id = |at: &SopPosition| {
        let sop = begun.sops.get(at.sop as usize);
        sop.and_then(|sop| sop.nodes.get(at.node.index()))
            .map_or("?", |node| node.id.as_str())
    };
    let event = match &entry.event {
        Event::Sop(event) => event,
        Event::Run(_) => return entry.event.outcome().map(|_| "ended".to_owned()),
    };
    Some(match event {
        SopEvent::SopStarted(begun) => format!("started {}", begun.sops.first()?.name),
        SopEvent::Moved(moved) => {
            let how = if moved.by_itself { "on to" } else { "to" };
            let against = moved.against.as_ref();
            let against =
                against.map_or_else(String::new, |why| format!("  ALLOWED ANYWAY: {why}"));
            let weighed: Vec<String> = moved
                .weighed
                .iter()
                .flat_map(|it| it.operands.iter())
                .map(|(what, value)| format!("{what} = {value}"))
                .collect();
            let weighed = match weighed.is_empty() {
                true => String::new(),
                false => format!("  because {}", weighed.join(", ")),
            };
            format!("{how} {}{weighed}{against}", id(&moved.to))
        }
        SopEvent::Noted(note) => match &**note {
            SessionNote::Todos(todos) => format!("noted {} tasks", todos.len()),
            SessionNote::Slots(slots) => format!("set {slots}"),
        },
        SopEvent::ToolCalled(called) => {
            let rules = called.rules.iter().map(|it| {
                let verdict = if it.holds == Some(true) {
                    "holds"
                } else {
                    "BROKEN"
                };
                format!("\n    {verdict}: {}", it.describe())
            });
            let rules: String = rules.collect();
            format!("called {} {}{rules}", called.tool, called.arguments)
        }
        SopEvent::ToolAnswered(answered) => match &answered.failure {
            Some(failure) => format!("  failed: {failure}"),
            None => format!("  returned {}", output::shorten(&answered.output, 200)),
        },
        SopEvent::Refused(refused) => {
            format!("REFUSED {}: {}", refused.target, refused.why)
        }
    })
}
