//! Metrics as `ExportMetricsServiceRequest`, cumulative since we began.

use super::wire::Message;
use super::{Resource, attribute_text, request};
use crate::metrics::{Cell, Family, Metrics, Shape};
use tramline_core::Str;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// The request that exports these metrics, from and to these moments in nanoseconds.
pub(crate) fn metrics(from: &Resource, metrics: &Metrics, began: u64, now: u64) -> Vec<u8> {
    request(from, |scoped| {
        for family in metrics.all() {
            let series = family.read();
            if !series.is_empty() {
                scoped.message(2, |message| one(message, family, &series, began, now));
            }
        }
    })
}

fn one(message: &mut Message, family: &Family, series: &[(Vec<Str>, Cell)], began: u64, now: u64) {
    let (field, unit) = match family.shape {
        Shape::Gauge => (5, "1"),
        Shape::Count => (7, "1"),
        Shape::Times(_) => (9, "s"),
    };
    message.text(1, family.name);
    message.text(2, family.help);
    message.text(3, unit);
    message.message(field, |data| {
        for (values, cell) in series {
            data.message(1, |message| {
                point(message, family, values, cell, began, now)
            });
        }
        match family.shape {
            Shape::Gauge => {}
            Shape::Count => {
                data.number(2, CUMULATIVE);
                data.number(3, 1);
            }
            Shape::Times(_) => data.number(2, CUMULATIVE),
        }
    });
}

/// A `NumberDataPoint` or a `HistogramDataPoint`, which number their fields differently.
fn point(
    message: &mut Message,
    family: &Family,
    values: &[Str],
    cell: &Cell,
    began: u64,
    now: u64,
) {
    message.fixed(2, began);
    message.fixed(3, now);
    let attributes = match family.shape {
        Shape::Count | Shape::Gauge => {
            message.fixed(6, cell.count);
            7
        }
        Shape::Times(bounds) => {
            message.fixed(4, cell.count);
            message.float(5, cell.sum);
            let mut counts = Vec::new();
            let no_times = vec![0; bounds.len() + 1];
            let buckets = match cell.buckets.is_empty() {
                true => &no_times,
                false => &cell.buckets,
            };
            buckets
                .iter()
                .for_each(|it| counts.extend(it.to_le_bytes()));
            message.bytes(6, &counts);
            let edges: Vec<u8> = bounds.iter().flat_map(|it| it.to_le_bytes()).collect();
            message.bytes(7, &edges);
            9
        }
    };
    for (name, value) in family.labels.iter().zip(values) {
        if !value.is_empty() {
            attribute_text(message, attributes, name, value);
        }
    }
}
