//! `tramline learn`: what was learnt from plans that ended well, shown and forgotten.

use super::audited::Command;
use super::{Common, Done, Exit, Stopped, output, runs};
use clap::Subcommand;
use serde_json::json;
use tramline_engine::Fault;
use tramline_engine::learnt::{Learnt, Lesson};
use tramline_engine::seams::StoreFault;

/// So many lessons are shown to people; `--json` has them all.
const SHOWN_MAX: usize = 50;

/// Show and forget what was learnt from plans that ended well.
#[derive(clap::Args)]
pub(super) struct Learn {
    #[command(subcommand)]
    verb: LearnVerb,
}

#[derive(Subcommand)]
enum LearnVerb {
    /// Show what was learnt: the words of each intent, and the tools that were called for it
    Show {
        /// Only intents with these words
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
    },
    /// Forget a lesson by its id, all lessons with a tool, or everything
    Forget {
        /// An id as `learn show` tells it, or server:tool
        #[arg(
            value_name = "ID|TOOL",
            required_unless_present = "all",
            conflicts_with = "all"
        )]
        what: Option<String>,
        /// Everything
        #[arg(long)]
        all: bool,
    },
}

impl Learn {
    /// What is to be noted of the command.
    pub(super) fn command(&self) -> Option<Command> {
        match &self.verb {
            LearnVerb::Forget { what, .. } => Command::new("learn forget", what),
            LearnVerb::Show { .. } => None,
        }
    }
}

pub(super) async fn main(common: Common, verb: Learn) -> Done {
    let house = runs::open(&common)?;
    let learnt = house.engine.learnt();
    match verb.verb {
        LearnVerb::Show { words } => show(&common, learnt, &words).await,
        LearnVerb::Forget { what, .. } => forget(&common, learnt, what.as_deref()).await,
    }
}

fn stopped(fault: StoreFault) -> Stopped {
    Stopped::from(Fault::from(fault))
}

async fn show(common: &Common, learnt: &Learnt, words: &[String]) -> Done {
    let mut lessons = learnt.lessons().await.map_err(stopped)?;
    let has = |lesson: &Lesson, word: &String| {
        lesson.intent.to_lowercase().contains(&word.to_lowercase())
    };
    lessons.retain(|lesson| words.iter().all(|word| has(lesson, word)));
    if common.json {
        let past = learnt.known().await.map_err(stopped)?;
        let tool = |(tool, count): (_, u64)| json!({ "tool": tool, "count": count });
        let tools: Vec<_> = past.tools().into_iter().map(tool).collect();
        let pair =
            |(from, to, count): (_, _, u64)| json!({ "from": from, "to": to, "count": count });
        let pairs: Vec<_> = past.pairs().into_iter().map(pair).collect();
        let lessons: Vec<_> = lessons.iter().map(told).collect();
        output::line(&json!({
            "intents": past.len(), "lessons": lessons, "tools": tools, "pairs": pairs
        }));
        return Ok(Exit::Done);
    }
    let count = lessons.len();
    let is = if count == 1 { "intent" } else { "intents" };
    output::text_line(&format!("{count} {is} that ended well"));
    for lesson in lessons.iter().take(SHOWN_MAX) {
        let tools: Vec<&str> = lesson.tools.iter().map(|tool| tool.as_str()).collect();
        let (id, intent) = (&lesson.id, &lesson.intent);
        output::text_line(&format!("{id}  {:>4}x  {intent}", lesson.count));
        output::text_line(&format!("                   {}", tools.join(" -> ")));
    }
    if count > SHOWN_MAX {
        let left = count - SHOWN_MAX;
        output::say(&format!(
            "and {left} more; name words to narrow it, or use --json"
        ));
    }
    if count > 0 {
        output::say("a wrong one goes with `tramline learn forget ID`");
    }
    Ok(Exit::Done)
}

fn told(lesson: &Lesson) -> serde_json::Value {
    json!({
        "id": lesson.id,
        "intent": lesson.intent,
        "tools": lesson.tools,
        "count": lesson.count,
        "last_ms": lesson.last_ms,
    })
}

async fn forget(common: &Common, learnt: &Learnt, what: Option<&str>) -> Done {
    let forgot = match what {
        // Ids are hexadecimal; tools have a server.
        Some(id) if !id.contains(':') => learnt.forget_lesson(id).await,
        tool => learnt.forget(tool).await,
    };
    let count = forgot.map_err(stopped)?;
    if count == 0
        && let Some(what) = what
    {
        let message =
            format!("nothing was learnt as `{what}`; `tramline learn show` tells the ids");
        return Err(Stopped::bad(message));
    }
    match common.json {
        true => output::line(&json!({ "forgotten": count })),
        false => output::say(&format!("{count} intents are forgotten")),
    }
    Ok(Exit::Done)
}
