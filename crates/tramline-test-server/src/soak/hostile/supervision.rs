//! Beside the attacks: normal calls must be answered, memory and descriptors stay within limits,
//! and servers are killed and restarted.

use super::super::seeded_rng::SeededRng;
use super::fixture::NORMAL;
use super::http::HttpRequest;
use super::server_under_test::ServerUnderTest;
use super::witness::ViolationKind;
use super::{HostileContext, locked};
use crate::processes;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time within which a normal call or a health check is answered, whatever else is going on.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Interval between normal calls.
const CALL_EVERY: Duration = Duration::from_millis(150);

/// Interval between measurements of memory and descriptors: spikes are rarely shorter.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// Memory that a server may use at any time, in kibibytes.
const PEAK_KB_MAX: u64 = 300 * 1024;

/// Memory at which a server is killed to protect the machine, in kibibytes.
const DANGER_KB: u64 = 3 * 1024 * 1024;

/// Memory growth allowed over all attacks, in kibibytes: what the allocator keeps for the next
/// call, and the tools of all servers.
const GROWTH_KB_MAX: u64 = 160 * 1024;

/// Descriptors that may be added: the pipes of all downstream servers stay open.
const DESCRIPTORS_MAX: u64 = 100;

/// Time within which everything settles after the attacks.
const SETTLE_MAX: Duration = Duration::from_secs(20);

/// Time that a stop by SIGTERM may take, whatever is going on.
const TERM_MAX: Duration = Duration::from_secs(5);

/// The exit code of a server that could not stop everything within its own time limit and killed
/// the rest. It is counted separately, and is a violation like any other bad exit.
const CUT_SHORT: i32 = 130;

/// Time within which the children of a killed server exit.
const ORPHANS_MAX: Duration = Duration::from_secs(5);

impl HostileContext {
    /// A health check and a graph call whose answers are checked.
    pub(super) fn normal_call(&self) -> Result<()> {
        self.normal(&self.open, None)
    }

    fn normal(&self, subject: &ServerUnderTest, token: Option<&str>) -> Result<()> {
        let begun = Instant::now();
        let health = self.send(subject, &HttpRequest::new("GET", "/healthz"), ANSWER_MAX)?;
        ensure!(health.status == 200, "no health: {}", health.status);
        let arguments = json!({"text": NORMAL});
        let reply = self.call(subject, token, "echo_it", &arguments, ANSWER_MAX)?;
        ensure!(reply.status == 200, "no answer: {}", reply.status);
        let text = reply.json()["result"]["content"][0]["text"].clone();
        let said: serde_json::Value = serde_json::from_str(text.as_str().unwrap_or_default())?;
        if said != json!({"value": NORMAL, "token": 1}) {
            let what = format!("{} answered a normal call with {said}", subject.name);
            self.witness.record_violation(ViolationKind::Answer, what);
        }
        let mut watched = self.counters();
        watched.calls += 2;
        watched.slowest = watched.slowest.max(begun.elapsed());
        Ok(())
    }

    /// Measures all servers once; with `is_first`, the values become the baseline.
    pub(super) fn meter(&self, is_first: bool) {
        for subject in self.subjects() {
            let Some(sample) = subject.sample() else {
                continue;
            };
            let danger = sample.rss_kb > DANGER_KB;
            let mut watched = self.counters();
            let meter = watched.meters.entry(subject.name).or_default();
            let was_within = meter.peak.rss_kb <= PEAK_KB_MAX;
            meter.add(sample);
            if is_first {
                meter.first = Some(sample);
            }
            drop(watched);
            if was_within && sample.rss_kb > PEAK_KB_MAX {
                let what = format!("{} used more than {} MB", subject.name, PEAK_KB_MAX / 1024);
                self.witness.record_violation(ViolationKind::Memory, what);
            }
            if danger {
                let what = format!(
                    "{} used {} MB and was killed",
                    subject.name,
                    sample.rss_kb / 1024
                );
                self.witness.record_violation(ViolationKind::Memory, what);
                self.restart(subject, Signal::SIGKILL);
            }
        }
    }

    /// Stops a server and starts it again on the same data directory.
    fn restart(&self, subject: &ServerUnderTest, signal: Signal) {
        let ended = subject.end(signal);
        if let Ok(Some(ending)) = ended {
            self.check_exit(subject, signal, &ending);
        }
        if let Err(error) = subject.start() {
            self.witness
                .record_violation(ViolationKind::Death, format!("{error:#}"));
        }
    }

    /// Checks how a server ended.
    pub(super) fn check_exit(
        &self,
        subject: &ServerUnderTest,
        signal: Signal,
        ending: &super::server_under_test::ProcessExit,
    ) {
        if signal == Signal::SIGTERM {
            let mut watched = self.counters();
            watched.terms += 1;
            watched.slowest_term = watched.slowest_term.max(ending.took);
            watched.cut_short += u64::from(ending.status.code() == Some(CUT_SHORT));
            drop(watched);
            if ending.took > TERM_MAX || ending.was_forced {
                let what = format!("{} had not exited {TERM_MAX:?} after SIGTERM", subject.name);
                self.witness.record_violation(ViolationKind::Shutdown, what);
            } else if ending.status.code() != Some(0) {
                let what = format!(
                    "{} exited with {} after SIGTERM",
                    subject.name, ending.status
                );
                self.witness.record_violation(ViolationKind::Death, what);
            }
        } else {
            self.counters().kills += 1;
        }
        self.check_orphans(subject, &ending.mark);
    }

