//! The command line: one file per verb, the same exit codes everywhere.

use crate::config::{Config, File, default_data_dir};
use clap::{Args, Parser, Subcommand};
use ending::Manner;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use tramline_builtin::HostPattern;
use tramline_engine::Fault;

mod audit;
mod audited;
mod breaks;
mod check;
mod completions;
mod convert;
mod debug;
mod doctor;
mod documents;
mod ending;
mod eval;
mod explain;
mod frames;
mod graph;
mod input;
mod learn;
mod library;
mod logs;
mod look;
mod looping;
mod moment;
mod origin;
mod output;
mod probe;
mod progress;
mod prompt;
mod registry;
mod replay;
mod report;
mod run;
mod runs;
mod serve;
mod settings;
mod sop;
mod studio;
mod trace;
mod trust;

/// Puts AI agents on tracks: workflows of MCP tools that run, pause, survive a crash and can be
/// read afterwards.
#[derive(Parser)]
#[command(name = "tramline", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 failed, 2 flaws or bad input, 3 rejected, 4 paused, 130 interrupted.";

/// What every verb takes.
#[derive(Args, Clone)]
struct Common {
    /// Where runs are kept [default: the user's data directory]
    #[arg(long, global = true, env = "TRAMLINE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The key that settings are sealed with [default: settings.key where runs are kept]
    #[arg(long, global = true, env = "TRAMLINE_KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
    /// Log to standard error what this lets through: info, or warn,tramline=debug [default: nothing]
    #[arg(long, global = true, env = "RUST_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// How log lines are written
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    log_format: logs::Format,
}

/// What may be touched and called.
#[derive(Args, Clone, Default)]
struct Reach {
    /// Policy, limits, servers and what may be touched, as YAML; flags win over it
    #[arg(long, env = "TRAMLINE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// More MCP servers, as a client's usual JSON
    #[arg(long, value_name = "FILE")]
    mcp_config: Option<PathBuf>,
    /// A directory in which files may be read and written [default: the working directory; none for
    /// servers to which agents bring documents]
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// A host that `http` may call: api.example.com, *.example.com, localhost:8080
    #[arg(long = "allow-host", value_name = "HOST")]
    hosts: Vec<HostPattern>,
    /// Let `shell` run commands in the allowed directories
    #[arg(long)]
    allow_shell: bool,
}

// What a verb takes is only made up for the one that was asked for: all of them are half a megabyte.
#[derive(Subcommand)]
#[command(defer = true)]
enum Verb {
    /// Run a graph's tool and print its result
    Run(run::Run),
    /// Serve graphs as MCP tools
    Serve(serve::Serve),
    /// Open documents, runs and questions in a browser
    Studio(studio::Studio),
    /// Check documents and show every flaw at its place
    Check(check::Check),
    /// Draw a workflow as Mermaid, DOT or SVG
    Graph(graph::Graph),
    /// Write a document in another format
    Convert(convert::Convert),
    /// List runs, read them, steer them
    Runs(runs::Runs),
    /// Plan tool calls for a message, run them and tell what came of it
    Loop(looping::Loop),
    /// Save workflows under names, list and read them
    Library(library::Library),
    /// List, search, describe and try everything that can be called
    Registry(registry::Registry),
    /// Show and forget what was learnt from plans that ended well
    Learn(learn::Learn),
    /// Run a graph's tool step by step, with breakpoints and a prompt
    Debug(debug::Debug),
    /// Do a run again from its record, without calling anything, and compare
    Replay(replay::Replay),
    /// Check, walk and audit procedures
    Sop(sop::SopVerb),
    /// Print what was commanded, by whom, why and with what result
    Audit(audit::Audit),
    /// Print a run as one JSON document, or write it into a file
    Trace(trace::Tracing),
    /// Keep the keys and secrets that documents and servers name
    Settings(settings::Settings),
    /// Evaluate a JSONata expression or a JSON Logic rule
    Eval(eval::Eval),
    /// Explain an error code
    Explain(explain::Explain),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Show what documents start, and allow it for commands that only look
    Trust(trust::Trust),
    /// Look whether everything that is needed is there
    Doctor(doctor::Doctor),
}

