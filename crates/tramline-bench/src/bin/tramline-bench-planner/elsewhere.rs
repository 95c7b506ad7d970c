//! What a past from other domains costs: requests of a domain are planned with what was done in all
//! others, and next to that with no past at all. It must cost nothing, since it says nothing of them.

use crate::measure::{Outcome, figures, with_past};
use crate::report::{Aim, Report};
use crate::sets::{Case, Set, past};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use tramline_core::Str;
use tramline_engine::planner::PRECEDENTS_MAX;

/// So many points of exact match may be lost.
const LOST_MAX: f64 = 0.5;
/// Every nth of the past requests of a set is asked, too: the held-out ones alone are few for a domain.
const ASKED_EVERY: usize = 3;

/// Measures it for sets as a whole next to each other, all tools together.
pub(crate) fn measure(report: &mut Report, data: &Path, ultra: &Set, tmdb: &Set) -> Result<()> {
    let meta = Set::loose("MetaTool", &data.join("retrieval/metatool"))?;
    let live = Set::unordered("LiveMCP", &data.join("retrieval/livemcp"))?;
    let sets = [ultra, tmdb, &meta, &live];
    let known = [&ultra.past, &tmdb.asked, &meta.past, &live.asked];
    for (at, set) in sets.iter().enumerate() {
        let others = |which: usize| which != at;
        let tools: Vec<&Set> = (0..4).filter(|at| others(*at)).map(|at| sets[at]).collect();
        let all = set.among(set.name, &tools)?;
        let theirs = (0..4).filter(|at| others(*at)).flat_map(|at| known[at]);
        let theirs: Vec<&Case> = theirs.take(PRECEDENTS_MAX).collect();
        // By every other request of a set without any that are held out, bounds were chosen.
        let asked: Vec<&Case> = match set.asked.is_empty() {
            true => set.past.iter().skip(1).step_by(2).collect(),
            false => set.asked.iter().collect(),
        };
        let name = format!("{} among all tools, past of all others", set.name);
        compare(report, &name, &all, &asked, &theirs);
        if set.name == tmdb.name {
            let theirs: Vec<&Case> = ultra.past.iter().collect();
            let name = format!("{} among all tools, past of {}", set.name, ultra.name);
            compare(report, &name, &all, &asked, &theirs);
        }
    }
    Ok(())
}

/// Measures it for each domain of a set. Each request belongs to the domain of its first tool; its past is
/// what needs no tool of that domain. By every other domain bounds were chosen, so the others stand alone.
pub(crate) fn by_domain(report: &mut Report, set: &Set, how: &str) {
    let mut halves: [(Vec<Outcome>, Vec<Outcome>); 2] = Default::default();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for (at, tools) in set.domains.values().enumerate() {
        let spare = set.past.iter().step_by(ASKED_EVERY);
        let asked = set.asked.iter().chain(spare);
        let asked = asked.filter(|case| belongs(case, tools) && !done.contains(case.text.as_str()));
        let asked: Vec<&Case> = asked.collect();
        done.extend(asked.iter().map(|case| case.text.as_str()));
        let theirs = past(set.past.iter().filter(|case| !case.needs(tools)));
        let (without, with) = &mut halves[at % 2];
        without.extend(with_past(set, &asked, &past([])).0);
        with.extend(with_past(set, &asked, &theirs).0);
    }
    let [chosen_by, held_out] = halves;
    let name = format!("{} by domain {how}", set.name);
    tell(
        report,
        &format!("{name}, held-out domains"),
        &held_out.0,
        &held_out.1,
    );
    let without = [chosen_by.0, held_out.0].concat();
    tell(
        report,
        &format!("{name}, all domains"),
        &without,
        &[chosen_by.1, held_out.1].concat(),
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
