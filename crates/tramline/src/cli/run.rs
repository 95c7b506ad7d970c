//! `tramline run`: one tool of a document, live progress beside it, its result on standard output.

use super::progress::Progress;
use super::{Common, Done, Exit, Reach, Stopped, documents, ending, input, output, prompt, trust};
use crate::protect;
use crate::wire::{self, House, Origin};
use std::path::{Path, PathBuf};
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

/// How a run is followed.
pub(super) struct Manner {
    /// Whether its steps are shown as they happen.
    shown: bool,
    json: bool,
    /// The last event that needs no showing.
    seen: Seq,
    /// What scripts are told beside how it came out.
    pub(super) more: Map,
}

impl Manner {
    pub(super) fn since(seen: Seq, common: &Common, quiet: bool) -> Self {
        Self {
            shown: !(common.json || quiet),
            json: common.json,
            seen,
            more: Map::new(),
        }
    }
}

/// A tool of a document with its input, as a command line names them.
pub(super) struct Wanted<'a> {
    pub(super) file: &'a Path,
    pub(super) words: &'a [String],
    pub(super) input: Option<&'a str>,
    pub(super) session: Option<String>,
    pub(super) reach: &'a Reach,
}

pub(super) async fn main(common: Common, verb: Run) -> Done {
    let wanted = Wanted {
        file: &verb.file,
        words: &verb.words,
        input: verb.input.as_deref(),
        session: verb.session,
        reach: &verb.reach,
    };
    let (house, start) = prepare(&common, wanted, verb.quiet)?;
    let graph = Arc::clone(&start.graph);
    let handle = house.engine.start(start).await?;
    let manner = Manner::since(0, &common, verb.quiet);
    let done = follow(&house.engine, &graph, handle, manner).await;
    house.close().await;
    done
}

/// Reads the document and the input, and puts an engine behind them.
pub(super) fn prepare(
    common: &Common,
    wanted: Wanted<'_>,
    quiet: bool,
) -> Result<(House, Start), Stopped> {
    let mut config = common.config(wanted.reach)?;
    config.protected.push(protect::document(wanted.file));
    let elsewhere = documents::elsewhere(&config)?;
    let quiet = common.json || quiet;
    let document = documents::read_to_use(wanted.file, &elsewhere, quiet)?;
    let (graph, pairs) = choose(&document, wanted.words)?;
    let whole = wanted
        .input
        .map_or(Ok(Value::object::<&str>([])), input::whole)?;
    let input = input::pairs(whole, pairs, graph.workflow.input_schema.as_ref())?;
    trust::by_word(&config, [(wanted.file, &document)], quiet)?;
    let house = wire::open(&config, std::slice::from_ref(&document))?;
    let mut start = Start::new(graph, input);
    start.session = wanted.session.map(Into::into);
    start.origin = Origin::of(wanted.file, &config).to_value();
    Ok((house, start))
}

/// The tool that the first word names, or the only one there is.
pub(super) fn choose<'w>(
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
    mut handle: Handle,
    manner: Manner,
) -> Done {
    let run = handle.run.clone();
    let mut seen = manner.seen;
    loop {
        let ended = through(engine, graph, handle, &manner, &mut seen).await?;
        // Somebody at a terminal is asked in place; what they leave open is told as before.
        if manner.shown && matches!(ended, Ended::Paused(_)) && prompt::is_possible() {
            match prompt::ask(engine, &run).await? {
                Some(answered) => {
                    handle = answered;
                    continue;
                }
                None => return tell(engine, graph, &run, ended, None).await,
            }
        }
        let json = manner.json.then_some(manner.more);
        return tell(engine, graph, &run, ended, json).await;
    }
}

