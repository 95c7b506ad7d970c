//! Measures the npm packages `jsonata` and `json-logic-js` with a script in one node process.

use crate::shapes::{DataSize, RULES, SHAPES, input};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("node.js");

/// Nanoseconds by the index of a shape or rule in its list.
pub(crate) struct Npm {
    answer: Value,
}

impl Npm {
    pub(crate) fn shape(&self, at: usize) -> Result<f64> {
        let figure = self.answer["shapes"][at].as_f64();
        figure.context("node returned no time for a shape")
    }

    /// The value of a shape.
    pub(crate) fn value(&self, at: usize) -> &Value {
        &self.answer["values"][at]
    }

    /// Whether a rule holds, if it was measured.
    pub(crate) fn truth(&self, at: usize) -> Option<Value> {
        let truth = &self.answer["truths"][at];
        (!truth.is_null()).then(|| truth.clone())
    }

    pub(crate) fn rule(&self, at: usize) -> Option<f64> {
        self.answer["rules"][at].as_f64()
    }
}

pub(crate) fn measure(order: &Value) -> Result<Npm> {
    let shapes = SHAPES.iter().map(|(_, source, data)| {
        let large = matches!(data, DataSize::Large);
        json!({ "source": source, "large": large })
    });
    let mut rules = Vec::new();
    for (_, rule, in_jsonata) in RULES {
        rules.push(match in_jsonata {
            true => Value::Null,
            false => serde_json::from_str(rule)?,
        });
    }
    let asked = json!({
        "shapes": shapes.collect::<Vec<_>>(),
        "small": input(DataSize::Small),
        "large": input(DataSize::Large),
        "rules": rules,
        "order": order,
    });
    let mut child = Command::new("node")
        .args(["-e", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting node")?;
    let mut stdin = child.stdin.take().context("node has no standard input")?;
    stdin.write_all(asked.to_string().as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "node exited with {}",
        output.status
    );
    let answer = serde_json::from_slice(&output.stdout).context("parsing the output of node")?;
    Ok(Npm { answer })
}
