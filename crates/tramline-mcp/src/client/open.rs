//! Opens a connection: starts or reaches the server and agrees with it on an era.
//!
//! Which handshake first? Over pipes the older one: every server in the field answers it or
//! refuses it at once, while some ignore `server/discover`, and waiting for those costs seconds at
//! each first start. One that refuses is started again with the newer handshake, and that is
//! remembered. Over HTTP an unknown method is always answered, so there the newer one is tried
//! first: it needs no session that could expire.

use super::Options;
use super::connection::{Era, chain};
use super::handler::Handler;
use super::http::Address;
use super::lines::Fault;
use super::stdio::{Process, Program, ending};
use super::wire::Wire;
use crate::config::{Protocol, Reach, ServerConfig};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::{Map, Value};

/// A child that failed its handshake gets so long to say how it ended.
const LAST_WORDS_GRACE: Duration = Duration::from_millis(300);

/// A connection that has just been opened.
pub(super) struct Opened {
    pub(super) service: RunningService<RoleClient, Handler>,
    pub(super) era: Era,
    /// The child's pipes, which calls go straight into.
    pub(super) wire: Option<Arc<Wire>>,
    /// The child, and what may be wrong with what it says.
    pub(super) child: Option<(Process, Fault)>,
}

/// Opens a connection, with the era that worked last if there is one.
pub(super) async fn open(
    config: &ServerConfig,
    options: &Options,
    at_once: usize,
    remembered: Option<Era>,
) -> Result<Opened, Failure> {
    let server = config.name.as_str();
    match &config.reach {
        Reach::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let program = Program {
                server,
                command,
                args,
                env,
                cwd: cwd.as_deref(),
            };
            open_child(&program, options, eras(config.protocol, remembered)).await
        }
        Reach::Http { url, headers, sse } => {
            let address = Address {
                server,
                url,
                headers,
                sse: *sse,
            };
            let mode = match (config.protocol, remembered) {
                (Protocol::Legacy, _) | (Protocol::Auto, Some(Era::Legacy)) => Era::Legacy.mode(),
                (Protocol::Modern, _) | (Protocol::Auto, Some(Era::Modern)) => Era::Modern.mode(),
                (Protocol::Auto, None) => ClientLifecycleMode::Auto {
                    preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                    legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
                },
            };
            open_address(&address, options, at_once, mode).await
        }
    }
}

fn eras(protocol: Protocol, remembered: Option<Era>) -> &'static [Era] {
    match (protocol, remembered) {
        (Protocol::Legacy, _) => &[Era::Legacy],
        (Protocol::Modern, _) => &[Era::Modern],
        (Protocol::Auto, Some(Era::Modern)) => &[Era::Modern, Era::Legacy],
        (Protocol::Auto, None | Some(Era::Legacy)) => &[Era::Legacy, Era::Modern],
    }
}

impl Era {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Legacy => ClientLifecycleMode::Initialize,
            Self::Modern => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }

    fn of(service: &RunningService<RoleClient, Handler>) -> Self {
        match service.peer().peer_info() {
            Some(info) if !info.protocol_version.has_initialize() => Self::Modern,
            _ => Self::Legacy,
        }
    }
}

async fn open_child(
    program: &Program<'_>,
    options: &Options,
    eras: &[Era],
) -> Result<Opened, Failure> {
    let mut refusal = None;
    for era in eras {
        let (mut process, (lines, stdin)) = program.start(options)?;
        let fault = lines.fault();
        let handler = Handler::default();
        let (wire, ear) = Wire::new(lines, stdin, Arc::clone(&handler.routes));
        let shaking = Box::pin(handler.serve_with_lifecycle(ear, era.mode()));
        let why = match tokio::time::timeout(options.start_timeout, shaking).await {
            Ok(Ok(service)) => {
                return Ok(Opened {
                    era: Era::of(&service),
                    service,
                    wire: Some(wire),
                    child: Some((process, fault)),
                });
            }
            // Which of the two it is depends on whether it went before or after we wrote to it.
            Ok(Err(
                ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. },
            )) => {
                let status = process.stop(LAST_WORDS_GRACE).await;
                format!("{} before it was ready", ending(status))
            }
            Ok(Err(error)) => {
                process.stop(LAST_WORDS_GRACE).await;
                let words = format!("failed the handshake: {}", words(&error));
                if is_refusal(&error) {
                    let failure = not_ready(program.server, &words, &mut process).await;
                    refusal.get_or_insert(failure);
                    continue;
                }
                words
            }
            Err(_) => {
                process.stop(Duration::ZERO).await;
                format!(
                    "did not finish its handshake in {:?}",
                    options.start_timeout
                )
            }
        };
        return Err(not_ready(program.server, &why, &mut process).await);
    }
    Err(refusal.unwrap_or_else(|| {
        let message = format!("server `{}` speaks no era known here", program.server);
        Failure::new(FailureKind::Unavailable, message)
    }))
}

/// A server that answers, but not to this handshake.
fn is_refusal(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. }
    )
}

/// What went wrong, without the library's own type names.
fn words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => chain(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => words(fallback),
        other => chain(other),
    }
}

async fn not_ready(server: &str, why: &str, process: &mut Process) -> Failure {
    let stderr = process.last_words().await;
    let last = stderr.last().and_then(Value::as_str).unwrap_or_default();
    let message = match last {
        "" => format!("server `{server}` {why}"),
        last => format!("server `{server}` {why}; its last words: {last}"),
    };
    let mut data = Map::new();
    data.insert("stderr", stderr.into());
    Failure::new(FailureKind::Unavailable, message).with_data(data.into())
}

async fn open_address(
    address: &Address<'_>,
    options: &Options,
    at_once: usize,
    mode: ClientLifecycleMode,
) -> Result<Opened, Failure> {
    let transport = address.open(options, at_once)?;
    let shaking = Box::pin(Handler::default().serve_with_lifecycle(transport, mode));
    let why = match tokio::time::timeout(options.start_timeout, shaking).await {
        Ok(Ok(service)) => {
            return Ok(Opened {
                era: Era::of(&service),
                service,
                wire: None,
                child: None,
            });
        }
        Ok(Err(error)) => format!("could not be reached: {}", words(&error)),
        Err(_) => format!(
            "did not finish its handshake in {:?}",
            options.start_timeout
        ),
    };
    let why = address.explain(&why, options);
    let message = format!("server `{}` {why}", address.server);
    Err(Failure::new(FailureKind::Unavailable, message))
}
