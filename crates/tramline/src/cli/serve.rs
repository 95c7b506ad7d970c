//! `tramline serve`: graphs as MCP tools, over stdio or HTTP.

use super::trust::TrustFlag;
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, documents, output, shutdown};
use crate::app::{self, App, RunOrigin, StoreOpening};
use crate::config::Config;
use crate::document_files::DiskFiles;
use callers::{hide_tokens, http_options, warn_if_shared};
use reload::Reloader;
use run_environment::ServerEnvironment;
use saved_workflows::SavedWorkflows;
use served_documents::ServedDocuments;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use studio_address::{announce, studio_access};
use tokio_util::sync::CancellationToken;
use tramline_engine::{Engine, Retention, Settings, ToolPattern};
use tramline_mcp_server::{
    CALL_WAIT_DEFAULT, ExtraRoutes, HttpOptions, Server, ServerOptions, ToolPrefix, Toolset,
};
use tramline_web::{FurtherAddress, StudioAccess};
use tramline_workflow::run::Run;

mod access_config;
mod callers;
pub(super) mod listen_address;
mod pinned_procedures;
mod reload;
mod run_environment;
mod saved_workflows;
mod served_documents;
mod studio_address;

/// How often expired runs are ended. Requests for an expired run fail at once, so the sweep may be
/// late.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// How often old runs are pruned: retention is counted in days. While the disk quota is nearly used
/// up, they are pruned with every sweep.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// How many recent calls the studio can show as sent over the wire.
const EXCHANGES_MAX: usize = 256;

/// The channel recorded in the audit log for commands that no front end records here.
const MCP_DOOR: &str = "mcp";

/// A studio opened on documents.
pub(super) struct StudioLaunch {
    /// Prints its address, once it is known.
    pub(super) print_address: Box<dyn FnOnce(&StudioAddress)>,
    /// Whether opening the documents trusts what they start.
    pub(super) trusting: TrustFlag,
    /// How the operator gets another address later.
    pub(super) more_addresses: Option<FurtherAddress>,
}

/// The studio's address.
pub(super) struct StudioAddress {
    /// For everyone.
    pub(super) url: String,
    /// For the operator, with a one-time code: the browser that opens it first answers as a person.
    pub(super) operator_url: String,
}

/// Serve graphs as MCP tools.
#[derive(clap::Args)]
pub(super) struct Serve {
    /// The documents
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Another document: the same as FILE, as mcpGraph writes it
    #[arg(short = 'g', long = "graph", value_name = "FILE")]
    pub(super) graphs: Vec<PathBuf>,
    /// Serve over HTTP instead of stdio, at the path /mcp: a port of this machine (8080), or an
    /// address with a port (0.0.0.0:8080)
    #[arg(long, value_name = "PORT|ADDR", value_parser = listen_address::parse)]
    pub(super) http: Option<SocketAddr>,
    /// The token that HTTP callers must send; required on addresses other than loopback, at least
    /// 16 bytes there
    #[arg(
        long,
        env = "TRAMLINE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub(super) token: Option<String>,
    /// Named HTTP callers, one name=token per line; each sees only its own runs
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(super) token_file: Option<PathBuf>,
    /// Pin a procedure: only pinned ones can be loaded, and all calls of agents go through their
    /// gate; needs the toolset sop
    #[arg(long = "sop", value_name = "FILE")]
    pub(super) sops: Vec<String>,
    /// Tools that agents may call without the gate of a pinned procedure, as server:tool with *
    #[arg(long = "sop-free", value_name = "PATTERN", requires = "sops")]
    pub(super) free: Vec<ToolPattern>,
    /// The toolsets to offer: graphs, control, library, debug, loop, sop, runs
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "graphs"
    )]
    pub(super) toolsets: Vec<Toolset>,
    /// Put this in front of every tool's name, such as flow_: for clients that use several servers with
    /// tools of the same name
    #[arg(long, value_name = "PREFIX")]
    pub(super) tool_prefix: Option<ToolPrefix>,
    /// How long a call waits for a run before it returns without its result, in seconds; needs the toolset runs
    #[arg(long, value_name = "SECONDS", value_parser = parse_call_wait)]
    pub(super) call_wait: Option<Duration>,
    /// Send a message into sessions of Claude Code when a run that they started detached ends or asks
    #[arg(long)]
    pub(super) claude_channel: bool,
    /// Also offer saved workflows as tools
    #[arg(long)]
    pub(super) library: bool,
    /// Keep serving the files as they were at start
    #[arg(long)]
    pub(super) no_reload: bool,
    /// Allow edits of the files to add servers and change what is started
    #[arg(long, conflicts_with = "no_reload")]
    pub(super) reload_servers: bool,
    /// Serve Prometheus metrics at /metrics
    #[arg(long, requires = "http")]
    pub(super) metrics: bool,
    #[command(flatten)]
    pub(super) reach: AccessArgs,
}

