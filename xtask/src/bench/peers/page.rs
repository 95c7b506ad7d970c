//! The page of results: fixed text first, then tables generated from the measurements.

use serde_json::Value;
use std::fmt::Write as _;

mod targets;

pub(super) use targets::verdict;

/// The text before the figures.
const FRAME: &str = "\
# Benchmarks

Tramline and its peers do the same work, side by side in one run on one machine. `cargo xtask bench peers` installs the peers from
their registries, measures all of them and writes this page; `--quick` runs a small version, `--only 1,3` runs some of the
workloads, `--n8n` also measures n8n, which is large.

How the comparison is kept fair:

- All programs run on the same machine in the same run and take turns: one turn each, then the next round. Other load on the
  machine affects all of them.
- All programs do the same work, as far as they can. If one does less or more, such as storing nothing where others are durable,
  the text above the table says so; if one cannot do the work, its cell gives the reason.
- Peers have the versions listed below, as published in their registries, and are used as their documentation says, by the
  scripts in `crates/tramline-bench/peers`. Tramline is the release build. The code of the measurements is in
  `crates/tramline-bench/src/bin/tramline-bench-peers`.
- Figures are medians of several turns, with the minimum and maximum in parentheses. A turn that times short operations takes the
  best of many, for all programs. Ratios show how many times worse than Tramline a program is; below 1 it is better.
- Limits are not peers: they are the smallest program, file or piece of data that could do the same.
- A turn that exceeds a fixed time is stopped and reported as such.

";

/// The page.
pub(super) fn page(found: &Value) -> String {
    format!("{FRAME}{}", body(found))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

fn description(value: &Value) -> &str {
    value["says"].as_str().unwrap_or_default()
}

fn unit(figure: &Value) -> &str {
    figure["unit"].as_str().unwrap_or_default()
}

fn body(found: &Value) -> String {
    let mut text = head(found);
    text.push_str(
        "![Relative cost compared with Tramline, lower is better](images/benchmarks.svg)\n\n## Targets\n\n",
    );
    text.push_str(&targets::table(found));
    text.push_str(&targets::ranking(found));
    text.push_str(&targets::missed_targets(found));
    for workload in list(&found["workloads"]) {
        text.push_str(&section(workload));
    }
    text
}

/// Date, machine and versions.
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
        text.push_str(" This was the quick version: few turns, small sizes.");
    }
    let took: f64 = list(&found["workloads"])
        .filter_map(|workload| workload["took_s"].as_f64())
        .sum();
    let _ = write!(text, " It took {:.0} minutes.", (took / 60.0).ceil());
    let versions = found["versions"].as_object().into_iter().flatten();
    let versions: Vec<String> = versions
        .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()))
        .collect();
    let _ = write!(text, " Versions: {}.\n\n", versions.join(", "));
    text
}

fn section(workload: &Value) -> String {
    let figures: Vec<&Value> = list(&workload["figures"]).collect();
    let (number, title) = (&workload["number"], name(workload));
    let mut text = format!("\n## {number}. {title}\n\n{}\n\n", description(workload));
    if let Some(why) = workload["why"].as_str() {
        let _ = writeln!(text, "It could not be measured: {why}.");
        return text;
    }
    text.push_str("| |");
    for figure in &figures {
        let _ = write!(text, " {}, {} |", name(figure), unit(figure));
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
            let _ = write!(text, " {} |", cell_text(figure, cell));
        }
        text.push('\n');
    }
    text
}

/// The median, the range of the samples, and the ratio to ours.
fn cell_text(figure: &Value, cell: &Value) -> String {
    let Some(samples) = sorted(cell) else {
        return cell["why"].as_str().unwrap_or_default().replace('|', "/");
    };
    let middle = middle(&samples);
    let mut text = format!("**{}**", number(middle));
    if let [least, .., most] = samples.as_slice() {
        let _ = write!(text, " ({}–{})", number(*least), number(*most));
    }
    if let Some(ratio) = ratio_to_ours(figure, cell) {
        let _ = write!(text, ", {}", ratio_text(Some(ratio)));
    }
    text
}

/// How many times worse than ours a cell is; `None` for ours.
pub(super) fn ratio_to_ours(figure: &Value, cell: &Value) -> Option<f64> {
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

/// The median of sorted samples.
fn middle(samples: &[f64]) -> f64 {
    (samples[(samples.len() - 1) / 2] + samples[samples.len() / 2]) / 2.0
}

fn sorted(cell: &Value) -> Option<Vec<f64>> {
    let mut samples: Vec<f64> = list(&cell["samples"]).filter_map(Value::as_f64).collect();
    samples.sort_by(f64::total_cmp);
    (!samples.is_empty()).then_some(samples)
}

/// A ratio for display: `12x`, `0.43x`.
pub(super) fn ratio_text(ratio: Option<f64>) -> String {
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
                "aims": [{"says": "within 2x of the bare direct call", "aim": 0.5, "times": 0.4, "met": false, "ours": 2.0, "theirs": 0.8, "who": "bare"}],
                "cells": [
                    {"who": "Tramline", "kind": "ours", "samples": [1.0, 3.0, 2.0]},
                    {"who": "other", "kind": "scripted", "samples": [24_000.0]},
                    {"who": "third", "kind": "native", "samples": [], "why": "has | none"},
                    {"who": "quick", "kind": "native", "samples": [1.0]},
                    {"who": "bare", "kind": "limit", "samples": [0.8]},
                ]}]},
                {"number": 4, "name": "Broken", "says": "It is not.", "figures": [], "why": "no disk"}]
        })
    }

    #[test]
    fn every_program_and_every_target_has_a_line() {
        let page = page(&found());
        assert!(page.starts_with("# Benchmarks"));
        for line in [
            "| Tramline | **2.00** (1.00–3.00) |",
            "| other | **24,000**, 12000x |",
            "| third | has / none |",
            "| 2.5x | **missed** |",
            "first in 0 of the 1 figures",
            "- Work, time: quick is ahead, at 0.50x of ours.",
            "within 2x of the bare direct call: ours 2.00 µs, bare 0.80 µs. Cause: ",
            "## 4. Broken\n\nIt is not.\n\nIt could not be measured: no disk.",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }

    #[test]
    fn the_verdict_counts() {
        assert!(verdict(&found()).ends_with("0 of 1 targets met"));
    }
}
