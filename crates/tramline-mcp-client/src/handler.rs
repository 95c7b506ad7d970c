//! Our side of a connection: client info, and dispatch of a server's notifications.

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
use tramline_engine::ports::Progress;

/// Callback for a call's progress.
pub(super) type ProgressListener = Arc<dyn Fn(Progress) + Send + Sync>;

/// Handles a server's notifications.
#[derive(Default)]
pub(super) struct NotificationHandler {
    /// The running calls by progress token.
    pub(super) routes: Arc<ProgressRoutes>,
    /// Notified when the server reports that its tools changed.
    pub(super) tools_changed: Arc<Notify>,
}

/// The running calls of one connection by progress token.
#[derive(Default)]
pub(super) struct ProgressRoutes(Mutex<HashMap<ProgressToken, Arc<ProgressRoute>>>);

/// Progress subscription of one call.
pub(super) struct ProgressRoute {
    listener: Option<ProgressListener>,
    /// Notified on each progress message.
    pub(super) progressed: Notify,
}

/// A route that is removed when dropped, at the end of its call.
pub(super) struct ProgressRouteGuard<'a> {
    routes: &'a ProgressRoutes,
    token: ProgressToken,
    /// The route itself.
    pub(super) route: Arc<ProgressRoute>,
}

impl ProgressRoutes {
    fn locked(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<ProgressRoute>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends progress for `token` to the listener until the returned value is dropped.
    pub(super) fn add(
        &self,
        token: ProgressToken,
        listener: Option<ProgressListener>,
    ) -> ProgressRouteGuard<'_> {
        let route = Arc::new(ProgressRoute {
            listener,
            progressed: Notify::new(),
        });
        self.locked().insert(token.clone(), Arc::clone(&route));
        ProgressRouteGuard {
            routes: self,
            token,
            route,
        }
    }

    /// Dispatches a progress notification.
    pub(super) fn dispatch(&self, params: ProgressNotificationParam) {
        let Some(route) = self.find(&params.progress_token) else {
            return;
        };
        route.progressed.notify_one();
        if let Some(listener) = &route.listener {
            listener(Progress {
                done: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }

    /// Finds a route. Some servers return the token as a string.
    fn find(&self, token: &ProgressToken) -> Option<Arc<ProgressRoute>> {
        let map = self.locked();
        map.get(token).cloned().or_else(|| {
            let NumberOrString::String(text) = &token.0 else {
                return None;
            };
            let number = NumberOrString::Number(text.parse().ok()?);
            map.get(&ProgressToken(number)).cloned()
        })
    }
}

impl Drop for ProgressRouteGuard<'_> {
    fn drop(&mut self) {
        self.routes.locked().remove(&self.token);
    }
}

impl ClientHandler for NotificationHandler {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.routes.dispatch(params);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("tramline", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
