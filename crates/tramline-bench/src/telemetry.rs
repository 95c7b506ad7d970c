//! What telemetry costs: off, which is to be nothing, and on, with a receiver that takes everything.
//!
//! Off is measured next to an observer that does nothing, which costs more than none: what lies
//! between the two bounds what the seam costs where nobody observes.

use crate::graphs;
use crate::report::{Aim, Report};
use crate::steps::{run, us};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tramline::config::Config;
use tramline::core::formats::yaml_graph::Document;
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
const ROUNDS: usize = 400;

/// How telemetry stands.
#[derive(Clone, Copy)]
enum Standing {
    Off,
    Nothing,
    On,
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let dirs = [
        tempfile::tempdir()?,
        tempfile::tempdir()?,
        tempfile::tempdir()?,
    ];
    let (port, taken) = receiver()?;
    let runtime = crate::runtime()?;
    runtime.block_on(async {
        for (what, document, each) in [
            ("a call of `echo`", graphs::calls("echo", CALLS)?, CALLS),
            ("a transform step", graphs::chain_document(CHAIN)?, CHAIN),
        ] {
            for durable in [true, false] {
                let open = |standing: Standing| {
                    let dir = durable.then(|| dirs[standing as usize].path());
                    open(dir, &document, standing, port)
                };
                let houses = [
                    open(Standing::Off)?,
                    open(Standing::Nothing)?,
                    open(Standing::On)?,
                ];
                let best = turns(&houses, &document).await?;
                let [off, nothing, on] = best.map(|took| us(took) / each as f64);
                let place = if durable { "durable" } else { "in memory" };
                let name = format!("{what}, {place}");
                report.add(format!("{name}, telemetry off"), off, "us", Aim::None);
                let percent = |with: f64| (with - off) / off * 100.0;
                let added = format!("{name}, added by an observer that does nothing");
                report.add(added, percent(nothing), "%", Aim::None);
                // Beside what a call takes; a step that only computes takes next to nothing.
                let aim = match each == CALLS {
                    true => Aim::Under(5.0),
                    false => Aim::None,
                };
                report.add(format!("{name}, added by telemetry"), percent(on), "%", aim);
                for house in houses {
                    house.close().await;
                }
            }
        }
        let bytes = taken.load(Ordering::Relaxed) as f64 / 1e6;
        report.add("what the receiver took".to_owned(), bytes, "MB", Aim::None);
        Ok(())
    })
}

/// The least time of a run in each house, turn by turn, so that what disturbs one disturbs all.
async fn turns(houses: &[House; 3], document: &Document) -> Result<[Duration; 3]> {
    let graph = graphs::first(document)?;
    let mut best = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        for (house, best) in houses.iter().zip(&mut best) {
            let began = Instant::now();
            run(&house.engine, &graph, 0).await?;
            *best = (*best).min(began.elapsed());
        }
    }
    Ok(best)
}

fn open(dir: Option<&Path>, document: &Document, standing: Standing, port: u16) -> Result<House> {
    let mut config = Config {
        data_dir: dir.map(Path::to_owned),
        ..Config::default()
    };
    match standing {
        Standing::Off => {}
        Standing::Nothing => config.observer = Some(Arc::new(Nothing)),
        Standing::On => {
            let endpoint = format!("http://127.0.0.1:{port}");
            config.telemetry = Settings::read(|name| match name {
                "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.clone()),
                "OTEL_METRICS_EXPORTER" => Some("prometheus".to_owned()),
                "OTEL_BSP_SCHEDULE_DELAY" => Some("200".to_owned()),
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
