//! Calls of a server: the overhead of a run over direct calls, and parallel calls.

use crate::graphs;
use crate::report::{BenchReport, FigureTarget};
use crate::steps::{run, us};
use anyhow::{Context, Result};
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService, ServiceExt};
use rmcp::transport::async_rw::AsyncRwTransport;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tramline::app::{self, App};
use tramline::config::Config;
use tramline::formats::yaml_graph::GraphDocument;

const CALLS: usize = 10;
const ROUNDS: usize = 200;
const WIDTH: usize = 50;
const SLEEP_MS: u64 = 50;
const WIDE_ROUNDS: usize = 10;

type DirectClient = RunningService<RoleClient, ()>;

pub(crate) fn measure(report: &mut BenchReport) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let runtime = crate::runtime()?;
    runtime.block_on(async {
        let (bare, _child) = bare(dir.path()).await?;
        for (tool, aim) in [
            ("echo", FigureTarget::Under(30.0)),
            ("record", FigureTarget::None),
        ] {
            let document = graphs::calls(tool, CALLS)?;
            let memory = open(None, &document)?;
            let durable = open(Some(dir.path()), &document)?;
            let graph = graphs::first(&document)?;
            let mut best = [Duration::MAX; 3];
            for _ in 0..ROUNDS {
                let began = Instant::now();
                for _ in 0..CALLS {
                    call(&bare, tool).await?;
                }
                best[0] = best[0].min(began.elapsed());
                for (at, house) in [(1, &memory), (2, &durable)] {
                    let began = Instant::now();
                    run(&house.engine, &graph, 0).await?;
                    best[at] = best[at].min(began.elapsed());
                }
            }
            let [direct, in_memory, on_disk] = best.map(|took| us(took) / CALLS as f64);
            report.add(
                format!("`{tool}` called directly"),
                direct,
                "us",
                FigureTarget::None,
            );
            let name = format!("added to a call of `{tool}` by a run of {CALLS}");
            report.add(format!("{name}, in memory"), in_memory - direct, "us", aim);
            report.add(format!("{name}, durable"), on_disk - direct, "us", aim);
            memory.close().await;
            durable.close().await;
        }
        let sync = crate::disk::least_sync(dir.path())?;
        let name = format!("a disk sync, shared by a run of {CALLS} calls");
        report.add(name, us(sync) / CALLS as f64, "us", FigureTarget::None);
        wide(report, &bare).await?;
        Ok(())
    })
}

async fn wide(report: &mut BenchReport, bare: &DirectClient) -> Result<()> {
    let document = graphs::wide(WIDTH, SLEEP_MS)?;
    let (house, graph) = (open(None, &document)?, graphs::first(&document)?);
    let (mut best, mut direct) = (Duration::MAX, Duration::MAX);
    for _ in 0..WIDE_ROUNDS {
        let began = Instant::now();
        run(&house.engine, &graph, 0).await?;
        best = best.min(began.elapsed());
        let began = Instant::now();
        sleep_directly(bare).await?;
        direct = direct.min(began.elapsed());
    }
    house.close().await;
    let name = format!("{WIDTH} parallel calls of {SLEEP_MS} ms");
    report.add(
        format!("{name}, directly"),
        us(direct) / 1e3,
        "ms",
        FigureTarget::None,
    );
    report.add(
        format!("{name}, by a run"),
        us(best) / 1e3,
        "ms",
        FigureTarget::Under(52.0),
    );
    Ok(())
}

async fn sleep_directly(bare: &DirectClient) -> Result<()> {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..WIDTH {
        let peer = bare.peer().clone();
        all.spawn(async move {
            let arguments = serde_json::json!({ "ms": SLEEP_MS });
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            peer.call_tool(CallToolRequestParams::new("sleep").with_arguments(arguments))
                .await
        });
    }
    while let Some(done) = all.join_next().await {
        done??;
    }
    Ok(())
}

fn open(dir: Option<&Path>, document: &GraphDocument) -> Result<App> {
    let config = Config {
        data_dir: dir.map(Path::to_owned),
        ..Config::default()
    };
    Ok(app::open(&config, std::slice::from_ref(document))?)
}

async fn bare(dir: &Path) -> Result<(DirectClient, Child)> {
    let mut child = Command::new(graphs::sibling_program("unruly")?)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (stdout, stdin) = (child.stdout.take(), child.stdin.take());
    let (stdout, stdin) = (stdout.context("stdout")?, stdin.context("stdin")?);
    Ok((().serve(AsyncRwTransport::new(stdout, stdin)).await?, child))
}

async fn call(bare: &DirectClient, tool: &'static str) -> Result<()> {
    let arguments = serde_json::json!({"text": "hello", "n": 1});
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    bare.call_tool(params).await?;
    Ok(())
}
