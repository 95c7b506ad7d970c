//! What telemetry costs: off, which is to be nothing, and on, with a receiver that takes everything.
//!
//! Off is one branch for each batch of events, and cannot be left out of a build to be compared with.
//! An observer that does nothing passes the same branch and is then called for everything, so what it
//! adds is more than off can cost. Machines that measure are busy: the houses take short turns one
//! after the other, each turn is held against those of two houses that are off in the same round, and
//! the median of all rounds counts. How far these two are apart tells how much of it is noise. A house
//! that lies better in memory, or whose server does, is quicker all its life: after some rounds there
//! are new ones.

use crate::graphs;
use crate::report::{Aim, Report};
use crate::steps::run;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tramline::config::Config;
use tramline::core::formats::yaml_graph::Document;
use tramline::core::graph::Graph;
use tramline::core::ids::StepNo;
use tramline::core::journal::Entry;
use tramline::core::navigate::Walk;
use tramline::core::run::Run;
use tramline::core::upstream::Upstream;
use tramline::engine::seams::{Observer, Thought};
use tramline::telemetry::Settings;
use tramline::wire::{self, House};

const CALLS: usize = 10;
const CHAIN: usize = 100;
/// How often houses are opened anew.
const SETS: usize = 4;
/// How many turns each house has: everybody is as often in each place, forwards and backwards.
const ROUNDS: usize = 2 * ALL.len();
/// How long a house has its turn: long enough for some batches of spans to leave in it.
const TURN: Duration = Duration::from_millis(200);
/// How long everybody rests after a turn, so that what one house has left to send is not the next
/// one's trouble. What is done meanwhile counts as work of who had the turn.
const REST: Duration = Duration::from_millis(50);
/// What telemetry may add to calls, in percent.
const ON_PERCENT_MAX: f64 = 5.0;
/// What an observer that does nothing may add to calls, in percent: less cannot be told from noise.
const OFF_PERCENT_MAX: f64 = 2.0;

/// How telemetry stands in a house.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    Off,
    /// Off once more: how far it is from the first is noise.
    Again,
    Nothing,
    On,
}

const ALL: [Standing; 4] = [
    Standing::Off,
    Standing::Again,
    Standing::Nothing,
    Standing::On,
];

pub(crate) fn measure(report: &mut Report) -> Result<()> {
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
        report.add("what the receiver took", bytes, "MB", Aim::Over(0.01));
        Ok(())
    })
}

/// Measures one kind of work in houses of every standing.
async fn compare(
    report: &mut Report,
    (what, document, each): &(&str, Document, usize),
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
        let text = houses[3].telemetry.as_ref().map(|it| it.text(0));
        lost += dropped(&text.unwrap_or_default());
        for house in houses {
            house.close().await;
        }
    }
    let name = format!("{what}, {}", if durable { "durable" } else { "in memory" });
    let off = median(spent.iter().map(|round| round[0].wall_us));
    report.add(format!("{name}, telemetry off"), off, "us", Aim::None);
    // Beside what a call takes; a step that only computes takes next to nothing.
    let aim = |most| match *each == CALLS {
        true => Aim::Under(most),
        false => Aim::None,
    };
    let off = |round: &[Spent], of: fn(&Spent) -> f64| (of(&round[0]) + of(&round[1])) / 2.0;
    let percent = |at: usize, of: fn(&Spent) -> f64| {
        let beside = spent.iter().map(|round| match at {
            1 => of(&round[1]) / of(&round[0]),
            _ => of(&round[at]) / off(round, of),
        });
        (median(beside) - 1.0) * 100.0
    };
    for (at, added, aim) in [
        // Where this is missed the machine was too busy for the others to say anything.
        (1, "off from itself", aim(OFF_PERCENT_MAX)),
        (
            2,
            "added by an observer that does nothing",
            aim(OFF_PERCENT_MAX),
        ),
        (3, "added by telemetry", aim(ON_PERCENT_MAX)),
    ] {
        let name = format!("{name}, {added}");
        let wall = percent(at, |spent| spent.wall_us);
        let wall = if at == 1 { wall.abs() } else { wall };
        report.add(&name, wall, "%", aim);
        let work = percent(at, |spent| spent.work_us);
        if work.is_finite() {
            report.add(format!("{name}, processor"), work, "%", Aim::None);
        }
    }
    let name = format!("{name}, spans that the queue did not take");
    report.add(name, lost, "spans", Aim::None);
    Ok(())
}

