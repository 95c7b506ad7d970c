//! The command line: one file per verb, the same exit codes everywhere.

use crate::config::{Config, ConfigFile, SharedStoreParts, default_data_dir};
use clap::{Args, Parser, Subcommand};
use shutdown::ShutdownMode;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use tramline_builtin::HostPattern;
use tramline_engine::Fault;

mod audit;
mod audit_record;
mod backup;
mod breakpoints;
mod check;
mod command_hints;
mod completions;
mod convert;
mod debugger;
mod diagnostics;
mod diff;
mod doctor;
mod documents;
mod eval;
mod explain;
mod graph;
mod help;
mod init;
mod input;
mod learn;
mod library;
mod lock;
mod logs;
mod loop_cmd;
mod lsp;
pub(crate) mod mcp_clients;
mod output;
mod position;
mod progress;
mod prompt;
mod registry;
mod replay;
mod replicas;
mod run;
mod run_environment;
mod run_names;
mod run_state;
mod runs;
mod schema;
mod self_check;
mod serve;
mod settings;
mod shutdown;
mod skills;
mod sop;
mod studio;
mod tool_check;
mod trace;
mod trust;
mod usage;

/// Durable workflows for AI agents: graphs of MCP tools that run, pause, survive a crash and can be
/// inspected afterwards.
#[derive(Parser)]
#[command(name = "tramline", version, after_help = help::EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The options of every verb.
#[derive(Args, Clone)]
#[command(next_help_heading = "Global options")]
struct CommonArgs {
    /// Where runs are stored [default: the user's data directory]
    #[arg(long, global = true, env = "TRAMLINE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The file with the key that encrypts settings [default: settings.key in the data directory]
    #[arg(long, global = true, env = "TRAMLINE_KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Keep runs in a PostgreSQL database that several replicas share, instead of the data directory:
    /// postgres://user@host/database
    #[arg(
        long,
        global = true,
        env = "TRAMLINE_STORE",
        hide_env_values = true,
        value_name = "URL"
    )]
    store: Option<String>,
    /// The name of this replica [default: the host's name]
    #[arg(
        long,
        global = true,
        env = "TRAMLINE_REPLICA",
        value_name = "NAME",
        hide_short_help = true
    )]
    replica: Option<String>,
    /// How long a replica that does not answer keeps its runs [default: 10s]
    #[arg(
        long,
        global = true,
        env = "TRAMLINE_LEASE",
        value_name = "TIME",
        hide_short_help = true,
        value_parser = crate::config::parse_lease
    )]
    lease: Option<std::time::Duration>,
    /// The pools whose runs this replica drives; runs started here belong to the first [default:
    /// default]
    #[arg(
        long,
        global = true,
        env = "TRAMLINE_POOLS",
        value_name = "NAMES",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pools: Vec<String>,
    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
    /// Log to standard error: a level such as info, or a filter such as warn,tramline=debug
    /// [default: off]
    #[arg(long, global = true, env = "RUST_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// The format of log lines
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    log_format: logs::LogFormatArg,
}

/// The options for access to files, hosts, servers and commands.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Access options")]
struct AccessArgs {
    /// Policy, limits, servers and access as YAML; flags override it
    #[arg(long, env = "TRAMLINE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// More MCP servers, from an MCP client configuration (JSON)
    #[arg(short = 'm', long, alias = "mcp", value_name = "FILE")]
    mcp_config: Option<PathBuf>,
    /// A directory in which files may be read and written [default: the working directory; none for
    /// servers to which agents submit documents]
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// A host that `http` may call: api.example.com, *.example.com, localhost:8080
    #[arg(long = "allow-host", value_name = "HOST")]
    hosts: Vec<HostPattern>,
    /// Let `shell` run commands in the allowed directories
    #[arg(long)]
    allow_shell: bool,
}