/// Longest `--call-wait`, in seconds: a day. Whoever waits longer waits for nothing.
const CALL_WAIT_SECONDS_MAX: f64 = 86_400.0;

fn parse_call_wait(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= CALL_WAIT_SECONDS_MAX);
    let seconds = seconds
        .ok_or_else(|| format!("expected a number of seconds, at most {CALL_WAIT_SECONDS_MAX}"))?;
    Ok(Duration::from_secs_f64(seconds))
}

pub(super) async fn main(common: CommonArgs, mut verb: Serve) -> CliResult {
    verb.files.append(&mut verb.graphs);
    serve_documents(common, verb, None).await
}

/// Serves, and opens the studio on the documents if `opened` is given.
pub(super) async fn serve_documents(
    common: CommonArgs,
    verb: Serve,
    mut opened: Option<StudioLaunch>,
) -> CliResult {
    let mut config = access_config::config(&common, &verb)?;
    // Anything that no front end records comes from agents whose call has ended.
    config.door = Some(MCP_DOOR);
    config.telemetry.prometheus |= verb.metrics;
    let terminal = config.approvals.terminal;
    let http = http_options(&verb, opened.is_some())?;
    config.exchanges = if http.is_some() { EXCHANGES_MAX } else { 0 };
    let opening = StoreOpening::start(&config);
    let drafts = opened.is_some();
    let prints = (!verb.no_reload).then(|| reload::fingerprints(&verb.files, &config, drafts));
    let read = match &opened {
        // Documents being edited may have flaws.
        Some(_) => ServedDocuments::read_valid(&verb.files, &config),
        None => ServedDocuments::read(&verb.files, &config),
    };
    let readings = read.map_err(|unusable| {
        if common.json {
            return CliError::bad_input(unusable.message());
        }
        unusable.show();
        CliError::bad_input(unusable.summary())
    })?;
    let trusting = opened.as_ref().map(|opened| opened.trusting);
    access_config::set_start_gate(&mut config, &readings, &verb, trusting)?;
    let house = app::open_with_store(&config, readings.documents(), opening)?;
    if let Some(data_dir) = &config.data_dir {
        warn_if_shared(data_dir, "the data directory");
    }
    house.workflow_map.replace(readings.callables(&config));
    let home = RunOrigin::of_submitted(&verb.files, &config);
    let shown = SavedWorkflows::new(&house.catalog, verb.library.then(|| home.to_value()));
    let graphs = shown.append_to(readings.graphs(&config)).await?;
    let conduct = ServerOptions {
        origin: home.to_value(),
        ttl: config.control.ttl,
        commands_per_minute: config.control.commands_per_minute,
        claude_channel: verb.claude_channel,
        call_wait: verb.call_wait.unwrap_or(CALL_WAIT_DEFAULT),
        model: house.model.clone(),
        tool_prefix: verb.tool_prefix.clone().unwrap_or_default(),
    };
    let server = Server::with_options(
        house.services(),
        readings.server_info(),
        &verb.toolsets,
        graphs,
        conduct,
    )
    .map_err(|taken| CliError::bad_input(taken.to_string()))?;
    if opened.is_none() {
        // In a local studio the operator starts runs.
        house.engine.serve_agents();
    }
    let watched = pinned_procedures::pin(&server, &verb, &config).await?;
    config.protected.extend(watched.protected());
    let servers = house.servers.configs();
    let documents = readings.documents();
    app::protect(
        &house.builtin,
        &config,
        documents,
        &servers,
        &house.settings,
    );
    let mut origins: Vec<_> = verb
        .files
        .iter()
        .map(|path| RunOrigin::of(path, &config))
        .collect();
    origins.push(home.clone());
    house
        .engine
        .set_environment(ServerEnvironment::new(&origins, &config));
    store_terminal_rule(&house.engine, terminal).await?;
    if opened.is_some() {
        check_studio_terminal(&house.engine).await?;
    }
    hide_tokens(&house.settings, http.as_ref())?;
    warn_of_weak_secrets(&house.settings).await?;
    recover(&house.engine, &origins).await?;
    let (taking, origins) = (house.engine.clone(), origins.clone());
    let taking = async move {
        taking
            .take_over(|run| origins.iter().any(|mine| mine.covers(run)))
            .await
    };
    tokio::spawn(taking);
    let stop = CancellationToken::new();
    let signal = stop.clone();
    tokio::spawn(async move {
        shutdown::wait_for_request().await;
        signal.cancel();
    });
    let engine = house.engine.clone();
    let picking_up = async move { engine.resume_answered().await };
    tokio::spawn(stop.clone().run_until_cancelled_owned(picking_up));
    let sweeping = sweep(house.engine.clone(), config.retention);
    tokio::spawn(stop.clone().run_until_cancelled_owned(sweeping));
    tokio::spawn(stop.clone().run_until_cancelled_owned(watched.watch()));
    let studio = studio(&verb, &config, opened.is_some(), &home)?;
    let stage = Reloader {
        files: verb.files,
        config,
        tool_sources: house.tool_sources(),
        workflow_map: house.workflow_map.clone(),
        server: server.clone(),
        saved: shown,
        drafts,
    };
    let attending = stage.watch(readings, prints);
    tokio::spawn(stop.clone().run_until_cancelled_owned(attending));
    let front = http.map(|http| {
        let access = studio_access(&http, opened.as_mut());
        let beside = extra_routes(&house, studio, &access);
        HttpEndpoint {
            http,
            extra_routes: beside,
            access,
        }
    });
    // Calls are released while the last responses are sent: one after the other, both together could
    // take longer than a shutdown may.
    let serving = async {
        let served = serve(&house.engine, server, front, opened, stop.clone()).await;
        stop.cancel();
        served
    };
    let releasing = async {
        stop.cancelled().await;
        house.engine.close().await;
    };
    let (served, ()) = tokio::join!(serving, releasing);
    served?;
    house.close().await;
    Ok(Exit::Done)
}

