//! Measures a move in a large procedure: from the request on a pipe to its reply, with a store on
//! disk.
//!
//! `cargo xtask bench sop --moves` runs this. The cost of the pipe and the protocol is measured by
//! pings over the same pipe in the same minute; the rest is the cost of the move in the server.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail, ensure};
use report::{BenchReport, FigureTarget};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tramline_engine::ports::{Append, ClaimChange, RunIndexRow, RunStatus, Store};
use tramline_engine::{SopStart, ToolRouter};
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_mcp_server::{Server, ServerDescription, Toolset};
use tramline_planner::{ServiceOptions, Services};
use tramline_store::Sqlite;
use tramline_workflow::ids::RunId;

mod no_tools;
mod open_sessions;
#[path = "../../report.rs"]
mod report;

/// Nodes of the procedure.
const NODES: usize = 1_000;
/// Warm-up requests that are not counted.
const WARM: usize = 100;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other => bail!("unknown argument `{other}`; use --json"),
        }
    }
    let mut report = BenchReport::new(!json);
    open_sessions::measure(&mut report).await?;
    let dir = tempfile::tempdir_in(".")?;
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(dir.path())?);
    let (durable, soon) = (
        appends(&*store, 1, true).await?,
        appends(&*store, 2, false).await?,
    );
    moves(&mut report, Arc::clone(&store)).await?;
    report.add("a synced append", micros(durable), "µs", FigureTarget::None);
    report.add("an unsynced append", micros(soon), "µs", FigureTarget::None);
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A percentile of the times.
fn percentile(times: &mut [Duration], of: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * of / 100]
}

/// The time of one append of a move's size, synced or not.
async fn appends(store: &dyn Store, number: u128, durable: bool) -> Result<Duration> {
    let run = RunId::new(1, number);
    let mut times = Vec::new();
    for seen in 0..NODES as u64 {
        let head = RunIndexRow {
            status: RunStatus::SopSession,
            workflow: "bench".into(),
            session: None,
            started_ms: 1,
            updated_ms: 1,
        };
        let append = Append {
            run: run.clone(),
            seen,
            last: seen + 1,
            body: vec![b' '; 100],
            index_row: head,
            claim: ClaimChange::Keep,
            documents: Vec::new(),
        };
        let begun = Instant::now();
        match durable {
            true => store.append(append).await?,
            false => store.append_relaxed(append).await?,
        }
        times.push(begun.elapsed());
    }
    Ok(percentile(&mut times[WARM..], 50))
}

async fn moves(report: &mut BenchReport, store: Arc<dyn Store>) -> Result<()> {
    let tools = Arc::new(ToolRouter::new(Arc::new(no_tools::NoTools)));
    let services = Services::new(store, tools, ServiceOptions::default());
    let read = sop_markdown::read(procedure().as_bytes(), "bench");
    let sop = read.map_err(|flaws| anyhow::anyhow!("{flaws:?}"))?.sop;
    ensure!(sop.nodes.len() == NODES, "{} nodes", sop.nodes.len());
    let guide = SopStart {
        sops: vec![Arc::new(sop)],
        files: Vec::new(),
        session: None,
        origin: Value::Null,
        owner: None,
        by: None,
        ttl_ms: None,
        pinned: None,
    };
    let session = services.engine.start_sop_session(guide).await?;
    let server = Server::new(services, ServerDescription::default(), &[Toolset::Sop], [])?;
    let mut pipe = PipeClient::open(server).await?;
    let (mut pings, mut moved) = (Vec::new(), Vec::new());
    for at in 0..NODES {
        let node = match at {
            0 => "START".to_owned(),
            at => format!("N{at}"),
        };
        let (_, time) = pipe.ask("ping", json!({})).await?;
        pings.push(time);
        let arguments = json!({"node_id": node, "session_id": session.as_str()});
        let call = json!({"name": "goto_node", "arguments": arguments});
        let (reply, time) = pipe.ask("tools/call", call).await?;
        let is_there = reply["result"]["structuredContent"]["valid"] == true;
        ensure!(is_there, "a move was rejected: {reply}");
        moved.push(time);
    }
    let (pings, moved) = (&mut pings[WARM..], &mut moved[WARM..]);
    let (ping, median) = (percentile(pings, 50), percentile(moved, 50));
    report.add(
        "a ping over the pipe, median",
        micros(ping),
        "µs",
        FigureTarget::None,
    );
    report.add(
        "goto_node over the pipe, median",
        micros(median),
        "µs",
        FigureTarget::None,
    );
    let late = percentile(moved, 99);
    report.add(
        "goto_node over the pipe, 99th percentile",
        micros(late),
        "µs",
        FigureTarget::None,
    );
    let inside = median.saturating_sub(ping);
    report.add(
        "goto_node inside the server, median",
        micros(inside),
        "µs",
        FigureTarget::Under(100.0),
    );
    Ok(())
}

/// A procedure that is a chain of nodes.
fn procedure() -> String {
    let mut text =
        String::from("---\nagent: bench\n---\n```mermaid\nflowchart TD\n  START --> N1\n");
    for at in 1..NODES - 1 {
        let _ = writeln!(text, "  N{at}[\"Step number {at}\"] -->|on| N{}", at + 1);
    }
    text + "```\n"
}

/// A client that writes lines and reads lines, with almost no overhead.
struct PipeClient {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
    asked: u64,
}

impl PipeClient {
    async fn open(server: Server) -> Result<Self> {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(server.serve_over(input, output));
        let (input, output) = tokio::io::split(ours);
        let mut pipe = Self {
            lines: BufReader::new(input).lines(),
            output,
            asked: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        pipe.ask("initialize", hello).await?;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        pipe.output
            .write_all(format!("{ready}\n").as_bytes())
            .await?;
        Ok(pipe)
    }

    /// Sends a request; returns the reply and the time it took.
    async fn ask(&mut self, method: &str, params: Json) -> Result<(Json, Duration)> {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let line = format!("{request}\n");
        let begun = Instant::now();
        self.output.write_all(line.as_bytes()).await?;
        let reply = self
            .lines
            .next_line()
            .await?
            .context("the pipe was closed")?;
        let took = begun.elapsed();
        let reply: Json = serde_json::from_str(&reply)?;
        ensure!(reply["id"] == id, "unexpected reply: {reply}");
        Ok((reply, took))
    }
}