    /// Whatever ended a server, its children must exit too: each has a launcher, which notices that
    /// the server is gone and ends everything below it.
    fn check_orphans(&self, subject: &ServerUnderTest, mark: &str) {
        if processes::wait_until_gone(mark, ORPHANS_MAX).is_err() {
            let left = processes::marked(mark).len() as u64;
            if left > 0 {
                self.counters().left_behind += left;
                let what = format!("{} left {}", subject.name, left_commands(mark));
                self.witness.record_violation(ViolationKind::Orphan, what);
            }
        }
        processes::kill_marked(mark);
    }
}

/// The commands of the processes with a mark.
fn left_commands(mark: &str) -> String {
    let mut names: Vec<_> = processes::marked(mark)
        .into_iter()
        .map(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let words = line
                .split(' ')
                .map(|word| word.rsplit('/').next().unwrap_or(word));
            words.collect::<Vec<_>>().join(" ").trim().to_owned()
        })
        .collect();
    names.sort();
    names.dedup();
    names.join(", ")
}

/// Measures all servers until the soak is over.
pub(super) fn sample(arena: &HostileContext) {
    while !arena.is_stopped.load(Ordering::SeqCst) {
        arena.meter(false);
        for subject in arena.subjects() {
            if let Some(how) = subject.has_ended() {
                let what = how;
                arena.witness.record_violation(ViolationKind::Death, what);
                if let Err(error) = subject.start() {
                    arena
                        .witness
                        .record_violation(ViolationKind::Death, format!("{error:#}"));
                }
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Makes normal calls beside the attacks. A server that answers none for too long hangs.
pub(super) fn call_normally(arena: &HostileContext, subject: &ServerUnderTest) {
    let token = (subject.name == arena.named.name).then_some(arena.world.ann.as_str());
    let (mut answered, mut start) = (Instant::now(), subject.start_number());
    while !arena.is_stopped.load(Ordering::SeqCst) {
        let now = subject.start_number();
        if now != start || now == 0 {
            (answered, start) = (Instant::now(), now);
        }
        let came = arena.normal(subject, token);
        if came.is_ok() {
            answered = Instant::now();
        } else if answered.elapsed() > ANSWER_MAX && subject.start_number() == start && start != 0 {
            let what = format!(
                "{} answered no normal call for {ANSWER_MAX:?}",
                subject.name
            );
            arena.witness.record_violation(ViolationKind::Hang, what);
            arena.restart(subject, Signal::SIGKILL);
        }
        std::thread::sleep(CALL_EVERY);
    }
}

/// Kills the server with named callers now and then, half of the time with SIGTERM.
pub(super) fn kill(arena: &HostileContext, mut chance: SeededRng) {
    while !arena.is_over() {
        let until = Instant::now() + Duration::from_millis(chance.between(2_000, 6_000));
        while Instant::now() < until && !arena.is_over() {
            std::thread::sleep(LOOK_EVERY);
        }
        let signal = match chance.percent(50) {
            true => Signal::SIGKILL,
            false => Signal::SIGTERM,
        };
        arena.restart(&arena.named, signal);
    }
}

/// Waits until usage is back to the baseline, and reports what is not.
pub(super) fn settle(arena: &HostileContext) {
    arena.abort_open_runs();
    locked(&arena.left_open).clear();
    let begun = Instant::now();
    loop {
        arena.meter(false);
        let grown = grown(arena).unwrap_or_default();
        if grown.is_empty() {
            return;
        }
        if begun.elapsed() > SETTLE_MAX {
            for (wrong, what) in grown {
                arena.witness.record_violation(wrong, what);
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The usage of the never-killed server above its baseline.
fn grown(arena: &HostileContext) -> Result<Vec<(ViolationKind, String)>> {
    let meter = arena.counters().meters.get(arena.open.name).copied();
    let meter = meter.context("no samples")?;
    let (first, last) = (
        meter.first.context("none at first")?,
        meter.last.context("none at last")?,
    );
    let mut grown = Vec::new();
    if last.rss_kb > first.rss_kb + GROWTH_KB_MAX {
        let what = format!(
            "open grew from {} to {} MB",
            first.rss_kb / 1024,
            last.rss_kb / 1024
        );
        grown.push((ViolationKind::Memory, what));
    }
    if last.descriptors > first.descriptors + DESCRIPTORS_MAX {
        let what = format!(
            "open has {} descriptors after {}",
            last.descriptors, first.descriptors
        );
        grown.push((ViolationKind::Descriptors, what));
    }
    Ok(grown)
}
