//! The page of figures: words around it, tables made of what was measured.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- figures: `cargo xtask bench peers` writes what follows -->";
const END: &str = "<!-- end of figures -->";

/// The words around the figures, for when there is no page yet.
pub(super) const FRAME: &str = "\
# Benchmarks

Tramline and its peers at the same work, side by side in one run on one machine. `cargo xtask bench peers` installs the peers from
their registries, measures everybody turn about, and writes this page; `--quick` runs a small version, `--only 1,3` a part. Figures
are medians of several turns, with the least and the most beside them; where a turn times short things, it takes the best of
many. Ratios say how many times worse than Tramline somebody is; under 1 they are better. What peers run is in
`crates/tramline-bench/peers`, what is measured in `crates/tramline-bench/src/bin/tramline-bench-peers`.

<!-- figures: `cargo xtask bench peers` writes what follows -->
<!-- end of figures -->
";

/// Why an aim is missed, where it is: by workload and aim.
const WHY: &[(u64, &str, &str)] = &[
    (
        3,
        "within 2x of the bare direct call",
        "a call is two messages through the MCP library, which parses answers by trial and sends each message in a task of its \
         own; `docs/decisions/0028-beside-peers-and-limits.md` has the shares",
    ),
    (
        6,
        "at most 1.5x a disk sync",
        "a commit writes whole pages of SQLite, mostly two of 8 KB, where the bare append writes 2 KB, and two threads hand it \
         over; `docs/decisions/0028-beside-peers-and-limits.md` has the counts",
    ),
    (
        7,
        "at least 10x less memory than any peer",
        "a workflow of langgraph that waits is a row of its database and nothing in the process, as it is with ours but for the \
         last few hundred",
    ),
    (
        8,
        "at least 10x any scripted peer",
        "each call of ours is a durable run, the peers keep nothing",
    ),
];

/// The page with its figures replaced.
pub(super) fn fill(page: &str, found: &Value) -> Result<String> {
    let (head, rest) = page
        .split_once(BEGIN)
        .context("the page has lost its mark")?;
    let (_, tail) = rest
        .split_once(END)
        .context("the page has lost its end mark")?;
    Ok(format!("{head}{BEGIN}\n\n{}\n{END}{tail}", body(found)))
}

/// How many aims were met, for a terminal.
pub(super) fn verdict(found: &Value) -> String {
    let mut text = String::new();
    let (mut met, mut all) = (0, 0);
    for (workload, figure, aim) in aims(found) {
        let Some(is_met) = aim["met"].as_bool() else {
            continue;
        };
        all += 1;
        met += usize::from(is_met);
        let word = if is_met { "met   " } else { "MISSED" };
        let _ = writeln!(
            text,
            "{word} {}. {}: {}: {}",
            workload["number"],
            name(figure),
            says(aim),
            reached(aim)
        );
    }
    let _ = write!(text, "{met} of {all} aims met");
    text
}