/// How many spans were not exported, as the metrics tell it.
fn dropped(text: &str) -> f64 {
    let told = text
        .lines()
        .filter_map(|line| line.strip_prefix("tramline_telemetry_spans_dropped_total"));
    told.filter_map(|rest| rest.trim().parse::<f64>().ok())
        .sum()
}

/// What one thing took in a turn, in microseconds.
#[derive(Clone, Copy, Default)]
struct Spent {
    wall_us: f64,
    /// Of processor time, all threads of this process together; 0 where the system does not tell.
    work_us: f64,
}

/// What one thing took in each house, round by round. Who comes first changes, since whoever comes
/// after another finds the machine as that left it.
async fn turns(houses: &[House], document: &Document, each: usize) -> Result<Vec<Vec<Spent>>> {
    let graph = graphs::first(document)?;
    // A house that was just opened is slow.
    for house in houses {
        turn(house, &graph).await?;
    }
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let mut spent = vec![Spent::default(); houses.len()];
        for place in 0..houses.len() {
            // Forwards and backwards, so that nobody always follows the same one.
            let place = if round % 2 == 0 {
                place
            } else {
                houses.len() - 1 - place
            };
            let at = (round / 2 + place) % houses.len();
            let before = worked_us();
            let (took, runs) = turn(&houses[at], &graph).await?;
            tokio::time::sleep(REST).await;
            let done = runs * each;
            spent[at] = Spent {
                wall_us: took.as_secs_f64() * 1e6 / done as f64,
                work_us: (worked_us() - before) / done as f64,
            };
        }
        rounds.push(spent);
    }
    Ok(rounds)
}

/// One house's turn: how long it was, and how many runs there were in it.
async fn turn(house: &House, graph: &Arc<Graph>) -> Result<(Duration, usize)> {
    let (began, mut runs) = (Instant::now(), 0);
    while began.elapsed() < TURN {
        run(&house.engine, graph, 0).await?;
        runs += 1;
    }
    Ok((began.elapsed(), runs))
}

/// How long the threads of this process have worked so far, where the system tells.
fn worked_us() -> f64 {
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

fn open(dir: Option<&Path>, document: &Document, standing: Standing, port: u16) -> Result<House> {
    let mut config = Config {
        data_dir: dir.map(Path::to_owned),
        ..Config::default()
    };
    match standing {
        Standing::Off | Standing::Again => {}
        Standing::Nothing => config.observer = Some(Arc::new(Nothing)),
        Standing::On => {
            let endpoint = format!("http://127.0.0.1:{port}");
            config.telemetry = Settings::read(|name| match name {
                "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.clone()),
                "OTEL_METRICS_EXPORTER" => Some("prometheus".to_owned()),
                "OTEL_BSP_SCHEDULE_DELAY" => Some("20".to_owned()),
                _ => None,
            })?;
        }
    }
    Ok(wire::open(&config, std::slice::from_ref(document))?)
}

/// A receiver that takes everything; its port, and how many bytes it has taken.
fn receiver() -> Result<(u16, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let taken: Arc<AtomicU64> = Arc::default();
    let counted = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || take(&stream, &counted));
        }
    });
    Ok((port, taken))
}

/// Answers one connection's requests until it ends.
fn take(stream: &TcpStream, counted: &AtomicU64) -> Result<()> {
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
struct Nothing;

impl Observer for Nothing {
    fn saw(&self, _: &Run, _: &[Entry]) {}

    fn learnt(&self, _: &Run, _: &[Entry]) {}

    fn forked(&self, _: &Run, _: &[Entry]) {}

    fn walked(&self, _: &Walk, _: &[Entry]) {}

    fn beneath(&self, _: &Run, _: StepNo, _: u32) -> Option<Upstream> {
        None
    }

    fn beneath_walk(&self, _: &Walk, _: u32) -> Option<Upstream> {
        None
    }

    fn appended(&self, _: Duration, _: bool) {}

    fn driving(&self, _: usize) {}

    fn planning(&self, within: Option<&Upstream>) -> Upstream {
        within.cloned().unwrap_or(Upstream {
            trace: 1,
            span: 1,
            sampled: false,
            state: None,
            baggage: None,
        })
    }

    fn planned(&self, _: &Thought<'_>) {}
}
