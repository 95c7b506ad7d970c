//! Tramline as an MCP server: lists what there is and hands each call to its front end.

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServiceExt};
use std::collections::BTreeMap;
use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::text::nearest;
use tramline_core::{Str, Value};
use tramline_engine::{Engine, Fault};

mod graph_tools;
mod http;
mod reply;
mod teller;

pub use http::{Http, HttpFault};

/// What a server says of itself.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its name.
    pub name: Str,
    /// Its version.
    pub version: Str,
    /// A title for people.
    pub title: Option<Str>,
    /// How to use it, for agents.
    pub instructions: Option<Str>,
}

/// The MCP server. Clones share everything; it keeps nothing of a connection.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    engine: Engine,
    about: About,
    graphs: BTreeMap<Str, Served>,
    listed: Vec<Tool>,
}

/// A graph with where it comes from.
type Served = (Arc<Graph>, Value);

/// The same name was given to two graphs.
#[derive(Debug, thiserror::Error)]
#[error("two graphs are called `{0}`: a tool's name must be one graph's alone")]
pub struct TwoAlike(Str);

impl Server {
    /// A server of these graphs, each one a tool, with where they are to be found again.
    pub fn new(
        engine: Engine,
        about: About,
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
    ) -> Result<Self, TwoAlike> {
        let mut named = BTreeMap::new();
        let mut listed = Vec::new();
        for (graph, origin) in graphs {
            let name = graph.workflow.name.clone();
            listed.push(graph_tools::describe(&graph));
            if named.insert(name.clone(), (graph, origin)).is_some() {
                return Err(TwoAlike(name));
            }
        }
        Ok(Self(Arc::new(Shared {
            engine,
            about,
            graphs: named,
            listed,
        })))
    }

    /// Serves over standard input and output until the client goes.
    pub async fn serve_stdio(self) -> Result<(), Fault> {
        let broken = |error: &dyn std::fmt::Display| {
            Fault::Refused(format!("the connection over standard input broke: {error}"))
        };
        let running = self
            .serve(rmcp::transport::io::stdio_pipes())
            .await
            .map_err(|error| broken(&error))?;
        running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| broken(&error))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = &self.0.about;
        let mut server = Implementation::new(about.name.as_str(), about.version.as_str());
        if let Some(title) = &about.title {
            server = server.with_title(title.as_str());
        }
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let info = ServerConfig::new(capabilities).with_server_info(server);
        match &about.instructions {
            Some(instructions) => info.with_instructions(instructions.as_str()),
            None => info,
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.listed.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.listed.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some((graph, origin)) = self.0.graphs.get(request.name.as_ref()) else {
            let near = nearest(&request.name, self.0.graphs.keys().map(Str::as_str))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format!("there is no tool `{}`{near}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(
            graph_tools::call(&self.0.engine, graph, origin, request, context)
                .await
                .into(),
        )
    }
}
