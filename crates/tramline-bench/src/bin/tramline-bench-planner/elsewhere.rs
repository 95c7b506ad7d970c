//! What a past from other domains costs: requests of a domain are planned with what was done in all
//! others, and next to that with no past at all. It must cost nothing, since it says nothing of them.

use crate::measure::{Outcome, figures, with_past};
use crate::report::{Aim, Report};
use crate::sets::{Case, Set, past};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use tramline_core::Str;

/// So many points of exact match may be lost.
const LOST_MAX: f64 = 0.5;
/// Every nth of the past requests of a set is asked, too: the held-out ones alone are few for a domain.
const ASKED_EVERY: usize = 3;

/// Measures it for each domain of a set, and for sets as a whole next to each other.
pub(crate) fn measure(report: &mut Report, data: &Path, ultra: &Set, tmdb: &Set) -> Result<()> {
    by_domain(report, ultra);
    let meta = Set::loose("MetaTool", &data.join("retrieval/metatool"))?;
    let live = Set::tools("LiveMCP", &data.join("retrieval/livemcp"))?;
    let movies = tmdb.among("TMDB", &[ultra, &meta, &live])?;
    let errands = ultra.among("UltraTool", &[tmdb, &meta, &live])?;
    let asked: Vec<&Case> = tmdb.asked.iter().collect();
    let theirs: Vec<&Case> = ultra.past.iter().collect();
    compare(
        report,
        "TMDB among all tools, past of UltraTool",
        &movies,
        &asked,
        &theirs,
    );
    let theirs: Vec<&Case> = theirs.into_iter().chain(&meta.past).collect();
    compare(
        report,
        "TMDB among all tools, past of all others",
        &movies,
        &asked,
        &theirs,
    );
    let asked: Vec<&Case> = ultra.asked.iter().collect();
    let theirs: Vec<&Case> = tmdb.asked.iter().chain(&meta.past).collect();
    compare(
        report,
        "UltraTool among all tools, past of all others",
        &errands,
        &asked,
        &theirs,
    );
    Ok(())
}

/// Each request belongs to the domain of its first tool; its past is what needs no tool of that domain.
fn by_domain(report: &mut Report, set: &Set) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for tools in set.domains.values() {
        let spare = set.past.iter().step_by(ASKED_EVERY);
        let asked = set.asked.iter().chain(spare);
        let asked = asked.filter(|case| belongs(case, tools) && !done.contains(case.text.as_str()));
        let asked: Vec<&Case> = asked.collect();
        done.extend(asked.iter().map(|case| case.text.as_str()));
        let theirs = set.past.iter().filter(|case| !case.needs(tools));
        let theirs = past(theirs);
        without.extend(with_past(set, &asked, &past([])).0);
        with.extend(with_past(set, &asked, &theirs).0);
    }
    tell(
        report,
        "UltraTool by domain, past of the other domains",
        &without,
        &with,
    );
}

fn belongs(case: &Case, tools: &BTreeSet<Str>) -> bool {
    case.tools.first().is_some_and(|tool| tools.contains(tool))
}

fn compare(report: &mut Report, name: &str, set: &Set, asked: &[&Case], theirs: &[&Case]) {
    let (without, _) = with_past(set, asked, &past([]));
    let (with, _) = with_past(set, asked, &past(theirs.iter().copied()));
    tell(report, name, &without, &with);
}

fn tell(report: &mut Report, name: &str, without: &[Outcome], with: &[Outcome]) {
    let (before, after) = (figures(without, 0.0), figures(with, 0.0));
    let count = with.len();
    let add = &mut |what: &str, value: f64, aim: Aim| {
        report.add(
            format!("{name} ({count} requests), {what}"),
            value,
            "%",
            aim,
        );
    };
    add("exact without a past", before.exact, Aim::None);
    add("exact with it", after.exact, Aim::None);
    add("node-F1 without a past", before.nodes, Aim::None);
    add("node-F1 with it", after.nodes, Aim::None);
    add(
        "exact lost",
        before.exact - after.exact,
        Aim::Under(LOST_MAX + f64::EPSILON),
    );
}
