//! The effect of precedents from other domains: requests of one domain are planned with the
//! precedents of all others, and without any. Foreign precedents should cost nothing, since they
//! are not relevant.

use crate::measure::{PlanOutcome, figures, with_past};
use crate::report::{BenchReport, FigureTarget};
use crate::sets::{PlanCase, RequestSet, past};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use tramline_expr::Str;
use tramline_planner::planner::PRECEDENTS_MAX;

/// Percentage points of exact match that may be lost.
const LOST_MAX: f64 = 0.5;
/// Every nth past request of a set is also planned: the held-out ones alone are few per domain.
const ASKED_EVERY: usize = 3;

/// Measures whole sets, with the tools of all sets together.
pub(crate) fn measure(
    report: &mut BenchReport,
    data: &Path,
    ultra: &RequestSet,
    tmdb: &RequestSet,
) -> Result<()> {
    let meta = RequestSet::loose("MetaTool", &data.join("retrieval/metatool"))?;
    let live = RequestSet::unordered("LiveMCP", &data.join("retrieval/livemcp"))?;
    let sets = [ultra, tmdb, &meta, &live];
    let known = [&ultra.past, &tmdb.asked, &meta.past, &live.asked];
    for (at, set) in sets.iter().enumerate() {
        let others = |which: usize| which != at;
        let tools: Vec<&RequestSet> = (0..4).filter(|at| others(*at)).map(|at| sets[at]).collect();
        let all = set.among(set.name, &tools)?;
        let theirs = (0..4).filter(|at| others(*at)).flat_map(|at| known[at]);
        let theirs: Vec<&PlanCase> = theirs.take(PRECEDENTS_MAX).collect();
        // For a set without held-out requests, thresholds were chosen on the even ones, so only the
        // odd ones are used.
        let asked: Vec<&PlanCase> = match set.asked.is_empty() {
            true => set.past.iter().skip(1).step_by(2).collect(),
            false => set.asked.iter().collect(),
        };
        let name = format!("{} among all tools, past of all others", set.name);
        compare(report, &name, &all, &asked, &theirs);
        if set.name == tmdb.name {
            let theirs: Vec<&PlanCase> = ultra.past.iter().collect();
            let name = format!("{} among all tools, past of {}", set.name, ultra.name);
            compare(report, &name, &all, &asked, &theirs);
        }
    }
    Ok(())
}

/// Measures each domain of a set. A request belongs to the domain of its first tool; its precedents
/// are those that need no tool of that domain. Thresholds were chosen on every other domain, so the
/// rest is reported separately.
pub(crate) fn by_domain(report: &mut BenchReport, set: &RequestSet, how: &str) {
    let mut halves: [(Vec<PlanOutcome>, Vec<PlanOutcome>); 2] = Default::default();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for (at, tools) in set.domains.values().enumerate() {
        let spare = set.past.iter().step_by(ASKED_EVERY);
        let asked = set.asked.iter().chain(spare);
        let asked = asked.filter(|case| belongs(case, tools) && !done.contains(case.text.as_str()));
        let asked: Vec<&PlanCase> = asked.collect();
        done.extend(asked.iter().map(|case| case.text.as_str()));
        let theirs = past(set.past.iter().filter(|case| !case.needs(tools)));
        let (without, with) = &mut halves[at % 2];
        without.extend(with_past(set, &asked, &past([])).0);
        with.extend(with_past(set, &asked, &theirs).0);
    }
    let [chosen_by, held_out] = halves;
    let name = format!("{} by domain {how}", set.name);
    add_figures(
        report,
        &format!("{name}, held-out domains"),
        &held_out.0,
        &held_out.1,
    );
    let without = [chosen_by.0, held_out.0].concat();
    add_figures(
        report,
        &format!("{name}, all domains"),
        &without,
        &[chosen_by.1, held_out.1].concat(),
    );
}

fn belongs(case: &PlanCase, tools: &BTreeSet<Str>) -> bool {
    case.tools.first().is_some_and(|tool| tools.contains(tool))
}

fn compare(
    report: &mut BenchReport,
    name: &str,
    set: &RequestSet,
    asked: &[&PlanCase],
    theirs: &[&PlanCase],
) {
    let (without, _) = with_past(set, asked, &past([]));
    let (with, _) = with_past(set, asked, &past(theirs.iter().copied()));
    add_figures(report, name, &without, &with);
}

fn add_figures(
    report: &mut BenchReport,
    name: &str,
    without: &[PlanOutcome],
    with: &[PlanOutcome],
) {
    let (before, after) = (figures(without, 0.0), figures(with, 0.0));
    let count = with.len();
    let add = &mut |what: &str, value: f64, aim: FigureTarget| {
        report.add(
            format!("{name} ({count} requests), {what}"),
            value,
            "%",
            aim,
        );
    };
    add("exact without a past", before.exact, FigureTarget::None);
    add("exact with it", after.exact, FigureTarget::None);
    add("node-F1 without a past", before.nodes, FigureTarget::None);
    add("node-F1 with it", after.nodes, FigureTarget::None);
    add(
        "exact lost",
        before.exact - after.exact,
        FigureTarget::Under(LOST_MAX + f64::EPSILON),
    );
}
