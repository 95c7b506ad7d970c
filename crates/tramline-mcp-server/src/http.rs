//! Streamable HTTP server: binds to loopback by default, rejects foreign origins, and requires a token beyond
//! loopback.

mod access;
mod activity;
mod body;
mod body_budget;
mod connections;
mod dispatch;
mod limits;
mod malformed;
mod origin;
mod refused_requests;
mod sessions;
mod stateless;
mod stored_sessions;

use super::Server;
use super::connection::ClientConnection;
use access::AccessControl;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use connections::HttpConnections;
use dispatch::Dispatch;
pub use limits::HttpLimits;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::HttpSessions;
use stateless::{MESSAGE_BYTES_MAX, StatelessHandler};
use std::net::SocketAddr;
use std::sync::Arc;
use stored_sessions::StoredSessions;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tramline_expr::Str;
use tramline_workflow::ids::RunId;

/// Minimum length of a token beyond loopback, in bytes: shorter ones can be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// Randomness in the studio key, in bytes: enough that it cannot be guessed.
const STUDIO_KEY_BYTES: usize = 32;

/// HTTP server settings.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Address to listen on.
    pub address: SocketAddr,
    /// Token that callers send as `Authorization: Bearer …`. They count as the owner of runs started on this
    /// machine.
    pub token: Option<String>,
    /// Tokens of named callers: each sees only its own runs.
    pub named_tokens: Vec<NamedToken>,
    /// Key of the operator's studio. Its holder is a person who may answer everything.
    pub studio_key: Option<String>,
    /// Requires a token or the studio key on loopback too.
    pub requires_token: bool,
    /// Limits on connections, sizes and times.
    pub limits: HttpLimits,
}

/// A named caller.
#[derive(Clone)]
pub struct NamedToken {
    /// The name shown in journals and the audit log.
    pub name: Str,
    /// Its bearer token.
    pub token: String,
    /// Whether it may answer approvals required by the operator, in the runs of every caller.
    pub approver: bool,
}

impl std::fmt::Debug for NamedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Named")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl HttpOptions {
    /// Settings for this address, without tokens.
    pub fn at(address: SocketAddr) -> Self {
        Self {
            address,
            token: None,
            named_tokens: Vec::new(),
            studio_key: None,
            requires_token: false,
            limits: HttpLimits::default(),
        }
    }

    /// Adds a random key for the operator's studio, valid for this process. Only a reader of the process output
    /// gets it.
    pub fn with_studio_key(mut self) -> Result<Self, HttpFault> {
        let mut key = [0_u8; STUDIO_KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| HttpFault::NoKey(error.to_string()))?;
        self.studio_key = Some(key.iter().map(|byte| format!("{byte:02x}")).collect());
        Ok(self)
    }

    /// Whether requests need no token.
    fn is_open(&self) -> bool {
        !self.requires_token && !self.has_tokens()
    }

    fn has_tokens(&self) -> bool {
        self.token.is_some() || !self.named_tokens.is_empty()
    }

    /// Drops a blank token, as an unset variable gives it. Surrounding whitespace is not part of a token: no
    /// header can carry it.
    fn without_blank_token(mut self) -> Self {
        let token = self.token.take();
        let trimmed = token.map(|token| token.trim().to_owned());
        self.token = trimmed.filter(|token| !token.is_empty());
        self
    }

    /// Rejects tokens that a header cannot carry and, beyond loopback, tokens that can be guessed.
    fn check(&self) -> Result<(), HttpFault> {
        let named = self.named_tokens.iter();
        let named = named.map(|one| (format!("the token of `{}`", one.name), &one.token));
        let own = self
            .token
            .iter()
            .map(|token| ("the token".to_owned(), token));
        let is_local = self.address.ip().is_loopback();
        for (which, token) in own.chain(named) {
            if token.trim().is_empty() || !token.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Err(HttpFault::InvalidToken(which));
            }
            if !is_local && token.len() < TOKEN_BYTES_MIN {
                return Err(HttpFault::TokenTooShort {
                    which,
                    address: self.address,
                });
            }
        }
        match is_local || self.has_tokens() {
            true => Ok(()),
            false => Err(HttpFault::TokenRequired(self.address)),
        }
    }
}

