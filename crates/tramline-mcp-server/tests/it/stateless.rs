//! The stateless fast path over HTTP, and calls that do not qualify for it.

use super::http::listen;
use super::support::{THROUGH, calling, graph_taking, over, pure, services, serving};
use crate::support::SOON;
use serde_json::{Value as Json, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tramline_engine::ports::{JournalStore, RunStatus, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_mcp_server::Toolset;

const VERSION: &str = "2026-07-28";

/// A tool call as sent; each part can be replaced.
struct Post {
    headers: Vec<(&'static str, String)>,
    body: Json,
}

impl Post {
    fn call(address: SocketAddr, tool: &str) -> Self {
        let headers = vec![
            ("host", address.to_string()),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-protocol-version", VERSION.to_owned()),
            ("mcp-method", "tools/call".to_owned()),
            ("mcp-name", tool.to_owned()),
            ("connection", "close".to_owned()),
        ];
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        let params = json!({"name": tool, "arguments": {"n": 1}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        Self { headers, body }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn meta(mut self, name: &str, value: Json) -> Self {
        self.body["params"]["_meta"][name] = value;
        self
    }

    /// The head of the request, for a body of this size.
    fn head(&self, bytes: usize) -> String {
        let mut text = "POST /mcp HTTP/1.1\r\n".to_owned();
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text + &format!("content-length: {bytes}\r\n\r\n")
    }

    async fn send(&self, address: SocketAddr, body: &str) -> TcpStream {
        let text = self.head(body.len()) + body;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Sends it; returns the status and the whole answer.
    async fn answer(&self, address: SocketAddr) -> (u16, String) {
        self.answer_to(address, &self.body.to_string()).await
    }

    /// The same with another body.
    async fn answer_to(&self, address: SocketAddr, body: &str) -> (u16, String) {
        let mut stream = self.send(address, body).await;
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        tokio::time::timeout(SOON, read).await.unwrap().unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }
}

/// The message in an answer: the body, or the last event of a stream.
fn message(answer: &str) -> Json {
    let at = answer.rfind("{\"jsonrpc\"").unwrap();
    let mut read = serde_json::Deserializer::from_str(&answer[at..]).into_iter();
    read.next().unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_wants_progress_gets_the_same_answer() {
    let graphs = vec![calling("reads", "look", ""), pure("says")];
    let server = serving(&[Toolset::Graphs, Toolset::Debug], graphs);
    let (address, _guard) = listen(server, None).await;
    for tool in ["reads", "says", "runs_list"] {
        let post = Post::call(address, tool);
        let (status, plain) = post.answer(address).await;
        assert_eq!(status, 200, "{plain}");
        assert!(plain.contains("content-type: application/json"), "{plain}");
        let post = post.meta("progressToken", json!("p"));
        let (status, told) = post.answer(address).await;
        assert_eq!(status, 200, "{told}");
        let (mut plain, mut told) = (message(&plain), message(&told));
        assert_eq!(plain["id"], 7);
        if tool == "runs_list" {
            // Its content is the list of runs, which grows with every call.
            for message in [&mut plain, &mut told] {
                message["result"]["content"] = Json::Null;
                message["result"]["structuredContent"] = Json::Null;
            }
        }
        assert_eq!(plain, told, "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_quite_a_call_is_refused_as_ever() {
    let schema = "{ type: object, properties: { n: { type: integer, x-mcp-header: N } } }";
    let graphs = vec![pure("says"), graph_taking("headed", schema, THROUGH)];
    let (address, _guard) = listen(serving(&[Toolset::Graphs], graphs), None).await;
    let call = || Post::call(address, "says");
    for (post, wanted) in [
        (call().with("origin", "https://elsewhere.example"), 403),
        (call().with("host", "elsewhere.example"), 403),
        (call().with("mcp-name", "other"), 400),
        (call().with("mcp-method", "tools/list"), 400),
        (call().with("mcp-protocol-version", "2025-06-18"), 400),
        (call().with("accept", "application/json"), 406),
        (call().with("content-type", "text/plain"), 415),
        (
            call().meta("io.modelcontextprotocol/clientCapabilities", Json::Null),
            400,
        ),
        (
            call().meta(
                "io.modelcontextprotocol/protocolVersion",
                json!("2099-01-01"),
            ),
            400,
        ),
        // An argument with a header annotation must be sent in the header.
        (Post::call(address, "headed"), 400),
        (Post::call(address, "headed").with("mcp-param-n", "1"), 200),
        (Post::call(address, "nothing"), 200),
        (call(), 200),
    ] {
        let (status, answer) = post.answer(address).await;
        assert_eq!(status, wanted, "{:?}\n{answer}", post.headers);
    }
    let (_, unknown) = Post::call(address, "nothing").answer(address).await;
    assert_eq!(message(&unknown)["error"]["code"], -32602, "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_messages_get_json_rpc_errors() {
    let (address, _guard) = listen(serving(&[Toolset::Graphs], vec![pure("says")]), None).await;
    // Both for the fast path and for calls that the library handles.
    for version in [VERSION, "2025-06-18"] {
        for (body, code) in [
            ("nonsense", -32700),
            ("{\"jsonrpc\": \"2.0\"", -32700),
            ("", -32700),
            ("[]", -32600),
            ("{\"id\": 7}", -32600),
        ] {
            let post = Post::call(address, "says").with("mcp-protocol-version", version);
            let (status, answer) = post.answer_to(address, body).await;
            assert_eq!(status, 400, "{version} {body}: {answer}");
            assert!(
                answer.contains("content-type: application/json"),
                "{answer}"
            );
            let told = message(&answer);
            assert_eq!(told["error"]["code"], code, "{version} {body}: {told}");
            assert!(told.as_object().unwrap().contains_key("id"), "{told}");
        }
        let post = Post::call(address, "says").with("content-type", "text/plain");
        assert_eq!(post.answer_to(address, "nonsense").await.0, 415);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_messages_are_refused_by_their_length() {
    let (address, _guard) = listen(serving(&[Toolset::Graphs], vec![]), None).await;
    let head = Post::call(address, "says").head((4 << 20) + 1);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    let read = stream.read_exact(&mut answer);
    tokio::time::timeout(SOON, read).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_ends_its_run() {
    let gate = Arc::new(Semaphore::new(0));
    let tools = FakeTools::new().tool(
        "t",
        "slow",
        ToolHints::default(),
        move |arguments: Value| {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok(arguments)
            }
        },
    );
    let store = MemoryStore::default();
    let graphs = vec![calling("slow", "slow", "")];
    let server = over(services(store.clone(), tools), &[Toolset::Graphs], graphs);
    let (address, _guard) = listen(server, None).await;
    let call = Post::call(address, "slow");
    let stream = call.send(address, &call.body.to_string()).await;
    wait_for_status(&store, RunStatus::Running).await;
    drop(stream);
    wait_for_status(&store, RunStatus::Aborted).await;
}

/// Waits until the only run has this status.
async fn wait_for_status(store: &MemoryStore, wanted: RunStatus) {
    let looks = async {
        loop {
            let page = store.runs(Default::default()).await.unwrap();
            if page
                .rows
                .first()
                .is_some_and(|row| row.index_row.status == wanted)
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, looks).await.unwrap();
}
