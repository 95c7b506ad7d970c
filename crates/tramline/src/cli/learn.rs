//! `tramline learn`: what was learnt from plans that ended well, shown and forgotten.

use super::audited::Command;
use super::{Common, Done, Exit, Stopped, output, runs};
use clap::Subcommand;
use serde_json::json;
use tramline_engine::Fault;

/// So many tools and pairs are shown to people; `--json` has them all.
const SHOWN_MAX: usize = 20;

/// Show and forget what was learnt from plans that ended well.
#[derive(clap::Args)]
pub(super) struct Learn {
    #[command(subcommand)]
    verb: LearnVerb,
}

#[derive(Subcommand)]
enum LearnVerb {
    /// Show which tools were used for how many intents, and which waited for which
    Show,
    /// Forget what was learnt with a tool, or all of it
    Forget {
        /// server:tool
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        tool: Option<String>,
        /// Everything
        #[arg(long)]
        all: bool,
    },
}

impl Learn {
    /// What is to be noted of the command.
    pub(super) fn command(&self) -> Option<Command> {
        match &self.verb {
            LearnVerb::Forget { tool, .. } => Command::new("learn forget", tool),
            LearnVerb::Show => None,
        }
    }
}

pub(super) async fn main(common: Common, verb: Learn) -> Done {
    let house = runs::open(&common)?;
    let learnt = house.engine.learnt();
    let stopped = |fault| Stopped::from(Fault::from(fault));
    match verb.verb {
        LearnVerb::Show => {
            let past = learnt.known().await.map_err(stopped)?;
            let (tools, pairs) = (past.tools(), past.pairs());
            if common.json {
                let tool = |(tool, count): &(_, u64)| json!({ "tool": tool, "count": count });
                let tools: Vec<_> = tools.iter().map(tool).collect();
                let pairs = pairs.iter();
                let pairs = pairs
                    .map(|(from, to, count)| json!({ "from": from, "to": to, "count": count }));
                let pairs: Vec<_> = pairs.collect();
                output::line(&json!({ "intents": past.len(), "tools": tools, "pairs": pairs }));
                return Ok(Exit::Done);
            }
            output::say(&format!("{} intents that ended well", past.len()));
            for (tool, count) in tools.iter().take(SHOWN_MAX) {
                output::say(&format!("{count:>6}  {tool}"));
            }
            for (from, to, count) in pairs.iter().take(SHOWN_MAX) {
                output::say(&format!("{count:>6}  {from} -> {to}"));
            }
        }
        LearnVerb::Forget { tool, .. } => {
            let count = learnt.forget(tool.as_deref()).await.map_err(stopped)?;
            match common.json {
                true => output::line(&json!({ "forgotten": count })),
                false => output::say(&format!("{count} intents are forgotten")),
            }
        }
    }
    Ok(Exit::Done)
}
