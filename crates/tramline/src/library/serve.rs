//! The loaded documents as an MCP server, over standard input and output or over HTTP.

use super::{Error, Tramline};
use crate::wire;
use std::net::SocketAddr;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tramline_mcp::server::{Http, Server, Toolset};

impl Tramline {
    /// Serves the tools of the loaded documents over standard input and output, until the client
    /// goes. Nothing else may write to standard output meanwhile.
    pub async fn serve_stdio(&self) -> Result<(), Error> {
        Ok(self.server()?.serve_stdio().await?)
    }

    /// Serves the tools of the loaded documents over HTTP, at the path `/mcp`. Beyond loopback,
    /// callers must show a token.
    pub async fn serve_http(
        &self,
        address: SocketAddr,
        token: Option<String>,
    ) -> Result<Serving, Error> {
        let stop = CancellationToken::new();
        let http = Http {
            token,
            ..Http::at(address)
        };
        let listening = self.server()?.listen(http, stop.clone()).await?;
        Ok(Serving {
            address: listening.address,
            stop,
            task: tokio::spawn(listening.serve()),
        })
    }

    fn server(&self) -> Result<Server, Error> {
        let documents = self.documents();
        let about = wire::about(documents.iter().map(|document| &document.0.read));
        let graphs: Vec<_> = documents.iter().flat_map(|each| each.graphs()).collect();
        let engine = self.engine().clone();
        Ok(Server::new(engine, about, &[Toolset::Graphs], graphs)?)
    }
}

/// Tools that are being served over HTTP. Dropping it does not stop that.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

impl Serving {
    /// Where: the address that was asked for, its port filled in.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to give to MCP clients.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Stops, and waits until the last answer has gone out.
    pub async fn stop(self) -> Result<(), Error> {
        self.stop.cancel();
        self.ended().await
    }

    /// Waits until serving ends by itself, which is when it broke off.
    pub async fn ended(self) -> Result<(), Error> {
        Ok(self.task.await.map_err(std::io::Error::other)??)
    }
}
