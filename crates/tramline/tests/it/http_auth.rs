//! Authentication over HTTP: every combination of token, host and origin at every route, over both
//! versions of HTTP, against one small rule.

use crate::support::Tramline;
use crate::test_servers::serve;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "a token of this test alone";
const FOREIGN: &str = "evil.example:8080";
/// Routes that need no token: a one-time code is exchanged for the studio's key.
const WITHOUT_TOKEN: [&str; 1] = ["/api/studio/key"];

/// How a server was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// `serve` without a token.
    Open,
    /// `serve` with one.
    Token,
    /// `studio`, which creates its own token.
    Studio,
}

/// A server, ended when dropped.
struct Server {
    mode: Mode,
    child: Child,
    address: String,
    /// The valid token here.
    right: String,
    _place: Tramline,
}

impl Server {
    fn start(mode: Mode) -> Self {
        let place = Tramline::new();
        let mut command = match mode {
            Mode::Open | Mode::Token => {
                let mut command = serve(&["examples/graphs/switch.yaml".into()], place.data.path());
                command.args(["--http", "127.0.0.1:0", "--metrics"]);
                command
            }
            Mode::Studio => place.command(&["studio", "--no-open", "examples/graphs/switch.yaml"]),
        };
        match mode {
            Mode::Open => command = at_a_terminal(&command),
            Mode::Token => drop(command.env("TRAMLINE_TOKEN", TOKEN)),
            Mode::Studio => {}
        }
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let own = Self::own_address(&mut child);
        let (url, code) = own.split_once("/studio").unwrap();
        let right = match (mode, code.strip_prefix("#code=")) {
            (Mode::Token, None) => TOKEN.to_owned(),
            (Mode::Open | Mode::Studio, Some(code)) => {
                let (status, reply) = exchanged(url, code);
                assert_eq!(status, 200, "{reply}");
                reply["key"].as_str().unwrap().to_owned()
            }
            (_, code) => panic!("{mode:?} printed {code:?}"),
        };
        Self {
            mode,
            child,
            address: url.to_owned(),
            right,
            _place: place,
        }
    }

    /// Waits until it prints the address of the operator's studio.
    fn own_address(child: &mut Child) -> String {
        let (says, said) = std::sync::mpsc::channel();
        let out = child
            .stdout
            .take()
            .map(|it| Box::new(it) as Box<dyn std::io::Read + Send>);
        let err = child
            .stderr
            .take()
            .map(|it| Box::new(it) as Box<dyn std::io::Read + Send>);
        for stream in [out, err].into_iter().flatten() {
            let says = says.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(stream).lines().map_while(Result::ok);
                lines.for_each(|line| drop(says.send(line)));
            });
        }
        loop {
            let line = said.recv_timeout(PATIENCE).unwrap();
            if let Some((_, own)) = line.split_once("the studio is at http://") {
                return own.trim_end().to_owned();
            }
        }
    }
}

/// A command on a pseudo-terminal, where the studio's address has a code.
pub(crate) fn at_a_terminal(command: &Command) -> Command {
    let quoted = |word: &OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', "'\\''"));
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let line: Vec<_> = words.map(quoted).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &line.join(" "), "/dev/null"]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        script.current_dir(folder);
    }
    script.stdin(Stdio::null());
    script
}

/// Exchanges a one-time code for the studio's key.
pub(crate) fn exchanged(address: &str, code: &str) -> (u16, Value) {
    let body = json!({ "code": code }).to_string();
    let request = format!(
        "POST /api/studio/key HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or_default())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The token that a request sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SentToken {
    Nothing,
    /// Nothing after the scheme: over HTTP/2 the space arrives.
    Blank,
    Wrong,
    Right,
}

/// The host that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    Right,
    Foreign,
    Absent,
    /// One in the target and another in the header.
    Differs,
}

/// The page a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    None,
    Own,
    Foreign,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    shown: SentToken,
    host: Host,
    origin: Origin,
}

/// A route to request.
#[derive(Clone, Debug)]
struct Route {
    method: Method,
    path: String,
    /// Whether it needs a token where tokens are required.
    guarded: bool,
    headers: Vec<(&'static str, &'static str)>,
    body: Value,
}

