//! `tramline runs fork`: forks a run after a step, or starts it again with another input.

use super::super::breakpoints::BreakpointArgs;
use super::super::run_environment::{self, ResumeArgs};
use super::super::{CliError, CliResult, CommonArgs, audit_record, input, output, position, run};
use serde_json::Value as Json;
use tramline_engine::{EffectPolicy, ForkRequest, ForkResult, JournalPoint};
use tramline_expr::{Map, Value};
use tramline_workflow::ids::RunId;

/// Fork a run after a step.
#[derive(clap::Args)]
pub(super) struct ForkArgs {
    #[command(flatten)]
    again: ResumeArgs,
    /// The step, checkpoint or event after which to fork
    #[arg(long, value_name = "STEP|CHECKPOINT|event:SEQ", value_parser = position::parse_position_or_checkpoint, required_unless_present = "input")]
    at: Option<(JournalPoint, Option<RunId>)>,
    /// Replace the output of that step: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    output: Option<String>,
    /// Start from the beginning with this input: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with_all = ["at", "output"])]
    input: Option<String>,
    /// Repeat calls that have effects, without asking
    #[arg(long)]
    repeat_effects: bool,
    #[command(flatten)]
    breaks: BreakpointArgs,
}

impl ForkArgs {
    /// The options as recorded in the audit log.
    fn recorded(&self) -> Json {
        let at = self.at.as_ref().map(|(at, _)| position::describe(*at));
        let mut told = serde_json::Map::new();
        let options = [
            ("at", &at),
            ("output", &self.output),
            ("input", &self.input),
        ];
        for (key, value) in options {
            if let Some(value) = value {
                told.insert(key.into(), value.as_str().into());
            }
        }
        told.insert("repeat_effects".into(), self.repeat_effects.into());
        told.into()
    }
}

pub(super) async fn main(common: CommonArgs, verb: ForkArgs) -> CliResult {
    let engine = super::open(&common)?.engine;
    let command = ("runs fork", Some(&verb.again.run));
    let work = fork(&common, &verb);
    audit_record::run_recorded(&engine, command, Some(verb.recorded()), Box::pin(work)).await
}

async fn fork(common: &CommonArgs, verb: &ForkArgs) -> CliResult {
    let (at, of) = verb.at.clone().unwrap_or((JournalPoint::Event(1), None));
    if of.as_ref().is_some_and(|run| *run != verb.again.run) {
        let message = format!("that is not a checkpoint of {}", verb.again.run);
        return Err(CliError::bad_input(message));
    }
    let given = |text: &Option<String>| text.as_deref().map(input::read_input).transpose();
    let (output, input) = (given(&verb.output)?, given(&verb.input)?);
    let (house, loaded) = run_environment::reopen(common, &verb.again).await?;
    let graph = loaded.run.graph;
    let effects = if verb.repeat_effects {
        EffectPolicy::Repeat
    } else {
        EffectPolicy::Ask
    };
    let breaks = (!verb.breaks.is_empty()).then(|| verb.breaks.to_watch(&graph));
    let branch = ForkRequest {
        output,
        input,
        effects,
        watch: breaks,
        ..ForkRequest::at(at)
    };
    let made = house.engine.fork(&verb.again.run, branch).await?;
    if !(common.json || verb.again.quiet) {
        print_fork(&verb.again.run, at, &made, effects);
    }
    let mut manner = run::FollowOptions::after(0, common, verb.again.quiet);
    manner.extra_fields = fork_json(&verb.again, &made, effects);
    let done = run::follow(&house.engine, &graph, made.handle, manner).await;
    house.close().await;
    done
}

fn print_fork(old: &RunId, at: JournalPoint, made: &ForkResult, effects: EffectPolicy) {
    let (new, at) = (&made.handle.run, position::describe(at));
    output::status_line(&format!("{new} is a fork of {old} {at}"));
    let what = match effects {
        _ if made.effects.is_empty() => return,
        EffectPolicy::Ask => {
            "the original run made these calls with effects later; each will be asked about:"
        }
        EffectPolicy::Repeat => {
            "the original run made these calls with effects later; they will be repeated:"
        }
    };
    output::status_line(what);
    for (node, tool) in &made.effects {
        output::status_line(&format!("  {node}  {tool}"));
    }
}

fn fork_json(from: &ResumeArgs, made: &ForkResult, effects: EffectPolicy) -> Map {
    let calls = made.effects.iter().map(|(node, tool)| {
        Value::object([
            ("node", node.clone().into()),
            ("tool", tool.to_string().into()),
        ])
    });
    let mut told = Map::new();
    told.insert("forked_from", from.run.as_str().into());
    told.insert("effects", Value::array(calls));
    told.insert("repeats_effects", (effects == EffectPolicy::Repeat).into());
    told
}
