//! `tramline debug`: a run with breakpoints, controlled step by step from a prompt or a script.

use super::breakpoints::{self, BreakpointArgs};
use super::eval::{self, EvalInput, Evaluation};
use super::run::{self, RunArgs};
use super::run_environment::{self, ResumeArgs};
use super::runs::{self, show, user_name};
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, output, run_state};
use crate::app::App;
use crate::config::default_data_dir;
use command::DebugCommand;
use command_source::{CommandLine, CommandSource};
use session::{DebugSession, StopReason};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_engine::{DriveOutcome, Fault, LoadedRun, run_status};
use tramline_expr::Map;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::BreakpointSet;

mod command;
mod command_source;
mod session;

/// Run a graph's tool step by step.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct DebugArgs {
    /// The document; with --run, the one whose servers the run calls
    #[arg(value_name = "FILE", required_unless_present = "run")]
    file: Option<PathBuf>,
    /// The tool, if the document has several, and its input as key=value
    #[arg(value_name = "TOOL|KEY=VALUE", conflicts_with = "run")]
    words: Vec<String>,
    /// The whole input: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "run")]
    input: Option<String>,
    /// A label that groups runs
    #[arg(long, conflicts_with = "run")]
    session: Option<String>,
    /// Attach to this run instead of starting one
    #[arg(long, value_name = "RUN", value_parser = runs::run_id)]
    run: Option<RunId>,
    #[command(flatten)]
    breaks: BreakpointArgs,
    #[command(flatten)]
    reach: AccessArgs,
}

const AFTER_HELP: &str = "Without --break it halts before its first step. Commands are typed at a prompt or piped in, one per \
line; `help` lists them. At the end of the input the run stays halted and the exit code is 4.

Examples:
  tramline debug report.yaml directory=notes
  tramline debug report.yaml directory=notes --break write
  tramline debug --run latest";

pub(super) async fn main(common: CommonArgs, verb: DebugArgs) -> CliResult {
    let DebugTarget {
        app: house,
        session,
        graph,
        is_waiting: waits,
    } = match verb.run.clone() {
        Some(run) => attach(&common, &verb, run).await?,
        None => start(&common, &verb).await?,
    };
    let nodes = graph.workflow.nodes.iter();
    let nodes = nodes.map(|node| node.id.to_string()).collect();
    let folder = common.data_dir.clone().unwrap_or_else(default_data_dir);
    let mut lines = CommandSource::open(nodes, folder.join("debug-history"))?;
    if lines.is_prompt() {
        output::status_line("`help` lists the commands, ctrl-d detaches from the run");
    }
    let mut desk = DebugPrompt { common, session };
    let done = desk.run_commands(&mut lines, waits).await;
    lines.close();
    house.close().await;
    done
}

/// A run that is ready to be debugged.
struct DebugTarget {
    app: App,
    session: DebugSession,
    graph: Arc<Graph>,
    /// Whether it is waiting already.
    is_waiting: bool,
}

/// Starts a run that halts at its breakpoints, or at once.
async fn start(common: &CommonArgs, verb: &DebugArgs) -> Result<DebugTarget, CliError> {
    let wanted = RunArgs {
        file: verb.file.as_deref().unwrap_or(std::path::Path::new("")),
        words: &verb.words,
        input: verb.input.as_deref(),
        session: verb.session.clone(),
        reach: &verb.reach,
    };
    let (house, mut start) = run::prepare(common, wanted, false)?;
    let graph = Arc::clone(&start.graph);
    let mut watch = verb.breaks.to_watch(&graph);
    watch.stepping |= verb.breaks.is_empty();
    start.watch = Some(watch);
    let handle = house.engine.start(start).await?;
    let run = handle.run.clone();
    let session = DebugSession::new(&house.engine, &graph, (run, Some(handle)), 0, !common.json);
    Ok(DebugTarget {
        app: house,
        session,
        graph,
        is_waiting: false,
    })
}