/// What is served over HTTP, and to whom.
struct HttpEndpoint {
    http: HttpOptions,
    extra_routes: ExtraRoutes,
    access: Arc<StudioAccess>,
}

/// The HTTP routes besides MCP.
fn extra_routes(
    house: &App,
    studio: tramline_web::Studio,
    access: &Arc<StudioAccess>,
) -> ExtraRoutes {
    let mut guarded = tramline_web::api(&house.engine, &house.catalog, studio);
    let telemetry = house.telemetry.clone().filter(|it| it.has_prometheus());
    if let Some(telemetry) = telemetry {
        let written = Arc::new(move |paused| telemetry.prometheus_text(paused));
        guarded = guarded.merge(tramline_web::metrics(&house.engine, written));
    }
    ExtraRoutes {
        guarded,
        open: tramline_web::studio(Arc::clone(access)).merge(tramline_web::health(&house.engine)),
        command: Some(tramline_web::audited_command),
    }
}

/// Warns about secrets that cannot be redacted.
async fn warn_of_weak_secrets(settings: &Settings) -> Result<(), CliError> {
    settings.reload().await?;
    for (name, why) in settings.not_redacted() {
        output::print_warning(&format!(
            "the secret `{name}` is {why} in results, journals and logs; use a longer one"
        ));
    }
    Ok(())
}

