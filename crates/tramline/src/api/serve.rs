//! Serves the loaded documents as an MCP server, over stdio or HTTP.

use super::{Error, Tramline};
use crate::app;
use std::net::SocketAddr;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tramline_mcp_server::{HttpOptions, Server, Toolset};

impl Tramline {
    /// Serves the tools of the loaded documents over stdio until the client disconnects. Nothing
    /// else may write to standard output meanwhile.
    pub async fn serve_stdio(&self) -> Result<(), Error> {
        Ok(self.server()?.serve_stdio().await?)
    }

    /// Serves the tools of the loaded documents over HTTP, at the path `/mcp`. On any address other
    /// than loopback, callers must present a token.
    pub async fn serve_http(
        &self,
        address: SocketAddr,
        token: Option<String>,
    ) -> Result<HttpServer, Error> {
        let stop = CancellationToken::new();
        let http = HttpOptions {
            token,
            ..HttpOptions::at(address)
        };
        let listening = self.server()?.listen(http, stop.clone()).await?;
        Ok(HttpServer {
            address: listening.address,
            stop,
            task: tokio::spawn(listening.serve()),
        })
    }

    fn server(&self) -> Result<Server, Error> {
        let documents = self.documents();
        let about = app::server_info(documents.iter().map(|document| &document.0.parsed));
        let graphs: Vec<_> = documents.iter().flat_map(|each| each.graphs()).collect();
        let services = self.app().services();
        Ok(Server::new(services, about, &[Toolset::Graphs], graphs)?)
    }
}

/// A running HTTP server. Dropping this does not stop it.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

impl HttpServer {
    /// The requested address, with its port filled in.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to give to MCP clients.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Stops, and waits until the last response has been sent.
    pub async fn stop(self) -> Result<(), Error> {
        self.stop.cancel();
        self.wait().await
    }

    /// Waits until serving ends on its own, which only happens on an error.
    pub async fn wait(self) -> Result<(), Error> {
        Ok(self.task.await.map_err(std::io::Error::other)??)
    }
}