impl Route {
    fn new(method: &str, path: &str, guarded: bool) -> Self {
        Self {
            method: method.parse().unwrap(),
            path: path.to_owned(),
            guarded,
            headers: Vec::new(),
            body: json!({"text": "x", "hash": "y"}),
        }
    }

    fn writes_a_document(&self) -> bool {
        self.method == Method::PUT && self.path.starts_with("/api/documents/")
    }
}

/// The expected outcome of a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    LetIn,
    BadHost,
    TokenNeeded,
    ForeignHost,
    ForeignOrigin,
    /// It is admitted, but may not write.
    MayNotWrite,
}

/// The rule. A valid token admits under any host name; without one, the host must be this machine's
/// own, and where tokens are required there is no other way in. Pages may only send requests to
/// their own origin.
fn rule(mode: Mode, route: &Route, case: Case) -> Verdict {
    let is_known = case.shown == SentToken::Right;
    match case.host {
        Host::Absent | Host::Differs => return Verdict::BadHost,
        Host::Right | Host::Foreign => {}
    }
    if !is_known && route.guarded && mode != Mode::Open {
        return Verdict::TokenNeeded;
    }
    if !is_known && case.host == Host::Foreign {
        return Verdict::ForeignHost;
    }
    match (case.origin, case.host) {
        (Origin::None, _) | (Origin::Own, Host::Right) | (Origin::Foreign, Host::Foreign) => {}
        _ => return Verdict::ForeignOrigin,
    }
    match route.writes_a_document() && !is_known {
        true => Verdict::MayNotWrite,
        false => Verdict::LetIn,
    }
}

