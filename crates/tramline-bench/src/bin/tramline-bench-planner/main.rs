//! Measures the planner: how near its plans come to the right ones, with and without a past, and how sure
//! it is of them.
//!
//! `cargo xtask bench planner` runs this over requests whose right plans are known. `--fit` prints the
//! weights as the requests that are not held out have them, `--words` leaves the encoder out, and `--only`
//! measures one part: `plans`, `domains`, `sets` or `speed`.

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
mod speed;
#[path = "../../vectors.rs"]
mod vectors;

/// What is measured, each by itself with `--only`.
const PARTS: [&str; 4] = ["plans", "domains", "sets", "speed"];
/// Bounds between which plans are counted by their confidence.
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
            other => bail!("`{other}` is not known; there are --json, --words, --only and --fit"),
        }
    }
    let only = only.as_deref();
    if only.is_some_and(|part| !PARTS.contains(&part)) {
        bail!("`--only` takes one of {}", PARTS.join(", "));
    }
    let data = data.context("--data names the directory with the requests")?;
    if words_only {
        let sets = Set::plans("UltraTool", &data.join("planning/ultratool"))
            .and_then(|ultra| Ok((ultra, Set::plans("TMDB", &data.join("planning/tmdb"))?)))?;
        let mut report = Report::new(!json);
        measure_all(&mut report, &data, &[(&sets.0, &sets.1, "by words")], only)?;
        say(&report, json);
        return Ok(());
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
    let found = [
        (&ultra[0], &tmdb[0], "by words"),
        (&ultra[1], &tmdb[1], "with encoder"),
    ];
    measure_all(&mut report, &data, &found, only)?;
    say(&report, json);
    Ok(())
}

/// Measures UltraTool and TMDB as their tools are found, in one manner or several, and what needs no encoder.
fn measure_all(
    report: &mut Report,
    data: &Path,
    found: &[(&Set, &Set, &str)],
    only: Option<&str>,
) -> Result<()> {
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    for (ultra, tmdb, how) in found {
        if wanted("plans") {
            measure_ultra(report, ultra, how);
            measure_tmdb(report, tmdb, how);
        }
        if wanted("domains") {
            elsewhere::by_domain(report, ultra, how);
        }
    }
    let (ultra, tmdb, _) = found[0];
    if wanted("sets") {
        elsewhere::measure(report, data, ultra, tmdb)?;
    }
    if wanted("speed") {
        speed::measure(report, data, &ultra.asked, &ultra.past)?;
    }
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