/// Attaches to an existing run.
async fn attach(
    common: &CommonArgs,
    verb: &DebugArgs,
    run: RunId,
) -> Result<DebugTarget, CliError> {
    let again = ResumeArgs {
        run: run.clone(),
        file: verb.file.clone(),
        quiet: false,
        reach: verb.reach.clone(),
    };
    let (house, loaded) = run_environment::reopen(common, &again).await?;
    if loaded.run.outcome.is_some() {
        let status = run_status(&loaded.run).as_str();
        return Err(CliError::bad_input(format!(
            "{run} has ended ({status}); `tramline runs show {run} --at STEP` shows its state, `tramline runs fork {run} --at STEP` forks it"
        )));
    }
    let (graph, paused) = (&loaded.run.graph, loaded.run.is_paused());
    let mut watch = BreakpointSet::current(&loaded.entries);
    let before = watch.clone();
    let BreakpointSet { breaks, stepping } = verb.breaks.to_watch(graph);
    watch
        .breaks
        .retain(|old| breaks.iter().all(|new| new.node != old.node));
    watch.breaks.extend(breaks);
    watch.stepping |= stepping || (!paused && verb.breaks.is_empty());
    if watch != before {
        house
            .engine
            .set_breakpoints(&run, watch, user_name())
            .await?;
    }
    let seen = loaded.run.seq;
    let mut session = DebugSession::new(&house.engine, graph, (run, None), seen, !common.json);
    if !paused {
        session.drive().await?;
    }
    Ok(DebugTarget {
        app: house,
        session,
        graph: loaded.run.graph,
        is_waiting: paused,
    })
}

/// One debugger session.
struct DebugPrompt {
    common: CommonArgs,
    session: DebugSession,
}

impl DebugPrompt {
    /// Follows the run and executes commands until the run or the commands end.
    async fn run_commands(&mut self, lines: &mut CommandSource, mut waits: bool) -> CliResult {
        if waits && !self.common.json {
            run_state::question_details(&self.session.load().await?.run)
                .iter()
                .for_each(|line| output::status_line(line));
        }
        loop {
            if !std::mem::take(&mut waits)
                && let StopReason::Ended(ended) = self.session.wait().await?
            {
                return self.report_end(ended).await;
            }
            let loaded = self.session.load().await?;
            if loaded.run.pauses.is_empty() && loaded.run.outcome.is_none() {
                // Another process answered first.
                continue;
            }
            if self.common.json {
                output::line(&run_state::to_json(&loaded.run));
            }
            if let Some(exit) = self.read_commands(lines, &loaded).await? {
                return Ok(exit);
            }
        }
    }

    async fn report_end(&self, ended: DriveOutcome) -> CliResult {
        let graph = self.session.load().await?.run.graph;
        let json = self.common.json.then(Map::new);
        run::report_end(&self.session.engine, &graph, &self.session.run, ended, json).await
    }

    /// Reads commands until one resumes the run or ends the session.
    async fn read_commands(
        &mut self,
        lines: &mut CommandSource,
        halted: &LoadedRun,
    ) -> Result<Option<Exit>, CliError> {
        let nodes = halted.run.pauses.values().filter_map(|pause| pause.node());
        let nodes: Vec<_> = nodes
            .map(|node| halted.run.graph.node(node).id.as_str())
            .collect();
        let prompt = format!("{}> ", nodes.join(", "));
        loop {
            let line = match lines.next(prompt.clone()).await? {
                CommandLine::Text(line) => line,
                CommandLine::End => return self.detach().await.map(Some),
                CommandLine::Interrupt if lines.is_prompt() => {
                    output::status_line("`detach` leaves the run halted, `stop` aborts it");
                    continue;
                }
                CommandLine::Interrupt => {
                    self.detach().await?;
                    return Ok(Some(Exit::Interrupted));
                }
            };
            let done = match command::parse(&line) {
                Ok(command) => self.execute(command).await,
                Err(message) => Err(CliError::bad_input(message)),
            };
            match done {
                Ok(AfterCommand::ReadNext) => {}
                Ok(AfterCommand::Follow) => return Ok(None),
                Ok(AfterCommand::Exit(exit)) => return Ok(Some(exit)),
                Err(stopped) if lines.is_prompt() => output::print_error(&stopped.message),
                // A script must not continue after a command that failed.
                Err(stopped) => {
                    let (line, run) = (line.trim(), &self.session.run);
                    return Err(CliError {
                        message: format!(
                            "at `{line}`: {}; `tramline debug --run {run}` continues from here",
                            stopped.message
                        ),
                        ..stopped
                    });
                }
            }
        }
    }

