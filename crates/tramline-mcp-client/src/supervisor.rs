//! Watches a connection until it ends, records why, and cleans up.

use super::bounded_reader::StreamFault;
use super::child_process::{self, ChildProcess};
use super::connect::OpenedConnection;
use super::connection::{Era, ServerConnection};
use super::handler::NotificationHandler;
use super::server::SupervisedServer;
use rmcp::RoleClient;
use rmcp::model::SubscriptionFilter;
use rmcp::service::RunningService;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// How long the library may take to close a connection: it may be blocked in a write.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// How long a child may take to exit after its stdout closed.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// Delay before listing again after a change notification: changes come in bursts, and one listing per burst is
/// enough.
const RELIST_PAUSE: Duration = Duration::from_millis(50);

/// Why a connection ended, for calls that were using it and for later ones.
#[derive(Clone)]
pub(super) struct ConnectionEnd {
    pub(super) cause: EndCause,
    server: Str,
    reason: String,
    data: Map,
}

/// The cause of a connection's end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EndCause {
    /// The server exited or closed the connection.
    Died,
    /// The server broke a limit.
    LimitExceeded,
    /// We shut it down.
    ShutDown,
    /// We stopped it because it was idle.
    Idle,
}

impl ConnectionEnd {
    /// The failure of a call that was running.
    pub(super) fn failure(&self, tool: &ToolName) -> Failure {
        let kind = match self.cause {
            EndCause::Died | EndCause::ShutDown | EndCause::Idle => FailureKind::Unavailable,
            EndCause::LimitExceeded => FailureKind::BadAnswer,
        };
        let Self {
            server,
            reason: says,
            ..
        } = self;
        let message = format!("server `{server}` {says} during the call to {tool}");
        Failure::new(kind, message).with_data(self.data.clone().into())
    }

    /// The failure of calls made before the next start.
    pub(super) fn unavailable(&self) -> Failure {
        let message = format!("server `{}` {}", self.server, self.reason);
        Failure::new(FailureKind::Unavailable, message).with_data(self.data.clone().into())
    }
}

/// What ended a connection, before cleanup.
enum EndEvent {
    Hangup,
    Exited(Option<ExitStatus>),
    Unresponsive,
    Closing,
    Idle,
}

/// Watches a connection until it ends, then reports the reason to its calls and its server.
pub(super) async fn watch(
    server: Arc<SupervisedServer>,
    connection: Arc<ServerConnection>,
    opened: OpenedConnection,
    ended: watch::Sender<Option<ConnectionEnd>>,
) {
    let relisting = relist_on_change(Arc::clone(&server), Arc::clone(&connection));
    let relisting = AbortOnDropHandle::new(tokio::spawn(relisting));
    let ending = until_end(&server, &connection, opened).await;
    drop(relisting);
    tracing::debug!(server = %server.name(), says = ending.reason, "connection ended");
    server.record_end(&connection, &ending);
    ended.send_replace(Some(ending));
}

async fn until_end(
    server: &SupervisedServer,
    connection: &ServerConnection,
    opened: OpenedConnection,
) -> ConnectionEnd {
    let OpenedConnection {
        service, mut child, ..
    } = opened;
    let hang_up = service.cancellation_token();
    let mut closed = pin!(service_closed(service));
    let event = tokio::select! {
        () = closed.as_mut() => EndEvent::Hangup,
        status = child_exit(&mut child) => EndEvent::Exited(status),
        () = connection.stop.cancelled() => EndEvent::Unresponsive,
        () = server.closing().cancelled() => EndEvent::Closing,
        () = idle_timeout(connection, server.idle_timeout()) => EndEvent::Idle,
    };
    match event {
        EndEvent::Hangup => {}
        // Its last output, possibly an answer, may still be in the pipe.
        EndEvent::Exited(_) => {
            let _ = tokio::time::timeout(EXIT_GRACE, closed.as_mut()).await;
            hang_up.cancel();
        }
        EndEvent::Unresponsive | EndEvent::Closing | EndEvent::Idle => {
            hang_up.cancel();
            let _ = tokio::time::timeout(CLOSE_MAX, closed).await;
        }
    }
    clean_up(server, event, child).await
}

