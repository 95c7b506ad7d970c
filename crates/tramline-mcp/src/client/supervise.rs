//! Watches a connection until it ends, says why it did, and leaves nothing behind.

use super::connection::{Connection, Era};
use super::handler::Handler;
use super::lines::Fault;
use super::open::Opened;
use super::pool::Server;
use super::stdio::{self, Process};
use rmcp::RoleClient;
use rmcp::model::SubscriptionFilter;
use rmcp::service::RunningService;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::{Map, Str, Value};

/// How long the library may take to let go of a connection: it may be stuck in a write.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// A child whose output has ended gets so long to end itself.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// Changes of a tool list come in bursts; one listing after each burst will do.
const RELIST_PAUSE: Duration = Duration::from_millis(50);

/// Why a connection ended, for the calls that were on it and for those that come next.
#[derive(Clone)]
pub(super) struct Ending {
    pub(super) cause: Cause,
    server: Str,
    says: String,
    data: Map,
}

/// Whose doing an end was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The server went away.
    Died,
    /// The server sent what cannot be borne.
    Broke,
    /// We stopped it for good.
    Closed,
    /// We stopped it because nobody used it.
    Unused,
}

impl Ending {
    /// What the end means for a call that was running.
    pub(super) fn failure(&self, tool: &ToolName) -> Failure {
        let kind = match self.cause {
            Cause::Died | Cause::Closed | Cause::Unused => FailureKind::Unavailable,
            Cause::Broke => FailureKind::BadAnswer,
        };
        let Self { server, says, .. } = self;
        let message = format!("server `{server}` {says} during the call of {tool}");
        Failure::new(kind, message).with_data(self.data.clone().into())
    }

    /// What the end means for calls that come before the next start.
    pub(super) fn down(&self) -> Failure {
        let message = format!("server `{}` {}", self.server, self.says);
        Failure::new(FailureKind::Unavailable, message).with_data(self.data.clone().into())
    }
}

/// What ended a connection, before anything is cleaned up.
enum Event {
    Hangup,
    Exited(Option<ExitStatus>),
    Stuck,
    Closing,
    Unused,
}

/// Watches a connection until it ends, then tells its calls and its server why.
pub(super) async fn watch(
    server: Arc<Server>,
    connection: Arc<Connection>,
    opened: Opened,
    ended: watch::Sender<Option<Ending>>,
) {
    let relisting = relist(Arc::clone(&server), Arc::clone(&connection));
    let relisting = AbortOnDropHandle::new(tokio::spawn(relisting));
    let ending = until_end(&server, &connection, opened).await;
    drop(relisting);
    tracing::debug!(server = %server.name(), says = ending.says, "a connection ended");
    server.ended(&connection, &ending);
    ended.send_replace(Some(ending));
}

async fn until_end(server: &Server, connection: &Connection, opened: Opened) -> Ending {
    let Opened {
        service, mut child, ..
    } = opened;
    let hang_up = service.cancellation_token();
    let mut closed = pin!(waiting(service));
    let event = tokio::select! {
        () = closed.as_mut() => Event::Hangup,
        status = exit(&mut child) => Event::Exited(status),
        () = connection.stop.cancelled() => Event::Stuck,
        () = server.closing().cancelled() => Event::Closing,
        () = unused(connection, server.idle()) => Event::Unused,
    };
    match event {
        Event::Hangup => {}
        // What it said before it ended may still be in the pipe, an answer among it.
        Event::Exited(_) => {
            let _ = tokio::time::timeout(EXIT_GRACE, closed.as_mut()).await;
            hang_up.cancel();
        }
        Event::Stuck | Event::Closing | Event::Unused => {
            hang_up.cancel();
            let _ = tokio::time::timeout(CLOSE_MAX, closed).await;
        }
    }
    finish(server, event, child).await
}

fn waiting(
    service: RunningService<RoleClient, Handler>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let _ = service.waiting().await;
    })
}

async fn exit(child: &mut Option<(Process, Fault)>) -> Option<ExitStatus> {
    match child {
        Some((process, _)) => process.wait().await,
        None => std::future::pending().await,
    }
}

async fn unused(connection: &Connection, idle: Option<Duration>) {
    let Some(idle) = idle else {
        return std::future::pending().await;
    };
    loop {
        match connection.unused() {
            Some(unused) if unused >= idle => return,
            Some(unused) => tokio::time::sleep(idle - unused).await,
            None => tokio::time::sleep(idle).await,
        }
    }
}

/// Ends the child if there is one, and puts the whole story into words.
async fn finish(server: &Server, event: Event, child: Option<(Process, Fault)>) -> Ending {
    let mut data = Map::new();
    let mut fault = None;
    let mut status = None;
    if let Some((mut process, broken)) = child {
        fault = broken.says();
        status = match event {
            Event::Exited(status) => status,
            Event::Hangup if fault.is_none() => process.stop(EXIT_GRACE).await,
            Event::Hangup | Event::Stuck => process.stop(Duration::ZERO).await,
            Event::Closing | Event::Unused => process.stop(server.stop_grace()).await,
        };
        data.insert("stderr", process.last_words().await.into());
    }
    if let Some(code) = status.and_then(|status| status.code()) {
        data.insert("exit_code", Value::from(code));
    }
    let (cause, says) = match (event, fault) {
        (Event::Hangup | Event::Exited(_), Some(fault)) => {
            (Cause::Broke, format!("was stopped because {fault}"))
        }
        (Event::Hangup, None) if status.is_none() => {
            (Cause::Died, "closed the connection".to_owned())
        }
        (Event::Hangup | Event::Exited(_), None) => (Cause::Died, stdio::ending(status)),
        (Event::Stuck, _) if data.is_empty() => (Cause::Died, "could not be reached".to_owned()),
        (Event::Stuck, _) => (Cause::Died, "no longer answered and was stopped".to_owned()),
        (Event::Closing, _) => (Cause::Closed, "was shut down".to_owned()),
        (Event::Unused, _) => (Cause::Unused, "was stopped for want of use".to_owned()),
    };
    Ending {
        cause,
        server: server.name().clone(),
        says,
        data,
    }
}

/// Lists the tools again whenever the server says that they have changed.
async fn relist(server: Arc<Server>, connection: Arc<Connection>) {
    let relisting = async {
        loop {
            connection.changed.notified().await;
            tokio::time::sleep(RELIST_PAUSE).await;
            server.relist(&connection).await;
        }
    };
    tokio::join!(relisting, subscribe(&connection));
}

/// Servers of the newer era say what has changed only to those who listen.
async fn subscribe(connection: &Connection) {
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
