//! One metric with all its series.

use hashbrown::{Equivalent, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tramline_expr::Str;

/// Most series of a metric. Later ones are counted under [`OTHER`].
const SERIES_MAX: usize = 1_000;
/// The value of every label beyond [`SERIES_MAX`].
const OTHER: &str = "_other";

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MetricKind {
    /// A counter, which only grows.
    Counter,
    /// A gauge, which goes up and down.
    Gauge,
    /// A histogram of durations in seconds, with these boundaries.
    Histogram(&'static [f64]),
}

/// One metric.
pub(crate) struct MetricFamily {
    /// Its OpenTelemetry name.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) labels: &'static [&'static str],
    pub(crate) kind: MetricKind,
    series: Mutex<HashMap<Vec<Str>, MetricSeries>>,
}

/// One series.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MetricSeries {
    /// The value of a counter or gauge, or the number of durations.
    pub(crate) count: u64,
    /// The sum of the durations, in seconds.
    pub(crate) sum: f64,
    /// The number of durations per bucket, the last one beyond all boundaries.
    pub(crate) buckets: Vec<u64>,
}

/// Borrowed labels for a lookup, to avoid copies.
#[derive(Hash)]
struct BorrowedLabels<'a>(&'a [&'a str]);

impl Equivalent<Vec<Str>> for BorrowedLabels<'_> {
    fn equivalent(&self, key: &Vec<Str>) -> bool {
        self.0.iter().eq(key.iter())
    }
}

impl MetricFamily {
    pub(super) fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        shape: MetricKind,
    ) -> Self {
        let series = Mutex::default();
        let family = Self {
            name,
            help,
            labels,
            kind: shape,
            series,
        };
        if labels.is_empty() {
            // A metric without labels exists from the start, as 0.
            family.change(&[], |_| ());
        }
        family
    }

    /// Adds to a counter.
    pub(crate) fn add(&self, labels: &[&str], more: u64) {
        self.change(labels, |cell| cell.count += more);
    }

    /// Sets a gauge.
    pub(crate) fn set(&self, now: u64) {
        self.change(&[], |cell| cell.count = now);
    }

    /// Records a duration.
    pub(crate) fn observe(&self, labels: &[&str], took: Duration) {
        let MetricKind::Histogram(bounds) = self.kind else {
            return;
        };
        let seconds = took.as_secs_f64();
        let place = bounds.partition_point(|bound| *bound < seconds);
        self.change(labels, |cell| {
            cell.buckets.resize(bounds.len() + 1, 0);
            cell.buckets[place] += 1;
            cell.count += 1;
            cell.sum += seconds;
        });
    }

    fn change(&self, labels: &[&str], change: impl FnOnce(&mut MetricSeries)) {
        let mut all = self.series();
        if let Some(cell) = all.get_mut(&BorrowedLabels(labels)) {
            return change(cell);
        }
        let labels = match all.len() >= SERIES_MAX {
            true => self.labels.iter().map(|_| OTHER.into()).collect(),
            false => labels.iter().copied().map(Str::from).collect(),
        };
        change(all.entry(labels).or_default());
    }

    /// The current values of all series, ordered by labels.
    pub(crate) fn read(&self) -> Vec<(Vec<Str>, MetricSeries)> {
        let all = self.series();
        let mut read: Vec<_> = all.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        read.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        read
    }

    fn series(&self) -> MutexGuard<'_, HashMap<Vec<Str>, MetricSeries>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_has_an_end_to_its_series() {
        let family = MetricFamily::new("x", "y", &["l"], MetricKind::Counter);
        for number in 0..SERIES_MAX + 10 {
            family.add(&[&number.to_string()], 1);
        }
        let read = family.read();
        assert_eq!(read.len(), SERIES_MAX + 1);
        let other = read.iter().find(|(labels, _)| labels[0] == OTHER);
        assert_eq!(other.map(|(_, cell)| cell.count), Some(10));
    }

    #[test]
    fn a_time_on_a_bound_is_up_to_it() {
        let family = MetricFamily::new("x", "y", &[], MetricKind::Histogram(&[0.1, 1.0]));
        for ms in [100, 101, 5_000] {
            family.observe(&[], Duration::from_millis(ms));
        }
        assert_eq!(family.read()[0].1.buckets, [1, 1, 1]);
    }
}
