//! `tramline serve`: graphs as MCP tools, over standard input and output or HTTP.

use super::trust::Trusting;
use super::{Common, Done, Exit, Reach, Stopped, documents, ending, output};
use crate::config::Config;
use crate::disk::Disk;
use crate::wire::{self, House, Opening, Origin};
use access::{announce, studio_access};
use callers::{callers, hide_tokens, warn_if_shared};
use readings::Readings;
use reload::Stage;
use saved::Shown;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tramline_core::run::Run;
use tramline_engine::{Engine, Pattern, Retention, Settings};
use tramline_mcp::server::{Beside, Conduct, Http, Server, Toolset};
use tramline_web::{FurtherAddress, StudioAccess};

mod access;
mod callers;
mod files;
mod pinned;
mod readings;
mod reload;
mod saved;

/// How often it is looked for runs that have expired: nobody waits for their end, and whoever comes
/// back to one is told so at once.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// How often runs that need not be kept are looked for: what is kept is counted in days.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// So many of the latest calls can be looked into as they went over the wire.
const EXCHANGES_MAX: usize = 256;

/// The door of commands that no front end notes here, in the audit.
const AGENTS: &str = "mcp";

/// A studio that somebody opens on documents.
pub(super) struct Opened {
    /// Tells where it is, once that is known.
    pub(super) tell: Box<dyn FnOnce(&Place)>,
    /// Whether what the documents start is trusted by opening them.
    pub(super) trusting: Trusting,
    /// How the operator gets another address later.
    pub(super) further: Option<FurtherAddress>,
}

/// Where the studio is.
pub(super) struct Place {
    /// For everybody.
    pub(super) url: String,
    /// For the operator, with a one-time code: the browser that opens it first answers as a person.
    pub(super) own: String,
}

/// Serve graphs as MCP tools.
#[derive(clap::Args)]
pub(super) struct Serve {
    /// The documents
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Serve over HTTP at this address instead of standard input and output, at the path /mcp
    #[arg(long, value_name = "ADDR")]
    pub(super) http: Option<SocketAddr>,
    /// What HTTP callers must show; needed beyond loopback, there with at least 16 bytes
    #[arg(
        long,
        env = "TRAMLINE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub(super) token: Option<String>,
    /// Named HTTP callers, a line name=token for each; each sees only its own runs
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(super) token_file: Option<PathBuf>,
    /// Pin a procedure: only pinned ones can be loaded, and whatever agents call goes through their gate;
    /// needs the toolset sop
    #[arg(long = "sop", value_name = "FILE")]
    pub(super) sops: Vec<String>,
    /// Tools that agents may call without the gate of a pinned procedure, as server:tool with *
    #[arg(long = "sop-free", value_name = "PATTERN", requires = "sops")]
    pub(super) free: Vec<Pattern>,
    /// What to offer: graphs, control, library, debug, loop, sop
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "graphs"
    )]
    pub(super) toolsets: Vec<Toolset>,
    /// Offer saved workflows as tools too
    #[arg(long)]
    pub(super) library: bool,
    /// Keep serving what the files said at start, whatever becomes of them
    #[arg(long)]
    pub(super) no_reload: bool,
    /// Let an edit of the files add servers and change what is started
    #[arg(long, conflicts_with = "no_reload")]
    pub(super) reload_servers: bool,
    /// Serve metrics at /metrics, as Prometheus reads them
    #[arg(long, requires = "http")]
    pub(super) metrics: bool,
    #[command(flatten)]
    pub(super) reach: Reach,
}

pub(super) async fn main(common: Common, verb: Serve) -> Done {
    serving(common, verb, None).await
}

