//! Beside the attacks: normal calls must be answered, memory and descriptors stay within bounds, and
//! servers are killed and started again.

use super::super::chance::Chance;
use super::http::Request;
use super::subject::Subject;
use super::witness::ViolationKind;
use super::world::NORMAL;
use super::{Arena, locked};
use crate::processes;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A normal call or a health check is answered within this, whatever else is asked for.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// How often a normal call is made.
const CALL_EVERY: Duration = Duration::from_millis(150);

/// How often memory and descriptors are looked at: a spike is rarely shorter.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// No server ever holds more memory than this, in kibibytes.
const PEAK_KB_MAX: u64 = 300 * 1024;

/// One that holds so much is killed for the machine's sake, in kibibytes.
const DANGER_KB: u64 = 3 * 1024 * 1024;

/// What a server holds more after all attacks than before, in kibibytes: what the allocator keeps
/// for the next call, and the tools of all servers.
const GROWTH_KB_MAX: u64 = 160 * 1024;

/// And in descriptors: the pipes of all downstream servers stay open.
const DESCRIPTORS_MAX: u64 = 100;

/// After the attacks everything has settled within this.
const SETTLE_MAX: Duration = Duration::from_secs(20);

/// SIGTERM takes no longer, whatever is going on.
const TERM_MAX: Duration = Duration::from_secs(5);

/// How a server ends that could not bring everything to an end in the time that it gives itself, and
/// then killed what was left. It is counted apart, and is a violation like any other bad end.
const CUT_SHORT: i32 = 130;

/// The children of a server that was killed notice it within this.
const ORPHANS_MAX: Duration = Duration::from_secs(5);

impl Arena {
    /// A health check and a call of a graph, with the answer that they must give.
    pub(super) fn normal_call(&self) -> Result<()> {
        self.normal(&self.open, None)
    }

    fn normal(&self, subject: &Subject, token: Option<&str>) -> Result<()> {
        let begun = Instant::now();
        let health = self.send(subject, &Request::new("GET", "/healthz"), ANSWER_MAX)?;
        ensure!(health.status == 200, "no health: {}", health.status);
        let arguments = json!({"text": NORMAL});
        let reply = self.call(subject, token, "echo_it", &arguments, ANSWER_MAX)?;
        ensure!(reply.status == 200, "no answer: {}", reply.status);
        let text = reply.json()["result"]["content"][0]["text"].clone();
        let said: serde_json::Value = serde_json::from_str(text.as_str().unwrap_or_default())?;
        if said != json!({"value": NORMAL, "token": 1}) {
            let what = format!("{} answered a normal call with {said}", subject.name);
            self.witness.violated(ViolationKind::Answer, what);
        }
        let mut watched = self.watched();
        watched.calls += 2;
        watched.slowest = watched.slowest.max(begun.elapsed());
        Ok(())
    }

    /// Looks at all servers once; what they use now is what they use at first if said so.
    pub(super) fn meter(&self, is_first: bool) {
        for subject in self.subjects() {
            let Some(sample) = subject.sample() else {
                continue;
            };
            let danger = sample.rss_kb > DANGER_KB;
            let mut watched = self.watched();
            let meter = watched.meters.entry(subject.name).or_default();
            let was_within = meter.peak.rss_kb <= PEAK_KB_MAX;
            meter.see(sample);
            if is_first {
                meter.first = Some(sample);
            }
            drop(watched);
            if was_within && sample.rss_kb > PEAK_KB_MAX {
                let what = format!("{} went beyond {} MB", subject.name, PEAK_KB_MAX / 1024);
                self.witness.violated(ViolationKind::Memory, what);
            }
            if danger {
                let what = format!(
                    "{} held {} MB and was killed",
                    subject.name,
                    sample.rss_kb / 1024
                );
                self.witness.violated(ViolationKind::Memory, what);
                self.restart(subject, Signal::SIGKILL);
            }
        }
    }

    /// Ends a server and starts it again on the same data directory.
    fn restart(&self, subject: &Subject, signal: Signal) {
        let ended = subject.end(signal);
        if let Ok(Some(ending)) = ended {
            self.ended(subject, signal, &ending);
        }
        if let Err(error) = subject.start() {
            self.witness
                .violated(ViolationKind::Death, format!("{error:#}"));
        }
    }

    /// Holds the end of a server against its bounds.
    pub(super) fn ended(&self, subject: &Subject, signal: Signal, ending: &super::subject::Ending) {
        if signal == Signal::SIGTERM {
            let mut watched = self.watched();
            watched.terms += 1;
            watched.slowest_term = watched.slowest_term.max(ending.took);
            watched.cut_short += u64::from(ending.status.code() == Some(CUT_SHORT));
            drop(watched);
            if ending.took > TERM_MAX || ending.was_forced {
                let what = format!("{} had not ended {TERM_MAX:?} after SIGTERM", subject.name);
                self.witness.violated(ViolationKind::Shutdown, what);
            } else if ending.status.code() != Some(0) {
                let what = format!(
                    "{} ended with {} after SIGTERM",
                    subject.name, ending.status
                );
                self.witness.violated(ViolationKind::Death, what);
            }
        } else {
            self.watched().kills += 1;
        }
        self.left_nothing(subject, &ending.mark);
    }

    /// However a server ended, what it had started ends too: each child has a launcher, which notices
    /// that the server is gone and ends everything below it.
    fn left_nothing(&self, subject: &Subject, mark: &str) {
        if processes::all_gone(mark, ORPHANS_MAX).is_err() {
            let left = processes::marked(mark).len() as u64;
            if left > 0 {
                self.watched().left_behind += left;
                let what = format!("{} left {}", subject.name, left_commands(mark));
                self.witness.violated(ViolationKind::Orphan, what);
            }
        }
        processes::kill_marked(mark);
    }
}

/// The commands of the processes that carry a mark.
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

/// Looks at all servers until the soak is over.
pub(super) fn sample(arena: &Arena) {
    while !arena.is_stopped.load(Ordering::SeqCst) {
        arena.meter(false);
        for subject in arena.subjects() {
            if let Some(how) = subject.has_ended() {
                let what = how;
                arena.witness.violated(ViolationKind::Death, what);
                if let Err(error) = subject.start() {
                    arena
                        .witness
                        .violated(ViolationKind::Death, format!("{error:#}"));
                }
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Makes normal calls beside the attacks. A server that answers none for too long hangs.
pub(super) fn call_normally(arena: &Arena, subject: &Subject) {
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
            arena.witness.violated(ViolationKind::Hang, what);
            arena.restart(subject, Signal::SIGKILL);
        }
        std::thread::sleep(CALL_EVERY);
    }
}

/// Kills the server with named callers now and then, half of the time with a word before.
pub(super) fn kill(arena: &Arena, mut chance: Chance) {
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

/// Waits until everything is as small again as it was at first, and says what is not.
pub(super) fn settle(arena: &Arena) {
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
                arena.witness.violated(wrong, what);
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What the server that was never killed uses more than at first.
fn grown(arena: &Arena) -> Result<Vec<(ViolationKind, String)>> {
    let meter = arena.watched().meters.get(arena.open.name).copied();
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