    async fn execute(&mut self, command: DebugCommand) -> Result<AfterCommand, CliError> {
        match command {
            DebugCommand::Empty => {}
            DebugCommand::Resume { stepping } => {
                if self.session.resume(stepping).await? {
                    return Ok(AfterCommand::Follow);
                }
                let run = self.session.load().await?.run;
                return Err(CliError::bad_input(format!(
                    "the run is not halted, it waits for an answer: {}; use yes, no, retry or set",
                    run_state::open_questions(&run).join("; ")
                )));
            }
            DebugCommand::Answer { node, answer } => {
                self.session.answer(node.as_deref(), answer).await?;
                return Ok(AfterCommand::Follow);
            }
            DebugCommand::Print(source) => self.print(&source).await?,
            DebugCommand::State | DebugCommand::Where => {
                let run = self.session.load().await?.run;
                self.print_position(&run, command == DebugCommand::State);
            }
            DebugCommand::Break(spot) => {
                self.session.add_break(spot).await?;
                self.breaks().await?;
            }
            DebugCommand::Delete(node) => {
                self.session.delete_break(&node).await?;
                self.breaks().await?;
            }
            DebugCommand::Breaks => self.breaks().await?,
            DebugCommand::Trace => {
                let loaded = self.session.load().await?;
                show::show(&loaded, self.common.json, show::VALUE_CHARS_MAX);
            }
            DebugCommand::Stop => return self.stop().await.map(AfterCommand::Exit),
            DebugCommand::Detach => return self.detach().await.map(AfterCommand::Exit),
            DebugCommand::Help => command::help()
                .iter()
                .for_each(|line| output::status_line(line)),
        }
        Ok(AfterCommand::ReadNext)
    }

    async fn print(&self, source: &str) -> Result<(), CliError> {
        let over = EvalInput::Run(Box::new(eval::inspect_run(&self.session.load().await?)?));
        eval::evaluate(&Evaluation {
            source,
            input: &over,
            logic: false,
            explain: false,
            json: self.common.json,
        });
        Ok(())
    }

    fn print_position(&self, run: &tramline_workflow::run::Run, outputs: bool) {
        if self.common.json {
            output::line(&run_state::to_json(run));
            return;
        }
        let lines = if outputs {
            run_state::outputs(run, show::VALUE_CHARS_MAX)
        } else {
            let mut lines = run_state::question_details(run);
            lines.extend(run_state::open_steps(run, show::VALUE_CHARS_MAX));
            lines
        };
        for line in lines {
            output::text_line(&line);
        }
    }

    async fn breaks(&self) -> Result<(), CliError> {
        let watch = self.session.breakpoints().await?;
        if self.common.json {
            output::line(&serde_json::json!({ "run_id": self.session.run, "watch": watch }));
        } else {
            for line in breakpoints::render(&watch) {
                output::text_line(&line);
            }
        }
        Ok(())
    }

    async fn stop(&mut self) -> CliResult {
        let run = &self.session.run;
        let engine = &self.session.engine;
        match engine.abort(run, user_name(), None).await {
            // It ended on its own just now.
            Ok(()) | Err(Fault::Ended { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
        match self.session.load().await?.run.outcome {
            Some(outcome) => self.report_end(DriveOutcome::Finished(outcome)).await,
            None => Ok(Exit::Failed),
        }
    }

    /// Leaves the run as it is, and prints how to attach again.
    async fn detach(&self) -> CliResult {
        let json = self.common.json.then(Map::new);
        run::print_questions(&self.session.engine, &self.session.run, json).await
    }
}

/// What follows a command.
enum AfterCommand {
    /// Read another one.
    ReadNext,
    /// Follow the resumed run.
    Follow,
    /// End the session.
    Exit(Exit),
}