/// A connection of either version.
enum TestConnection {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl TestConnection {
    async fn open(address: &str, version: u8) -> Self {
        let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
        if version == 2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tokio::spawn(connection);
            return Self::Two(sender);
        }
        let (sender, connection) = http1::handshake(io).await.unwrap();
        tokio::spawn(connection);
        Self::One(sender)
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Two(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

/// A case as a request. HTTP/2 has the host in the target, HTTP/1.1 in a header; either may have
/// both.
fn request(server: &Server, route: &Route, case: Case, version: u8) -> Request<Full<Bytes>> {
    let (target, header) = match (case.host, version) {
        (Host::Right, 2) => (Some(server.address.as_str()), None),
        (Host::Foreign, 2) => (Some(FOREIGN), None),
        (Host::Right, _) => (None, Some(server.address.as_str())),
        (Host::Foreign, _) => (None, Some(FOREIGN)),
        (Host::Absent, _) => (None, None),
        (Host::Differs, _) => (Some(FOREIGN), Some(server.address.as_str())),
    };
    let path = &route.path;
    let uri = target.map_or_else(|| path.clone(), |host| format!("http://{host}{path}"));
    let mut request = Request::builder().method(route.method.clone()).uri(uri);
    if let Some(host) = header {
        request = request.header("host", host);
    }
    request = match case.shown {
        SentToken::Nothing => request,
        SentToken::Blank => request.header("authorization", "Bearer "),
        SentToken::Wrong => request.header("authorization", "Bearer x"),
        SentToken::Right => request.header("authorization", format!("Bearer {}", server.right)),
    };
    request = match case.origin {
        Origin::None => request,
        Origin::Own => request.header("origin", format!("http://{}", server.address)),
        Origin::Foreign => request.header("origin", format!("http://{FOREIGN}")),
    };
    for (name, value) in &route.headers {
        request = request.header(*name, *value);
    }
    let body = match route.method {
        Method::GET | Method::DELETE => Bytes::new(),
        _ => {
            request = request.header("content-type", "application/json");
            Bytes::from(route.body.to_string())
        }
    };
    request.body(Full::new(body)).unwrap()
}

async fn verdict(
    wire: &mut TestConnection,
    request: Request<Full<Bytes>>,
) -> (Verdict, u16, String) {
    let answer = async {
        let response = wire.send(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    };
    let (status, text) = tokio::time::timeout(PATIENCE, answer).await.unwrap();
    let told: Value = serde_json::from_str(&text).unwrap_or_default();
    let verdict = match (status, told["error"]["kind"].as_str()) {
        (400, Some("bad_host")) => Verdict::BadHost,
        (401, Some("token_needed")) => Verdict::TokenNeeded,
        (403, Some("foreign_host")) => Verdict::ForeignHost,
        (403, Some("foreign_origin")) => Verdict::ForeignOrigin,
        (403, Some("token_needed")) => Verdict::MayNotWrite,
        _ => Verdict::LetIn,
    };
    (verdict, status, text)
}

/// Every route: those in the API's own description, and the others.
async fn routes(server: &Server) -> Vec<Route> {
    let document = Route::new("GET", "/api/openapi.json", true);
    let case = Case {
        shown: SentToken::Right,
        host: Host::Right,
        origin: Origin::None,
    };
    let mut wire = TestConnection::open(&server.address, 1).await;
    let (_, _, text) = verdict(&mut wire, request(server, &document, case, 1)).await;
    let told: Value = serde_json::from_str(&text).unwrap();
    let paths = told["paths"].as_object().unwrap().iter();
    let mut all: Vec<_> = paths
        .flat_map(|(path, methods)| {
            let guarded = !WITHOUT_TOKEN.contains(&path.as_str());
            let path = path.replace(['{', '}'], "");
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, about)| {
                let is_free = about["security"] == json!([{}]);
                assert_ne!(is_free, guarded, "{method} {path}");
                Route::new(&method.to_uppercase(), &path, guarded)
            })
        })
        .collect();
    assert!(all.len() > 30, "{all:?}");
    for path in [
        "/healthz",
        "/studio",
        "/studio/",
        "/studio/runs",
        "/nowhere",
    ] {
        all.push(Route::new("GET", path, false));
    }
    if server.mode != Mode::Studio {
        all.push(Route::new("GET", "/metrics", true));
    }
    all.extend(mcp());
    all
}

/// MCP, through the fast path for calls and through the library.
fn mcp() -> Vec<Route> {
    let accept = ("accept", "application/json, text/event-stream");
    let call = Route {
        headers: vec![
            accept,
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "choose_shipping"),
        ],
        body: json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "choose_shipping", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}}}),
        ..Route::new("POST", "/mcp", true)
    };
    let hello = Route {
        headers: vec![accept],
        body: json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        ..Route::new("POST", "/mcp", true)
    };
    let nonsense = Route {
        headers: vec![accept],
        ..Route::new("POST", "/mcp/below", true)
    };
    let listens = Route {
        headers: vec![accept],
        ..Route::new("GET", "/mcp", true)
    };
    let ends = Route::new("DELETE", "/mcp", true);
    vec![call, hello, nonsense, listens, ends]
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for shown in [
        SentToken::Nothing,
        SentToken::Blank,
        SentToken::Wrong,
        SentToken::Right,
    ] {
        for host in [Host::Right, Host::Foreign, Host::Absent, Host::Differs] {
            for origin in [Origin::None, Origin::Own, Origin::Foreign] {
                all.push(Case {
                    shown,
                    host,
                    origin,
                });
            }
        }
    }
    all
}

async fn hold(mode: Mode) {
    let server = Server::start(mode);
    let routes = routes(&server).await;
    let mut tried = 0;
    for version in [1, 2] {
        for case in cases() {
            let mut wire = TestConnection::open(&server.address, version).await;
            for route in &routes {
                let wanted = rule(mode, route, case);
                let asked = request(&server, route, case, version);
                let (found, status, text) = verdict(&mut wire, asked).await;
                let (method, path) = (&route.method, &route.path);
                assert_eq!(
                    found, wanted,
                    "{mode:?} HTTP/{version} {method} {path} {case:?}: {status} {text}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 2 * 48 * 40, "{tried}");
}

// `script` of util-linux provides the terminal.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn every_route_of_an_open_server_is_behind_the_door() {
    hold(Mode::Open).await;
}

#[tokio::test]
async fn every_route_of_a_server_with_a_token_is_behind_the_door() {
    hold(Mode::Token).await;
}

#[tokio::test]
async fn every_route_of_the_studio_is_behind_the_door() {
    hold(Mode::Studio).await;
}
