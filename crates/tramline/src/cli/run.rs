//! `tramline run`: runs one tool of a document, with live progress and its result on standard
//! output.

use super::progress::ProgressPrinter;
use super::{
    AccessArgs, CliError, CliResult, CommonArgs, Exit, documents, input, output, prompt, shutdown,
    trust,
};
use crate::app::{self, App, RunOrigin};
use crate::protected_paths;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::{DriveOutcome, Engine, Fault, QuestionReader, RunHandle, RunStart};
use tramline_expr::{Map, Value};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_views::trace;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Event, Outcome, Pause, RunEvent};

/// The progress of shorter runs is printed at the end: too short to watch.
const LIVE_PROGRESS_MIN: Duration = Duration::from_millis(40);

/// How often the servers that are being started are looked up.
const STARTING_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Run a graph's tool and print its result.
#[derive(clap::Args)]
pub(super) struct RunCommand {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tool, if the document has several, and its input as key=value
    #[arg(value_name = "TOOL|KEY=VALUE")]
    words: Vec<String>,
    /// The whole input: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// A label that groups runs
    #[arg(long)]
    session: Option<String>,
    /// Print nothing but the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    reach: AccessArgs,
}

/// How to follow a run.
pub(super) struct FollowOptions {
    /// Whether to show steps as they happen.
    show_steps: bool,
    json: bool,
    /// The last event that is not shown.
    last_seen: Seq,
    /// Additional fields of the JSON output.
    pub(super) extra_fields: Map,
}

impl FollowOptions {
    pub(super) fn after(last_seen: Seq, common: &CommonArgs, quiet: bool) -> Self {
        Self {
            show_steps: !(common.json || quiet),
            json: common.json,
            last_seen,
            extra_fields: Map::new(),
        }
    }
}

/// A tool of a document with its input, from the command line.
pub(super) struct RunArgs<'a> {
    pub(super) file: &'a Path,
    pub(super) words: &'a [String],
    pub(super) input: Option<&'a str>,
    pub(super) session: Option<String>,
    pub(super) reach: &'a AccessArgs,
}

pub(super) async fn main(common: CommonArgs, verb: RunCommand) -> CliResult {
    let wanted = RunArgs {
        file: &verb.file,
        words: &verb.words,
        input: verb.input.as_deref(),
        session: verb.session,
        reach: &verb.reach,
    };
    let (house, start) = prepare(&common, wanted, verb.quiet)?;
    let graph = Arc::clone(&start.graph);
    let handle = house.engine.start(start).await?;
    let manner = FollowOptions::after(0, &common, verb.quiet);
    let done = follow(&house.engine, &graph, handle, manner).await;
    house.close().await;
    done
}

/// Reads the document and the input, and starts an engine for them.
pub(super) fn prepare(
    common: &CommonArgs,
    wanted: RunArgs<'_>,
    quiet: bool,
) -> Result<(App, RunStart), CliError> {
    let mut config = common.config(wanted.reach)?;
    config
        .protected
        .push(protected_paths::document(wanted.file));
    let elsewhere = documents::known_servers(&config)?;
    let quiet = common.json || quiet;
    let document = documents::read_valid(wanted.file, &elsewhere, quiet)?;
    let (graph, pairs) = choose_tool(&document, wanted.words)?;
    let whole = wanted
        .input
        .map_or(Ok(Value::object::<&str>([])), input::read_input)?;
    let input = input::merge_pairs(whole, pairs, graph.workflow.input_schema.as_ref())?;
    trust::trust_on_run(&config, [(wanted.file, &document)], quiet)?;
    let house = app::open(&config, std::slice::from_ref(&document))?;
    let mut start = RunStart::new(graph, input);
    start.session = wanted.session.map(Into::into);
    start.origin = RunOrigin::of(wanted.file, &config).to_value();
    Ok((house, start))
}

/// The tool that the first word names, or the only one.
pub(super) fn choose_tool<'w>(
    document: &GraphDocument,
    words: &'w [String],
) -> Result<(Arc<Graph>, &'w [String]), CliError> {
    if let Some(first) = words.first()
        && (document.workflow(first).is_some() || !first.contains('='))
    {
        return Ok((documents::tool(document, first)?, &words[1..]));
    }
    Ok((documents::only_tool(document)?, words))
}

