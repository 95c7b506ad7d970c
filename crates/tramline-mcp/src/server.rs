//! Tramline as an MCP server: graphs and toolsets for any client, over pipes and over HTTP.

use audience::Audience;
use connection::Connection;
use offer::Offer;
use rmcp::ServiceExt;
use rmcp::model::Tool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tramline_core::Value;
use tramline_core::graph::Graph;
use tramline_engine::{Engine, Fault};

mod about;
mod audience;
mod audited;
mod caller;
mod codes;
mod conduct;
mod connection;
mod control;
mod debug;
mod effects;
mod elsewhere;
mod graph_tools;
mod http;
mod library;
mod log;
mod loop_tools;
mod offer;
mod pausing;
mod question;
mod reply;
mod seal;
mod sop;
mod tasks;
mod teller;
mod toolset;
mod underway;
mod upstream;

pub use about::About;
pub use conduct::Conduct;
pub use http::{Beside, Http, HttpFault, HttpLimits, Named};
pub use offer::NameTaken;
pub use sop::{PinTerms, PinnedProcedure};
pub use toolset::{Toolset, UnknownToolset};

/// The MCP server. Clones share everything; it keeps nothing of a connection.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

/// Graphs that can be offered: their names are free.
pub struct Prepared(Arc<Offer>);

struct Shared {
    engine: Engine,
    toolsets: Vec<Toolset>,
    offer: RwLock<Arc<Offer>>,
    /// The list as clients were last told that it is.
    told: Mutex<Vec<Tool>>,
    audience: Audience,
    conduct: Conduct,
    /// Counts what agents have saved.
    saved: watch::Sender<u64>,
    /// Where control commands are counted and noted.
    desk: control::Desk,
    /// What the SOP toolset keeps beside journals.
    seats: sop::Seats,
}

impl Shared {
    fn offer(&self) -> Arc<Offer> {
        let offer = self.offer.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&offer)
    }

    /// The tools as `tools/list` shows them, with what is known by now.
    fn listed(&self) -> Vec<Tool> {
        let listed = self.offer().list(self.engine.tools().as_ref()).into_iter();
        let mut listed: Vec<Tool> = listed
            .map(|tool| sop::listed(tool, self.seats.pinned()))
            .collect();
        listed.extend(self.seats.gated().iter().map(sop::Gated::describe));
        listed
    }

    /// The downstream tool that is offered under this name.
    fn gated(&self, name: &str) -> Option<sop::Gated> {
        self.seats
            .gated()
            .into_iter()
            .find(|gated| gated.name == name)
    }

    /// Tells everybody if the list is not the one they know.
    fn tell(&self) {
        let listed = self.listed();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if *told != listed {
            *told = listed;
            self.audience.changed();
        }
    }

    /// Another workflow is saved: whoever serves saved ones looks again.
    fn library_changed(&self) {
        self.saved.send_modify(|count| *count += 1);
    }

    /// After a call: its servers run now, and may have said something of their tools.
    fn learn(&self) {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = told.iter().any(|tool| tool.annotations.is_none());
        drop(told);
        if silent {
            self.tell();
        }
    }
}

impl Server {
    /// A server of these toolsets; each graph is a tool, with where it is to be found again.
    pub fn new(
        engine: Engine,
        about: About,
        toolsets: &[Toolset],
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
    ) -> Result<Self, NameTaken> {
        Self::with(engine, about, toolsets, graphs, Conduct::default())
    }

    /// A server that treats what agents bring in this way.
    pub fn with(
        engine: Engine,
        about: About,
        toolsets: &[Toolset],
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
        conduct: Conduct,
    ) -> Result<Self, NameTaken> {
        let offer = Offer::new(about, toolsets, graphs)?;
        let told = offer.list(engine.tools().as_ref()).into_iter();
        let told = told.map(|tool| sop::listed(tool, None)).collect();
        let desk = control::Desk::new(conduct.commands_per_minute, engine.clone());
        Ok(Self(Arc::new(Shared {
            engine,
            toolsets: toolsets.to_vec(),
            offer: RwLock::new(Arc::new(offer)),
            told: Mutex::new(told),
            audience: Audience::default(),
            conduct,
            saved: watch::Sender::new(0),
            desk,
            seats: sop::Seats::default(),
        })))
    }

    /// Pins procedures: only these can be loaded, the downstream tools that they name are offered
    /// through the gate, and whatever agents begin here passes it. Gives what the operator should hear.
    pub async fn pin(
        &self,
        procedures: Vec<PinnedProcedure>,
        terms: PinTerms,
    ) -> Result<Vec<String>, String> {
        let told = self.0.pin(procedures, terms).await?;
        self.0.tell();
        Ok(told)
    }

    /// Reads a procedure inside the allowed roots, or at an https address, to be pinned. Gives what is
    /// odd about it too.
    pub async fn read_procedure(
        &self,
        place: &str,
    ) -> Result<(PinnedProcedure, Vec<String>), String> {
        sop::read_procedure(&self.0.engine, place).await
    }

    /// Makes ready to offer these graphs instead; nothing changes before [`Server::offer`].
    pub fn prepare(
        &self,
        about: About,
        graphs: impl IntoIterator<Item = (Arc<Graph>, Value)>,
    ) -> Result<Prepared, NameTaken> {
        let offer = Offer::new(about, &self.0.toolsets, graphs)?;
        Ok(Prepared(Arc::new(offer)))
    }

    /// Offers what was prepared from now on, all at once. Calls under way keep their graphs.
    pub fn offer(&self, prepared: Prepared) {
        *self.0.offer.write().unwrap_or_else(PoisonError::into_inner) = prepared.0;
        self.0.audience.calm();
        self.0.tell();
    }

    /// Looks again at what is known of the tools that graphs call; clients are told if that
    /// changes what they were told.
    pub fn refresh(&self) {
        self.0.tell();
    }

    /// Ticks whenever an agent has saved a workflow here.
    pub fn saves(&self) -> watch::Receiver<u64> {
        self.0.saved.subscribe()
    }

    /// Warns every client that listens, and those that come before something else is offered.
    pub fn warn(&self, message: &str) {
        self.0.audience.warn(message);
    }

    /// Serves over standard input and output until the client goes.
    pub async fn serve_stdio(self) -> Result<(), Fault> {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        Box::pin(self.serve_over(input, output)).await
    }

    /// Serves one client over these streams until it goes.
    pub async fn serve_over(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), Fault> {
        let broken = |error: &dyn std::fmt::Display| {
            Fault::Refused(format!("the connection to the client broke: {error}"))
        };
        let running = self
            .connection()
            .serve((input, output))
            .await
            .map_err(|error| broken(&error))?;
        running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| broken(&error))
    }

    fn connection(&self) -> Connection {
        Connection::new(Arc::clone(&self.0))
    }
}
