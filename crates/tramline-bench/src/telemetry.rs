//! The cost of telemetry: off, which should be nothing, and on, with a receiver that accepts
//! everything.
//!
//! Off is one branch per batch of events, which cannot be compiled out for comparison. A no-op
//! observer passes the same branch and is then called for everything, so it adds more than off can
//! cost. Because other load on the machine disturbs, the instances take short turns, each turn is
//! compared with those of two instances that are off in the same round, and the median of all
//! rounds counts. The difference between these two shows the noise. An instance with a better
//! memory layout, or whose server has one, is faster for its whole life: after some rounds new
//! instances are opened.

use crate::graphs;
use crate::report::{BenchReport, FigureTarget};
use crate::steps::run;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tramline::app::{self, App};
use tramline::config::Config;
use tramline::engine::ports::{Observer, PlanningSpan};
use tramline::formats::yaml_graph::GraphDocument;
use tramline::sop::SopSession;
use tramline::telemetry::TelemetrySettings;
use tramline::workflow::graph::Graph;
use tramline::workflow::ids::StepNo;
use tramline::workflow::journal::Entry;
use tramline::workflow::run::Run;
use tramline::workflow::trace_context::TraceContext;

const CALLS: usize = 10;
const CHAIN: usize = 100;
/// How often instances are opened again.
const SETS: usize = 4;
/// Turns per instance: each is equally often in each position, forwards and backwards.
const ROUNDS: usize = 2 * ALL.len();
/// Duration of a turn: long enough to send several batches of spans.
const TURN: Duration = Duration::from_millis(200);
/// Pause after a turn, so that what one instance still has to send does not disturb the next. Work
/// done meanwhile counts for the instance that had the turn.
const REST: Duration = Duration::from_millis(50);
/// Overhead that telemetry may add to calls, in percent.
const ON_PERCENT_MAX: f64 = 5.0;
/// Overhead that a no-op observer may add to calls, in percent: less cannot be told from noise.
const OFF_PERCENT_MAX: f64 = 2.0;

/// The telemetry mode of an instance.
#[derive(Clone, Copy, PartialEq)]
enum TelemetryMode {
    Off,
    /// Off once more: its difference from the first is noise.
    OffAgain,
    Noop,
    On,
}

const ALL: [TelemetryMode; 4] = [
    TelemetryMode::Off,
    TelemetryMode::OffAgain,
    TelemetryMode::Noop,
    TelemetryMode::On,
];

pub(crate) fn measure(report: &mut BenchReport) -> Result<()> {
    let (port, taken) = receiver()?;
    let runtime = crate::runtime()?;
    runtime.block_on(async {
        let calls = ("a call of `echo`", graphs::calls("echo", CALLS)?, CALLS);
        let steps = ("a transform step", graphs::chain_document(CHAIN)?, CHAIN);
        for work in [calls, steps] {
            for durable in [true, false] {
                compare(report, &work, durable, port).await?;
            }
        }
        let bytes = taken.load(Ordering::Relaxed) as f64 / 1e6;
        report.add("bytes received", bytes, "MB", FigureTarget::Over(0.01));
        Ok(())
    })
}

/// Measures one kind of work with all modes.
async fn compare(
    report: &mut BenchReport,
    (what, document, each): &(&str, GraphDocument, usize),
    durable: bool,
    port: u16,
) -> Result<()> {
    let (mut spent, mut lost) = (Vec::new(), 0.0);
    for _ in 0..SETS {
        let dirs = ALL.map(|_| tempfile::tempdir());
        let mut houses = Vec::new();
        for (standing, dir) in ALL.into_iter().zip(&dirs) {
            let dir = dir.as_ref().ok().filter(|_| durable);
            houses.push(open(dir.map(|dir| dir.path()), document, standing, port)?);
        }
        spent.extend(turns(&houses, document, *each).await?);
        let text = houses[3].telemetry.as_ref().map(|it| it.prometheus_text(0));
        lost += dropped(&text.unwrap_or_default());
        for house in houses {
            house.close().await;
        }
    }
    let name = format!("{what}, {}", if durable { "durable" } else { "in memory" });
    let off = median(spent.iter().map(|round| round[0].wall_us));
    report.add(
        format!("{name}, telemetry off"),
        off,
        "us",
        FigureTarget::None,
    );
    // Targets apply only to calls; a transform step takes so little that they would be meaningless.
    let aim = |most| match *each == CALLS {
        true => FigureTarget::Under(most),
        false => FigureTarget::None,
    };
    let off = |round: &[TurnCost], of: fn(&TurnCost) -> f64| (of(&round[0]) + of(&round[1])) / 2.0;
    let percent = |at: usize, of: fn(&TurnCost) -> f64| {
        let beside = spent.iter().map(|round| match at {
            1 => of(&round[1]) / of(&round[0]),
            _ => of(&round[at]) / off(round, of),
        });
        (median(beside) - 1.0) * 100.0
    };
    for (at, added, aim) in [
        // If this is missed, the machine was too busy for the other figures to mean anything.
        (1, "noise: off compared with off", aim(OFF_PERCENT_MAX)),
        (2, "added by a no-op observer", aim(OFF_PERCENT_MAX)),
        (3, "added by telemetry", aim(ON_PERCENT_MAX)),
    ] {
        let name = format!("{name}, {added}");
        let wall = percent(at, |spent| spent.wall_us);
        let wall = if at == 1 { wall.abs() } else { wall };
        report.add(&name, wall, "%", aim);
        let work = percent(at, |spent| spent.cpu_us);
        if work.is_finite() {
            report.add(format!("{name}, processor"), work, "%", FigureTarget::None);
        }
    }
    let name = format!("{name}, dropped spans");
    report.add(name, lost, "spans", FigureTarget::None);
    Ok(())
}