impl Verb {
    /// How the command takes a request to end; nothing for what is over at once.
    fn ends(&self) -> Option<Manner> {
        match self {
            Self::Run(_) | Self::Serve(_) | Self::Studio(_) | Self::Loop(_) => {
                Some(Manner::Orderly)
            }
            Self::Runs(runs) if runs.may_drive() => Some(Manner::Orderly),
            Self::Debug(_) => Some(Manner::Prompt),
            Self::Runs(_)
            | Self::Check(_)
            | Self::Library(_)
            | Self::Registry(_)
            | Self::Learn(_)
            | Self::Replay(_)
            | Self::Sop(_)
            | Self::Audit(_)
            | Self::Trace(_)
            | Self::Settings(_)
            | Self::Eval(_)
            | Self::Doctor(_) => Some(Manner::AtOnce),
            Self::Graph(_)
            | Self::Convert(_)
            | Self::Explain(_)
            | Self::Trust(_)
            | Self::Completions(_) => None,
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done,
    Failed,
    BadInput,
    Rejected,
    Paused,
    Interrupted,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::BadInput => 2,
            Self::Rejected => 3,
            Self::Paused => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A command that could not do its work: what to say, and how to end.
struct Stopped {
    exit: Exit,
    message: String,
}

impl Stopped {
    fn bad(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::BadInput,
            message: message.into(),
        }
    }
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        let exit = match &fault {
            Fault::NotFound(_)
            | Fault::Over { .. }
            | Fault::Expired { .. }
            | Fault::Stale { .. }
            | Fault::PersonNeeded(_)
            | Fault::Refused(_)
            | Fault::TooLarge(_)
            | Fault::BadInput { .. } => Exit::BadInput,
            Fault::Store(_) | Fault::Quota(_) | Fault::Elsewhere { .. } | Fault::Damaged { .. } => {
                Exit::Failed
            }
        };
        Self {
            exit,
            message: fault.to_string(),
        }
    }
}

impl From<crate::wire::Trouble> for Stopped {
    fn from(trouble: crate::wire::Trouble) -> Self {
        let exit = match &trouble {
            crate::wire::Trouble::Store(_) => Exit::Failed,
            crate::wire::Trouble::Root(_)
            | crate::wire::Trouble::Config(_)
            | crate::wire::Trouble::Servers(_)
            | crate::wire::Trouble::Tool(_)
            | crate::wire::Trouble::Model(_) => Exit::BadInput,
        };
        Self {
            exit,
            message: trouble.to_string(),
        }
    }
}

impl Common {
    /// The configuration; where no root is named, it is the working directory.
    fn config(&self, reach: &Reach) -> Result<Config, Stopped> {
        let mut config = self.config_as_named(reach)?;
        if config.roots.is_empty() {
            config.roots.push(PathBuf::from("."));
        }
        Ok(config)
    }

    /// The configuration with no roots but those that are named.
    fn config_as_named(&self, reach: &Reach) -> Result<Config, Stopped> {
        let file = match &reach.config {
            None => File::default(),
            Some(path) => documents::read_config(path, self.json)?,
        };
        // A flag says it instead of the file, not beside it.
        let or = |flags: &[PathBuf], file: Vec<PathBuf>| match flags {
            [] => file,
            flags => flags.to_vec(),
        };
        let hosts = match reach.hosts.is_empty() {
            true => file.hosts,
            false => reach.hosts.clone(),
        };
        Ok(Config {
            data_dir: Some(self.data_dir.clone().unwrap_or_else(default_data_dir)),
            roots: or(&reach.roots, file.roots),
            documents_dir: Some(PathBuf::from(".")),
            hosts,
            shell: reach.allow_shell || file.shell,
            embedder: file.embedder,
            learn_off: file.learn_off,
            mcp_config: reach.mcp_config.clone().or(file.mcp_config),
            file: reach.config.clone(),
            policy: file.policy,
            approvals: file.approvals,
            budget: file.budget,
            control: file.control,
            sop: file.sop,
            quota: file.quota,
            limits: file.limits,
            retention: file.retention,
            throttle: file.throttle,
            model: file.model,
            key_file: self.key_file.clone(),
            telemetry: logs::telemetry()?,
            logged: self.log.is_some(),
            warn: Some(output::say),
            door: Some(audited::DOOR),
            ..Config::default()
        })
    }
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return refuse(refused),
    };
    let common = cli.common;
    let json = common.json;
    let command = audited::command(&cli.verb);
    if let Some(manner) = cli.verb.ends() {
        ending::listen(manner);
    }
    let done = logs::begin(&common).and_then(|()| perform(common.clone(), cli.verb));
    if let Some(command) = command {
        // What was done stands, whether it can be noted or not.
        let _ = on_one_thread(audited::note(common, command, &done));
    }
    // Whoever did not wait for its children leaves none behind.
    tramline_process::kill_all();
    match done {
        Ok(exit) => exit.into(),
        Err(Stopped { exit, message }) => {
            if json {
                output::line(
                    &serde_json::json!({ "status": "error", "error": { "message": message } }),
                );
            } else {
                output::complain(&message);
            }
            exit.into()
        }
    }
}

