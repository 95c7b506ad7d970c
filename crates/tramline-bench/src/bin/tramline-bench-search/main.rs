//! Measures search: how often the right tool is among the first hits, whether confidence is
//! accurate, and speed.
//!
//! `cargo xtask bench search` installs a sentence encoder and runs this over real tools and
//! queries. `--calibrate` prints the weights of confidence fitted on one half of the queries; the
//! table of confidence is over the other half. `--near-misses` prints only the table of near misses,
//! without the encoder; `--near-miss-file FILE` does that for another set.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail};
use report::{BenchReport, FigureTarget};
use sets::QuerySet;
use std::path::PathBuf;
use vectors::EmbeddingCache;

mod confidence;
mod fit;
mod near_misses;
mod recall;
#[path = "../../report.rs"]
mod report;
mod sets;
mod speed;
#[path = "../../vectors.rs"]
mod vectors;

/// Past queries per tool, measured one after the other.
pub(crate) const PAST_QUERIES: [usize; 3] = [0, 10, 30];

fn main() -> Result<()> {
    let (mut json, mut calibrate, mut near_misses) = (false, false, false);
    let (mut data, mut encoder, mut keep, mut own_set) = (None, None, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--json" => json = true,
            "--calibrate" => calibrate = true,
            "--near-misses" => near_misses = true,
            "--near-miss-file" => own_set = path(),
            "--data" => data = path(),
            "--encoder" => encoder = path(),
            "--keep" => keep = path(),
            other => bail!("unknown argument `{other}`; use --json, --calibrate or --near-misses"),
        }
    }
    if near_misses || own_set.is_some() {
        return near_misses::print(own_set.as_deref());
    }
    let data = data.context("--data must name the directory of the queries")?;
    let encoder = encoder.context("--encoder must name the directory of the model")?;
    let keep = keep.context("--keep must name a directory for vectors")?;
    let sets = QuerySet::all(&data)?;
    let mut vectors = EmbeddingCache::open(&encoder, &keep)?;
    for set in &sets {
        vectors.make(set.name, set.texts())?;
    }
    vectors.make("near misses", near_misses::texts()?.into_iter())?;
    if calibrate {
        return fit::print(&sets, &vectors);
    }
    let mut report = BenchReport::new(!json);
    recall::measure(&mut report, &sets, &vectors)?;
    confidence::measure(&mut report, &sets, &vectors)?;
    near_misses::measure(&mut report, &vectors)?;
    speed::measure(&mut report, &sets, &vectors)?;
    report.add(
        "a text through the encoder",
        vectors.text_ms()?,
        "ms",
        FigureTarget::None,
    );
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}