/// Waits for a run to end or pause, showing progress, and reports its outcome.
pub(super) async fn follow(
    engine: &Engine,
    graph: &Arc<Graph>,
    mut handle: RunHandle,
    manner: FollowOptions,
) -> CliResult {
    let run = handle.run.clone();
    let mut shown = ShownProgress {
        last_seen: manner.last_seen,
        failure: None,
    };
    loop {
        let ended = wait_with_progress(engine, graph, handle, &manner, &mut shown).await?;
        // A person at a terminal is asked in place; questions left open are printed as usual.
        if manner.show_steps && matches!(ended, DriveOutcome::Paused(_)) && prompt::is_interactive()
        {
            match prompt::ask(engine, &run).await? {
                Some(answered) => {
                    handle = answered;
                    continue;
                }
                None => return report_end(engine, graph, &run, ended, None).await,
            }
        }
        let json = manner.json.then_some(manner.extra_fields);
        return report_shown_end(engine, graph, &run, ended, json, shown.failure).await;
    }
}

/// What was shown of a run so far.
struct ShownProgress {
    last_seen: Seq,
    /// The failure of the last step, if it was listed.
    failure: Option<String>,
}

/// Waits for a run to end or pause, showing progress.
async fn wait_with_progress(
    engine: &Engine,
    graph: &Arc<Graph>,
    handle: RunHandle,
    manner: &FollowOptions,
    shown: &mut ShownProgress,
) -> Result<DriveOutcome, CliError> {
    let run = handle.run.clone();
    let ended = handle.wait();
    let interrupted = shutdown::wait_for_request();
    tokio::pin!(ended, interrupted);
    let show = || ProgressPrinter::new(Arc::clone(graph), run.clone());
    let mut progress = manner.show_steps.then(show);
    let early = tokio::select! {
        ended = &mut ended => Some(ended),
        () = tokio::time::sleep(LIVE_PROGRESS_MIN) => None,
        () = &mut interrupted => Some(interrupt(engine, ended.as_mut()).await),
    };
    let ended = match early {
        Some(ended) => ended,
        None => {
            let watched = print_events(
                engine,
                &run,
                ended.as_mut(),
                progress.as_mut(),
                &mut shown.last_seen,
            );
            let stopped = tokio::select! {
                ended = watched => Some(ended),
                () = &mut interrupted => None,
            };
            if let Some(progress) = &mut progress {
                progress.clear();
            }
            match stopped {
                Some(ended) => ended,
                None => interrupt(engine, ended.as_mut()).await,
            }
        }
    };
    // A run that could not be stored cannot be shown.
    let ended = ended?;
    if let Some(progress) = &mut progress {
        let entries = engine.load(&run).await?.entries;
        let last_seen = shown.last_seen;
        for entry in entries.iter().filter(|entry| entry.seq > last_seen) {
            progress.show(entry);
            shown.last_seen = entry.seq;
        }
        progress.clear();
        shown.failure = progress.listed_failure();
    }
    Ok(ended)
}

type DriveEnd<'a> = std::pin::Pin<&'a mut dyn Future<Output = Result<DriveOutcome, Fault>>>;

async fn interrupt(engine: &Engine, ended: DriveEnd<'_>) -> Result<DriveOutcome, Fault> {
    engine.stop();
    ended.await
}