// Each verb's arguments are only built when it is used: together they take half a megabyte.
#[derive(Subcommand)]
#[command(defer = true)]
enum Verb {
    /// Create a workflow from a template that runs as it is
    #[command(visible_alias = "new", after_help = help::examples::INIT)]
    Init(init::Init),
    /// Put Tramline into MCP clients, and take over their servers
    #[command(after_help = help::examples::MCP)]
    Mcp(mcp_clients::McpClients),
    /// Run a graph's tool and print its result
    #[command(after_help = help::examples::RUN)]
    Run(run::RunCommand),
    /// Serve graphs as MCP tools
    #[command(after_help = help::examples::SERVE)]
    Serve(serve::Serve),
    /// Open documents, runs and questions in a browser
    #[command(after_help = help::examples::STUDIO)]
    Studio(studio::Studio),
    /// Check documents and show every flaw with its position
    #[command(visible_alias = "validate", after_help = help::examples::CHECK)]
    Check(check::Check),
    /// Record the tools that documents call, to notice changes
    #[command(after_help = help::examples::LOCK)]
    Lock(lock::Lock),
    /// Draw a workflow as Mermaid, DOT or SVG
    #[command(after_help = help::examples::GRAPH)]
    Graph(graph::GraphArgs),
    /// Write a document in another format
    #[command(after_help = help::examples::CONVERT)]
    Convert(convert::Convert),
    /// List, inspect and control runs
    #[command(after_help = help::examples::RUNS)]
    Runs(runs::Runs),
    /// Plan tool calls for a message, run them and print the results
    #[command(after_help = help::examples::LOOP)]
    Loop(loop_cmd::LoopArgs),
    /// Save workflows under names, list and show them
    #[command(after_help = help::examples::LIBRARY)]
    Library(library::Library),
    /// List, search, describe and try all callable tools
    #[command(after_help = help::examples::REGISTRY)]
    Registry(registry::Registry),
    /// Show and forget what was learned from successful plans
    #[command(after_help = help::examples::LEARN)]
    Learn(learn::Learn),
    /// Run a graph's tool step by step, with breakpoints and a prompt
    Debug(debugger::DebugArgs),
    /// Replay a run from its journal, calling nothing, and compare
    #[command(after_help = help::examples::REPLAY)]
    Replay(replay::Replay),
    /// List the replicas that share the store
    #[command(after_help = help::examples::REPLICAS)]
    Replicas(replicas::Replicas),
    /// Write workflows and procedures as Agent Skills
    #[command(after_help = help::examples::SKILLS)]
    Skills(skills::Skills),
    /// Check, run and audit procedures
    #[command(after_help = help::examples::SOP)]
    Sop(sop::SopVerb),
    /// Print the audit log: who did what, why, and with what result
    #[command(after_help = help::examples::AUDIT)]
    Audit(audit::Audit),
    /// Print a run as one JSON document, or write it to a file
    #[command(after_help = help::examples::TRACE)]
    Trace(trace::TraceArgs),
    /// Store the keys and secrets that documents and servers refer to
    #[command(after_help = help::examples::SETTINGS)]
    Settings(settings::Settings),
    /// Evaluate a JSONata expression or a JSON Logic rule
    #[command(after_help = help::examples::EVAL)]
    Eval(eval::Eval),
    /// Explain an error code
    #[command(after_help = help::examples::EXPLAIN)]
    Explain(explain::Explain),
    /// Print the JSON Schema of a format, for editors
    #[command(after_help = help::examples::SCHEMA)]
    Schema(schema::SchemaArgs),
    /// Check and complete documents in an editor (language server)
    #[command(after_help = help::examples::LSP)]
    Lsp(lsp::Lsp),
    /// Print a completion script for a shell
    #[command(after_help = help::examples::COMPLETIONS)]
    Completions(completions::Completions),
    /// Show what documents start, and trust it for read-only commands
    #[command(after_help = help::examples::TRUST)]
    Trust(trust::TrustCommand),
    /// Check that everything is present and every server responds
    #[command(after_help = help::examples::DOCTOR)]
    Doctor(doctor::Doctor),
    /// Copy all runs, settings and saved workflows into one file
    #[command(after_help = help::examples::BACKUP)]
    Backup(backup::Backup),
    /// Try on a copy whether this version can read what is stored
    #[command(after_help = help::examples::SELF_CHECK)]
    SelfCheck(self_check::SelfCheck),
}

