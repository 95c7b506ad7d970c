//! `tramline debug`: a run with breakpoints, taken step by step from a prompt or a script.

use super::breaks::{self, Breaks};
use super::eval::{self, Over, Task};
use super::origin::{self, Again};
use super::run::{self, Wanted};
use super::runs::{self, myself, show};
use super::{Common, Done, Exit, Reach, Stopped, look, output};
use crate::config::default_data_dir;
use crate::wire::House;
use command::Command;
use lines::{Line, Lines};
use session::{Session, Stop};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_core::Map;
use tramline_core::graph::Graph;
use tramline_core::ids::RunId;
use tramline_core::journal::Watch;
use tramline_engine::{Ended, Fault, Loaded, status};

mod command;
mod lines;
mod session;

/// Run a graph's tool step by step.
#[derive(clap::Args)]
#[command(after_help = WITHOUT)]
pub(super) struct Debug {
    /// The document; with --run the one whose servers the run calls
    #[arg(value_name = "FILE", required_unless_present = "run")]
    file: Option<PathBuf>,
    /// The tool, where the document has several, and its input as key=value
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
    breaks: Breaks,
    #[command(flatten)]
    reach: Reach,
}

const WITHOUT: &str = "Without --break it halts before its first step. Commands are typed at a prompt or piped in, a \
line each; `help` lists them. When there are no more, the run stays halted and the exit code is 4.";

pub(super) async fn main(common: Common, verb: Debug) -> Done {
    let Opened {
        house,
        session,
        graph,
        waits,
    } = match verb.run.clone() {
        Some(run) => attach(&common, &verb, run).await?,
        None => start(&common, &verb).await?,
    };
    let nodes = graph.workflow.nodes.iter();
    let nodes = nodes.map(|node| node.id.to_string()).collect();
    let folder = common.data_dir.clone().unwrap_or_else(default_data_dir);
    let mut lines = Lines::open(nodes, folder.join("debug-history"))?;
    if lines.is_prompt() {
        output::say("`help` lists the commands, ctrl-d leaves the run as it is");
    }
    let mut desk = Desk { common, session };
    let done = desk.work(&mut lines, waits).await;
    lines.close();
    house.close().await;
    done
}

/// A run that is ready to be looked at.
struct Opened {
    house: House,
    session: Session,
    graph: Arc<Graph>,
    /// Whether it waits already.
    waits: bool,
}

/// Starts a run that halts where it is told, or at once.
async fn start(common: &Common, verb: &Debug) -> Result<Opened, Stopped> {
    let wanted = Wanted {
        file: verb.file.as_deref().unwrap_or(std::path::Path::new("")),
        words: &verb.words,
        input: verb.input.as_deref(),
        session: verb.session.clone(),
        reach: &verb.reach,
    };
    let (house, mut start) = run::prepare(common, wanted, false)?;
    let graph = Arc::clone(&start.graph);
    let mut watch = verb.breaks.watch(&graph);
    watch.stepping |= verb.breaks.is_empty();
    start.watch = Some(watch);
    let handle = house.engine.start(start).await?;
    let run = handle.run.clone();
    let session = Session::new(&house.engine, &graph, (run, Some(handle)), 0, !common.json);
    Ok(Opened {
        house,
        session,
        graph,
        waits: false,
    })
}

/// Takes up a run that is there.
async fn attach(common: &Common, verb: &Debug, run: RunId) -> Result<Opened, Stopped> {
    let again = Again {
        run: run.clone(),
        file: verb.file.clone(),
        quiet: false,
        reach: verb.reach.clone(),
    };
    let (house, loaded) = origin::reopen(common, &again).await?;
    if loaded.run.outcome.is_some() {
        let status = status(&loaded.run).as_str();
        return Err(Stopped::bad(format!(
            "{run} has ended ({status}); `tramline runs show {run} --at STEP` shows how it stood, `tramline runs fork {run} --at STEP` goes another way"
        )));
    }
    let (graph, paused) = (&loaded.run.graph, loaded.run.is_paused());
    let mut watch = Watch::current(&loaded.entries);
    let before = watch.clone();
    let Watch { breaks, stepping } = verb.breaks.watch(graph);
    watch
        .breaks
        .retain(|old| breaks.iter().all(|new| new.node != old.node));
    watch.breaks.extend(breaks);
    watch.stepping |= stepping || (!paused && verb.breaks.is_empty());
    if watch != before {
        house.engine.watch(&run, watch, myself()).await?;
    }
    let seen = loaded.run.seq;
    let mut session = Session::new(&house.engine, graph, (run, None), seen, !common.json);
    if !paused {
        session.drive().await?;
    }
    Ok(Opened {
        house,
        session,
        graph: loaded.run.graph,
        waits: paused,
    })
}

/// One debugger at work.
struct Desk {
    common: Common,
    session: Session,
}

impl Desk {
    /// Follows the run and does what it is told, until the run or the commands are over.
    async fn work(&mut self, lines: &mut Lines, mut waits: bool) -> Done {
        if waits && !self.common.json {
            look::asked(&self.session.load().await?.run)
                .iter()
                .for_each(|line| output::say(line));
        }
        loop {
            if !std::mem::take(&mut waits)
                && let Stop::Ended(ended) = self.session.wait().await?
            {
                return self.ended(ended).await;
            }
            let loaded = self.session.load().await?;
            if loaded.run.pauses.is_empty() && loaded.run.outcome.is_none() {
                // Somebody else was quicker.
                continue;
            }
            if self.common.json {
                output::line(&look::value(&loaded.run));
            }
            if let Some(exit) = self.ask(lines, &loaded).await? {
                return Ok(exit);
            }
        }
    }