/// Shows events as they arrive until the run ends.
async fn print_events(
    engine: &Engine,
    run: &RunId,
    mut ended: DriveEnd<'_>,
    mut progress: Option<&mut ProgressPrinter>,
    seen: &mut Seq,
) -> Result<DriveOutcome, Fault> {
    let mut events = engine.subscribe(run.clone(), *seen);
    let mut looks = tokio::time::interval(STARTING_POLL_INTERVAL);
    loop {
        tokio::select! {
            ended = &mut ended => return ended,
            _ = looks.tick(), if progress.is_some() => if let Some(progress) = progress.as_mut() {
                progress.show_starting(engine.tools().starting());
            },
            event = events.next(), if progress.is_some() => match (event?, progress.as_mut()) {
                (Some(entry), Some(progress)) => {
                    *seen = entry.seq;
                    let over = matches!(entry.event, Event::Run(RunEvent::Finished { .. }));
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

/// Reports how a drive ended: as JSON with the additional fields, or as text.
pub(super) async fn report_end(
    engine: &Engine,
    graph: &Graph,
    run: &RunId,
    ended: DriveOutcome,
    json: Option<Map>,
) -> CliResult {
    report_shown_end(engine, graph, run, ended, json, None).await
}

/// The same where the failure of the last step may have been shown already.
async fn report_shown_end(
    engine: &Engine,
    graph: &Graph,
    run: &RunId,
    ended: DriveOutcome,
    json: Option<Map>,
    shown_failure: Option<String>,
) -> CliResult {
    let outcome = match ended {
        DriveOutcome::Finished(outcome) => outcome,
        DriveOutcome::Paused(_) => return print_questions(engine, run, json).await,
        DriveOutcome::Stopped => {
            let message = format!("interrupted; `tramline runs resume {run}` continues it");
            match json {
                Some(more) => {
                    let error = Value::object([("message", message.as_str().into())]);
                    let how = [("status", "interrupted".into()), ("error", error)];
                    print_json(run, Value::object(how), &more);
                }
                None => output::print_error(&message),
            }
            return Ok(Exit::Interrupted);
        }
    };
    // Nodes may have been added while it ran.
    let grown = match &outcome {
        Outcome::Completed { .. } => None,
        _ => Some(engine.load(run).await?.run.graph),
    };
    let graph = grown.as_deref().unwrap_or(graph);
    match json {
        Some(more) => print_json(run, trace::outcome_value(graph, &outcome), &more),
        None => print_outcome(graph, &outcome, shown_failure.as_deref()),
    }
    Ok(match outcome {
        Outcome::Completed { .. } => Exit::Done,
        Outcome::Failed { .. } | Outcome::Aborted { .. } => Exit::Failed,
        Outcome::Rejected { .. } => Exit::Rejected,
    })
}

/// Prints the state of a run as JSON.
fn print_json(run: &RunId, how: Value, more: &Map) {
    let mut shown = Map::new();
    shown.insert("run_id", run.as_str().into());
    let how = how.as_object().into_iter().flat_map(Map::iter);
    for (key, value) in how.chain(more.iter()) {
        shown.insert(key.clone(), value.clone());
    }
    output::line(&shown);
}

fn print_outcome(graph: &Graph, outcome: &Outcome, shown_failure: Option<&str>) {
    match outcome {
        Outcome::Completed {
            result: Value::String(text),
        } => output::result(text),
        Outcome::Completed { result } => output::json(&result.to_json_pretty()),
        Outcome::Failed { failure, node } => {
            let at = node.map_or_else(String::new, |at| format!(" at `{}`", graph.node(at).id));
            let code = failure.kind.code();
            let says = failure.to_string();
            let says = match shown_failure == Some(says.as_str()) {
                true => "the run failed",
                false => says.as_str(),
            };
            output::print_error(&format!("{says}{at} (tramline explain {code})"));
        }
        Outcome::Rejected { .. } | Outcome::Aborted { .. } => {
            let how = trace::outcome_value(graph, outcome);
            let message = how.get("error").and_then(|error| error.get("message"));
            output::print_error(message.and_then(Value::as_str).unwrap_or_default());
        }
    }
}

/// Prints the questions of a run, and the command to answer each.
pub(super) async fn print_questions(engine: &Engine, run: &RunId, json: Option<Map>) -> CliResult {
    let loaded = engine.load(run).await?;
    let asked = engine.pause_details(&loaded, QuestionReader::Person).await;
    if let Some(more) = json {
        let message = "the run waits for an answer";
        let how = [
            ("status", "paused".into()),
            ("error", Value::object([("message", message.into())])),
            ("waiting", Value::array(asked)),
        ];
        print_json(run, Value::object(how), &more);
        return Ok(Exit::Paused);
    }
    let pauses: Vec<_> = loaded.run.pauses.iter().zip(&asked).collect();
    let is_halt = |pause: &Pause| matches!(pause, Pause::Break { .. });
    if pauses.iter().any(|((_, pause), _)| is_halt(pause)) {
        output::status_line("the run has halted:");
        output::status_line(&format!("  tramline debug --run {run}     inspects it"));
        output::status_line(&format!("  tramline runs step {run}       makes one step"));
        output::status_line(&format!("  tramline runs continue {run}   continues it"));
    }
    if pauses.iter().any(|((_, pause), _)| !is_halt(pause)) {
        output::status_line("the run waits for an answer:");
    }
    for ((seq, pause), asked) in pauses.iter().filter(|((_, pause), _)| !is_halt(pause)) {
        let point = Checkpoint {
            run: run.clone(),
            seq: **seq,
        };
        for line in prompt::answer_instructions(run, **seq, asked) {
            output::status_line(&format!("  {line}"));
        }
        let flags: Vec<_> = pause.options().iter().map(answer_flag).collect();
        let options = flags.join(" | ");
        output::status_line(&format!("  tramline runs answer {point} {options}"));
    }
    Ok(Exit::Paused)
}

/// The flag of `runs answer` for an answer.
fn answer_flag(answer: &&str) -> &'static str {
    match *answer {
        "proceed" => "--yes",
        "retry" => "--retry",
        "skip" => "--skip JSON",
        "extend" => "--extend JSON",
        _ => "--no",
    }
}
