//! The report, for people and for scripts: each figure, the ratios, and the targets.

use crate::shapes::FILTER_SUM;
use crate::{ExprFigures, RuleTimes, ShapeTimes};
use serde_json::{Value, json};

/// Nanoseconds that a small rule with JSONata in it may take.
const RULE_NS_MAX: f64 = 500.0;
/// How many times longer than hand-written code filter + sum may take.
const BY_HAND_MAX: f64 = 2.5;

/// A figure with its target.
struct ExprTarget {
    name: &'static str,
    value: f64,
    wanted: f64,
    /// Whether less is better.
    most: bool,
}

impl ExprTarget {
    fn met(&self) -> bool {
        match self.most {
            true => self.value <= self.wanted,
            false => self.value >= self.wanted,
        }
    }
}

fn mean(shapes: &[ShapeTimes], ratio: impl Fn(&ShapeTimes) -> f64) -> f64 {
    let logs: f64 = shapes.iter().map(|shape| ratio(shape).ln()).sum();
    (logs / shapes.len().max(1) as f64).exp()
}

fn aims(figures: &ExprFigures) -> Vec<ExprTarget> {
    let shapes = &figures.shapes;
    let least = |name, value, wanted| ExprTarget {
        name,
        value,
        wanted,
        most: false,
    };
    let most = |name, value, wanted| ExprTarget {
        name,
        value,
        wanted,
        most: true,
    };
    let sum = shapes.iter().find(|shape| shape.name == FILTER_SUM);
    let by_hand = sum.map_or(f64::NAN, |shape| shape.ours / figures.by_hand);
    let in_jsonata = figures.rules.iter().filter(|rule| rule.in_jsonata);
    let slowest = in_jsonata.map(|rule| rule.ours).fold(0.0, f64::max);
    vec![
        least(
            "times npm jsonata, geometric mean",
            mean(shapes, |s| s.npm / s.ours),
            20.0,
        ),
        least(
            "times jsonata-core, geometric mean",
            mean(shapes, |s| s.core / s.ours),
            2.0,
        ),
        least(
            "times jsonata-core with conversions, geometric mean",
            mean(shapes, |s| s.core_converting / s.ours),
            6.0,
        ),
        most("filter + sum, times by hand", by_hand, BY_HAND_MAX),
        most("slowest small rule with JSONata, ns", slowest, RULE_NS_MAX),
    ]
}

pub(crate) fn print(figures: &ExprFigures) {
    println!(
        "{:<24} {:>10} {:>12} {:>12} {:>12} {:>7} {:>7} {:>8}",
        "JSONata, ns", "ours", "core", "core+conv.", "npm", "x core", "x conv.", "x npm"
    );
    for shape in &figures.shapes {
        let ShapeTimes {
            name,
            ours,
            core,
            core_converting,
            npm,
        } = shape;
        println!(
            "{name:<24} {ours:>10.0} {core:>12.0} {core_converting:>12.0} {npm:>12.0} {:>7.1} {:>7.1} {:>8.1}",
            core / ours,
            core_converting / ours,
            npm / ours
        );
    }
    println!("{:<24} {:>10.0}", "filter + sum by hand", figures.by_hand);
    println!(
        "\n{:<24} {:>10} {:>12} {:>8}",
        "JSON Logic, ns", "ours", "npm", "x npm"
    );
    for RuleTimes {
        name, ours, npm, ..
    } in &figures.rules
    {
        match npm {
            Some(npm) => println!("{name:<24} {ours:>10.0} {npm:>12.0} {:>8.1}", npm / ours),
            None => println!("{name:<24} {ours:>10.0} {:>12}", "-"),
        }
    }
    println!();
    let aims = aims(figures);
    for aim in &aims {
        let ExprTarget {
            name,
            value,
            wanted,
            most,
        } = aim;
        let sign = if *most { "<=" } else { ">=" };
        let word = if aim.met() { "met" } else { "MISSED" };
        println!("{name:<54} {value:>8.2}  {sign} {wanted:<5} {word}");
    }
    let met = aims.iter().filter(|aim| aim.met()).count();
    println!("{met} of {} targets met", aims.len());
}

pub(crate) fn json(figures: &ExprFigures) -> Value {
    let shapes = figures.shapes.iter().map(|shape| {
        json!({
            "name": shape.name,
            "ours_ns": shape.ours,
            "core_ns": shape.core,
            "core_converting_ns": shape.core_converting,
            "npm_ns": shape.npm,
        })
    });
    let rules = figures.rules.iter();
    let rules =
        rules.map(|rule| json!({ "name": rule.name, "ours_ns": rule.ours, "npm_ns": rule.npm }));
    let aims = aims(figures);
    let aims = aims.iter().map(|aim| {
        json!({
            "name": aim.name,
            "value": aim.value,
            "wanted": aim.wanted,
            "most": aim.most,
            "met": aim.met(),
        })
    });
    json!({
        "shapes": shapes.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
        "by_hand_ns": figures.by_hand,
        "aims": aims.collect::<Vec<_>>(),
    })
}