fn aims(found: &Value) -> impl Iterator<Item = (&Value, &Value, &Value)> {
    list(&found["workloads"]).flat_map(|workload| {
        list(&workload["figures"])
            .flat_map(move |figure| list(&figure["aims"]).map(move |aim| (workload, figure, aim)))
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

fn says(value: &Value) -> &str {
    value["says"].as_str().unwrap_or_default()
}

fn body(found: &Value) -> String {
    let mut text = head(found);
    text.push_str("![How many times more the peers take](images/benchmarks.svg)\n\n## Aims\n\n");
    text.push_str("| work | figure | aim | this run | |\n|---|---|---|---|---|\n");
    for (workload, figure, aim) in aims(found) {
        let word = match aim["met"].as_bool() {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "nobody to compare with",
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {word} |",
            name(workload),
            name(figure),
            says(aim),
            reached(aim)
        );
    }
    text.push_str(&missed(found));
    for workload in list(&found["workloads"]) {
        text.push_str(&section(workload));
    }
    text
}

/// When, where, and which versions.
fn head(found: &Value) -> String {
    let machine = &found["machine"];
    let of = |name: &str| match &machine[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut text = format!(
        "Measured on {} on a machine with {} cores ({}), {} GB of memory, {} with Linux {}, disk {}, load {} before the run; {}, \
         node {}, {}.",
        found["date"].as_str().unwrap_or_default(),
        of("cores"),
        of("processor"),
        of("memory_gb").trim_end_matches(".0"),
        of("system"),
        of("kernel"),
        of("disk"),
        of("load_before"),
        of("rust"),
        of("node"),
        of("python"),
    );
    if found["quick"] == true {
        text.push_str(" This was the small version: few turns, small sizes.");
    }
    let versions = found["versions"].as_object().into_iter().flatten();
    let versions: Vec<String> = versions
        .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()))
        .collect();
    let _ = write!(text, " Peers: {}.\n\n", versions.join(", "));
    text
}

/// Why aims are missed, where that is known.
fn missed(found: &Value) -> String {
    let mut text = String::new();
    for (workload, _, aim) in aims(found) {
        let why = WHY
            .iter()
            .find(|(number, aim_says, _)| workload["number"] == *number && *aim_says == says(aim));
        if let (Some(false), Some((_, aim_says, why))) = (aim["met"].as_bool(), why) {
            let _ = writeln!(text, "- {}, {aim_says}: {why}.", name(workload));
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("\nWhy aims are missed:\n\n{text}")
    }
}

fn section(workload: &Value) -> String {
    let figures: Vec<&Value> = list(&workload["figures"]).collect();
    let mut text = format!(
        "\n## {}. {}\n\n{}\n\n| |",
        workload["number"],
        name(workload),
        says(workload)
    );
    for figure in &figures {
        let _ = write!(
            text,
            " {}, {} |",
            name(figure),
            figure["unit"].as_str().unwrap_or_default()
        );
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(figures.len()));
    text.push('\n');
    let people = figures.first().map(|figure| list(&figure["cells"]).count());
    for at in 0..people.unwrap_or(0) {
        let cells = figures.iter().map(|figure| &figure["cells"][at]);
        let who = figures[0]["cells"][at]["who"].as_str().unwrap_or_default();
        let _ = write!(text, "| {who} |");
        for (figure, cell) in figures.iter().zip(cells) {
            let _ = write!(text, " {} |", told(figure, cell));
        }
        text.push('\n');
    }
    text
}

/// A median, how far samples lie apart, and how many times worse than ours it is.
fn told(figure: &Value, cell: &Value) -> String {
    let Some(samples) = sorted(cell) else {
        return cell["why"].as_str().unwrap_or_default().replace('|', "/");
    };
    let middle = middle(&samples);
    let mut text = format!("**{}**", number(middle));
    if let [least, .., most] = samples.as_slice() {
        let _ = write!(text, " ({}–{})", number(*least), number(*most));
    }
    if let Some(ratio) = worse(figure, cell) {
        let _ = write!(text, ", {}", times(Some(ratio)));
    }
    text
}

/// How many times worse than ours a cell is; none for ours.
pub(super) fn worse(figure: &Value, cell: &Value) -> Option<f64> {
    if cell["kind"] == "ours" {
        return None;
    }
    let ours = list(&figure["cells"]).find(|cell| cell["kind"] == "ours")?;
    let (ours, theirs) = (median(ours)?, median(cell)?);
    let ratio = match figure["less"] == true {
        true => theirs / ours,
        false => ours / theirs,
    };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

fn median(cell: &Value) -> Option<f64> {
    sorted(cell).map(|samples| middle(&samples))
}

/// The middle of sorted samples; of two, the middle between them.
fn middle(samples: &[f64]) -> f64 {
    (samples[(samples.len() - 1) / 2] + samples[samples.len() / 2]) / 2.0
}

fn sorted(cell: &Value) -> Option<Vec<f64>> {
    let mut samples: Vec<f64> = list(&cell["samples"]).filter_map(Value::as_f64).collect();
    samples.sort_by(f64::total_cmp);
    (!samples.is_empty()).then_some(samples)
}

/// What was reached of an aim, told as the aim is: how many times better ours is, or how many times the limit.
fn reached(aim: &Value) -> String {
    let found = aim["times"].as_f64();
    match aim["aim"].as_f64() {
        Some(wanted) if wanted < 1.0 => times(found.map(|found| 1.0 / found)),
        _ => times(found),
    }
}

/// A ratio as it is read: `12x`, `0.43x`.
pub(super) fn times(ratio: Option<f64>) -> String {
    match ratio {
        None => "–".to_owned(),
        Some(ratio) if ratio >= 10.0 => format!("{ratio:.0}x"),
        Some(ratio) if ratio >= 1.0 => format!("{ratio:.1}x"),
        Some(ratio) => format!("{ratio:.2}x"),
    }
}

fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let plain = format!("{value:.decimals$}");
    let (whole, rest) = plain.split_once('.').unwrap_or((&plain, ""));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |rest| ("-", rest));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match rest {
        "" => format!("{sign}{grouped}"),
        rest => format!("{sign}{grouped}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found() -> Value {
        json!({
            "date": "2026-11-16", "quick": true,
            "machine": {"cores": 2, "processor": "P", "memory_gb": 8.0, "system": "S", "kernel": "6", "disk": "ext", "load_before": "0.1", "rust": "r", "node": "n", "python": "p"},
            "versions": {"other": "1.2"},
            "workloads": [{"number": 3, "name": "Work", "says": "It is done.", "figures": [{
                "name": "time", "unit": "µs", "less": true,
                "aims": [{"says": "within 2x of the bare direct call", "aim": 0.5, "times": 0.4, "met": false}],
                "cells": [
                    {"who": "Tramline", "kind": "ours", "samples": [1.0, 3.0, 2.0]},
                    {"who": "other", "kind": "scripted", "samples": [24_000.0]},
                    {"who": "third", "kind": "native", "samples": [], "why": "has | none"},
                ]}]}]
        })
    }

    #[test]
    fn figures_replace_figures_and_words_stay() {
        let once = fill(FRAME, &found()).unwrap();
        assert_eq!(fill(&once, &found()).unwrap(), once);
        assert!(once.starts_with("# Benchmarks"));
        assert!(
            once.contains("| Tramline | **2.00** (1.00–3.00) |"),
            "{once}"
        );
        assert!(once.contains("| other | **24,000**, 12000x |"), "{once}");
        assert!(once.contains("| third | has / none |"), "{once}");
        assert!(once.contains("Why aims are missed"), "{once}");
        assert!(once.contains("| 2.5x | **missed** |"), "{once}");
        assert!(fill("# without marks", &found()).is_err());
    }

    #[test]
    fn the_verdict_counts() {
        assert!(verdict(&found()).ends_with("0 of 1 aims met"));
    }
}
