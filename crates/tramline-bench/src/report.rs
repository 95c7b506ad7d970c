//! The report: a row per figure, with its target and whether it was met.

use serde_json::{Value, json};

/// The target of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FigureTarget {
    /// Less than this.
    #[allow(dead_code, reason = "not every benchmark has such a target")]
    Under(f64),
    /// At least this.
    #[allow(dead_code, reason = "not every benchmark has such a target")]
    Over(f64),
    /// No target.
    None,
}

#[derive(Debug)]
struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    aim: FigureTarget,
}

/// The figures so far.
#[derive(Debug)]
pub(crate) struct BenchReport {
    rows: Vec<Row>,
    /// Whether each figure is printed when it is added.
    shown: bool,
}

impl Row {
    fn met(&self) -> Option<bool> {
        match self.aim {
            FigureTarget::Under(most) => Some(self.value < most),
            FigureTarget::Over(least) => Some(self.value >= least),
            FigureTarget::None => None,
        }
    }
}

impl BenchReport {
    pub(crate) fn new(shown: bool) -> Self {
        if shown {
            println!(
                "{:<62} {:>10} {:<9} {:>8}",
                "figure", "value", "unit", "target"
            );
        }
        Self {
            rows: Vec::new(),
            shown,
        }
    }

    /// Adds a figure.
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        aim: FigureTarget,
    ) {
        let row = Row {
            name: name.into(),
            value,
            unit,
            aim,
        };
        if self.shown {
            let Row { name, value, .. } = &row;
            let aim = match row.aim {
                FigureTarget::Under(most) => format!("< {most}"),
                FigureTarget::Over(least) => format!(">= {least}"),
                FigureTarget::None => String::new(),
            };
            let word = match row.met() {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "",
            };
            println!("{name:<62} {:>10} {unit:<9} {aim:>8} {word}", shown(*value));
        }
        self.rows.push(row);
    }

    /// How many targets were met.
    pub(crate) fn verdict(&self) -> String {
        let aims = self.rows.iter().filter_map(Row::met);
        let (met, all) = aims.fold((0, 0), |(met, all), one| (met + usize::from(one), all + 1));
        format!("{met} of {all} targets met")
    }

    /// The figures for scripts.
    pub(crate) fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let (under, over) = match row.aim {
                FigureTarget::Under(most) => (json!(most), Value::Null),
                FigureTarget::Over(least) => (Value::Null, json!(least)),
                FigureTarget::None => (Value::Null, Value::Null),
            };
            json!({ "name": row.name, "value": row.value, "unit": row.unit, "under": under, "over": over, "met": row.met() })
        });
        rows.collect()
    }
}

fn shown(value: f64) -> String {
    let decimals = match value.abs() {
        most if most >= 1_000.0 => 0,
        most if most >= 100.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}
