//! `tramline runs fork`: another way from a step of a run, or anew with another input.

use super::super::breaks::Breaks;
use super::super::origin::{self, Again};
use super::super::{Common, Done, Stopped, input, moment, output, run};
use tramline_core::ids::RunId;
use tramline_core::{Map, Value};
use tramline_engine::{At, Branch, Branched, Effects};

/// Branch off from a run at a step.
#[derive(clap::Args)]
pub(super) struct Forking {
    #[command(flatten)]
    again: Again,
    /// After which step, at which checkpoint, or after which event
    #[arg(long, value_name = "STEP|CHECKPOINT|event:SEQ", value_parser = moment::point, required_unless_present = "input")]
    at: Option<(At, Option<RunId>)>,
    /// Take this for the output of that step: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    output: Option<String>,
    /// Begin anew with this input: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with_all = ["at", "output"])]
    input: Option<String>,
    /// Make calls again that have effects, without asking
    #[arg(long)]
    repeat_effects: bool,
    #[command(flatten)]
    breaks: Breaks,
}

impl Forking {
    pub(super) fn run(&self) -> &RunId {
        &self.again.run
    }
}

pub(super) async fn main(common: Common, verb: Forking) -> Done {
    let (at, of) = verb.at.clone().unwrap_or((At::Event(1), None));
    if of.as_ref().is_some_and(|run| *run != verb.again.run) {
        let message = format!("that is no checkpoint of {}", verb.again.run);
        return Err(Stopped::bad(message));
    }
    let given = |text: &Option<String>| text.as_deref().map(input::whole).transpose();
    let (output, input) = (given(&verb.output)?, given(&verb.input)?);
    let (house, loaded) = origin::reopen(&common, &verb.again).await?;
    let graph = loaded.run.graph;
    let effects = if verb.repeat_effects {
        Effects::Repeat
    } else {
        Effects::Ask
    };
    let breaks = (!verb.breaks.is_empty()).then(|| verb.breaks.watch(&graph));
    let branch = Branch {
        output,
        input,
        effects,
        watch: breaks,
        ..Branch::at(at)
    };
    let made = house.engine.fork(&verb.again.run, branch).await?;
    if !(common.json || verb.again.quiet) {
        announce(&verb.again.run, at, &made, effects);
    }
    let mut manner = run::Manner::since(0, &common, verb.again.quiet);
    manner.more = told(&verb.again, &made, effects);
    let done = run::follow(&house.engine, &graph, made.handle, manner).await;
    house.close().await;
    done
}

fn announce(old: &RunId, at: At, made: &Branched, effects: Effects) {
    let (new, at) = (&made.handle.run, moment::says(at));
    output::say(&format!("{new} branches off from {old} {at}"));
    let what = match effects {
        _ if made.effects.is_empty() => return,
        Effects::Ask => "calls that were made after that and have effects; each is asked about:",
        Effects::Repeat => "calls that were made after that and have effects; they are repeated:",
    };
    output::say(what);
    for (node, tool) in &made.effects {
        output::say(&format!("  {node}  {tool}"));
    }
}

fn told(from: &Again, made: &Branched, effects: Effects) -> Map {
    let calls = made.effects.iter().map(|(node, tool)| {
        Value::object([
            ("node", node.clone().into()),
            ("tool", tool.to_string().into()),
        ])
    });
    let mut told = Map::new();
    told.insert("forked_from", from.run.as_str().into());
    told.insert("effects", Value::array(calls));
    told.insert("repeats_effects", (effects == Effects::Repeat).into());
    told
}