    async fn ended(&self, ended: Ended) -> Done {
        let graph = self.session.load().await?.run.graph;
        let json = self.common.json.then(Map::new);
        run::tell(&self.session.engine, &graph, &self.session.run, ended, json).await
    }

    /// Takes commands until one lets the run go on, or ends the work.
    async fn ask(&mut self, lines: &mut Lines, halted: &Loaded) -> Result<Option<Exit>, Stopped> {
        let nodes = halted.run.pauses.values().filter_map(|pause| pause.node());
        let nodes: Vec<_> = nodes
            .map(|node| halted.run.graph.node(node).id.as_str())
            .collect();
        let prompt = format!("{}> ", nodes.join(", "));
        loop {
            let line = match lines.next(prompt.clone()).await? {
                Line::Text(line) => line,
                Line::End => return self.detach().await.map(Some),
                Line::Interrupt if lines.is_prompt() => {
                    output::say("`detach` leaves the run as it is, `stop` ends it");
                    continue;
                }
                Line::Interrupt => {
                    self.detach().await?;
                    return Ok(Some(Exit::Interrupted));
                }
            };
            let done = match command::read(&line) {
                Ok(command) => self.obey(command).await,
                Err(message) => Err(Stopped::bad(message)),
            };
            match done {
                Ok(Next::Ask) => {}
                Ok(Next::Follow) => return Ok(None),
                Ok(Next::Leave(exit)) => return Ok(Some(exit)),
                Err(stopped) if lines.is_prompt() => output::complain(&stopped.message),
                // A script whose line cannot be done must not go on as if it had been.
                Err(stopped) => {
                    let (line, run) = (line.trim(), &self.session.run);
                    return Err(Stopped {
                        message: format!(
                            "at `{line}`: {}; `tramline debug --run {run}` goes on from here",
                            stopped.message
                        ),
                        ..stopped
                    });
                }
            }
        }
    }

    async fn obey(&mut self, command: Command) -> Result<Next, Stopped> {
        match command {
            Command::Nothing => {}
            Command::Go { stepping } => {
                if self.session.go(stepping).await? {
                    return Ok(Next::Follow);
                }
                let run = self.session.load().await?.run;
                return Err(Stopped::bad(format!(
                    "it has not halted but waits: {}; answer with yes, no, retry or set",
                    look::waiting(&run).join("; ")
                )));
            }
            Command::Answer { node, answer } => {
                self.session.answer(node.as_deref(), answer).await?;
                return Ok(Next::Follow);
            }
            Command::Print(source) => self.print(&source).await?,
            Command::State | Command::Where => {
                let run = self.session.load().await?.run;
                self.stand(&run, command == Command::State);
            }
            Command::Break(spot) => {
                self.session.add_break(spot).await?;
                self.breaks().await?;
            }
            Command::Delete(node) => {
                self.session.delete_break(&node).await?;
                self.breaks().await?;
            }
            Command::Breaks => self.breaks().await?,
            Command::Trace => {
                let loaded = self.session.load().await?;
                show::show(&loaded, self.common.json, show::VALUE_CHARS_MAX);
            }
            Command::Stop => return self.stop().await.map(Next::Leave),
            Command::Detach => return self.detach().await.map(Next::Leave),
            Command::Help => command::help().iter().for_each(|line| output::say(line)),
        }
        Ok(Next::Ask)
    }

    async fn print(&self, source: &str) -> Result<(), Stopped> {
        let over = Over::Run(Box::new(eval::look_at(&self.session.load().await?)?));
        eval::evaluate(&Task {
            source,
            over: &over,
            logic: false,
            explain: false,
            json: self.common.json,
        });
        Ok(())
    }

    fn stand(&self, run: &tramline_core::run::Run, outputs: bool) {
        if self.common.json {
            output::line(&look::value(run));
            return;
        }
        let lines = if outputs {
            look::outputs(run, show::VALUE_CHARS_MAX)
        } else {
            let mut lines = look::asked(run);
            lines.extend(look::open(run, show::VALUE_CHARS_MAX));
            lines
        };
        for line in lines {
            output::text_line(&line);
        }
    }

    async fn breaks(&self) -> Result<(), Stopped> {
        let watch = self.session.watching().await?;
        if self.common.json {
            output::line(&serde_json::json!({ "run_id": self.session.run, "watch": watch }));
        } else {
            for line in breaks::lines(&watch) {
                output::text_line(&line);
            }
        }
        Ok(())
    }

    async fn stop(&mut self) -> Done {
        let run = &self.session.run;
        let engine = &self.session.engine;
        match engine.abort(run, myself(), None).await {
            // It ended by itself just now.
            Ok(()) | Err(Fault::Over { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
        match self.session.load().await?.run.outcome {
            Some(outcome) => self.ended(Ended::Finished(outcome)).await,
            None => Ok(Exit::Failed),
        }
    }

    /// Leaves the run as it is, and says how to come back.
    async fn detach(&self) -> Done {
        let json = self.common.json.then(Map::new);
        run::paused(&self.session.engine, &self.session.run, json).await
    }
}

/// What follows a command.
enum Next {
    /// Another one.
    Ask,
    /// The run goes on.
    Follow,
    /// The work is over.
    Leave(Exit),
}
