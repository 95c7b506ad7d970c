//! An HTTP server that does what it is asked but whose answer never arrives: the call may have happened, and
//! the run asks instead of repeating it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::{ToolHints, Tools};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, EngineOptions, PauseAnswer, RunStart};
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph;
use tramline_mcp_client::config::read;
use tramline_mcp_client::{ClientOptions, Servers};
use tramline_mcp_server::{HttpOptions, Server, ServerDescription, Toolset};
use tramline_planner::Services;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::{Answer, Pause};

/// What happens to the answer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LostAnswer {
    /// The connection breaks before the first byte.
    Silence,
    /// The connection breaks in the middle.
    Half,
    /// A proxy in between gives up.
    BadGateway,
}

/// What the server did.
#[derive(Default)]
struct ServedCalls {
    times: AtomicUsize,
    rung: Notify,
}

/// A server with one tool, `book`, which must not be repeated.
async fn shop(done: &Arc<ServedCalls>, stop: &CancellationToken) -> SocketAddr {
    let done = Arc::clone(done);
    let book = move |given: Value| {
        done.times.fetch_add(1, Ordering::SeqCst);
        done.rung.notify_one();
        async { Ok(given) }
    };
    let tools = FakeTools::new().tool("t", "book", ToolHints::default(), book);
    let nodes = "      - { id: entry, type: entry, next: book }\n      - { id: book, type: mcp, server: t, tool: book, args: {}, next: exit }\n      - { id: exit, type: exit }\n";
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(tools), EngineOptions::default());
    let graphs = [(graph("book", nodes), Value::Null)];
    let about = ServerDescription::default();
    let server = Server::new(services, about, &[Toolset::Graphs], graphs).unwrap();
    let http = HttpOptions::at("127.0.0.1:0".parse().unwrap());
    let listening = server.listen(http, stop.clone()).await.unwrap();
    let address = listening.address;
    tokio::spawn(listening.serve());
    address
}

/// Whether the request is complete.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_it = name.eq_ignore_ascii_case("content-length");
        is_it.then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

/// Forwards requests and loses the answers to calls.
async fn lossy_proxy(shop: SocketAddr, loss: LostAnswer, done: Arc<ServedCalls>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward(client, shop, loss, Arc::clone(&done)));
        }
    });
    address
}

async fn forward(
    mut client: TcpStream,
    shop: SocketAddr,
    loss: LostAnswer,
    done: Arc<ServedCalls>,
) {
    let mut request = Vec::new();
    while !is_whole(&request) {
        let mut more = [0; 4096];
        match client.read(&mut more).await {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&more[..count]),
        }
    }
    let is_call = String::from_utf8_lossy(&request).contains("\"tools/call\"");
    let mut upstream = TcpStream::connect(shop).await.unwrap();
    upstream.write_all(&request).await.unwrap();
    if !is_call {
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
        return;
    }
    done.rung.notified().await;
    match loss {
        LostAnswer::Silence => {}
        LostAnswer::Half => {
            let mut some = [0; 16];
            upstream.read_exact(&mut some).await.unwrap();
            client.write_all(&some).await.unwrap();
        }
        LostAnswer::BadGateway => {
            let answer =
                b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\nconnection: close\r\n\r\nlost";
            client.write_all(answer).await.unwrap();
        }
    }
}

fn servers(address: SocketAddr) -> Arc<Servers> {
    let text = format!(r#"{{"mcpServers": {{"t": {{"url": "http://{address}/mcp"}}}}}}"#);
    let config = read(&Value::from_json(&text).unwrap()).unwrap();
    Arc::new(Servers::new(config, ClientOptions::default()))
}

fn graph(name: &str, nodes: &str) -> Arc<Graph> {
    let text = format!(
        "version: '1.0'\nserver: {{ name: s, version: '1' }}\nmcpServers: {{ t: {{ command: x }} }}\n\
         tools:\n  - name: {name}\n    description: d\n    inputSchema: {{ type: object }}\n    nodes:\n{nodes}"
    );
    let document = yaml_graph::read(text.as_bytes()).unwrap();
    Arc::clone(&document.workflows[0])
}

fn booking_graph() -> Arc<Graph> {
    graph(
        "trip",
        "      - { id: entry, type: entry, next: it }\n      - { id: it, type: mcp, server: t, tool: book, args: {}, next: exit }\n      - { id: exit, type: exit }\n",
    )
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_is_in_doubt_and_left_once() {
    for loss in [
        LostAnswer::Silence,
        LostAnswer::Half,
        LostAnswer::BadGateway,
    ] {
        let stop = CancellationToken::new();
        let _guard = stop.clone().drop_guard();
        let done = Arc::new(ServedCalls::default());
        let shop = shop(&done, &stop).await;
        let address = lossy_proxy(shop, loss, Arc::clone(&done)).await;
        let tools = servers(address);
        let store = Arc::new(MemoryStore::default());
        let services = Services::new(store, Arc::clone(&tools) as _, EngineOptions::default());
        let start = RunStart::new(booking_graph(), Value::object::<Str>([]));
        let handle = services.engine.start(start).await.unwrap();
        let run = handle.run.clone();
        let ended = handle.wait().await.unwrap();
        let DriveOutcome::Paused(pauses) = ended else {
            panic!("{loss:?}: {ended:?}");
        };
        assert!(
            matches!(pauses.as_slice(), [(_, Pause::InDoubt { .. })]),
            "{loss:?}: {pauses:?}"
        );
        assert_eq!(done.times.load(Ordering::SeqCst), 1, "{loss:?}");
        let said = PauseAnswer {
            pause: pauses[0].0,
            answer: Answer::Skip { output: 1.into() },
            by: "me".into(),
            why: None,
        };
        let handle = services
            .engine
            .answer_and_resume(&run, vec![said])
            .await
            .unwrap();
        handle.unwrap().wait().await.unwrap();
        assert_eq!(done.times.load(Ordering::SeqCst), 1, "{loss:?}");
        tools.shutdown().await;
    }
}

/// Nothing listens: the call was certainly not sent, and is never in doubt.
#[tokio::test]
async fn a_call_that_could_not_be_sent_is_not_in_doubt() {
    let stop = CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let done = Arc::new(ServedCalls::default());
    let shop = shop(&done, &stop).await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    let gate = CancellationToken::new();
    // The server is available for the handshake and gone for the call.
    let (open, shut) = (gate.clone(), gate.clone());
    tokio::spawn(async move {
        while let Some(Ok((mut client, _))) = open.run_until_cancelled(free.accept()).await {
            tokio::spawn(async move {
                let mut upstream = TcpStream::connect(shop).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
            });
        }
    });
    let tools = servers(address);
    let name = ToolName::new("t", "book");
    tools.find(&name).await.unwrap();
    shut.cancel();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::clone(&tools) as _, EngineOptions::default());
    let start = RunStart::new(booking_graph(), Value::object::<Str>([]));
    let ended = services
        .engine
        .start(start)
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    assert!(matches!(ended, DriveOutcome::Finished(_)), "{ended:?}");
    assert_eq!(done.times.load(Ordering::SeqCst), 0);
    tools.shutdown().await;
}
