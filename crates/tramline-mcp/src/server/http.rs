//! Streamable HTTP: loopback unless told otherwise, foreign origins refused, a token beyond it.

mod activity;
mod body;
mod connections;
mod direct;
mod door;
mod front;
mod limits;
mod malformed;
mod place;
mod sessions;

use super::Server;
use super::connection::Connection;
use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use connections::Connections;
use direct::{Direct, MESSAGE_BYTES_MAX};
use door::Door;
use front::Front;
pub use limits::HttpLimits;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tramline_core::Str;

/// Shorter tokens are refused where others can try them out, in bytes.
const TOKEN_BYTES_MIN: usize = 16;

/// How much randomness is in the studio's key, in bytes: nobody guesses it.
const STUDIO_KEY_BYTES: usize = 32;

/// How to serve over HTTP.
#[derive(Clone, Debug)]
pub struct Http {
    /// Where to listen.
    pub address: SocketAddr,
    /// What callers must show as `Authorization: Bearer …`. They are taken for the owner of what
    /// is started on this machine.
    pub token: Option<String>,
    /// What named callers must show: each sees only what it started itself.
    pub named: Vec<Named>,
    /// What the studio shows that the operator has opened: whoever shows it is a person who may
    /// answer everything.
    pub studio: Option<String>,
    /// Whether a token or the studio's key is needed on loopback too, where it would not be.
    pub closed: bool,
    /// How much clients may hold, and for how long.
    pub limits: HttpLimits,
}

/// A caller with a name.
#[derive(Clone)]
pub struct Named {
    /// The name that journals and the audit show.
    pub name: Str,
    /// What it shows.
    pub token: String,
    /// Whether it answers what the operator demands, in the runs of every caller.
    pub approver: bool,
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Named")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Http {
    /// At this address, without tokens.
    pub fn at(address: SocketAddr) -> Self {
        Self {
            address,
            token: None,
            named: Vec::new(),
            studio: None,
            closed: false,
            limits: HttpLimits::default(),
        }
    }

    /// The same with a key for the operator's studio, made for this process. Nobody gets it but who
    /// reads what the process prints.
    pub fn with_studio_key(mut self) -> Result<Self, HttpFault> {
        let mut key = [0_u8; STUDIO_KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| HttpFault::NoKey(error.to_string()))?;
        self.studio = Some(key.iter().map(|byte| format!("{byte:02x}")).collect());
        Ok(self)
    }

    /// Whether requests need no token.
    fn is_open(&self) -> bool {
        !self.closed && !self.has_tokens()
    }

    fn has_tokens(&self) -> bool {
        self.token.is_some() || !self.named.is_empty()
    }

    /// The same with a token that is nothing but space, as an unset variable gives it, taken for none.
    /// Space around a token is not part of it: no header can carry it.
    fn without_blank_token(mut self) -> Self {
        let token = self.token.take();
        let trimmed = token.map(|token| token.trim().to_owned());
        self.token = trimmed.filter(|token| !token.is_empty());
        self
    }

    /// Refuses tokens that no header can carry, and beyond loopback those that others could guess.
    fn check(&self) -> Result<(), HttpFault> {
        let named = self.named.iter();
        let named = named.map(|one| (format!("the token of `{}`", one.name), &one.token));
        let own = self
            .token
            .iter()
            .map(|token| ("the token".to_owned(), token));
        let is_local = self.address.ip().is_loopback();
        for (which, token) in own.chain(named) {
            if token.trim().is_empty() || !token.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Err(HttpFault::Unshowable(which));
            }
            if !is_local && token.len() < TOKEN_BYTES_MIN {
                return Err(HttpFault::Short {
                    which,
                    address: self.address,
                });
            }
        }
        match is_local || self.has_tokens() {
            true => Ok(()),
            false => Err(HttpFault::Open(self.address)),
        }
    }
}