/// Ends runs whose time limit for an answer has passed, and deletes runs past their retention.
async fn sweep(engine: Engine, keep: Retention) {
    let mut pruned: Option<Instant> = None;
    loop {
        let due = pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY);
        if !keep.keeps_everything() && (due || engine.is_disk_nearly_full().await.unwrap_or(false))
        {
            pruned = Some(Instant::now());
            if let Err(fault) = engine.prune(keep, false).await {
                output::status_line(&format!("cannot delete old runs: {fault}"));
            }
        }
        if let Err(fault) = engine.expire().await {
            output::status_line(&format!("cannot end expired runs: {fault}"));
        }
        if let Err(fault) = engine.time_out_forms().await {
            output::status_line(&format!("cannot time out questions: {fault}"));
        }
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}

/// The studio's documents, if they may be edited there.
fn studio(
    verb: &Serve,
    config: &Config,
    opened: bool,
    home: &RunOrigin,
) -> Result<tramline_web::Studio, CliError> {
    Ok(tramline_web::Studio {
        documents: match opened {
            true => home.documents.clone(),
            false => Vec::new(),
        },
        files: Some(Arc::new(DiskFiles)),
        known_servers: documents::known_servers(config)?,
        origin: home.to_value(),
        toolsets: verb
            .toolsets
            .iter()
            .map(|set| set.as_str().into())
            .collect(),
    })
}

async fn serve(
    engine: &Engine,
    server: Server,
    front: Option<HttpEndpoint>,
    opened: Option<StudioLaunch>,
    stop: CancellationToken,
) -> Result<(), CliError> {
    tramline_process::return_free_pages_regularly();
    let Some(front) = front else {
        return tokio::select! {
            served = server.serve_stdio() => Ok(served?),
            () = stop.cancelled() => Ok(()),
        };
    };
    let listening = server
        .listen_with_routes(front.http, front.extra_routes, stop)
        .await
        .map_err(|fault| CliError::bad_input(fault.to_string()))?;
    let address = listening.address;
    let url = format!("http://{address}/studio");
    engine.set_studio_url(url.clone());
    if opened.is_none() {
        output::status_line(&format!("serving at http://{address}/mcp"));
    }
    announce(&front.access, &url, opened)?;
    listening.serve().await.map_err(|error| CliError {
        exit: Exit::Failed,
        message: error.to_string(),
    })
}

/// Resumes the runs that a previous process left unfinished.
async fn recover(engine: &Engine, origins: &[RunOrigin]) -> Result<(), CliError> {
    let ours = |run: &Run| origins.iter().any(|mine| mine.covers(run));
    let recovered = engine.recover(ours).await?;
    if !recovered.driven.is_empty() {
        output::status_line(&format!(
            "resumed {} unfinished runs",
            recovered.driven.len()
        ));
    }
    for (run, fault) in recovered.failed {
        output::status_line(&format!("{run} stays unfinished: {fault}"));
    }
    Ok(())
}

/// Stores the rule that answers on the command line need a terminal. Lifting it needs one, too.
async fn store_terminal_rule(engine: &Engine, required: Option<bool>) -> Result<(), CliError> {
    match required {
        None => {}
        Some(true) => engine.require_terminal().await?,
        Some(false) if engine.lift_terminal_rule(is_at_terminal()).await? => output::status_line(
            "answers on the command line still need a terminal: another configuration requires it \
             (`approvals.terminal: true`), and only a server started in a terminal can lift that",
        ),
        Some(false) => {}
    }
    Ok(())
}

/// Whether a person seems to have started this process: stdin and stdout are a terminal.
fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() && output::is_terminal()
}

/// Rejects a studio without a terminal where answers need one: the holder of its one-time code answers as a person, and a
/// program could read the code from a pipe.
async fn check_studio_terminal(engine: &Engine) -> Result<(), CliError> {
    match !is_at_terminal() && engine.needs_terminal().await? {
        true => Err(CliError::bad_input(
            "the operator requires answers from a person at a terminal (`approvals.terminal: true`), and the studio's \
             address gives the right to answer; start the studio in a terminal, without pipes",
        )),
        false => Ok(()),
    }
}
