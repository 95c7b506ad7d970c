//! The time of a plan among thousands of tools, through the engine.

use crate::report::{BenchReport, FigureTarget};
use crate::sets::{PlanCase, lines, precedent};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_planner::{ServiceOptions, Services};

/// Copies of the LiveMCP tools, each on its own servers.
const COPIES: usize = 8;
/// Number of planned requests.
const ASKED: usize = 200;
/// Number of precedents.
const LEARNT: usize = 300;
/// Milliseconds that a plan may take at the median.
const MEDIAN_MS_MAX: f64 = 10.0;

/// Plans some requests among thousands of tools, with precedents from other requests.
pub(crate) fn measure(
    report: &mut BenchReport,
    data: &Path,
    asked: &[PlanCase],
    past: &[PlanCase],
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (tools, count) = tools(&data.join("retrieval/livemcp/tools.jsonl"))?;
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(tools), ServiceOptions::default());
    let planner = services.planner;
    let mut spent: Vec<(f64, Option<f64>)> = runtime.block_on(async {
        for (at, case) in past.iter().take(LEARNT).enumerate() {
            planner.history().learn(precedent(case), at as i64).await?;
        }
        let mut spent = Vec::new();
        // The first request builds the index.
        for case in asked.iter().take(1).chain(asked.iter().take(ASKED)) {
            let (began, before) = (Instant::now(), cpu_ms());
            let plan = planner.plan(&case.text, None, &|_| true, &|_| false, &[]);
            plan.await.ok().context("the engine made no plan")?;
            let worked = cpu_ms().zip(before).map(|(after, before)| after - before);
            spent.push((began.elapsed().as_secs_f64() * 1_000.0, worked));
        }
        anyhow::Ok(spent)
    })?;
    spent.remove(0);
    let (whole, worked): (Vec<f64>, Vec<Option<f64>>) = spent.into_iter().unzip();
    let name = format!("a plan among {count} tools");
    let aim = FigureTarget::Under(MEDIAN_MS_MAX);
    add_figures(report, &name, whole, aim);
    // On a busy machine this is the time of the plan itself.
    let worked: Vec<f64> = worked.into_iter().flatten().collect();
    if !worked.is_empty() {
        add_figures(report, &format!("{name}, processor time"), worked, aim);
    }
    Ok(())
}

fn add_figures(report: &mut BenchReport, name: &str, mut spent: Vec<f64>, aim: FigureTarget) {
    spent.sort_by(f64::total_cmp);
    let at = |share: f64| spent[((spent.len() - 1) as f64 * share) as usize];
    report.add(format!("{name}, median"), at(0.5), "ms", aim);
    report.add(
        format!("{name}, 95 of 100"),
        at(0.95),
        "ms",
        FigureTarget::None,
    );
}

/// The CPU time of this thread, if the system reports it.
fn cpu_ms() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = told.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e6)
}

fn tools(path: &Path) -> Result<(FakeTools, usize)> {
    let lines = lines(path)?;
    let mut tools = FakeTools::new();
    for copy in 0..COPIES {
        for line in &lines {
            let text = |key: &str| line[key].as_str().unwrap_or_default();
            let server = text("id").split("::").next().unwrap_or_default();
            let (server, name) = (format!("{server}-{copy}"), text("name"));
            let schema = line["inputSchema"].to_string();
            tools = tools
                .tool(&server, name, ToolHints::default(), |given| async {
                    Ok(given)
                })
                .described(&server, name, text("description"), &schema);
        }
    }
    Ok((tools, COPIES * lines.len()))
}
