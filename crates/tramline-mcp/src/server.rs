//! Tramline as an MCP server: lists what there is and hands each call to its front end.

use offer::{Found, Offer};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServiceExt};
use std::sync::Arc;
use toolset::Means;
use tramline_core::graph::Graph;
use tramline_core::{Str, Value};
use tramline_engine::{Engine, Fault};

mod debug;
mod graph_tools;
mod http;
mod offer;
mod reply;
mod teller;
mod toolset;

pub use http::{Http, HttpFault};
pub use offer::NameTaken;
pub use toolset::{Toolset, UnknownToolset};

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
    offer: Offer,
}

impl Server {
    /// A server of these toolsets; each graph is a tool, with where it is to be found again.
    pub fn new(
        engine: Engine,
        about: About,
        toolsets: &[Toolset],
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
    ) -> Result<Self, NameTaken> {
        let offer = Offer::new(toolsets, graphs)?;
        Ok(Self(Arc::new(Shared {
            engine,
            about,
            offer,
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
        let listed = self.0.offer.listed.clone();
        Ok(ListToolsResult::with_all_items(listed))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let listed = &self.0.offer.listed;
        listed.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let engine = &self.0.engine;
        let reply = match self.0.offer.find(&request.name) {
            Ok(Found::Graph((graph, origin))) => {
                graph_tools::call(engine, graph, origin, request, context).await
            }
            Ok(Found::Own(own)) => {
                let engine = engine.clone();
                own.call(Means { engine, context }, request.arguments).await
            }
            Err(near) => {
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let message = format!("there is no tool `{}`{near}", request.name);
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(reply.into())
    }
}
