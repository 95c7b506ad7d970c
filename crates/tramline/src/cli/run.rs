//! `tramline run`: one tool of a document, live progress beside it, its result on standard output.

use super::progress::Progress;
use super::{Common, Done, Exit, Reach, Stopped, documents, input, output};
use crate::wire::{self, Origin};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId, Seq};
use tramline_core::journal::{Event, Outcome, Pause};
use tramline_core::{Map, Value, question, trace};
use tramline_engine::{Ended, Engine, Fault, Handle, Start};

/// Runs shorter than this are shown when they are over: nobody could have watched them.
const WORTH_WATCHING: Duration = Duration::from_millis(40);

/// Run a graph's tool and print its result.
#[derive(clap::Args)]
pub(super) struct Run {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tool, where the document has several, and its input as key=value
    #[arg(value_name = "TOOL|KEY=VALUE")]
    words: Vec<String>,
    /// The whole input: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// A label that groups runs
    #[arg(long)]
    session: Option<String>,
    /// Say nothing beside the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn main(common: Common, verb: Run) -> Done {
    let config = common.config(&verb.reach);
    let elsewhere = documents::elsewhere(&config)?;
    let document = documents::read_to_use(&verb.file, &elsewhere, common.json || verb.quiet)?;
    let (graph, pairs) = choose(&document, &verb.words)?;
    let whole = verb
        .input
        .as_deref()
        .map_or(Ok(Value::object::<&str>([])), input::whole)?;
    let input = input::pairs(whole, pairs, graph.workflow.input_schema.as_ref())?;
    let house = wire::open(&config, std::slice::from_ref(&document))?;
    let mut start = Start::new(Arc::clone(&graph), input);
    start.session = verb.session.map(Into::into);
    start.origin = Origin::of(&verb.file, &config).to_value();
    let handle = house.engine.start(start).await?;
    let shown = !(common.json || verb.quiet);
    let done = follow(&house.engine, &graph, handle, shown, 0, common.json).await;
    house.close().await;
    done
}

/// The tool that the first word names, or the only one there is.
fn choose<'w>(
    document: &Document,
    words: &'w [String],
) -> Result<(Arc<Graph>, &'w [String]), Stopped> {
    if let Some(first) = words.first()
        && (document.workflow(first).is_some() || !first.contains('='))
    {
        return Ok((documents::tool(document, first)?, &words[1..]));
    }
    Ok((documents::only_tool(document)?, words))
}

/// Waits for a run to end or pause, showing what happens, and tells how it came out.
pub(super) async fn follow(
    engine: &Engine,
    graph: &Arc<Graph>,
    handle: Handle,
    shown: bool,
    seen: Seq,
    json: bool,
) -> Done {
    let run = handle.run.clone();
    let ended = handle.ended();
    // One ear for all of it: a signal that comes while nobody listens is lost.
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(ended, interrupted);
    let mut progress = shown.then(|| Progress::new(Arc::clone(graph), run.clone()));
    let mut seen = seen;
    let early = tokio::select! {
        ended = &mut ended => Some(ended),
        () = tokio::time::sleep(WORTH_WATCHING) => None,
        _ = &mut interrupted => Some(interrupt(engine, ended.as_mut()).await),
    };
    let ended = match early {
        Some(ended) => ended,
        None => {
            let watched = watch(engine, &run, ended.as_mut(), progress.as_mut(), &mut seen);
            let stopped = tokio::select! {
                ended = watched => Some(ended),
                _ = &mut interrupted => None,
            };
            match stopped {
                Some(ended) => ended,
                None => interrupt(engine, ended.as_mut()).await,
            }
        }
    };
    if let Some(progress) = &mut progress {
        for entry in engine
            .load(&run)
            .await?
            .entries
            .iter()
            .filter(|entry| entry.seq > seen)
        {
            progress.show(entry);
        }
    }
    tell(graph, &run, ended?, json)
}

type Ending<'a> = std::pin::Pin<&'a mut dyn Future<Output = Result<Ended, Fault>>>;

