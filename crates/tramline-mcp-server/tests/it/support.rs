//! A server in this process, and a client that records what it receives.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, LoggingMessageNotificationParam,
    ProtocolVersion, ServerNotification, SubscriptionFilter, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RoleClient,
    RunningService, Subscription,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{ClientHandler, ErrorData};
use serde_json::Value as Json;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tramline_engine::EngineOptions;
use tramline_engine::ports::{Store, ToolHints, Tools};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_formats::yaml_graph;
use tramline_mcp_server::{Server, ServerDescription, Toolset};
use tramline_planner::Services;
use tramline_workflow::graph::Graph;

/// More than any test should take on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The two handshakes of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// What a client receives besides answers.
#[derive(Debug)]
pub(crate) enum ClientEvent {
    Changed,
    Asked(Box<ElicitRequestParams>),
    Logged(Box<LoggingMessageNotificationParam>),
}

/// The client's handler.
pub(crate) struct RecordingHandler {
    capabilities: ClientCapabilities,
    events: mpsc::UnboundedSender<ClientEvent>,
    /// Answers to questions, in order; without an answer a question stays open.
    answers: Mutex<VecDeque<ElicitResult>>,
}

impl ClientHandler for RecordingHandler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let _ = self.events.send(ClientEvent::Asked(Box::new(request)));
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(answer) => Ok(answer),
            None => std::future::pending().await,
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.events.send(ClientEvent::Logged(Box::new(params)));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.events.send(ClientEvent::Changed);
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("test", "1");
        ClientConfig::new(self.capabilities.clone(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// A connected client.
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, RecordingHandler>,
    pub(crate) events: mpsc::UnboundedReceiver<ClientEvent>,
    /// Modern clients are notified of changes through a subscription.
    subscription: Option<Subscription>,
}

/// Connects a client without capabilities.
pub(crate) async fn connect(server: &Server, era: Era) -> Client {
    connect_with(server, era, ClientCapabilities::default()).await
}

/// Connects a client with these capabilities.
pub(crate) async fn connect_with(
    server: &Server,
    era: Era,
    capabilities: ClientCapabilities,
) -> Client {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let server = server.clone();
    let (input, output) = tokio::io::split(ours);
    tokio::spawn(server.serve_over(input, output));
    connect_over(theirs, era, capabilities).await
}

/// Transport to an HTTP server, with or without a token.
pub(crate) fn over_http(
    address: SocketAddr,
    token: Option<&str>,
) -> StreamableHttpClientTransport<reqwest::Client> {
    // Clients need a TLS provider even if they do not use it; one may already be installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("http://{address}/mcp"));
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    StreamableHttpClientTransport::from_config(config)
}

/// Connects a client over any transport.
pub(crate) async fn connect_over<T, E, A>(
    transport: T,
    era: Era,
    capabilities: ClientCapabilities,
) -> Client
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (sender, heard) = mpsc::unbounded_channel();
    let ear = RecordingHandler {
        capabilities,
        events: sender,
        answers: Mutex::default(),
    };
    let mode = match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    let service = ear.serve_with_lifecycle(transport, mode).await.unwrap();
    let subscription = match era {
        Era::Legacy => None,
        Era::Modern => {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            Some(service.peer().listen(filter).await.unwrap())
        }
    };
    Client {
        service,
        events: heard,
        subscription,
    }
}

impl Client {
    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.service.list_all_tools().await.unwrap()
    }

    pub(crate) async fn names(&self) -> Vec<String> {
        let tools = self.tools().await;
        tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    /// Waits until the server reports that its tools changed.
    pub(crate) async fn wait_tools_changed(&mut self) {
        let told = async {
            match &mut self.subscription {
                Some(subscription) => {
                    let told = subscription.next().await.unwrap();
                    assert!(
                        matches!(
                            told,
                            Some(ServerNotification::ToolListChangedNotification(_))
                        ),
                        "{told:?}"
                    );
                }
                None => while !matches!(self.events.recv().await.unwrap(), ClientEvent::Changed) {},
            }
        };
        tokio::time::timeout(SOON, told).await.unwrap();
    }

    /// Queues an answer to a question.
    pub(crate) fn queue_answer(&self, answer: ElicitResult) {
        let mut answers = self.service.service().answers.lock().unwrap();
        answers.push_back(answer);
    }

    /// The log messages up to the one that contains `words`.
    pub(crate) async fn logged_until(
        &mut self,
        words: &str,
    ) -> Vec<LoggingMessageNotificationParam> {
        let mut all = Vec::new();
        let logged = async {
            loop {
                if let ClientEvent::Logged(logged) = self.events.recv().await.unwrap() {
                    let last = logged.data["message"].as_str().unwrap().contains(words);
                    all.push(*logged);
                    if last {
                        return;
                    }
                }
            }
        };
        let ended = tokio::time::timeout(SOON, logged).await;
        assert!(ended.is_ok(), "{all:?}");
        all
    }

    /// Waits for the next question.
    pub(crate) async fn next_question(&mut self) -> ElicitRequestParams {
        let asked = async {
            loop {
                if let ClientEvent::Asked(asked) = self.events.recv().await.unwrap() {
                    return *asked;
                }
            }
        };
        tokio::time::timeout(SOON, asked).await.unwrap()
    }

    /// Calls a tool and waits for its result.
    pub(crate) async fn call(&self, tool: &str, arguments: Json) -> CallToolResult {
        let called = self.service.call_tool(request(tool, arguments));
        tokio::time::timeout(SOON, called).await.unwrap().unwrap()
    }
}

