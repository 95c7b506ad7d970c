//! What was measured: a row for each figure, with its aim and whether it was met.

use serde_json::{Value, json};

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim {
    /// Less than this.
    #[allow(dead_code, reason = "not every program that measures has such an aim")]
    Under(f64),
    /// At least this.
    #[allow(dead_code, reason = "not every program that measures has such an aim")]
    Over(f64),
    /// Only to be known.
    None,
}

#[derive(Debug)]
struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    aim: Aim,
}

/// The figures so far.
#[derive(Debug)]
pub(crate) struct Report {
    rows: Vec<Row>,
    /// Whether each figure is shown as it comes.
    shown: bool,
}

impl Row {
    fn met(&self) -> Option<bool> {
        match self.aim {
            Aim::Under(most) => Some(self.value < most),
            Aim::Over(least) => Some(self.value >= least),
            Aim::None => None,
        }
    }
}

impl Report {
    pub(crate) fn new(shown: bool) -> Self {
        if shown {
            println!(
                "{:<62} {:>10} {:<9} {:>8}",
                "figure", "value", "unit", "aim"
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
        aim: Aim,
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
                Aim::Under(most) => format!("< {most}"),
                Aim::Over(least) => format!(">= {least}"),
                Aim::None => String::new(),
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

    /// How many aims were met.
    pub(crate) fn verdict(&self) -> String {
        let aims = self.rows.iter().filter_map(Row::met);
        let (met, all) = aims.fold((0, 0), |(met, all), one| (met + usize::from(one), all + 1));
        format!("{met} of {all} aims met")
    }

    /// The figures for scripts.
    pub(crate) fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let (under, over) = match row.aim {
                Aim::Under(most) => (json!(most), Value::Null),
                Aim::Over(least) => (Value::Null, json!(least)),
                Aim::None => (Value::Null, Value::Null),
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