/// The number of spans that were not exported, from the metrics.
fn dropped(text: &str) -> f64 {
    let told = text
        .lines()
        .filter_map(|line| line.strip_prefix("tramline_telemetry_spans_dropped_total"));
    told.filter_map(|rest| rest.trim().parse::<f64>().ok())
        .sum()
}

/// The cost of one operation in a turn, in microseconds.
#[derive(Clone, Copy, Default)]
struct TurnCost {
    wall_us: f64,
    /// CPU time of all threads of this process; 0 if the system does not report it.
    cpu_us: f64,
}

/// The cost per instance, round by round. The order changes, since an instance finds the machine as
/// the previous one left it.
async fn turns(
    houses: &[App],
    document: &GraphDocument,
    each: usize,
) -> Result<Vec<Vec<TurnCost>>> {
    let graph = graphs::first(document)?;
    // A newly opened instance is slow.
    for house in houses {
        turn(house, &graph).await?;
    }
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let mut spent = vec![TurnCost::default(); houses.len()];
        for place in 0..houses.len() {
            // Forwards and backwards, so that no instance always follows the same one.
            let place = if round % 2 == 0 {
                place
            } else {
                houses.len() - 1 - place
            };
            let at = (round / 2 + place) % houses.len();
            let before = cpu_us();
            let (took, runs) = turn(&houses[at], &graph).await?;
            tokio::time::sleep(REST).await;
            let done = runs * each;
            spent[at] = TurnCost {
                wall_us: took.as_secs_f64() * 1e6 / done as f64,
                cpu_us: (cpu_us() - before) / done as f64,
            };
        }
        rounds.push(spent);
    }
    Ok(rounds)
}

/// One turn of an instance: its duration, and the number of runs.
async fn turn(house: &App, graph: &Arc<Graph>) -> Result<(Duration, usize)> {
    let (began, mut runs) = (Instant::now(), 0);
    while began.elapsed() < TURN {
        run(&house.engine, graph, 0).await?;
        runs += 1;
    }
    Ok((began.elapsed(), runs))
}

/// The CPU time of the threads of this process so far, if the system reports it.
fn cpu_us() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let worked = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    worked.sum::<f64>() / 1e3
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn open(
    dir: Option<&Path>,
    document: &GraphDocument,
    standing: TelemetryMode,
    port: u16,
) -> Result<App> {
    let mut config = Config {
        data_dir: dir.map(Path::to_owned),
        ..Config::default()
    };
    match standing {
        TelemetryMode::Off | TelemetryMode::OffAgain => {}
        TelemetryMode::Noop => config.observer = Some(Arc::new(NoopObserver)),
        TelemetryMode::On => {
            let endpoint = format!("http://127.0.0.1:{port}");
            config.telemetry = TelemetrySettings::read(|name| match name {
                "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.clone()),
                "OTEL_METRICS_EXPORTER" => Some("prometheus".to_owned()),
                "OTEL_BSP_SCHEDULE_DELAY" => Some("20".to_owned()),
                _ => None,
            })?;
        }
    }
    Ok(app::open(&config, std::slice::from_ref(document))?)
}

/// A receiver that accepts everything; returns its port, and a counter of received bytes.
fn receiver() -> Result<(u16, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let taken: Arc<AtomicU64> = Arc::default();
    let counted = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || answer_requests(&stream, &counted));
        }
    });
    Ok((port, taken))
}

/// Answers one connection's requests until it ends.
fn answer_requests(stream: &TcpStream, counted: &AtomicU64) -> Result<()> {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().context("a length")?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        counted.fetch_add(length as u64, Ordering::Relaxed);
        writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    }
}

/// An observer that does nothing.
struct NoopObserver;

impl Observer for NoopObserver {
    fn on_append(&self, _: &Run, _: &[Entry]) {}

    fn on_replay(&self, _: &Run, _: &[Entry]) {}

    fn on_fork(&self, _: &Run, _: &[Entry]) {}

    fn on_sop_append(&self, _: &SopSession, _: &[Entry]) {}

    fn trace_context(&self, _: &Run, _: StepNo, _: u32) -> Option<TraceContext> {
        None
    }

    fn sop_trace_context(&self, _: &SopSession, _: u32) -> Option<TraceContext> {
        None
    }

    fn on_append_time(&self, _: Duration, _: bool) {}

    fn on_driven_runs(&self, _: usize) {}

    fn begin_planning(&self, within: Option<&TraceContext>) -> TraceContext {
        within.cloned().unwrap_or(TraceContext {
            trace: 1,
            span: 1,
            sampled: false,
            state: None,
            baggage: None,
        })
    }

    fn on_planned(&self, _: &PlanningSpan<'_>) {}
}
