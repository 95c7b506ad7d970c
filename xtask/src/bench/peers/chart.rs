//! The chart of the page: for the first figure of each workload, the cost of each program compared with
//! Tramline's.

use super::page::{ratio_text, ratio_to_ours};
use serde_json::Value;
use std::fmt::Write as _;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 160.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 26.0;
/// The space for the title and the line below it.
const TITLE: f64 = 46.0;
/// The powers of ten at the ends of the scale; ratios beyond them are drawn at the end.
const POWERS: (i32, i32) = (-2, 5);

const HEADLINE: &str = "Relative cost compared with Tramline";
const SUBLINE: &str =
    "Time or memory for the same work on one machine; lower is better. The scale is logarithmic.";

/// The class of Tramline's own bars.
const OURS: &str = "ours";

/// A self-contained SVG for light and dark mode.
pub(super) fn draw(found: &Value) -> String {
    let mut rows = String::new();
    let mut y = TITLE + 34.0;
    for workload in found["workloads"].as_array().into_iter().flatten() {
        let figure = &workload["figures"][0];
        let cells = figure["cells"].as_array().into_iter().flatten();
        let bars: Vec<(&str, &str, f64)> = cells
            .filter_map(|cell| {
                Some((
                    cell["who"].as_str()?,
                    cell["kind"].as_str()?,
                    ratio_to_ours(figure, cell)?,
                ))
            })
            .collect();
        if bars.is_empty() {
            continue;
        }
        let ours = ("Tramline", OURS, 1.0);
        let bars = std::iter::once(ours).chain(bars);
        y += HEAD;
        let title = format!("{}: {}", text(&workload["name"]), text(&figure["name"]));
        let _ = writeln!(
            rows,
            "<text class=\"head\" x=\"8\" y=\"{:.0}\">{}</text>",
            y - 8.0,
            escaped(&title)
        );
        for (who, kind, ratio) in bars {
            rows.push_str(&bar(y, who, kind, ratio));
            y += ROW;
        }
    }
    let key = key(y + 18.0);
    let height = y + 40.0;
    let mut lines = String::new();
    for power in POWERS.0..=POWERS.1 {
        let x = x_position(10f64.powi(power));
        let _ = writeln!(
            lines,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.0}\" x2=\"{x:.1}\" y2=\"{:.0}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{:.0}\">{}</text>",
            TITLE + 26.0,
            y + 4.0,
            TITLE + 20.0,
            ratio_text(Some(10f64.powi(power)))
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" \
         aria-label=\"{HEADLINE}: {SUBLINE}\">\n{STYLE}<text class=\"title\" x=\"8\" y=\"20\">{HEADLINE}</text>\n\
         <text x=\"8\" y=\"39\">{SUBLINE}</text>\n{lines}{rows}{key}</svg>\n"
    )
}

const STYLE: &str = "<style>text{font:12px sans-serif;fill:#57606a}.head{font-weight:bold;fill:#24292f}.tick{text-anchor:middle;font-size:10px}\
.who{text-anchor:end}.grid{stroke:#8c959f;stroke-opacity:.35}.scripted{fill:#bf8700}.native{fill:#8250df}.limit{fill:#8c959f}.ours{fill:#1f6feb}\
.title{font-weight:bold;font-size:15px;fill:#24292f}@media(prefers-color-scheme:dark){text{fill:#9da7b3}.head,.title{fill:#e6edf3}}</style>\n";

/// The legend.
fn key(y: f64) -> String {
    let kinds = [
        (OURS, "Tramline"),
        ("scripted", "runs in an interpreter"),
        ("native", "compiled"),
        ("limit", "a limit, not a peer"),
    ];
    let mut text = String::new();
    for (at, (kind, says)) in kinds.iter().enumerate() {
        let x = LEFT + at as f64 * 160.0;
        let _ = write!(
            text,
            "<rect class=\"{kind}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"11\" height=\"11\"/><text x=\"{:.0}\" y=\"{:.0}\">{says}</text>",
            x + 17.0,
            y + 9.0
        );
    }
    text
}

fn bar(y: f64, who: &str, kind: &str, ratio: f64) -> String {
    let (from, to) = (LEFT, x_position(ratio));
    let width = (to - from).max(1.0);
    let middle = y + 9.0;
    format!(
        "<text class=\"who\" x=\"{:.0}\" y=\"{middle:.0}\">{}</text><rect class=\"{kind}\" x=\"{from:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"11\"/>\
         <text x=\"{:.1}\" y=\"{middle:.0}\">{}</text>\n",
        LEFT - 10.0,
        escaped(who),
        to + 5.0,
        ratio_text(Some(ratio))
    )
}

/// The horizontal position of a ratio on the scale.
fn x_position(ratio: f64) -> f64 {
    let (least, most) = (f64::from(POWERS.0), f64::from(POWERS.1));
    let power = ratio.log10().clamp(least, most);
    LEFT + (power - least) / (most - least) * (WIDTH - LEFT - 70.0)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_program_with_a_figure_has_a_bar() {
        let found = json!({"workloads": [{"name": "A & B", "figures": [{"name": "time", "less": true, "cells": [
            {"who": "Tramline", "kind": "ours", "samples": [2.0]},
            {"who": "other", "kind": "scripted", "samples": [200.0]},
            {"who": "bare", "kind": "limit", "samples": [1.0]},
            {"who": "none", "kind": "native", "samples": []}]}]}]});
        let svg = draw(&found);
        assert_eq!(svg.matches("<rect").count(), 3 + 4, "{svg}");
        assert!(svg.contains("A &amp; B") && svg.contains("100x") && svg.contains("0.50x"));
    }
}