async fn interrupt(engine: &Engine, ended: Ending<'_>) -> Result<Ended, Fault> {
    engine.stop();
    ended.await
}

/// Shows events as they come until the run ends.
async fn watch(
    engine: &Engine,
    run: &RunId,
    mut ended: Ending<'_>,
    mut progress: Option<&mut Progress>,
    seen: &mut Seq,
) -> Result<Ended, Fault> {
    let mut events = engine.subscribe(run.clone(), *seen);
    loop {
        tokio::select! {
            ended = &mut ended => return ended,
            event = events.next(), if progress.is_some() => match (event?, progress.as_mut()) {
                (Some(entry), Some(progress)) => {
                    *seen = entry.seq;
                    let over = matches!(entry.event, Event::Finished { .. });
                    progress.show(&entry);
                    if over {
                        return ended.await;
                    }
                }
                _ => return ended.await,
            },
        }
    }
}

fn tell(graph: &Graph, run: &RunId, ended: Ended, json: bool) -> Done {
    let outcome = match ended {
        Ended::Finished(outcome) => outcome,
        Ended::Paused(pauses) => return Ok(paused(graph, run, &pauses, json)),
        Ended::Stopped => {
            let message = format!("interrupted; `tramline runs resume {run}` goes on");
            if json {
                let error = serde_json::json!({ "message": message });
                output::line(&serde_json::json!({
                    "run_id": run, "status": "interrupted", "error": error }));
            } else {
                output::complain(&message);
            }
            return Ok(Exit::Interrupted);
        }
    };
    if json {
        let mut shown = Map::new();
        shown.insert("run_id", run.as_str().into());
        let how = trace::outcome(graph, &outcome);
        for (key, value) in how.as_object().into_iter().flat_map(Map::iter) {
            shown.insert(key.clone(), value.clone());
        }
        output::line(&shown);
    } else {
        match &outcome {
            Outcome::Completed {
                result: Value::String(text),
            } => output::text_line(text),
            Outcome::Completed { result } => output::text_line(&result.to_json_pretty()),
            Outcome::Failed { failure, node } => {
                let at = node.map_or_else(String::new, |at| format!(" at `{}`", graph.node(at).id));
                let code = failure.kind.code();
                output::complain(&format!("{failure}{at} (tramline explain {code})"));
            }
            Outcome::Rejected { .. } | Outcome::Aborted { .. } => {
                let how = trace::outcome(graph, &outcome);
                let message = how.get("error").and_then(|error| error.get("message"));
                output::complain(message.and_then(Value::as_str).unwrap_or_default());
            }
        }
    }
    Ok(match outcome {
        Outcome::Completed { .. } => Exit::Done,
        Outcome::Failed { .. } | Outcome::Aborted { .. } => Exit::Failed,
        Outcome::Rejected { .. } => Exit::Rejected,
    })
}

fn paused(graph: &Graph, run: &RunId, pauses: &[(Seq, Pause)], json: bool) -> Exit {
    let point = |seq: &Seq| {
        Checkpoint {
            run: run.clone(),
            seq: *seq,
        }
        .to_string()
    };
    if json {
        let told = |(seq, pause): &(Seq, Pause)| {
            serde_json::Value::from(&question::value(graph, run, *seq, pause))
        };
        let waiting: Vec<_> = pauses.iter().map(told).collect();
        let message = "the run waits for an answer";
        output::line(&serde_json::json!({
            "run_id": run, "status": "paused", "error": { "message": message }, "waiting": waiting }));
        return Exit::Paused;
    }
    output::say("the run waits for an answer:");
    for (seq, pause) in pauses {
        let flags: Vec<_> = question::options(pause).iter().map(flag).collect();
        let options = flags.join(" | ");
        output::say(&format!("  tramline runs answer {} {options}", point(seq)));
    }
    Exit::Paused
}

/// The flag of `runs answer` for an answer.
fn flag(answer: &&str) -> &'static str {
    match *answer {
        "proceed" => "--yes",
        "retry" => "--retry",
        "skip" => "--skip JSON",
        _ => "--no",
    }
}