pub(crate) fn request(tool: &str, arguments: Json) -> CallToolRequestParams {
    let Json::Object(arguments) = arguments else {
        panic!("not an object: {arguments}");
    };
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

/// The structured content of a result.
pub(crate) fn structured(result: &CallToolResult) -> &Json {
    result.structured_content.as_ref().unwrap()
}

/// A graph with these nodes that accepts any object.
pub(crate) fn graph(name: &str, nodes: &str) -> Arc<Graph> {
    graph_taking(name, "{ type: object }", nodes)
}

/// A graph with this input schema.
pub(crate) fn graph_taking(name: &str, schema: &str, nodes: &str) -> Arc<Graph> {
    let text = format!(
        "version: '1.0'\nserver: {{ name: s, version: '1' }}\nmcpServers: {{ t: {{ command: x }} }}\n\
         tools:\n  - name: {name}\n    description: d\n    inputSchema: {schema}\n    nodes:\n{nodes}"
    );
    let document = yaml_graph::read(text.as_bytes());
    let document = document.unwrap_or_else(|flaws| panic!("{flaws:?}\n{text}"));
    Arc::clone(&document.workflows[0])
}

/// A graph that calls one tool of the server `t`, with more fields in the node.
pub(crate) fn calling(name: &str, tool: &str, more: &str) -> Arc<Graph> {
    let nodes = format!(
        "      - {{ id: entry, type: entry, next: act }}\n\
         \x20     - {{ id: act, type: mcp, server: t, tool: {tool}, args: $.entry, next: exit{more} }}\n\
         \x20     - {{ id: exit, type: exit }}\n"
    );
    graph(name, &nodes)
}

/// A graph that asks before it calls.
pub(crate) fn approving(name: &str) -> Arc<Graph> {
    calling(name, "work", ", approval: it acts")
}

/// A graph that calls nothing.
pub(crate) fn pure(name: &str) -> Arc<Graph> {
    graph(name, THROUGH)
}

/// Nodes that pass their input through.
pub(crate) const THROUGH: &str =
    "      - { id: entry, type: entry, next: exit }\n      - { id: exit, type: exit }\n";

/// `look` only reads, `work` has no annotations.
pub(crate) fn tools() -> FakeTools {
    let look = ToolHints {
        read_only: Some(true),
        open_world: Some(false),
        ..ToolHints::default()
    };
    let echo = |arguments: Value| async { Ok(arguments) };
    FakeTools::new()
        .tool("t", "look", look, echo)
        .tool("t", "work", ToolHints::default(), echo)
}

pub(crate) fn services(store: impl Store, tools: impl Tools) -> Services {
    Services::new(Arc::new(store), Arc::new(tools), EngineOptions::default())
}

/// A server with these graphs over a new store.
pub(crate) fn serving(toolsets: &[Toolset], graphs: Vec<Arc<Graph>>) -> Server {
    let services = services(MemoryStore::default(), tools());
    over(services, toolsets, graphs)
}

/// A server with these graphs over an engine.
pub(crate) fn over(services: Services, toolsets: &[Toolset], graphs: Vec<Arc<Graph>>) -> Server {
    let graphs = graphs.into_iter().map(|graph| (graph, Value::Null));
    Server::new(services, ServerDescription::default(), toolsets, graphs).unwrap()
}

/// A client that can show forms.
pub(crate) fn forms() -> ClientCapabilities {
    ClientCapabilities::builder().enable_elicitation().build()
}

/// A completed form.
pub(crate) fn filled(content: Json) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}
