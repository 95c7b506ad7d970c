//! `tramline sop show`: a conversation told from its journal.

use super::output;
use crate::cli::{Common, Done, Exit, Stopped, runs};
use tramline_core::ids::RunId;
use tramline_core::journal::{Entry, Event, Guided, Note, Stand};

/// Tell a conversation from its journal.
#[derive(clap::Args)]
pub(super) struct Show {
    /// The conversation: its session_id
    #[arg(value_name = "RUN", value_parser = runs::run_id)]
    run: RunId,
}

pub(super) async fn main(common: &Common, verb: &Show) -> Done {
    let house = runs::open(common)?;
    let entries = house.engine.entries(&verb.run).await?;
    house.close().await;
    let begun_ms = entries.first().map_or(0, |entry| entry.at_ms);
    let Some(Event::Guided(begun)) = entries.first().map(|entry| &entry.event) else {
        let message = format!(
            "{} is no conversation; `tramline runs show` tells it",
            verb.run
        );
        return Err(Stopped::bad(message));
    };
    for entry in &entries {
        if common.json {
            output::line(&serde_json::json!({
                "seq": entry.seq,
                "at_ms": entry.at_ms,
                "event": entry.event,
            }));
        } else if let Some(says) = says(begun, entry) {
            let since = output::span(entry.at_ms - begun_ms);
            output::text_line(&format!("{since:>12}  {says}"));
        }
    }
    Ok(Exit::Done)
}

fn says(begun: &Guided, entry: &Entry) -> Option<String> {
    let id = |at: &Stand| {
        let sop = begun.sops.get(at.sop as usize);
        sop.and_then(|sop| sop.nodes.get(at.node.at()))
            .map_or("?", |node| node.id.as_str())
    };
    Some(match &entry.event {
        Event::Guided(begun) => format!("began along {}", begun.sops.first()?.name),
        Event::Moved(moved) => {
            let how = if moved.by_itself { "on to" } else { "to" };
            let against = moved.against.as_ref();
            let against = against.map_or_else(String::new, |why| format!("  LET PASS: {why}"));
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
        Event::Noted(note) => match &**note {
            Note::Todos(todos) => format!("noted {} tasks", todos.len()),
            Note::Slots(slots) => format!("set {slots}"),
        },
        Event::ToolCalled(called) => {
            let rules = called.rules.iter().map(|it| {
                let verdict = if it.holds == Some(true) {
                    "holds"
                } else {
                    "BROKEN"
                };
                format!("\n    {verdict}: {}", it.says())
            });
            let rules: String = rules.collect();
            format!("called {} {}{rules}", called.tool, called.arguments)
        }
        Event::ToolAnswered(answered) => match &answered.failure {
            Some(failure) => format!("  failed: {failure}"),
            None => format!("  gave {}", output::brief(&answered.output, 200)),
        },
        Event::Refused(refused) => format!("REFUSED {}: {}", refused.target, refused.why),
        Event::Finished { .. } => "ended".to_owned(),
        Event::Started(_)
        | Event::Resumed { .. }
        | Event::StepStarted { .. }
        | Event::Spread { .. }
        | Event::Gathered { .. }
        | Event::Waiting { .. }
        | Event::AttemptFailed { .. }
        | Event::StepFinished { .. }
        | Event::StepFailed { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Watched { .. }
        | Event::Amended { .. } => return None,
    })
}
