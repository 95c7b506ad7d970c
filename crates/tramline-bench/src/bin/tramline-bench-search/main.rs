//! Measures search: how often the right tool is among the first, how sure hits are, how fast it is.
//!
//! `cargo xtask bench search` brings a sentence encoder and runs this over real tools and queries.
//! `--calibrate` prints the weights of confidence as one half of the queries has them; the table of
//! confidence is over the other half.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, bail};
use report::{Aim, Report};
use sets::Set;
use std::path::PathBuf;
use vectors::Vectors;

mod fit;
mod recall;
#[path = "../../report.rs"]
mod report;
mod sets;
mod speed;
mod sure;
#[path = "../../vectors.rs"]
mod vectors;

/// How many past wishes each tool has, in turn.
pub(crate) const PAST: [usize; 3] = [0, 10, 30];

fn main() -> Result<()> {
    let (mut json, mut calibrate) = (false, false);
    let (mut data, mut encoder, mut keep) = (None, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--json" => json = true,
            "--calibrate" => calibrate = true,
            "--data" => data = path(),
            "--encoder" => encoder = path(),
            "--keep" => keep = path(),
            other => bail!("`{other}` is not known; there are --json and --calibrate"),
        }
    }
    let data = data.context("--data names the directory with the queries")?;
    let encoder = encoder.context("--encoder names the directory of the model")?;
    let keep = keep.context("--keep names a directory for vectors")?;
    let sets = Set::all(&data)?;
    let mut vectors = Vectors::open(&encoder, &keep)?;
    for set in &sets {
        vectors.make(set.name, set.texts())?;
    }
    if calibrate {
        return fit::print(&sets, &vectors);
    }
    let mut report = Report::new(!json);
    recall::measure(&mut report, &sets, &vectors)?;
    sure::measure(&mut report, &sets, &vectors)?;
    speed::measure(&mut report, &sets, &vectors)?;
    report.add(
        "a text through the encoder",
        vectors.text_ms()?,
        "ms",
        Aim::None,
    );
    if json {
        println!("{}", report.to_json());
    } else {
        println!("{}", report.verdict());
    }
    Ok(())
}