fn service_closed(
    service: RunningService<RoleClient, NotificationHandler>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let _ = service.waiting().await;
    })
}

async fn child_exit(child: &mut Option<(ChildProcess, StreamFault)>) -> Option<ExitStatus> {
    match child {
        Some((process, _)) => process.wait().await,
        None => std::future::pending().await,
    }
}

async fn idle_timeout(connection: &ServerConnection, idle: Option<Duration>) {
    let Some(idle) = idle else {
        return std::future::pending().await;
    };
    loop {
        match connection.idle_for() {
            Some(unused) if unused >= idle => return,
            Some(unused) => tokio::time::sleep(idle - unused).await,
            None => tokio::time::sleep(idle).await,
        }
    }
}

/// Stops the child if there is one, and describes the ending.
async fn clean_up(
    server: &SupervisedServer,
    event: EndEvent,
    child: Option<(ChildProcess, StreamFault)>,
) -> ConnectionEnd {
    let mut data = Map::new();
    let mut fault = None;
    let mut status = None;
    if let Some((mut process, broken)) = child {
        fault = broken.reason();
        status = match event {
            EndEvent::Exited(status) => status,
            EndEvent::Hangup if fault.is_none() => process.stop(EXIT_GRACE).await,
            EndEvent::Hangup | EndEvent::Unresponsive => process.stop(Duration::ZERO).await,
            EndEvent::Closing | EndEvent::Idle => process.stop(server.stop_grace()).await,
        };
        data.insert("stderr", process.last_lines().await.into());
    }
    if let Some(code) = status.and_then(|status| status.code()) {
        data.insert("exit_code", Value::from(code));
    }
    let (cause, says) = match (event, fault) {
        (EndEvent::Hangup | EndEvent::Exited(_), Some(fault)) => (
            EndCause::LimitExceeded,
            format!("was stopped because {fault}"),
        ),
        (EndEvent::Hangup, None) if status.is_none() => {
            (EndCause::Died, "closed the connection".to_owned())
        }
        (EndEvent::Hangup | EndEvent::Exited(_), None) => {
            (EndCause::Died, child_process::describe_exit(status))
        }
        (EndEvent::Unresponsive, _) if data.is_empty() => {
            (EndCause::Died, "could not be reached".to_owned())
        }
        (EndEvent::Unresponsive, _) => (
            EndCause::Died,
            "stopped responding and was stopped".to_owned(),
        ),
        (EndEvent::Closing, _) => (EndCause::ShutDown, "was shut down".to_owned()),
        (EndEvent::Idle, _) => (EndCause::Idle, "was stopped because it was idle".to_owned()),
    };
    ConnectionEnd {
        cause,
        server: server.name().clone(),
        reason: says,
        data,
    }
}

/// Lists the tools again whenever the server reports a change.
async fn relist_on_change(server: Arc<SupervisedServer>, connection: Arc<ServerConnection>) {
    let relisting = async {
        loop {
            connection.changed.notified().await;
            tokio::time::sleep(RELIST_PAUSE).await;
            server.relist(&connection).await;
        }
    };
    tokio::join!(relisting, subscribe_to_changes(&connection));
}

/// Subscribes to tool list changes: servers with a newer protocol version notify only subscribers.
async fn subscribe_to_changes(connection: &ServerConnection) {
    let tells = connection.peer.peer_info().is_some_and(|info| {
        let tools = info.capabilities.tools.as_ref();
        tools.and_then(|tools| tools.list_changed) == Some(true)
    });
    if connection.era == Era::Legacy || !tells {
        return;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let Ok(mut subscription) = connection.peer.listen(filter).await else {
        return;
    };
    while let Ok(Some(_)) = subscription.next().await {
        connection.changed.notify_one();
    }
}
