//! Opens a connection: starts or reaches the server and negotiates the handshake.
//!
//! Over pipes the older handshake is tried first: every known server answers or rejects it at once, while some
//! ignore `server/discover`, and waiting for those costs seconds at each first start. A server that rejects it
//! is restarted with the newer handshake, and that is remembered. Over HTTP an unknown method is always
//! answered, so the newer handshake is tried first: it needs no session that could expire.

use super::ClientOptions;
use super::bounded_reader::{StrayLines, StreamFault};
use super::child_process::{ChildCommand, ChildProcess, describe_exit};
use super::connection::{Era, error_chain};
use super::handler::NotificationHandler;
use super::http_address::HttpAddress;
use super::stdio_transport::StdioTransport;
use crate::config::{Protocol, ServerConfig, ServerEndpoint};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use std::sync::Arc;
use std::time::Duration;
use tramline_expr::{Map, Value};
use tramline_workflow::failure::{Failure, FailureKind};

/// How long a child that failed its handshake has to exit, so that its exit status can be reported.
const EXIT_STATUS_GRACE: Duration = Duration::from_millis(300);

/// How many lines of stderr the message of a failed start has; `stderr` of its data has more.
const SHOWN_LINES_MAX: usize = 10;

/// A newly opened connection.
pub(super) struct OpenedConnection {
    pub(super) service: RunningService<RoleClient, NotificationHandler>,
    pub(super) era: Era,
    /// The child's pipes, used directly for calls.
    pub(super) wire: Option<Arc<StdioTransport>>,
    /// The child process, and the fault of its output stream, if any.
    pub(super) child: Option<(ChildProcess, StreamFault)>,
}

/// Opens a connection, with the handshake that worked last if there is one.
pub(super) async fn connect(
    config: &ServerConfig,
    options: &ClientOptions,
    at_once: usize,
    remembered: Option<Era>,
) -> Result<OpenedConnection, Failure> {
    let server = config.name.as_str();
    match &config.reach {
        ServerEndpoint::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let program = ChildCommand {
                server,
                command,
                args,
                env,
                cwd: cwd.as_deref(),
            };
            connect_child(
                &program,
                options,
                handshake_order(config.protocol, remembered),
            )
            .await
        }
        ServerEndpoint::Http { url, headers, sse } => {
            let address = HttpAddress {
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
            let opened = connect_address(&address, options, at_once, mode).await;
            match opened {
                Ok(opened) => Ok(opened),
                // Some older servers answer an unknown method with an empty result.
                Err(HandshakeFailure {
                    is_misunderstood: true,
                    ..
                }) if config.protocol == Protocol::Auto && remembered.is_none() => {
                    let opened = connect_address(&address, options, at_once, Era::Legacy.mode());
                    opened.await.map_err(|failed| failed.failure)
                }
                Err(failed) => Err(failed.failure),
            }
        }
    }
}

fn handshake_order(protocol: Protocol, remembered: Option<Era>) -> &'static [Era] {
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

    fn of(service: &RunningService<RoleClient, NotificationHandler>) -> Self {
        match service.peer().peer_info() {
            Some(info) if !info.protocol_version.has_initialize() => Self::Modern,
            _ => Self::Legacy,
        }
    }
}

async fn connect_child(
    program: &ChildCommand<'_>,
    options: &ClientOptions,
    eras: &[Era],
) -> Result<OpenedConnection, Failure> {
    let mut refusal = None;
    let not_ready = async |why: &str, stray: &StrayLines, process: &mut ChildProcess| {
        let output = ServerOutput {
            stderr: process.last_lines().await,
            stdout: stray
                .last()
                .iter()
                .map(|line| options.redact.redact(line))
                .collect(),
        };
        not_ready_failure(program.server, why, output)
    };
    for era in eras {
        let (mut process, (lines, stdin)) = program.start(options)?;
        let (fault, stray) = (lines.fault(), lines.stray_lines());
        let handler = NotificationHandler::default();
        let (wire, ear) = StdioTransport::new(lines, stdin, Arc::clone(&handler.routes));
        let shaking = Box::pin(handler.serve_with_lifecycle(ear, era.mode()));
        let why = match tokio::time::timeout(options.start_timeout, shaking).await {
            Ok(Ok(service)) => {
                return Ok(OpenedConnection {
                    era: Era::of(&service),
                    service,
                    wire: Some(wire),
                    child: Some((process, fault)),
                });
            }
            // The error depends on whether the child exited before or after we wrote to it.
            Ok(Err(
                ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. },
            )) => {
                let status = process.stop(EXIT_STATUS_GRACE).await;
                format!("{} before it was ready", describe_exit(status))
            }
            Ok(Err(error)) => {
                process.stop(EXIT_STATUS_GRACE).await;
                let words = format!("failed the handshake: {}", handshake_error(&error));
                if is_handshake_rejected(&error) {
                    let failure = not_ready(&words, &stray, &mut process).await;
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
        return Err(not_ready(&why, &stray, &mut process).await);
    }
    Err(refusal.unwrap_or_else(|| {
        let message = format!("server `{}` supports no known handshake", program.server);
        Failure::new(FailureKind::Unavailable, message)
    }))
}

/// Whether the server responded but rejected this handshake.
fn is_handshake_rejected(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. }
    )
}