/// Says what is wrong with the command line, which may hold names of files. Help is ours alone.
fn refuse(refused: clap::Error) -> ExitCode {
    if !refused.use_stderr() {
        refused.exit();
    }
    // The words are shown in the middle of several lines, so they are cleaned before.
    let words = std::env::args_os();
    let words = words.map(|word| output::field(&word.to_string_lossy()).into_owned());
    let refused = Cli::try_parse_from(words).err().unwrap_or(refused);
    output::say_lines(refused.render().to_string().trim_end());
    Exit::BadInput.into()
}

fn perform(common: Common, verb: Verb) -> Done {
    let json = common.json;
    match verb {
        Verb::Run(verb) => on_one_thread(run::main(common, verb)),
        Verb::Serve(verb) => on_many_threads(serve::main(common, verb)),
        Verb::Studio(verb) => on_many_threads(studio::main(common, verb)),
        Verb::Check(verb) => on_one_thread(check::main(common, verb)),
        Verb::Graph(verb) => graph::main(&verb, json),
        Verb::Convert(verb) => convert::main(&verb, json),
        Verb::Runs(verb) => on_one_thread(runs::main(common, verb)),
        Verb::Loop(verb) => on_one_thread(looping::main(common, verb)),
        Verb::Library(verb) => on_one_thread(library::main(common, verb)),
        Verb::Registry(verb) => on_many_threads(registry::main(common, verb)),
        Verb::Debug(verb) => on_one_thread(debug::main(common, verb)),
        Verb::Replay(verb) => on_one_thread(replay::main(common, verb)),
        Verb::Sop(verb) => on_one_thread(sop::main(common, verb)),
        Verb::Audit(verb) => on_one_thread(audit::main(common, verb)),
        Verb::Trace(verb) => on_one_thread(trace::main(common, verb)),
        Verb::Learn(verb) => on_one_thread(learn::main(common, verb)),
        Verb::Settings(verb) => on_one_thread(settings::main(common, verb)),
        Verb::Eval(verb) => on_one_thread(eval::main(common, verb)),
        Verb::Explain(verb) => explain::main(&verb, json),
        Verb::Completions(verb) => completions::main(&verb),
        Verb::Trust(verb) => trust::main(&common, &verb),
        Verb::Doctor(verb) => on_one_thread(doctor::main(common, verb)),
    }
}

type Done = Result<Exit, Stopped>;

/// One run needs one thread, and starts sooner with it.
fn on_one_thread(work: impl Future<Output = Done>) -> Done {
    let made = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    block_on(made, work)
}

fn on_many_threads(work: impl Future<Output = Done>) -> Done {
    let made = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    block_on(made, work)
}

fn block_on(
    made: std::io::Result<tokio::runtime::Runtime>,
    work: impl Future<Output = Done>,
) -> Done {
    let runtime = made.map_err(|error| Stopped {
        exit: Exit::Failed,
        message: format!("the system gives no threads: {error}"),
    })?;
    // In a box: otherwise the runtime is compiled anew for every command, thrice.
    let work: Pin<Box<dyn Future<Output = Done>>> = Box::pin(work);
    let done = runtime.block_on(work);
    // A blocked reader of standard input must not keep the process.
    runtime.shutdown_background();
    done
}
