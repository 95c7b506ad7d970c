//! What the figures come to: whose is best, which aims are met, and what is known of those that are not.

use super::{list, name, number, says, times, unit};
use serde_json::Value;
use std::fmt::Write as _;

/// What stands between us and an aim, by workload and aim. It is told only where the aim is missed, so it names what is there
/// and no figure.
const BETWEEN: &[(u64, &str, &str)] = &[
    (
        1,
        "at least 50x faster than any scripted peer",
        "the document is read and checked and the store opened before the first answer, and half of the time is a large binary's \
         pages, touched for the first time; `docs/decisions/0028-beside-peers-and-limits.md` has what was found",
    ),
    (
        1,
        "ahead of the compiled ones",
        "a document is read and checked and a store opened, where a proxy keeps nothing and checks nothing",
    ),
    (
        3,
        "within 2x of the bare direct call",
        "a call of ours is a step: it is decided and journaled, where the direct call is a write and a read in one thread; \
         `docs/decisions/0029-calls-go-past-the-library.md` has what was found",
    ),
    (
        4,
        "within 1.05x of the ideal",
        "what fifty calls take beside their waiting; made directly they take as long",
    ),
    (
        6,
        "at most 1.5x a disk sync",
        "a commit writes whole pages of the database where the bare append writes one record; \
         `docs/decisions/0028-beside-peers-and-limits.md` has the counts",
    ),
    (
        6,
        "at least 20x more than the best peer",
        "all of them share one disk, and what it syncs in a second bounds both sides",
    ),
    (
        7,
        "at least 10x less memory than any peer",
        "workflows that are only rows of a database take next to nothing in memory, at a peer as with us; some bytes for each are what the \
         allocator has more after ten thousand",
    ),
    (
        8,
        "at least 10x any scripted peer",
        "each call of ours is a durable run, the peers keep nothing; `docs/decisions/0028-beside-peers-and-limits.md` has the shares",
    ),
    (
        8,
        "ahead of the compiled ones",
        "each call of ours is a durable run, a proxy keeps nothing; `docs/decisions/0028-beside-peers-and-limits.md` has the shares",
    ),
    (
        8,
        "lower than every peer",
        "each call of ours waits for the disk, a proxy's does not",
    ),
];

/// Every aim of every figure.
pub(super) fn aims(found: &Value) -> impl Iterator<Item = (&Value, &Value, &Value)> {
    list(&found["workloads"]).flat_map(|workload| {
        list(&workload["figures"])
            .flat_map(move |figure| list(&figure["aims"]).map(move |aim| (workload, figure, aim)))
    })
}

/// How many aims were met, for a terminal.
pub(crate) fn verdict(found: &Value) -> String {
    let mut text = String::new();
    let (mut met, mut all) = (0, 0);
    for (workload, figure, aim) in aims(found) {
        let Some(is_met) = aim["met"].as_bool() else {
            continue;
        };
        all += 1;
        met += usize::from(is_met);
        let word = if is_met { "met   " } else { "MISSED" };
        let (number, figure) = (&workload["number"], name(figure));
        let _ = writeln!(
            text,
            "{word} {number}. {figure}: {}: {}",
            says(aim),
            reached(aim)
        );
    }
    let _ = write!(text, "{met} of {all} aims met");
    text
}

/// The table of aims.
pub(super) fn table(found: &Value) -> String {
    let mut text = "| work | figure | aim | this run | |\n|---|---|---|---|---|\n".to_owned();
    for (workload, figure, aim) in aims(found) {
        let word = match aim["met"].as_bool() {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "nobody to compare with",
        };
        let (work, figure) = (name(workload), name(figure));
        let _ = writeln!(
            text,
            "| {work} | {figure} | {} | {} | {word} |",
            says(aim),
            reached(aim)
        );
    }
    text
}

/// What was reached of an aim, told as the aim is: how many times better ours is, or how many times the limit.
fn reached(aim: &Value) -> String {
    let found = aim["times"].as_f64();
    match aim["aim"].as_f64() {
        Some(wanted) if wanted < 1.0 => times(found.map(|found| 1.0 / found)),
        _ => times(found),
    }
}

/// Both sides of every missed aim, and what is known to stand between.
pub(super) fn missed(found: &Value) -> String {
    let mut text = String::new();
    for (workload, figure, aim) in aims(found) {
        if aim["met"] != false {
            continue;
        }
        let side = |name: &str| aim[name].as_f64().map_or("–".to_owned(), number);
        let _ = write!(
            text,
            "- {}, {}, {}: ours {} {unit}, {} {} {unit}",
            name(workload),
            name(figure),
            says(aim),
            side("ours"),
            aim["who"].as_str().unwrap_or_default(),
            side("theirs"),
            unit = unit(figure),
        );
        let of = |entry: &&(u64, &str, &str)| workload["number"] == entry.0 && entry.1 == says(aim);
        match BETWEEN.iter().find(of) {
            Some((_, _, between)) => {
                let _ = writeln!(text, ". What stands between: {between}.");
            }
            None => text.push_str(".\n"),
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("\nMissed aims, both sides by their medians:\n\n{text}"),
    }
}

/// Where ours is not the best of those that were measured, the limits left out.
pub(super) fn places(found: &Value) -> String {
    let (mut first, mut all, mut behind) = (0, 0, String::new());
    for workload in list(&found["workloads"]) {
        for figure in list(&workload["figures"]) {
            let peers = list(&figure["cells"]).filter(|cell| cell["kind"] != "limit");
            let peers: Vec<_> = peers
                .filter_map(|cell| Some((cell, super::worse(figure, cell)?)))
                .collect();
            if peers.is_empty() {
                continue;
            }
            all += 1;
            let ahead: Vec<_> = peers.iter().filter(|(_, ratio)| *ratio < 1.0).collect();
            if ahead.is_empty() {
                first += 1;
            }
            for (cell, ratio) in ahead {
                let who = cell["who"].as_str().unwrap_or_default();
                let _ = writeln!(
                    behind,
                    "- {}, {}: {who} is ahead, {} of ours.",
                    name(workload),
                    name(figure),
                    times(Some(*ratio))
                );
            }
        }
    }
    let mut text =
        format!("\nTramline is first in {first} of the {all} figures that a peer has too.");
    if !behind.is_empty() {
        let _ = write!(text, " Who is ahead of it elsewhere:\n\n{behind}");
    } else {
        text.push('\n');
    }
    text
}
