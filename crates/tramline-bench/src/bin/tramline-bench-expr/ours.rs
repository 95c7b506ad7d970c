//! Our side, with limits on, and the same work written by hand.

use anyhow::{Context, Result};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Rule, Value};

/// How long one figure is measured.
const MEASURED: Duration = Duration::from_millis(250);
/// Warm-up: caches fill, and the size of a round is determined.
const WARMED: Duration = Duration::from_millis(15);
/// Rounds per warm-up time, short enough that some rounds are not disturbed.
const ROUNDS_PER_WARMING: u32 = 30;

/// The value of an expression.
pub(crate) fn value(source: &str, input: &Value) -> Result<serde_json::Value> {
    let expression = Expression::compile(source, &HostFunctions::none())?;
    let value = expression.evaluate(input, &NoHost, &Limits::default())?;
    let value = value.with_context(|| format!("{source} returns undefined"))?;
    Ok(serde_json::from_str(&value.to_json())?)
}

/// Whether a rule holds.
pub(crate) fn truth(source: &str, data: &Value) -> Result<bool> {
    let rule = Rule::compile(&Value::from_json(source)?, &HostFunctions::none())?;
    Ok(rule.holds(data, &NoHost, &Limits::default())?)
}

pub(crate) fn shape(source: &str, input: &Value) -> Result<f64> {
    let expression = Expression::compile(source, &HostFunctions::none())?;
    let limits = Limits::default();
    Ok(time(|| {
        let _ = black_box(expression.evaluate(black_box(input), &NoHost, &limits));
    }))
}

pub(crate) fn rule(source: &str, data: &Value) -> Result<f64> {
    let rule = Rule::compile(&Value::from_json(source)?, &HostFunctions::none())?;
    let limits = Limits::default();
    anyhow::ensure!(
        rule.holds(data, &NoHost, &limits)?,
        "{source} does not hold"
    );
    Ok(time(|| {
        let _ = black_box(rule.holds(black_box(data), &NoHost, &limits));
    }))
}

/// Filter and sum over the items, on the same values.
pub(crate) fn by_hand(input: &Value) -> f64 {
    time(|| {
        let items = black_box(input).get("items").and_then(Value::as_array);
        let price = |item: &Value| item.get("price").and_then(Value::as_f64).unwrap_or(0.0);
        let prices = items.unwrap_or_default().iter().map(price);
        black_box(prices.filter(|price| *price > 50.0).sum::<f64>());
    })
}

/// Nanoseconds for one run: the best of many short rounds.
pub(crate) fn time(mut run: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut runs = 0u32;
    while started.elapsed() < WARMED {
        run();
        runs += 1;
    }
    let round = runs.div_ceil(ROUNDS_PER_WARMING);
    let mut best = f64::INFINITY;
    let started = Instant::now();
    while started.elapsed() < MEASURED {
        let begun = Instant::now();
        for _ in 0..round {
            run();
        }
        best = best.min(begun.elapsed().as_nanos() as f64 / f64::from(round));
    }
    best
}
