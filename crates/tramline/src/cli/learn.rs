//! `tramline learn`: shows and deletes what was learned from successful plans.

use super::audit_record::AuditedCommand;
use super::output::{Column, Table};
use super::{CliError, CliResult, CommonArgs, Exit, output, runs};
use clap::Subcommand;
use serde_json::json;
use tramline_engine::Fault;
use tramline_engine::ports::StoreFault;
use tramline_planner::plan_history::{LearnedPlan, PlanHistory};

/// At most this many lessons are printed; `--json` prints all.
const SHOWN_MAX: usize = 50;

/// Show and forget what was learned from successful plans.
#[derive(clap::Args)]
pub(super) struct Learn {
    #[command(subcommand)]
    verb: LearnVerb,
}

#[derive(Subcommand)]
enum LearnVerb {
    /// Show what was learned: the words of each intent, and the tools that were called for it
    Show {
        /// Only intents with these words
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
    },
    /// Forget a lesson by its id, all lessons with a tool, or everything
    Forget {
        /// An id from `learn show`, or server:tool
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
    /// The command as recorded in the audit log.
    pub(super) fn command(&self) -> Option<AuditedCommand> {
        match &self.verb {
            LearnVerb::Forget { what, all } => {
                let what = what.as_deref().or(all.then_some("--all"));
                AuditedCommand::new("learn forget", what)
            }
            LearnVerb::Show { .. } => None,
        }
    }
}

pub(super) async fn main(common: CommonArgs, verb: Learn) -> CliResult {
    let house = runs::open(&common)?;
    let learnt = house.planner.history();
    match verb.verb {
        LearnVerb::Show { words } => show(&common, learnt, &words).await,
        LearnVerb::Forget { what, .. } => forget(&common, learnt, what.as_deref()).await,
    }
}

fn stopped(fault: StoreFault) -> CliError {
    CliError::from(Fault::from(fault))
}

async fn show(common: &CommonArgs, learnt: &PlanHistory, words: &[String]) -> CliResult {
    let mut lessons = learnt.learned_plans().await.map_err(stopped)?;
    let has = |lesson: &LearnedPlan, word: &String| {
        lesson.intent.to_lowercase().contains(&word.to_lowercase())
    };
    lessons.retain(|lesson| words.iter().all(|word| has(lesson, word)));
    if common.json {
        let past = learnt.stored_precedents().await.map_err(stopped)?;
        let tool = |(tool, count): (_, u64)| json!({ "tool": tool, "count": count });
        let tools: Vec<_> = past.tools().into_iter().map(tool).collect();
        let pair =
            |(from, to, count): (_, _, u64)| json!({ "from": from, "to": to, "count": count });
        let pairs: Vec<_> = past.waiting_pairs().into_iter().map(pair).collect();
        let lessons: Vec<_> = lessons.iter().map(lesson_json).collect();
        output::line(&json!({
            "intents": past.len(), "lessons": lessons, "count": lessons.len(), "tools": tools, "pairs": pairs
        }));
        return Ok(Exit::Done);
    }
    let count = lessons.len();
    if count == 0 {
        output::status_line(match words {
            [] => "nothing is learned yet: successful plans of `tramline loop` and agents are",
            _ => "nothing with these words is learned; `tramline learn show` shows everything",
        });
        return Ok(Exit::Done);
    }
    let mut table = Table::new([
        Column::fixed("ID"),
        Column::fixed("TIMES").right(),
        Column::flexible("INTENT", 16),
        Column::flexible("TOOLS", 16),
    ]);
    for lesson in lessons.iter().take(SHOWN_MAX) {
        let tools: Vec<&str> = lesson.tools.iter().map(|tool| tool.as_str()).collect();
        table.row([
            lesson.id.to_string(),
            lesson.count.to_string(),
            lesson.intent.to_string(),
            tools.join(" -> "),
        ]);
    }
    table.print();
    if count > SHOWN_MAX {
        let left = count - SHOWN_MAX;
        output::status_line(&format!(
            "and {left} more; name words to narrow it, or use --json"
        ));
    }
    output::status_line("`tramline learn forget ID` deletes a wrong one");
    Ok(Exit::Done)
}

fn lesson_json(lesson: &LearnedPlan) -> serde_json::Value {
    json!({
        "id": lesson.id,
        "intent": lesson.intent,
        "tools": lesson.tools,
        "count": lesson.count,
        "last_ms": lesson.last_ms,
    })
}

async fn forget(common: &CommonArgs, learnt: &PlanHistory, what: Option<&str>) -> CliResult {
    let forgot = match what {
        // Ids are hexadecimal; tools contain a server name.
        Some(id) if !id.contains(':') => learnt.forget_plan(id).await,
        tool => learnt.forget(tool).await,
    };
    let count = forgot.map_err(stopped)?;
    if count == 0
        && let Some(what) = what
    {
        let message =
            format!("nothing was learned as `{what}`; `tramline learn show` lists the ids");
        return Err(CliError::bad_input(message));
    }
    match common.json {
        true => output::line(&json!({ "forgotten": count })),
        false => output::status_line(&format!("forgot {}", output::counted(count, "intent"))),
    }
    Ok(Exit::Done)
}
