//! Measures a move along a large procedure: from the request on a pipe to its reply, over a disk.
//!
//! `cargo xtask bench sop --moves` runs this. What the pipe and the protocol cost is measured by pings over
//! the same pipe in the same minute; the rest is what the server does for a move.

#![allow(
    clippy::print_stdout,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, bail, ensure};
use report::{Aim, Report};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tramline_core::Value;
use tramline_core::formats::sop_markdown;
use tramline_core::ids::RunId;
use tramline_engine::seams::{Append, Head, Hold, Status, Store};
use tramline_engine::{Engine, Guide, Options, Toolbox};
use tramline_mcp::server::{About, Server, Toolset};
use tramline_store::Sqlite;

mod conversations;
mod nothing;
#[path = "../../report.rs"]
mod report;

/// How many nodes the procedure has.
const NODES: usize = 1_000;
/// How many of the first requests are not counted.
const WARM: usize = 100;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other => bail!("`{other}` is not known; there is --json"),
        }
    }
    let mut report = Report::new(!json);
    conversations::measure(&mut report).await?;
    let dir = tempfile::tempdir_in(".")?;
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(dir.path())?);
    let (durable, soon) = (
        appends(&*store, 1, true).await?,
        appends(&*store, 2, false).await?,
    );
    moves(&mut report, Arc::clone(&store)).await?;
    report.add(
        "an append that waits for the disk",
        micros(durable),
        "µs",
        Aim::None,
    );
    report.add("an append that does not", micros(soon), "µs", Aim::None);
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

/// The time that so many of a hundred stay below.
fn percentile(times: &mut [Duration], of: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * of / 100]
}

/// What one append of a move's size takes, of either kind.
async fn appends(store: &dyn Store, number: u128, durable: bool) -> Result<Duration> {
    let run = RunId::new(1, number);
    let mut times = Vec::new();
    for seen in 0..NODES as u64 {
        let head = Head {
            status: Status::Guided,
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
            head,
            hold: Hold::Keep,
            documents: Vec::new(),
        };
        let begun = Instant::now();
        match durable {
            true => store.append(append).await?,
            false => store.jot(append).await?,
        }
        times.push(begun.elapsed());
    }
    Ok(percentile(&mut times[WARM..], 50))
}

async fn moves(report: &mut Report, store: Arc<dyn Store>) -> Result<()> {
    let tools = Arc::new(Toolbox::new(Arc::new(nothing::Nothing)));
    let engine = Engine::new(store, tools, Options::default());
    let read = sop_markdown::read(procedure().as_bytes(), "bench");
    let sop = read.map_err(|flaws| anyhow::anyhow!("{flaws:?}"))?.sop;
    ensure!(sop.nodes.len() == NODES, "{} nodes", sop.nodes.len());
    let guide = Guide {
        sops: vec![Arc::new(sop)],
        files: Vec::new(),
        session: None,
        origin: Value::Null,
        owner: None,
        ttl_ms: None,
        pinned: None,
    };
    let session = engine.guide(guide).await?;
    let server = Server::new(engine, About::default(), &[Toolset::Sop], [])?;
    let mut pipe = Pipe::open(server).await?;
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
        ensure!(is_there, "a move was refused: {reply}");
        moved.push(time);
    }
    let (pings, moved) = (&mut pings[WARM..], &mut moved[WARM..]);
    let (ping, median) = (percentile(pings, 50), percentile(moved, 50));
    report.add(
        "a ping over the pipe, median",
        micros(ping),
        "µs",
        Aim::None,
    );
    report.add(
        "goto_node over the pipe, median",
        micros(median),
        "µs",
        Aim::None,
    );
    let late = percentile(moved, 99);
    report.add(
        "goto_node over the pipe, 99 of 100",
        micros(late),
        "µs",
        Aim::None,
    );
    let inside = median.saturating_sub(ping);
    report.add(
        "goto_node inside the server, median",
        micros(inside),
        "µs",
        Aim::Under(100.0),
    );
    Ok(())
}

/// A procedure with a node after the other.
fn procedure() -> String {
    let mut text =
        String::from("---\nagent: bench\n---\n```mermaid\nflowchart TD\n  START --> N1\n");
    for at in 1..NODES - 1 {
        let _ = writeln!(text, "  N{at}[\"Step number {at}\"] -->|on| N{}", at + 1);
    }
    text + "```\n"
}

/// A client that writes lines and reads lines: what it does itself is next to nothing.
struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
    asked: u64,
}

impl Pipe {
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

    /// Asks, and gives the reply with how long it took to come.
    async fn ask(&mut self, method: &str, params: Json) -> Result<(Json, Duration)> {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let line = format!("{request}\n");
        let begun = Instant::now();
        self.output.write_all(line.as_bytes()).await?;
        let reply = self.lines.next_line().await?.context("the pipe broke")?;
        let took = begun.elapsed();
        let reply: Json = serde_json::from_str(&reply)?;
        ensure!(reply["id"] == id, "not the reply: {reply}");
        Ok((reply, took))
    }
}
