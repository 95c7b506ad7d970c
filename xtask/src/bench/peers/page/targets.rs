//! Conclusions from the figures: who is best, which targets are met, and the known causes of those
//! that are missed.

use super::{description, list, name, number, ratio_text, unit};
use serde_json::Value;
use std::fmt::Write as _;

/// The known cause of a missed target, by workload and target. It is shown only if the target is
/// missed, so it names the cause and no figure.
const MISS_CAUSES: &[(u64, &str, &str)] = &[
    (
        1,
        "at least 50x faster than any scripted peer",
        "the document is parsed and checked and the store is opened before the first answer, and half of the time \
             goes into loading the pages of a large binary; see `docs/decisions/0028-beside-peers-and-limits.md`",
    ),
    (
        1,
        "ahead of the compiled ones",
        "Tramline parses and checks a document and opens a store; a proxy stores nothing and checks nothing",
    ),
    (
        3,
        "within 2x of the bare direct call",
        "a call in Tramline is a journaled step, while the direct call is a write and a read in one thread; see \
             `docs/decisions/0029-calls-go-past-the-library.md`",
    ),
    (
        4,
        "within 1.05x of the ideal",
        "the overhead of issuing fifty calls; direct calls have the same overhead",
    ),
    (
        6,
        "at most 1.5x a disk sync",
        "a commit writes whole database pages while the bare append writes one record; see \
             `docs/decisions/0028-beside-peers-and-limits.md`",
    ),
    (
        6,
        "at least 20x more than the best peer",
        "all programs share one disk, and its syncs per second limit both sides",
    ),
    (
        7,
        "at least 10x less memory than any peer",
        "paused workflows that are only database rows take almost no memory in either program; the bytes per \
             workflow are allocator growth after ten thousand",
    ),
    (
        8,
        "at least 10x any scripted peer",
        "each call in Tramline is a durable run, the peers store nothing; see `docs/decisions/0028-beside-peers-and-limits.md`",
    ),
    (
        8,
        "ahead of the compiled ones",
        "each call in Tramline is a durable run, a proxy stores nothing; see `docs/decisions/0028-beside-peers-and-limits.md`",
    ),
    (
        8,
        "lower than every peer",
        "each call in Tramline waits for the disk, a proxy's does not",
    ),
];

/// Every target of every figure.
pub(super) fn all_targets(found: &Value) -> impl Iterator<Item = (&Value, &Value, &Value)> {
    list(&found["workloads"]).flat_map(|workload| {
        list(&workload["figures"])
            .flat_map(move |figure| list(&figure["aims"]).map(move |aim| (workload, figure, aim)))
    })
}

/// How many targets were met, for a terminal.
pub(crate) fn verdict(found: &Value) -> String {
    let mut text = String::new();
    let (mut met, mut all) = (0, 0);
    for (workload, figure, aim) in all_targets(found) {
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
            description(aim),
            reached(aim)
        );
    }
    let _ = write!(text, "{met} of {all} targets met");
    text
}

/// The table of targets.
pub(super) fn table(found: &Value) -> String {
    let mut text =
        "| workload | figure | target | this run | |\n|---|---|---|---|---|\n".to_owned();
    for (workload, figure, aim) in all_targets(found) {
        let word = match aim["met"].as_bool() {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "no peer to compare with",
        };
        let (work, figure) = (name(workload), name(figure));
        let _ = writeln!(
            text,
            "| {work} | {figure} | {} | {} | {word} |",
            description(aim),
            reached(aim)
        );
    }
    text
}

/// What was reached, in the terms of the target: how many times better ours is, or how many times
/// the limit.
fn reached(aim: &Value) -> String {
    let found = aim["times"].as_f64();
    match aim["aim"].as_f64() {
        Some(wanted) if wanted < 1.0 => ratio_text(found.map(|found| 1.0 / found)),
        _ => ratio_text(found),
    }
}

/// Both sides of every missed target, and the known cause.
pub(super) fn missed_targets(found: &Value) -> String {
    let mut text = String::new();
    for (workload, figure, aim) in all_targets(found) {
        if aim["met"] != false {
            continue;
        }
        let side = |name: &str| aim[name].as_f64().map_or("–".to_owned(), number);
        let _ = write!(
            text,
            "- {}, {}, {}: ours {} {unit}, {} {} {unit}",
            name(workload),
            name(figure),
            description(aim),
            side("ours"),
            aim["who"].as_str().unwrap_or_default(),
            side("theirs"),
            unit = unit(figure),
        );
        let of = |entry: &&(u64, &str, &str)| {
            workload["number"] == entry.0 && entry.1 == description(aim)
        };
        match MISS_CAUSES.iter().find(of) {
            Some((_, _, between)) => {
                let _ = writeln!(text, ". Cause: {between}.");
            }
            None => text.push_str(".\n"),
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("\nMissed targets, with the medians of both sides:\n\n{text}"),
    }
}

/// Figures where a measured peer is better than ours, limits excluded.
pub(super) fn ranking(found: &Value) -> String {
    let (mut first, mut all, mut behind) = (0, 0, String::new());
    for workload in list(&found["workloads"]) {
        for figure in list(&workload["figures"]) {
            let peers = list(&figure["cells"]).filter(|cell| cell["kind"] != "limit");
            let peers: Vec<_> = peers
                .filter_map(|cell| Some((cell, super::ratio_to_ours(figure, cell)?)))
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
                    "- {}, {}: {who} is ahead, at {} of ours.",
                    name(workload),
                    name(figure),
                    ratio_text(Some(*ratio))
                );
            }
        }
    }
    let mut text =
        format!("\nTramline is first in {first} of the {all} figures that a peer also has.");
    if !behind.is_empty() {
        let _ = write!(text, " Peers ahead of it elsewhere:\n\n{behind}");
    } else {
        text.push('\n');
    }
    text
}
