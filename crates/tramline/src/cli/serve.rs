//! `tramline serve`: graphs as MCP tools, over standard input and output or HTTP.

use super::{Common, Done, Exit, Reach, Stopped, documents, output};
use crate::wire::{self, Origin};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::run::Run;
use tramline_engine::Engine;
use tramline_mcp::server::{About, Http, Server, Toolset};

/// Serve graphs as MCP tools.
#[derive(clap::Args)]
pub(super) struct Serve {
    /// The documents
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Serve over HTTP at this address instead of standard input and output, at the path /mcp
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// What HTTP callers must show; needed beyond loopback
    #[arg(
        long,
        env = "TRAMLINE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    token: Option<String>,
    /// What to offer: graphs, debug
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "graphs"
    )]
    toolsets: Vec<Toolset>,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn main(common: Common, verb: Serve) -> Done {
    let config = common.config(&verb.reach);
    let elsewhere = documents::elsewhere(&config)?;
    let documents = verb
        .files
        .iter()
        .map(|path| documents::read_to_use(path, &elsewhere, false))
        .collect::<Result<Vec<_>, _>>()?;
    let house = wire::open(&config, &documents)?;
    let origins: Vec<_> = verb
        .files
        .iter()
        .map(|path| Origin::of(path, &config))
        .collect();
    let graphs = documents
        .iter()
        .zip(&origins)
        .flat_map(|(document, origin)| {
            document
                .workflows
                .iter()
                .map(|graph| (Arc::clone(graph), origin.to_value()))
        });
    let server = Server::new(
        house.engine.clone(),
        about(&documents),
        &verb.toolsets,
        graphs,
    )
    .map_err(|taken| Stopped::bad(taken.to_string()))?;
    recover(&house.engine, &origins).await?;
    let stop = CancellationToken::new();
    let signal = stop.clone();
    tokio::spawn(async move {
        interrupted().await;
        signal.cancel();
    });
    match verb.http {
        Some(address) => {
            let http = Http {
                address,
                token: verb.token,
            };
            let listening = server
                .listen(http, stop)
                .await
                .map_err(|fault| Stopped::bad(fault.to_string()))?;
            output::say(&format!("serving at http://{}/mcp", listening.address));
            listening.serve().await.map_err(|error| Stopped {
                exit: Exit::Failed,
                message: error.to_string(),
            })?;
        }
        None => tokio::select! {
            served = server.serve_stdio() => served?,
            () = stop.cancelled() => {}
        },
    }
    house.close().await;
    Ok(Exit::Done)
}

/// One document speaks for itself; several are served under our name.
fn about(documents: &[Document]) -> About {
    match documents {
        [only] => About {
            name: only.server.name.clone(),
            version: only.server.version.clone(),
            title: Some(only.server.title.clone()),
            instructions: only.server.instructions.clone(),
        },
        _ => {
            let instructions: Vec<_> = documents
                .iter()
                .filter_map(|document| document.server.instructions.as_deref())
                .collect();
            About {
                name: "tramline".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                title: Some("Tramline".into()),
                instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n").into()),
            }
        }
    }
}

/// What a process before us left unfinished goes on here.
async fn recover(engine: &Engine, origins: &[Origin]) -> Result<(), Stopped> {
    let ours = |run: &Run| {
        Origin::from_value(&run.started.origin)
            .is_some_and(|theirs| origins.iter().any(|mine| mine.document == theirs.document))
    };
    let recovered = engine.recover(ours).await?;
    if !recovered.driven.is_empty() {
        output::say(&format!("{} unfinished runs go on", recovered.driven.len()));
    }
    for (run, fault) in recovered.left {
        output::say(&format!("{run} stays unfinished: {fault}"));
    }
    Ok(())
}

/// Waits for the wish to end.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = term.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
