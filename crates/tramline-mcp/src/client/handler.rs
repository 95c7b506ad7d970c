//! Our side of a connection: who we are, and where a server's notifications go.

use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, NumberOrString, ProgressNotificationParam,
    ProgressToken, ProtocolVersion,
};
use rmcp::service::NotificationContext;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tramline_engine::seams::Progress;

/// Who wants to hear of a call's progress.
pub(super) type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// Takes a server's notifications.
#[derive(Default)]
pub(super) struct Handler {
    /// The calls that run, by progress token.
    pub(super) routes: Arc<Routes>,
    /// Fires when the server says that its tools have changed.
    pub(super) changed: Arc<Notify>,
}

/// The calls that run on one connection, by the tokens their progress comes under.
#[derive(Default)]
pub(super) struct Routes(Mutex<HashMap<ProgressToken, Arc<Route>>>);

/// One call's way to hear of its progress.
pub(super) struct Route {
    listener: Option<Listener>,
    /// Fires at each sign of life.
    pub(super) sign: Notify,
}

/// A route that ends with its call.
pub(super) struct Routed<'a> {
    routes: &'a Routes,
    token: ProgressToken,
    /// The route itself.
    pub(super) route: Arc<Route>,
}

impl Routes {
    fn map(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<Route>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what comes under `token` to the listener, for as long as the result is kept.
    pub(super) fn add(&self, token: ProgressToken, listener: Option<Listener>) -> Routed<'_> {
        let route = Arc::new(Route {
            listener,
            sign: Notify::new(),
        });
        self.map().insert(token.clone(), Arc::clone(&route));
        Routed {
            routes: self,
            token,
            route,
        }
    }

    /// A server told of a call's progress.
    pub(super) fn told(&self, params: ProgressNotificationParam) {
        let Some(route) = self.find(&params.progress_token) else {
            return;
        };
        route.sign.notify_one();
        if let Some(listener) = &route.listener {
            listener(Progress {
                done: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }

    /// Some servers send the token back as a string.
    fn find(&self, token: &ProgressToken) -> Option<Arc<Route>> {
        let map = self.map();
        map.get(token).cloned().or_else(|| {
            let NumberOrString::String(text) = &token.0 else {
                return None;
            };
            let number = NumberOrString::Number(text.parse().ok()?);
            map.get(&ProgressToken(number)).cloned()
        })
    }
}

impl Drop for Routed<'_> {
    fn drop(&mut self) {
        self.routes.map().remove(&self.token);
    }
}

impl ClientHandler for Handler {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.routes.told(params);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("tramline", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
