//! Metrics as `ExportMetricsServiceRequest`, cumulative since the start of the process.

use super::wire::ProtoMessage;
use super::{Resource, attribute_text, request};
use crate::metrics::{MetricFamily, MetricKind, MetricSeries, Metrics};
use tramline_expr::Str;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// The request that exports these metrics, for the interval between two times in nanoseconds.
pub(crate) fn metrics(from: &Resource, metrics: &Metrics, began: u64, now: u64) -> Vec<u8> {
    request(from, |scoped| {
        for family in metrics.all() {
            let series = family.read();
            if !series.is_empty() {
                scoped.message(2, |message| {
                    write_family(message, family, &series, began, now)
                });
            }
        }
    })
}

fn write_family(
    message: &mut ProtoMessage,
    family: &MetricFamily,
    series: &[(Vec<Str>, MetricSeries)],
    began: u64,
    now: u64,
) {
    let (field, unit) = match family.kind {
        MetricKind::Gauge => (5, "1"),
        MetricKind::Counter => (7, "1"),
        MetricKind::Histogram(_) => (9, "s"),
    };
    message.text(1, family.name);
    message.text(2, family.help);
    message.text(3, unit);
    message.message(field, |data| {
        for (values, cell) in series {
            data.message(1, |message| {
                write_point(message, family, values, cell, began, now)
            });
        }
        match family.kind {
            MetricKind::Gauge => {}
            MetricKind::Counter => {
                data.number(2, CUMULATIVE);
                data.number(3, 1);
            }
            MetricKind::Histogram(_) => data.number(2, CUMULATIVE),
        }
    });
}

/// A `NumberDataPoint` or a `HistogramDataPoint`, which number their fields differently.
fn write_point(
    message: &mut ProtoMessage,
    family: &MetricFamily,
    values: &[Str],
    cell: &MetricSeries,
    began: u64,
    now: u64,
) {
    message.fixed64(2, began);
    message.fixed64(3, now);
    let attributes = match family.kind {
        MetricKind::Counter | MetricKind::Gauge => {
            message.fixed64(6, cell.count);
            7
        }
        MetricKind::Histogram(bounds) => {
            message.fixed64(4, cell.count);
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
