//! Measures the planner: how close its plans are to the right ones, with and without precedents,
//! and whether its confidence is accurate.
//!
//! `cargo xtask bench planner` runs this over requests whose right plans are known. `--fit` prints
//! the weights fitted on the requests that are not held out, `--words` leaves the encoder out, and
//! `--only` measures one part: `plans`, `domains`, `sets` or `speed`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail};
use measure::{PlanFigures, PlanOutcome, chain, cross_validated, figures, with_past};
use report::{BenchReport, FigureTarget};
use sets::{PlanCase, RequestSet, past};
use std::path::{Path, PathBuf};
use vectors::EmbeddingCache;

mod fit;
mod measure;
mod other_domains;
#[path = "../../report.rs"]
mod report;
mod sets;
mod speed;
#[path = "../../vectors.rs"]
mod vectors;

/// The parts, selected with `--only`.
const PARTS: [&str; 4] = ["plans", "domains", "sets", "speed"];
/// Confidence thresholds between which plans are counted.
const BANDS: [f64; 7] = [1.01, 0.95, 0.8, 0.6, 0.4, 0.2, 0.0];

fn main() -> Result<()> {
    let (mut json, mut fits, mut words_only) = (false, false, false);
    let (mut data, mut encoder, mut keep) = (None, None, None);
    let mut only = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--json" => json = true,
            "--fit" => fits = true,
            "--words" => words_only = true,
            "--only" => only = arguments.next(),
            "--data" => data = path(),
            "--encoder" => encoder = path(),
            "--keep" => keep = path(),
            other => bail!("unknown argument `{other}`; use --json, --words, --only or --fit"),
        }
    }
    let only = only.as_deref();
    if only.is_some_and(|part| !PARTS.contains(&part)) {
        bail!("`--only` takes one of {}", PARTS.join(", "));
    }
    let data = data.context("--data must name the directory of the requests")?;
    if words_only {
        let sets =
            RequestSet::plans("UltraTool", &data.join("planning/ultratool")).and_then(|ultra| {
                Ok((
                    ultra,
                    RequestSet::plans("TMDB", &data.join("planning/tmdb"))?,
                ))
            })?;
        let mut report = BenchReport::new(!json);
        measure_all(&mut report, &data, &[(&sets.0, &sets.1, "by words")], only)?;
        print_report(&report, json);
        return Ok(());
    }
    let encoder = encoder.context("--encoder must name the directory of the model")?;
    let keep = keep.context("--keep must name a directory for vectors")?;
    let mut vectors = EmbeddingCache::open(&encoder, &keep)?;
    let mut both = |set: RequestSet| -> Result<[RequestSet; 2]> {
        vectors.make(set.name, set.texts())?;
        let meaning = set.with_embeddings(&vectors)?;
        Ok([set, meaning])
    };
    let ultra = both(RequestSet::plans(
        "UltraTool",
        &data.join("planning/ultratool"),
    )?)?;
    if fits {
        let single = both(RequestSet::loose(
            "MetaTool",
            &data.join("retrieval/metatool"),
        )?)?;
        fit::print("BY_WORDS", &[&ultra[0], &single[0]]);
        fit::print("BY_MEANING", &[&ultra[1], &single[1]]);
        return Ok(());
    }
    let tmdb = both(RequestSet::plans("TMDB", &data.join("planning/tmdb"))?)?;
    let mut report = BenchReport::new(!json);
    let found = [
        (&ultra[0], &tmdb[0], "by words"),
        (&ultra[1], &tmdb[1], "with encoder"),
    ];
    measure_all(&mut report, &data, &found, only)?;
    print_report(&report, json);
    Ok(())
}

/// Measures UltraTool and TMDB with one or several kinds of search, and the parts that need no
/// encoder.
fn measure_all(
    report: &mut BenchReport,
    data: &Path,
    found: &[(&RequestSet, &RequestSet, &str)],
    only: Option<&str>,
) -> Result<()> {
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    for (ultra, tmdb, how) in found {
        if wanted("plans") {
            measure_ultra(report, ultra, how);
            measure_tmdb(report, tmdb, how);
        }
        if wanted("domains") {
            other_domains::by_domain(report, ultra, how);
        }
    }
    let (ultra, tmdb, _) = found[0];
    if wanted("sets") {
        other_domains::measure(report, data, ultra, tmdb)?;
    }
    if wanted("speed") {
        speed::measure(report, data, &ultra.asked, &ultra.past)?;
    }
    Ok(())
}

fn print_report(report: &BenchReport, json: bool) {
    match json {
        true => println!("{}", report.to_json()),
        false => println!("{}", report.verdict()),
    }
}

fn measure_ultra(report: &mut BenchReport, set: &RequestSet, how: &str) {
    let asked: Vec<&PlanCase> = set.asked.iter().collect();
    add_figures(
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
        add_figures(report, &name, &figures(&outcomes, ms), aims);
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
        format!("{how}, exact of plans with confidence of at least 0.95"),
        figures(&sure, 0.0).exact,
        "%",
        FigureTarget::Over(89.0),
    );
}

fn measure_tmdb(report: &mut BenchReport, set: &RequestSet, how: &str) {
    let asked: Vec<&PlanCase> = set.asked.iter().collect();
    add_figures(
        report,
        &format!("TMDB {how}, top-2 chain"),
        &figures(&chain(set, &asked, 2), 0.0),
        None,
    );
    let (outcomes, ms) = with_past(set, &asked, &past([]));
    let name = format!("TMDB {how}, 0 past");
    add_figures(report, &name, &figures(&outcomes, ms), None);
    let (outcomes, ms) = cross_validated(set, 5);
    let name = format!("TMDB {how}, 80 past");
    add_figures(report, &name, &figures(&outcomes, ms), None);
    bands(report, &name, &outcomes);
}

fn add_figures(
    report: &mut BenchReport,
    name: &str,
    figures: &PlanFigures,
    aims: Option<[f64; 3]>,
) {
    let each = [
        ("node-F1", figures.nodes),
        ("edge-F1", figures.edges),
        ("exact", figures.exact),
    ];
    for (at, (what, value)) in each.into_iter().enumerate() {
        let aim = aims.map_or(FigureTarget::None, |aims| FigureTarget::Over(aims[at]));
        report.add(format!("{name}, {what}"), value, "%", aim);
    }
    if figures.ms > 0.0 {
        report.add(
            format!("{name}, a plan"),
            figures.ms,
            "ms",
            FigureTarget::None,
        );
    }
}

/// The share of right plans per confidence band.
fn bands(report: &mut BenchReport, name: &str, all: &[PlanOutcome]) {
    for pair in BANDS.windows(2) {
        let (top, low) = (pair[0], pair[1]);
        let within = all
            .iter()
            .filter(|one| one.confidence >= low && one.confidence < top);
        let within: Vec<PlanOutcome> = within.copied().collect();
        if !within.is_empty() {
            let what = format!("{name}, exact of {} from {low}", within.len());
            report.add(what, figures(&within, 0.0).exact, "%", FigureTarget::None);
        }
    }
}