/// Why HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpFault {
    /// Not loopback, and no token.
    #[error(
        "{0} is reachable from other machines, so it needs a token: set TRAMLINE_TOKEN, pass \
         --token-file, or use 127.0.0.1"
    )]
    TokenRequired(SocketAddr),
    /// Not loopback, and a token that is too short.
    #[error(
        "{address} is reachable from other machines, and {which} has fewer than \
         {TOKEN_BYTES_MIN} bytes: use the output of `openssl rand -hex 32`"
    )]
    TokenTooShort {
        /// Which token.
        which: String,
        /// The address to listen on.
        address: SocketAddr,
    },
    /// A token that a header cannot carry.
    #[error(
        "{0} is blank or has characters that are not allowed in a header: use letters and digits"
    )]
    InvalidToken(String),
    /// No randomness for the studio key.
    #[error("cannot get random bytes for the studio key: {0}")]
    NoKey(String),
    /// The address is not available.
    #[error("cannot listen on {address}: {error}")]
    AddressUnavailable {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
}

/// Routes served besides MCP.
#[derive(Debug, Default)]
pub struct ExtraRoutes {
    /// Routes that require a token if one is configured; requests carry the caller.
    pub guarded: Router,
    /// Routes without a token; on loopback they still require a local host name.
    pub open: Router,
    /// The command of a request to a guarded route, and its run, if it changes something: the audit
    /// has such a request even if it is not admitted.
    pub command: Option<CommandOf>,
}

/// Finds the command of a request, and the run that it is about.
pub type CommandOf = fn(&Request) -> Option<(String, Option<RunId>)>;

/// A bound listener with its server.
pub struct HttpListener {
    /// The bound address, with the actual port.
    pub address: SocketAddr,
    listener: TcpListener,
    connections: Arc<HttpConnections>,
}

impl Server {
    /// Binds the listener; its `serve` answers requests.
    pub async fn listen(
        self,
        http: HttpOptions,
        stop: CancellationToken,
    ) -> Result<HttpListener, HttpFault> {
        self.listen_with_routes(http, ExtraRoutes::default(), stop)
            .await
    }

    /// Like [`Server::listen`], with additional routes.
    pub async fn listen_with_routes(
        self,
        http: HttpOptions,
        beside: ExtraRoutes,
        stop: CancellationToken,
    ) -> Result<HttpListener, HttpFault> {
        let http = http.without_blank_token();
        http.check()?;
        let taken = |error| HttpFault::AddressUnavailable {
            address: http.address,
            error,
        };
        let listener = TcpListener::bind(http.address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let limits = http.limits.clone();
        let shared = Arc::clone(&self.0);
        let stored = Arc::new(StoredSessions::new(Arc::clone(shared.engine.store())));
        let sessions = Arc::new(HttpSessions::new(&limits, Arc::clone(&stored)));
        let shared_engine = shared.engine.clone();
        let library = self.service(Arc::clone(&sessions), stored, &stop);
        let direct = StatelessHandler::new(shared, library, sessions, stop.clone());
        let door = Arc::new(AccessControl::new(http, shared_engine, beside.command));
        let front = Dispatch {
            routes: routes(beside, &door),
            access: door,
            stateless: Arc::new(direct),
        };
        Ok(HttpListener {
            address,
            listener,
            connections: HttpConnections::new(front, limits, stop),
        })
    }

    fn service(
        self,
        sessions: Arc<HttpSessions>,
        stored: Arc<StoredSessions>,
        stop: &CancellationToken,
    ) -> StreamableHttpService<ClientConnection, HttpSessions> {
        let mut config = StreamableHttpServerConfig::default()
            .with_cancellation_token(stop.child_token())
            // `Door` has already checked host and origin, for this path as for every other.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
            // An answer without earlier notifications needs no stream.
            .with_json_response(true);
        config.session_store = Some(stored);
        StreamableHttpService::new(move || Ok(self.connection()), sessions, config)
    }
}

/// The additional routes, each behind `Door`.
fn routes(beside: ExtraRoutes, door: &Arc<AccessControl>) -> Router {
    let guarded = from_fn_with_state(Arc::clone(door), access::require_token);
    let open = from_fn_with_state(Arc::clone(door), access::allow_open);
    // Reports only that the process is alive.
    let alive = Router::new().route("/healthz", get(async || "ok\n"));
    let unknown = async || StatusCode::NOT_FOUND;
    let free = alive.merge(beside.open).fallback(unknown).layer(open);
    beside.guarded.layer(guarded).merge(free)
}

impl HttpListener {
    /// Serves until the server stops, then waits a limited time for running requests.
    pub async fn serve(self) -> std::io::Result<()> {
        self.connections.serve(self.listener).await;
        Ok(())
    }
}

/// A JSON response.
fn json_response(status: StatusCode, told: &serde_json::Value) -> Response {
    let mut response = Response::new(Body::from(told.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