/// Serves; with the studio opened on the documents if there is somebody to tell where it is.
pub(super) async fn serving(common: Common, verb: Serve, mut opened: Option<Opened>) -> Done {
    let mut config = files::config(&common, &verb)?;
    // What no front end notes comes from agents whose call has gone.
    config.door = Some(AGENTS);
    config.telemetry.prometheus |= verb.metrics;
    let terminal = config.approvals.terminal;
    let http = callers(&verb, opened.is_some())?;
    config.exchanges = if http.is_some() { EXCHANGES_MAX } else { 0 };
    let opening = Opening::begin(&config);
    let drafts = opened.is_some();
    let prints = (!verb.no_reload).then(|| reload::prints(&verb.files, &config, drafts));
    let read = match &opened {
        // What is edited may have flaws.
        Some(_) => Readings::usable(&verb.files, &config),
        None => Readings::read(&verb.files, &config),
    };
    let readings = read.map_err(|unusable| {
        unusable.show();
        Stopped::bad(unusable.message())
    })?;
    let trusting = opened.as_ref().map(|opened| opened.trusting);
    files::gate(&mut config, &readings, &verb, trusting)?;
    let house = wire::open_over(&config, readings.documents(), opening)?;
    if let Some(data_dir) = &config.data_dir {
        warn_if_shared(data_dir, "the data directory");
    }
    house.shelf.replace(readings.callables(&config));
    let home = Origin::brought(&verb.files, &config);
    let shown = Shown::new(&house.engine, verb.library.then(|| home.to_value()));
    let graphs = shown.with(readings.graphs(&config)).await?;
    let conduct = Conduct {
        origin: home.to_value(),
        ttl: config.control.ttl,
        commands_per_minute: config.control.commands_per_minute,
        model: house.model.clone(),
    };
    let server = Server::with(
        house.engine.clone(),
        readings.about(),
        &verb.toolsets,
        graphs,
        conduct,
    )
    .map_err(|taken| Stopped::bad(taken.to_string()))?;
    if opened.is_none() {
        // In a studio of one's own the operator begins runs.
        house.engine.serve_agents();
    }
    let watched = pinned::pin(&server, &verb, &config).await?;
    config.protected.extend(watched.protected());
    let servers = house.servers.configs();
    wire::protect(&house.builtin, &config, readings.documents(), &servers);
    let mut origins: Vec<_> = verb
        .files
        .iter()
        .map(|path| Origin::of(path, &config))
        .collect();
    origins.push(home.clone());
    if let Some(required) = terminal {
        house.engine.keep_terminal_rule(required).await?;
    }
    hide_tokens(&house.settings, http.as_ref())?;
    warn_of_secrets(&house.settings).await?;
    recover(&house.engine, &origins).await?;
    let stop = CancellationToken::new();
    let signal = stop.clone();
    tokio::spawn(async move {
        ending::requested().await;
        signal.cancel();
    });
    let engine = house.engine.clone();
    let picking_up = async move { engine.pick_up_answered().await };
    tokio::spawn(stop.clone().run_until_cancelled_owned(picking_up));
    let sweeping = sweep(house.engine.clone(), config.retention);
    tokio::spawn(stop.clone().run_until_cancelled_owned(sweeping));
    tokio::spawn(stop.clone().run_until_cancelled_owned(watched.watch()));
    let studio = studio(&verb, &config, opened.is_some(), &home)?;
    let stage = Stage {
        files: verb.files,
        config,
        equipment: house.equipment(),
        shelf: house.shelf.clone(),
        server: server.clone(),
        shown,
        drafts,
    };
    let attending = stage.attend(readings, prints);
    tokio::spawn(stop.clone().run_until_cancelled_owned(attending));
    let front = http.map(|http| {
        let access = studio_access(&http, opened.as_mut());
        let beside = beside(&house, studio, &access);
        HttpFront {
            http,
            beside,
            access,
        }
    });
    serve(&house.engine, server, front, opened, stop).await?;
    house.close().await;
    Ok(Exit::Done)
}

/// What is served over HTTP, and to whom.
struct HttpFront {
    http: Http,
    beside: Beside,
    access: Arc<StudioAccess>,
}

/// What is served over HTTP beside MCP.
fn beside(house: &House, studio: tramline_web::Studio, access: &Arc<StudioAccess>) -> Beside {
    let mut guarded = tramline_web::api(&house.engine, studio);
    let telemetry = house.telemetry.clone().filter(|it| it.has_text());
    if let Some(telemetry) = telemetry {
        let written = Arc::new(move |paused| telemetry.text(paused));
        guarded = guarded.merge(tramline_web::metrics(&house.engine, written));
    }
    Beside {
        guarded,
        open: tramline_web::studio(Arc::clone(access)),
    }
}

/// Says which secrets are not hidden.
async fn warn_of_secrets(settings: &Settings) -> Result<(), Stopped> {
    settings.reload().await?;
    for (name, why) in settings.not_hidden() {
        output::warn(&format!(
            "the secret `{name}` is {why} in results, journals and logs; use a longer one"
        ));
    }
    Ok(())
}

/// Ends runs that have waited longer for an answer than they were given, and forgets those that need
/// not be kept.
async fn sweep(engine: Engine, keep: Retention) {
    let mut pruned: Option<Instant> = None;
    loop {
        let due = pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY);
        if due && !keep.is_endless() {
            pruned = Some(Instant::now());
            if let Err(fault) = engine.prune(keep, false).await {
                output::say(&format!("runs could not be forgotten: {fault}"));
            }
        }
        if let Err(fault) = engine.expire().await {
            output::say(&format!(
                "runs that have expired could not be ended: {fault}"
            ));
        }
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}

/// What the studio is opened on: the documents, if they may be changed there.
fn studio(
    verb: &Serve,
    config: &Config,
    opened: bool,
    home: &Origin,
) -> Result<tramline_web::Studio, Stopped> {
    Ok(tramline_web::Studio {
        documents: match opened {
            true => home.documents.clone(),
            false => Vec::new(),
        },
        files: Some(Arc::new(Disk)),
        elsewhere: documents::elsewhere(config)?,
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
    front: Option<HttpFront>,
    opened: Option<Opened>,
    stop: CancellationToken,
) -> Result<(), Stopped> {
    let Some(front) = front else {
        return tokio::select! {
            served = server.serve_stdio() => Ok(served?),
            () = stop.cancelled() => Ok(()),
        };
    };
    let listening = server
        .listen_beside(front.http, front.beside, stop)
        .await
        .map_err(|fault| Stopped::bad(fault.to_string()))?;
    let address = listening.address;
    let url = format!("http://{address}/studio");
    engine.studio_at(url.clone());
    if opened.is_none() {
        output::say(&format!("serving at http://{address}/mcp"));
    }
    announce(&front.access, &url, opened)?;
    listening.serve().await.map_err(|error| Stopped {
        exit: Exit::Failed,
        message: error.to_string(),
    })
}

/// What a process before us left unfinished goes on here.
async fn recover(engine: &Engine, origins: &[Origin]) -> Result<(), Stopped> {
    let ours = |run: &Run| origins.iter().any(|mine| mine.covers(run));
    let recovered = engine.recover(ours).await?;
    if !recovered.driven.is_empty() {
        output::say(&format!("{} unfinished runs go on", recovered.driven.len()));
    }
    for (run, fault) in recovered.left {
        output::say(&format!("{run} stays unfinished: {fault}"));
    }
    Ok(())
}
