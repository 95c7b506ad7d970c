//! One metric with all its series.

use hashbrown::{Equivalent, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tramline_core::Str;

/// A metric has so many series at most; what comes later is counted under [`OTHER`].
const SERIES_MAX: usize = 1_000;
/// The value of every label of what comes after [`SERIES_MAX`].
const OTHER: &str = "_other";

/// What a metric measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Something that is counted and only grows.
    Count,
    /// Something that goes up and down.
    Gauge,
    /// Times in seconds, told by how many were up to each bound.
    Times(&'static [f64]),
}

/// One metric.
pub(crate) struct Family {
    /// Its name in OpenTelemetry's spelling.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) labels: &'static [&'static str],
    pub(crate) shape: Shape,
    series: Mutex<HashMap<Vec<Str>, Cell>>,
}

/// One series.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    /// What was counted, or how many times were taken.
    pub(crate) count: u64,
    /// The sum of the times, in seconds.
    pub(crate) sum: f64,
    /// How many times fell between two bounds, the last beyond all of them.
    pub(crate) buckets: Vec<u64>,
}

/// Labels that a series is looked up by: those who count make no copies.
#[derive(Hash)]
struct Labels<'a>(&'a [&'a str]);

impl Equivalent<Vec<Str>> for Labels<'_> {
    fn equivalent(&self, key: &Vec<Str>) -> bool {
        self.0.iter().eq(key.iter())
    }
}

impl Family {
    pub(super) fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        shape: Shape,
    ) -> Self {
        let series = Mutex::default();
        let family = Self {
            name,
            help,
            labels,
            shape,
            series,
        };
        if labels.is_empty() {
            // What cannot be told apart is there from the start, as 0.
            family.change(&[], |_| ());
        }
        family
    }

    /// Counts some more.
    pub(crate) fn add(&self, labels: &[&str], more: u64) {
        self.change(labels, |cell| cell.count += more);
    }

    /// Says how many there are.
    pub(crate) fn set(&self, now: u64) {
        self.change(&[], |cell| cell.count = now);
    }

    /// Takes a time.
    pub(crate) fn took(&self, labels: &[&str], took: Duration) {
        let Shape::Times(bounds) = self.shape else {
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

    fn change(&self, labels: &[&str], change: impl FnOnce(&mut Cell)) {
        let mut all = self.series();
        if let Some(cell) = all.get_mut(&Labels(labels)) {
            return change(cell);
        }
        let labels = match all.len() >= SERIES_MAX {
            true => self.labels.iter().map(|_| OTHER.into()).collect(),
            false => labels.iter().copied().map(Str::from).collect(),
        };
        change(all.entry(labels).or_default());
    }

    /// Every series as it stands, in the order of their labels.
    pub(crate) fn read(&self) -> Vec<(Vec<Str>, Cell)> {
        let all = self.series();
        let mut read: Vec<_> = all.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        read.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        read
    }

    fn series(&self) -> MutexGuard<'_, HashMap<Vec<Str>, Cell>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_has_an_end_to_its_series() {
        let family = Family::new("x", "y", &["l"], Shape::Count);
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
        let family = Family::new("x", "y", &[], Shape::Times(&[0.1, 1.0]));
        for ms in [100, 101, 5_000] {
            family.took(&[], Duration::from_millis(ms));
        }
        assert_eq!(family.read()[0].1.buckets, [1, 1, 1]);
    }
}