/// The error message without the library's type names.
fn handshake_error(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => error_chain(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_error(fallback),
        other => error_chain(other),
    }
}

/// What a server printed before it failed.
struct ServerOutput {
    stderr: Vec<Value>,
    /// Lines that are not messages of the protocol.
    stdout: Vec<String>,
}

fn not_ready_failure(server: &str, why: &str, output: ServerOutput) -> Failure {
    let mut message = format!("server `{server}` {why}");
    let stderr: Vec<_> = output.stderr.iter().filter_map(Value::as_str).collect();
    let last = &stderr[stderr.len().saturating_sub(SHOWN_LINES_MAX)..];
    append_lines(&mut message, "stderr", last.iter().copied());
    let stdout = output.stdout.iter().map(String::as_str);
    append_lines(&mut message, "stdout, which is not MCP", stdout);
    let mut data = Map::new();
    data.insert("stderr", output.stderr.into());
    if !output.stdout.is_empty() {
        data.insert(
            "stdout",
            Value::array(output.stdout.into_iter().map(Value::from)),
        );
    }
    Failure::new(FailureKind::Unavailable, message).with_data(data.into())
}

/// Appends what a server printed: one line in place, several below each other.
fn append_lines<'l>(message: &mut String, stream: &str, lines: impl Iterator<Item = &'l str>) {
    let lines: Vec<_> = lines.collect();
    match lines.as_slice() {
        [] => {}
        [only] => message.push_str(&format!("; {stream}: {only}")),
        several => {
            message.push_str(&format!("; {stream}:"));
            for line in several {
                message.push_str("\n  ");
                message.push_str(line);
            }
        }
    }
}

async fn connect_address(
    address: &HttpAddress<'_>,
    options: &ClientOptions,
    at_once: usize,
    mode: ClientLifecycleMode,
) -> Result<OpenedConnection, HandshakeFailure> {
    let transport = address.transport(options, at_once)?;
    let mut is_misunderstood = false;
    let shaking = Box::pin(NotificationHandler::default().serve_with_lifecycle(transport, mode));
    let why = match tokio::time::timeout(options.start_timeout, shaking).await {
        Ok(Ok(service)) => {
            return Ok(OpenedConnection {
                era: Era::of(&service),
                service,
                wire: None,
                child: None,
            });
        }
        Ok(Err(error)) => {
            is_misunderstood = matches!(error, ClientInitializeError::ExpectedInitResult(_));
            format!("could not be reached: {}", handshake_error(&error))
        }
        Err(_) => format!(
            "did not finish its handshake in {:?}",
            options.start_timeout
        ),
    };
    let why = address.explain(&why, options);
    let message = format!("server `{}` {why}", address.server);
    Err(HandshakeFailure {
        failure: Failure::new(FailureKind::Unavailable, message),
        is_misunderstood,
    })
}

/// A handshake that failed.
struct HandshakeFailure {
    failure: Failure,
    /// Whether the server answered with the result of something else.
    is_misunderstood: bool,
}

impl From<Failure> for HandshakeFailure {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            is_misunderstood: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_start_shows_the_last_lines_of_both_streams() {
        let stderr: Vec<Value> = (1..=12)
            .map(|line| format!("npm error {line}").into())
            .collect();
        let output = ServerOutput {
            stderr: stderr.clone(),
            stdout: vec!["usage: tool".to_owned()],
        };
        let failure = not_ready_failure("x", "exited with code 1 before it was ready", output);
        let message = failure.message.to_string();
        assert!(message.starts_with(
            "server `x` exited with code 1 before it was ready; stderr:\n  npm error 3\n"
        ));
        assert!(
            message.ends_with("\n  npm error 12; stdout, which is not MCP: usage: tool"),
            "{message}"
        );
        let kept = failure.data.as_ref().and_then(|data| data.get("stderr"));
        assert_eq!(kept, Some(&Value::array(stderr)));
        let silent = ServerOutput {
            stderr: Vec::new(),
            stdout: Vec::new(),
        };
        let failure = not_ready_failure("x", "ended", silent);
        assert_eq!(failure.message.as_str(), "server `x` ended");
    }
}