impl Verb {
    /// How the command handles a request to end; `None` for commands that finish at once.
    fn shutdown_mode(&self) -> Option<ShutdownMode> {
        match self {
            Self::Run(_) | Self::Serve(_) | Self::Studio(_) | Self::Loop(_) => {
                Some(ShutdownMode::Orderly)
            }
            Self::Runs(runs) if runs.may_drive() => Some(ShutdownMode::Orderly),
            Self::Debug(_) => Some(ShutdownMode::Prompt),
            Self::Runs(_)
            | Self::Check(_)
            | Self::Lock(_)
            | Self::Library(_)
            | Self::Registry(_)
            | Self::Learn(_)
            | Self::Replay(_)
            | Self::Replicas(_)
            | Self::Sop(_)
            | Self::Audit(_)
            | Self::Trace(_)
            | Self::Settings(_)
            | Self::Eval(_)
            | Self::Mcp(_)
            | Self::Backup(_)
            | Self::SelfCheck(_)
            | Self::Doctor(_) => Some(ShutdownMode::AtOnce),
            Self::Init(_)
            | Self::Graph(_)
            | Self::Skills(_)
            | Self::Convert(_)
            | Self::Explain(_)
            | Self::Schema(_)
            | Self::Lsp(_)
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

/// A command that could not do its work: its message and exit code.
struct CliError {
    exit: Exit,
    message: String,
}

impl CliError {
    fn bad_input(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::BadInput,
            message: message.into(),
        }
    }

    /// Prints the error: as JSON on standard output, or as text on standard error.
    fn print(&self, json: bool) {
        let message = &self.message;
        match json {
            true => output::line(
                &serde_json::json!({ "status": "error", "error": { "message": message } }),
            ),
            false => output::print_error(message),
        }
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        let exit = match &fault {
            Fault::NotFound(_)
            | Fault::Ended { .. }
            | Fault::Expired { .. }
            | Fault::Stale { .. }
            | Fault::PersonNeeded(_)
            | Fault::Rejected(_)
            | Fault::KeyReused { .. }
            | Fault::TooLarge(_)
            | Fault::InvalidInput { .. } => Exit::BadInput,
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

impl From<crate::app::AppError> for CliError {
    fn from(trouble: crate::app::AppError) -> Self {
        let exit = match &trouble {
            crate::app::AppError::Store(_) => Exit::Failed,
            crate::app::AppError::Root(_)
            | crate::app::AppError::Config(_)
            | crate::app::AppError::Servers(_)
            | crate::app::AppError::Tool(_)
            | crate::app::AppError::Model(_) => Exit::BadInput,
        };
        Self {
            exit,
            message: trouble.to_string(),
        }
    }
}

impl CommonArgs {
    /// The shared store as the flags and variables name it.
    fn store_parts(&self) -> SharedStoreParts {
        SharedStoreParts {
            url: self.store.clone(),
            replica: self.replica.clone(),
            lease: self.lease,
            pools: self.pools.clone(),
        }
    }

    /// The configuration; the working directory is the default root.
    fn config(&self, reach: &AccessArgs) -> Result<Config, CliError> {
        let mut config = self.config_with_named_roots(reach)?;
        if config.roots.is_empty() {
            config.roots.push(PathBuf::from("."));
        }
        Ok(config)
    }

    /// The configuration with only the roots that are named.
    fn config_with_named_roots(&self, reach: &AccessArgs) -> Result<Config, CliError> {
        let file = match &reach.config {
            None => ConfigFile::default(),
            Some(path) => documents::read_config(path, self.json)?,
        };
        let store = self.store_parts().or(file.store);
        let store = store.build().map_err(CliError::bad_input)?;
        // A flag replaces the value in the file instead of adding to it.
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
            store,
            roots: or(&reach.roots, file.roots),
            documents_dir: Some(PathBuf::from(".")),
            hosts,
            shell: reach.allow_shell || file.shell,
            embedder: file.embedder,
            learning_off: file.learn_off,
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
            logging: self.log.is_some(),
            warn: Some(output::status_line),
            door: Some(audit_record::CLI_DOOR),
            ..Config::default()
        })
    }
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = match usage::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let common = cli.common;
    let json = common.json;
    let Some(verb) = cli.verb else {
        return on_one_thread(help::welcome(common))
            .unwrap_or(Exit::Done)
            .into();
    };
    let command = audit_record::audited_command(&verb);
    if let Some(manner) = verb.shutdown_mode() {
        shutdown::listen(manner);
    }
    let done = logs::init(&common).and_then(|()| dispatch(common.clone(), verb));
    if let Some(command) = command {
        // The command has taken effect, whether it can be recorded or not.
        let _ = on_one_thread(audit_record::record(common, command, &done));
    }
    // End the children of a command that did not wait for them.
    tramline_process::kill_all();
    match done {
        Ok(exit) => exit.into(),
        Err(stopped) => {
            stopped.print(json);
            stopped.exit.into()
        }
    }
}

fn dispatch(common: CommonArgs, verb: Verb) -> CliResult {
    let json = common.json;
    match verb {
        Verb::Init(verb) => init::main(&common, &verb),
        Verb::Mcp(verb) => on_one_thread(mcp_clients::main(common, verb)),
        Verb::Run(verb) => on_one_thread(run::main(common, verb)),
        Verb::Serve(verb) => on_many_threads(serve::main(common, verb)),
        Verb::Studio(verb) => on_many_threads(studio::main(common, verb)),
        Verb::Check(verb) => on_one_thread(check::main(common, verb)),
        Verb::Lock(verb) => on_one_thread(lock::main(common, verb)),
        Verb::Graph(verb) => graph::main(&verb, json),
        Verb::Skills(verb) => skills::main(&verb, json),
        Verb::Convert(verb) => convert::main(&verb, json),
        Verb::Runs(verb) => on_one_thread(runs::main(common, verb)),
        Verb::Loop(verb) => on_one_thread(loop_cmd::main(common, verb)),
        Verb::Library(verb) => on_one_thread(library::main(common, verb)),
        Verb::Registry(verb) => on_many_threads(registry::main(common, verb)),
        Verb::Debug(verb) => on_one_thread(debugger::main(common, verb)),
        Verb::Replay(verb) => on_one_thread(replay::main(common, verb)),
        Verb::Replicas(verb) => on_one_thread(replicas::main(common, verb)),
        Verb::Sop(verb) => on_one_thread(sop::main(common, verb)),
        Verb::Audit(verb) => on_one_thread(audit::main(common, verb)),
        Verb::Trace(verb) => on_one_thread(trace::main(common, verb)),
        Verb::Learn(verb) => on_one_thread(learn::main(common, verb)),
        Verb::Settings(verb) => on_one_thread(settings::main(common, verb)),
        Verb::Eval(verb) => on_one_thread(eval::main(common, verb)),
        Verb::Explain(verb) => explain::main(&verb, json),
        Verb::Schema(verb) => schema::main(&verb, json),
        Verb::Lsp(verb) => lsp::main(&common, &verb),
        Verb::Completions(verb) => completions::main(&verb),
        Verb::Trust(verb) => trust::main(&common, &verb),
        Verb::Doctor(verb) => on_one_thread(doctor::main(common, verb)),
        Verb::Backup(verb) => on_one_thread(backup::main(common, verb)),
        Verb::SelfCheck(verb) => on_one_thread(self_check::main(common, verb)),
    }
}

type CliResult = Result<Exit, CliError>;

/// A single run needs one thread, and starts faster with it.
fn on_one_thread(work: impl Future<Output = CliResult>) -> CliResult {
    let made = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    block_on(made, work)
}

fn on_many_threads(work: impl Future<Output = CliResult>) -> CliResult {
    let made = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    block_on(made, work)
}

fn block_on(
    made: std::io::Result<tokio::runtime::Runtime>,
    work: impl Future<Output = CliResult>,
) -> CliResult {
    let runtime = made.map_err(|error| CliError {
        exit: Exit::Failed,
        message: format!("cannot start the async runtime: {error}"),
    })?;
    // Boxed: otherwise the runtime is monomorphized three times for every command.
    let work: Pin<Box<dyn Future<Output = CliResult>>> = Box::pin(work);
    let done = runtime.block_on(work);
    // A blocked reader of standard input must not keep the process alive.
    runtime.shutdown_background();
    done
}
