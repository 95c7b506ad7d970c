//! Streamable HTTP: loopback unless told otherwise, foreign origins refused, a token beyond it.

mod direct;
mod front;

use super::Server;
use super::caller::Caller;
use super::connection::Connection;
use axum::Router;
use axum::ServiceExt;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use direct::Direct;
use front::Front;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tramline_core::Str;
use tramline_core::authority::AnswerChannel;
use tramline_engine::{Owner, Respondent};

/// A session of an older client ends after so long without a message, even while a call lasts:
/// longer than people take to answer, short enough that forgotten ones go.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

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

    fn is_open(&self) -> bool {
        self.token.is_none() && self.named.is_empty()
    }

    /// A request that shows a token, if there is one, with the name of its caller; or what to answer.
    fn admit(&self, mut request: Request) -> Result<Request, Box<Response>> {
        let shown = request
            .headers()
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        if let Some(caller) = shown.and_then(|shown| self.admits(shown)) {
            let owner = Owner(caller.name.clone());
            let extensions = request.extensions_mut();
            if let Some(channel) = caller.person {
                let name = caller.name.clone().unwrap_or_else(|| "studio".into());
                extensions.insert(Respondent::new(name, channel));
            }
            extensions.insert(owner);
            extensions.insert(caller);
            return Ok(request);
        }
        if self.is_open() {
            return Ok(request);
        }
        let says = [(header::WWW_AUTHENTICATE, "Bearer")];
        let refusal = (
            StatusCode::UNAUTHORIZED,
            says,
            "show the token as `Authorization: Bearer …`",
        );
        Err(Box::new(refusal.into_response()))
    }

    /// Who shows this. Every token is looked at, so that the time tells nothing.
    fn admits(&self, shown: &str) -> Option<Caller> {
        let fits = |token: &str| same(shown.as_bytes(), token.as_bytes());
        let mut found = None;
        for named in &self.named {
            if fits(&named.token) {
                found = Some(Caller {
                    name: Some(named.name.clone()),
                    person: named.approver.then_some(AnswerChannel::Approver),
                });
            }
        }
        if self.token.as_deref().is_some_and(fits) {
            found = Some(Caller::default());
        }
        if self.studio.as_deref().is_some_and(fits) {
            found = Some(Caller {
                name: None,
                person: Some(AnswerChannel::Studio),
            });
        }
        found
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
    /// Those that everybody may ask for.
    pub open: Router,
}

/// A listener with its server, ready to go.
pub struct Listening {
    /// The address that was given, its port filled in.
    pub address: SocketAddr,
    listener: TcpListener,
    front: Front,
    stop: CancellationToken,
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
        if !http.address.ip().is_loopback() && http.is_open() {
            return Err(HttpFault::Open(http.address));
        }
        let taken = |error| HttpFault::Taken {
            address: http.address,
            error,
        };
        let listener = TcpListener::bind(http.address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let shared = Arc::clone(&self.0);
        let library = self.service(address, &stop);
        let direct = Direct::new(shared, address, library, stop.clone());
        let http = Arc::new(http);
        let guard = middleware::from_fn_with_state(Arc::clone(&http), admit);
        let routes = beside
            .guarded
            .layer(guard)
            // Behind no token: it says that we live, and nothing else.
            .route("/healthz", get(async || "ok\n"))
            .merge(beside.open);
        Ok(Listening {
            address,
            listener,
            front: Front {
                http,
                direct: Arc::new(direct),
                routes,
            },
            stop,
        })
    }

    fn service(
        self,
        address: SocketAddr,
        stop: &CancellationToken,
    ) -> StreamableHttpService<Connection, LocalSessionManager> {
        let port = address.port();
        let mut config = StreamableHttpServerConfig::default()
            .with_cancellation_token(stop.child_token())
            .with_allowed_origins([
                format!("http://localhost:{port}"),
                format!("http://127.0.0.1:{port}"),
                format!("http://[::1]:{port}"),
            ])
            .enforce_origin_validation()
            // An answer that nothing goes before needs no stream.
            .with_json_response(true);
        if !address.ip().is_loopback() {
            // Names under which others reach us are theirs to choose; the token admits them.
            config = config.disable_allowed_hosts();
        }
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE_MAX);
        StreamableHttpService::new(move || Ok(self.connection()), Arc::new(sessions), config)
    }
}

impl Listening {
    /// Answers until told to stop.
    pub async fn serve(self) -> std::io::Result<()> {
        let stop = self.stop.clone();
        // An answer is several small writes; without this the last waits for the first's receipt.
        let listener = self.listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let service = ServiceExt::<Request>::into_make_service(self.front);
        axum::serve(listener, service)
            .with_graceful_shutdown(async move { stop.cancelled().await })
            .await
    }
}

/// Lets a request through to the routes that need a token.
async fn admit(State(http): State<Arc<Http>>, request: Request, next: Next) -> Response {
    match http.admit(request) {
        Ok(request) => next.run(request).await,
        Err(refusal) => *refusal,
    }
}

/// Compares in a time that does not tell how much was right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