/// Why HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpFault {
    /// Beyond loopback without a token.
    #[error(
        "{0} can be reached by others, so it needs a token: set TRAMLINE_TOKEN, name a --token-file, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// Beyond loopback with a token that can be guessed.
    #[error(
        "{address} can be reached by others, and {which} has fewer than {TOKEN_BYTES_MIN} bytes: take a longer one, such as `openssl rand -hex 32` prints"
    )]
    Short {
        /// Which token.
        which: String,
        /// Where it would be served.
        address: SocketAddr,
    },
    /// A token that no header can carry.
    #[error("{0} is blank or has characters that a header cannot carry: use letters and digits")]
    Unshowable(String),
    /// There is no randomness for a key.
    #[error("the system gives no random bytes for the studio's key: {0}")]
    NoKey(String),
    /// The address cannot be had.
    #[error("{address} cannot be listened on: {error}")]
    Taken {
        /// Which one.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
}

/// Routes that are served beside MCP.
#[derive(Debug, Default)]
pub struct Beside {
    /// Those that need a token where one is needed; requests carry whose runs they may see.
    pub guarded: Router,
    /// Those that need none; on loopback they too are asked for by this machine's own names only.
    pub open: Router,
}

/// A listener with its server, ready to go.
pub struct Listening {
    /// The address that was given, its port filled in.
    pub address: SocketAddr,
    listener: TcpListener,
    connections: Arc<Connections>,
}

impl Server {
    /// Begins to listen; [`Listening::serve`] answers.
    pub async fn listen(self, http: Http, stop: CancellationToken) -> Result<Listening, HttpFault> {
        self.listen_beside(http, Beside::default(), stop).await
    }

    /// The same with other routes beside the server's.
    pub async fn listen_beside(
        self,
        http: Http,
        beside: Beside,
        stop: CancellationToken,
    ) -> Result<Listening, HttpFault> {
        let http = http.without_blank_token();
        http.check()?;
        let taken = |error| HttpFault::Taken {
            address: http.address,
            error,
        };
        let listener = TcpListener::bind(http.address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let limits = http.limits.clone();
        let sessions = Arc::new(Sessions::new(&limits));
        let shared = Arc::clone(&self.0);
        let library = self.service(Arc::clone(&sessions), &stop);
        let direct = Direct::new(shared, library, sessions, stop.clone());
        let door = Arc::new(Door::new(http));
        let front = Front {
            routes: routes(beside, &door),
            door,
            direct: Arc::new(direct),
        };
        Ok(Listening {
            address,
            listener,
            connections: Connections::new(front, limits, stop),
        })
    }

    fn service(
        self,
        sessions: Arc<Sessions>,
        stop: &CancellationToken,
    ) -> StreamableHttpService<Connection, Sessions> {
        let config = StreamableHttpServerConfig::default()
            .with_cancellation_token(stop.child_token())
            // The door has looked at host and origin, for this path as for every other.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
            // An answer that nothing goes before needs no stream.
            .with_json_response(true);
        StreamableHttpService::new(move || Ok(self.connection()), sessions, config)
    }
}

/// What is served beside MCP: each route behind the door.
fn routes(beside: Beside, door: &Arc<Door>) -> Router {
    let guarded = from_fn_with_state(Arc::clone(door), door::guarded);
    let open = from_fn_with_state(Arc::clone(door), door::open);
    // It says that we live, and nothing else.
    let alive = Router::new().route("/healthz", get(async || "ok\n"));
    let unknown = async || StatusCode::NOT_FOUND;
    let free = alive.merge(beside.open).fallback(unknown).layer(open);
    beside.guarded.layer(guarded).merge(free)
}

impl Listening {
    /// Answers until the server stops, and then no longer than requests under way may take.
    pub async fn serve(self) -> std::io::Result<()> {
        self.connections.serve(self.listener).await;
        Ok(())
    }
}

/// A reply of JSON.
fn json(status: StatusCode, told: &serde_json::Value) -> Response {
    let mut response = Response::new(Body::from(told.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
