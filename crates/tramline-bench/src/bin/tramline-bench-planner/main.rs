//! Measures the planner: how near its plans come to the right ones, with and without a past, and how sure
//! it is of them.
//!
//! `cargo xtask bench planner` runs this over requests whose right plans are known. `--fit` prints the
//! weights as the requests that are not held out have them, `--words` leaves the encoder out.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, bail};
use measure::{Figures, Outcome, chain, figures, folded, with_past};
use report::{Aim, Report};
use sets::{Case, Set, past};
use std::path::{Path, PathBuf};
use vectors::Vectors;

mod elsewhere;
mod fit;
mod measure;
#[path = "../../report.rs"]
mod report;
mod sets;
#[path = "../../vectors.rs"]
mod vectors;

/// Bounds between which plans are counted by their confidence.
const BANDS: [f64; 7] = [1.01, 0.95, 0.8, 0.6, 0.4, 0.2, 0.0];

fn main() -> Result<()> {
    let (mut json, mut fits, mut words_only) = (false, false, false);
    let (mut data, mut encoder, mut keep) = (None, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--json" => json = true,
            "--fit" => fits = true,
            "--words" => words_only = true,
            "--data" => data = path(),
            "--encoder" => encoder = path(),
            "--keep" => keep = path(),
            other => bail!("`{other}` is not known; there are --json, --words and --fit"),
        }
    }
    let data = data.context("--data names the directory with the requests")?;
    if words_only {
        return by_words(&data, json);
    }
    let encoder = encoder.context("--encoder names the directory of the model")?;
    let keep = keep.context("--keep names a directory for vectors")?;
    let mut vectors = Vectors::open(&encoder, &keep)?;
    let mut both = |set: Set| -> Result<[Set; 2]> {
        vectors.make(set.name, set.texts())?;
        let meaning = set.with_meaning(&vectors)?;
        Ok([set, meaning])
    };
    let ultra = both(Set::plans("UltraTool", &data.join("planning/ultratool"))?)?;
    if fits {
        let single = both(Set::loose("MetaTool", &data.join("retrieval/metatool"))?)?;
        fit::print("BY_WORDS", &[&ultra[0], &single[0]]);
        fit::print("BY_MEANING", &[&ultra[1], &single[1]]);
        return Ok(());
    }
    let tmdb = both(Set::plans("TMDB", &data.join("planning/tmdb"))?)?;
    let mut report = Report::new(!json);
    for (at, how) in ["by words", "with encoder"].into_iter().enumerate() {
        measure_ultra(&mut report, &ultra[at], how);
        measure_tmdb(&mut report, &tmdb[at], how);
    }
    elsewhere::measure(&mut report, &data, &ultra[0], &tmdb[0])?;
    say(&report, json);
    Ok(())
}

/// Measures what needs no encoder.
fn by_words(data: &Path, json: bool) -> Result<()> {
    let ultra = Set::plans("UltraTool", &data.join("planning/ultratool"))?;
    let tmdb = Set::plans("TMDB", &data.join("planning/tmdb"))?;
    let mut report = Report::new(!json);
    measure_ultra(&mut report, &ultra, "by words");
    measure_tmdb(&mut report, &tmdb, "by words");
    elsewhere::measure(&mut report, data, &ultra, &tmdb)?;
    say(&report, json);
    Ok(())
}

fn say(report: &Report, json: bool) {
    match json {
        true => println!("{}", report.to_json()),
        false => println!("{}", report.verdict()),
    }
}

fn measure_ultra(report: &mut Report, set: &Set, how: &str) {
    let asked: Vec<&Case> = set.asked.iter().collect();
    tell(
        report,
        &format!("UltraTool {how}, top-2 chain"),
        &figures(&chain(set, &asked, 2), 0.0),
        None,
    );
    let mut all = Vec::new();
    for (many, aims) in [
        (0, Some([50.0, 18.0, 14.0])),
        (50, None),
        (300, None),
        (set.past.len(), Some([81.0, 53.0, 42.0])),
    ] {
        let (outcomes, ms) = with_past(set, &asked, &past(&set.past[..many]));
        let name = format!("UltraTool {how}, {many} past");
        tell(report, &name, &figures(&outcomes, ms), aims);
        bands(report, &name, &outcomes);
        all.extend(outcomes);
    }
    bands(report, &format!("UltraTool {how}, all together"), &all);
    let sure: Vec<_> = all
        .iter()
        .filter(|one| one.confidence >= 0.95)
        .copied()
        .collect();
    report.add(
        format!("{how}, exact of plans with 0.95 and more"),
        figures(&sure, 0.0).exact,
        "%",
        Aim::Over(89.0),
    );
}

fn measure_tmdb(report: &mut Report, set: &Set, how: &str) {
    let asked: Vec<&Case> = set.asked.iter().collect();
    tell(
        report,
        &format!("TMDB {how}, top-2 chain"),
        &figures(&chain(set, &asked, 2), 0.0),
        None,
    );
    let (outcomes, ms) = with_past(set, &asked, &past([]));
    let name = format!("TMDB {how}, 0 past");
    tell(report, &name, &figures(&outcomes, ms), None);
    let (outcomes, ms) = folded(set, 5);
    let name = format!("TMDB {how}, 80 past");
    tell(report, &name, &figures(&outcomes, ms), None);
    bands(report, &name, &outcomes);
}

fn tell(report: &mut Report, name: &str, figures: &Figures, aims: Option<[f64; 3]>) {
    let each = [
        ("node-F1", figures.nodes),
        ("edge-F1", figures.edges),
        ("exact", figures.exact),
    ];
    for (at, (what, value)) in each.into_iter().enumerate() {
        let aim = aims.map_or(Aim::None, |aims| Aim::Over(aims[at]));
        report.add(format!("{name}, {what}"), value, "%", aim);
    }
    if figures.ms > 0.0 {
        report.add(format!("{name}, a plan"), figures.ms, "ms", Aim::None);
    }
}

/// How many plans of each confidence are right.
fn bands(report: &mut Report, name: &str, all: &[Outcome]) {
    for pair in BANDS.windows(2) {
        let (top, low) = (pair[0], pair[1]);
        let within = all
            .iter()
            .filter(|one| one.confidence >= low && one.confidence < top);
        let within: Vec<Outcome> = within.copied().collect();
        if !within.is_empty() {
            let what = format!("{name}, exact of {} from {low}", within.len());
            report.add(what, figures(&within, 0.0).exact, "%", Aim::None);
        }
    }
}
