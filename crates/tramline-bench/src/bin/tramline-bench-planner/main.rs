//! Measures the planner: how near its plans come to the right ones, with and without a past, and how sure
//! it is of them.
//!
//! `cargo xtask bench planner` runs this over requests whose right plans are known. `--fit` prints the
//! weights as the requests that are not held out have them.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, bail};
use measure::{Figures, Outcome, chain, figures, folded, with_past};
use report::{Aim, Report};
use sets::{Case, Set, past};
use std::path::PathBuf;

mod fit;
mod measure;
#[path = "../../report.rs"]
mod report;
mod sets;

/// Bounds between which plans are counted by their confidence.
const BANDS: [f64; 7] = [1.01, 0.95, 0.8, 0.6, 0.4, 0.2, 0.0];

fn main() -> Result<()> {
    let (mut json, mut fits, mut data) = (false, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--fit" => fits = true,
            "--data" => data = arguments.next().map(PathBuf::from),
            other => bail!("`{other}` is not known; there are --json and --fit"),
        }
    }
    let data = data.context("--data names the directory with the requests")?;
    let ultra = Set::plans("UltraTool", &data.join("planning/ultratool"))?;
    if fits {
        let single = Set::single("MetaTool", &data.join("retrieval/metatool"))?;
        fit::print(&[&ultra, &single]);
        return Ok(());
    }
    let tmdb = Set::plans("TMDB", &data.join("planning/tmdb"))?;
    let mut report = Report::new(!json);
    measure_ultra(&mut report, &ultra);
    measure_tmdb(&mut report, &tmdb);
    match json {
        true => println!("{}", report.to_json()),
        false => println!("{}", report.verdict()),
    }
    Ok(())
}

fn measure_ultra(report: &mut Report, set: &Set) {
    let asked: Vec<&Case> = set.asked.iter().collect();
    tell(
        report,
        "UltraTool, BM25 top-2 chain",
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
        let name = format!("UltraTool, {many} past");
        tell(report, &name, &figures(&outcomes, ms), aims);
        bands(report, &name, &outcomes);
        all.extend(outcomes);
    }
    bands(report, "UltraTool, all together", &all);
    let sure: Vec<_> = all
        .iter()
        .filter(|one| one.confidence >= 0.95)
        .copied()
        .collect();
    report.add(
        "exact of plans with 0.95 and more",
        figures(&sure, 0.0).exact,
        "%",
        Aim::Over(89.0),
    );
}

fn measure_tmdb(report: &mut Report, set: &Set) {
    let asked: Vec<&Case> = set.asked.iter().collect();
    tell(
        report,
        "TMDB, BM25 top-2 chain",
        &figures(&chain(set, &asked, 2), 0.0),
        None,
    );
    let (outcomes, ms) = with_past(set, &asked, &past([]));
    tell(report, "TMDB, 0 past", &figures(&outcomes, ms), None);
    let (outcomes, ms) = folded(set, 5);
    tell(report, "TMDB, 80 past", &figures(&outcomes, ms), None);
    bands(report, "TMDB, 80 past", &outcomes);
}

fn tell(report: &mut Report, name: &str, figures: &Figures, aims: Option<[f64; 3]>) {
    let each = [
        ("node-F1", figures.nodes),
        ("edge-F1", figures.edges),
        ("exact", figures.exact),
    ];
    for (at, (what, value)) in each.into_iter().enumerate() {
        let aim = aims.map_or(Aim::None, |aims| Aim::Over(aims[at]));
        report.add(&format!("{name}, {what}"), value, "%", aim);
    }
    if figures.ms > 0.0 {
        report.add(&format!("{name}, a plan"), figures.ms, "ms", Aim::None);
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
            report.add(&what, figures(&within, 0.0).exact, "%", Aim::None);
        }
    }
}
