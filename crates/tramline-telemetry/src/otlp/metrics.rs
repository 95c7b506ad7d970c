//! Metrics as `ExportMetricsServiceRequest`, cumulative since we began.

use super::wire::Message;
use super::{Resource, attribute, resource, scope};
use crate::metrics::{Cell, Family, Metrics, Shape};
use crate::span::Attribute;
use tramline_core::Str;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// The request that exports these metrics, from and to these moments in nanoseconds.
pub(crate) fn metrics(from: &Resource, metrics: &Metrics, began: u64, now: u64) -> Vec<u8> {
    let mut scoped = Message::default();
    scoped.message(1, &scope());
    for family in metrics.all() {
        let series = family.read();
        if !series.is_empty() {
            scoped.message(2, &one(family, &series, began, now));
        }
    }
    let mut of_resource = Message::default();
    of_resource.message(1, &resource(from));
    of_resource.message(2, &scoped);
    let mut request = Message::default();
    request.message(1, &of_resource);
    request.into_bytes()
}

fn one(family: &Family, series: &[(Vec<Str>, Cell)], began: u64, now: u64) -> Message {
    let mut data = Message::default();
    for (values, cell) in series {
        data.message(1, &point(family, values, cell, began, now));
    }
    let (field, unit) = match family.shape {
        Shape::Gauge => (5, "1"),
        Shape::Count => {
            data.number(2, CUMULATIVE);
            data.number(3, 1);
            (7, "1")
        }
        Shape::Times(_) => {
            data.number(2, CUMULATIVE);
            (9, "s")
        }
    };
    let mut message = Message::default();
    message.text(1, family.name);
    message.text(2, family.help);
    message.text(3, unit);
    message.message(field, &data);
    message
}

/// A `NumberDataPoint` or a `HistogramDataPoint`, which number their fields differently.
fn point(family: &Family, values: &[Str], cell: &Cell, began: u64, now: u64) -> Message {
    let mut message = Message::default();
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
            let value = Attribute::Text(value.clone());
            message.message(attributes, &attribute(name, &value));
        }
    }
    message
}