/// Waits for a run to end or pause, showing what happens.
async fn through(
    engine: &Engine,
    graph: &Arc<Graph>,
    handle: Handle,
    manner: &Manner,
    seen: &mut Seq,
) -> Result<Ended, Stopped> {
    let run = handle.run.clone();
    let ended = handle.ended();
    let interrupted = ending::requested();
    tokio::pin!(ended, interrupted);
    let show = || Progress::new(Arc::clone(graph), run.clone());
    let mut progress = manner.shown.then(show);
    let early = tokio::select! {
        ended = &mut ended => Some(ended),
        () = tokio::time::sleep(WORTH_WATCHING) => None,
        () = &mut interrupted => Some(interrupt(engine, ended.as_mut()).await),
    };
    let ended = match early {
        Some(ended) => ended,
        None => {
            let watched = watch(engine, &run, ended.as_mut(), progress.as_mut(), seen);
            let stopped = tokio::select! {
                ended = watched => Some(ended),
                () = &mut interrupted => None,
            };
            match stopped {
                Some(ended) => ended,
                None => interrupt(engine, ended.as_mut()).await,
            }
        }
    };
    // A run that could not be kept is not there to be shown.
    let ended = ended?;
    let mut last = *seen;
    if let Some(progress) = &mut progress {
        for entry in engine
            .load(&run)
            .await?
            .entries
            .iter()
            .filter(|entry| entry.seq > *seen)
        {
            progress.show(entry);
            last = entry.seq;
        }
    }
    *seen = last;
    Ok(ended)
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

/// Tells how a drive ended: as JSON with what is given beside it, or in words.
pub(super) async fn tell(
    engine: &Engine,
    graph: &Graph,
    run: &RunId,
    ended: Ended,
    json: Option<Map>,
) -> Done {
    let outcome = match ended {
        Ended::Finished(outcome) => outcome,
        Ended::Paused(_) => return paused(engine, run, json).await,
        Ended::Stopped => {
            let message = format!("interrupted; `tramline runs resume {run}` goes on");
            match json {
                Some(more) => {
                    let error = Value::object([("message", message.as_str().into())]);
                    let how = [("status", "interrupted".into()), ("error", error)];
                    print(run, Value::object(how), &more);
                }
                None => output::complain(&message),
            }
            return Ok(Exit::Interrupted);
        }
    };
    // What it names may have been added while it ran.
    let grown = match &outcome {
        Outcome::Completed { .. } => None,
        _ => Some(engine.load(run).await?.run.graph),
    };
    let graph = grown.as_deref().unwrap_or(graph);
    match json {
        Some(more) => print(run, trace::outcome(graph, &outcome), &more),
        None => tell_outcome(graph, &outcome),
    }
    Ok(match outcome {
        Outcome::Completed { .. } => Exit::Done,
        Outcome::Failed { .. } | Outcome::Aborted { .. } => Exit::Failed,
        Outcome::Rejected { .. } => Exit::Rejected,
    })
}

/// Prints how a run stands, for scripts.
fn print(run: &RunId, how: Value, more: &Map) {
    let mut shown = Map::new();
    shown.insert("run_id", run.as_str().into());
    let how = how.as_object().into_iter().flat_map(Map::iter);
    for (key, value) in how.chain(more.iter()) {
        shown.insert(key.clone(), value.clone());
    }
    output::line(&shown);
}

fn tell_outcome(graph: &Graph, outcome: &Outcome) {
    match outcome {
        Outcome::Completed {
            result: Value::String(text),
        } => output::result(text),
        Outcome::Completed { result } => output::json(&result.to_json_pretty()),
        Outcome::Failed { failure, node } => {
            let at = node.map_or_else(String::new, |at| format!(" at `{}`", graph.node(at).id));
            let code = failure.kind.code();
            output::complain(&format!("{failure}{at} (tramline explain {code})"));
        }
        Outcome::Rejected { .. } | Outcome::Aborted { .. } => {
            let how = trace::outcome(graph, outcome);
            let message = how.get("error").and_then(|error| error.get("message"));
            output::complain(message.and_then(Value::as_str).unwrap_or_default());
        }
    }
}

/// Says what a run waits for, and what to type next.
pub(super) async fn paused(engine: &Engine, run: &RunId, json: Option<Map>) -> Done {
    let loaded = engine.load(run).await?;
    let asked = engine.questions(&loaded).await;
    if let Some(more) = json {
        let message = "the run waits for an answer";
        let how = [
            ("status", "paused".into()),
            ("error", Value::object([("message", message.into())])),
            ("waiting", Value::array(asked)),
        ];
        print(run, Value::object(how), &more);
        return Ok(Exit::Paused);
    }
    let pauses: Vec<_> = loaded.run.pauses.iter().zip(&asked).collect();
    let is_halt = |pause: &Pause| matches!(pause, Pause::Break { .. });
    if pauses.iter().any(|((_, pause), _)| is_halt(pause)) {
        output::say("the run has halted:");
        output::say(&format!("  tramline debug --run {run}     looks around"));
        output::say(&format!("  tramline runs step {run}       takes one step"));
        output::say(&format!("  tramline runs continue {run}   goes on"));
    }
    if pauses.iter().any(|((_, pause), _)| !is_halt(pause)) {
        output::say("the run waits for an answer:");
    }
    for ((seq, pause), asked) in pauses.iter().filter(|((_, pause), _)| !is_halt(pause)) {
        let point = Checkpoint {
            run: run.clone(),
            seq: **seq,
        };
        for line in prompt::described(run, **seq, asked) {
            output::say(&format!("  {line}"));
        }
        let flags: Vec<_> = question::options(pause).iter().map(flag).collect();
        let options = flags.join(" | ");
        output::say(&format!("  tramline runs answer {point} {options}"));
    }
    Ok(Exit::Paused)
}

/// The flag of `runs answer` for an answer.
fn flag(answer: &&str) -> &'static str {
    match *answer {
        "proceed" => "--yes",
        "retry" => "--retry",
        "skip" => "--skip JSON",
        "extend" => "--extend JSON",
        _ => "--no",
    }
}
