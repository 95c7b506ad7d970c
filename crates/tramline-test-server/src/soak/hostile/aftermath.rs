//! After the attacks: servers must stop in time with connections still open, and what they left on
//! disk, in logs and as effects is checked.

use super::http::HttpRequest;
use super::witness::ViolationKind;
use super::{HostileContext, HostileReport, locked};
use crate::processes;
use anyhow::Result;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes that all attacks of a soak may leave on disk.
const DISK_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// Bytes that the log of a server may hold: output of servers and documents must not fill a disk.
const LOG_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Stops everything and checks what is left.
pub(super) fn check(arena: &HostileContext) -> Result<()> {
    stop_all(arena)?;
    logs(arena);
    disk(arena);
    effects(arena);
    arena.check_files();
    let listed = arena
        .world
        .operator(&["runs", "--most", "1", "--json"])
        .output()?;
    if !listed.status.success() {
        let what = format!("the data directory can no longer be read: {listed:?}");
        arena.witness.record_violation(ViolationKind::Death, what);
    }
    Ok(())
}

/// Stops all servers with SIGTERM while an event stream and half a request are open.
fn stop_all(arena: &HostileContext) -> Result<()> {
    for subject in arena.subjects() {
        let mut held = Vec::new();
        if let Some(address) = subject.address() {
            let half = super::http::connect(address).and_then(|mut stream| {
                stream.write_all(b"GET /hea")?;
                Ok(stream)
            });
            held.extend(half);
            if let Some(run) = waiting(arena) {
                let path = format!("/api/runs/{run}/events");
                held.extend(HttpRequest::new("GET", &path).open(address));
            }
        }
        if let Some(ending) = subject.end(Signal::SIGTERM)? {
            arena.check_exit(subject, Signal::SIGTERM, &ending);
        }
        drop(held);
        for mark in subject.marks() {
            processes::kill_marked(&mark);
        }
    }
    Ok(())
}

/// Starts a run that waits for a person.
fn waiting(arena: &HostileContext) -> Option<String> {
    let request = HttpRequest::json(
        "POST",
        "/api/tools/waits/runs",
        &serde_json::json!({"input": {}}),
    );
    let begun = arena
        .send(&arena.open, &request, Duration::from_secs(5))
        .ok()?;
    Some(begun.json()["run_id"].as_str()?.to_owned())
}

fn logs(arena: &HostileContext) {
    for subject in arena.subjects() {
        for path in subject.logs() {
            let name = subject.name;
            let bytes = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if let Some(line) = text.lines().find(|line| line.contains("panicked at")) {
                let what = format!("{name} panicked: {line}");
                arena.witness.record_violation(ViolationKind::Death, what);
            }
            if bytes.contains(&0x1b) {
                let what = format!("terminal escapes in the output of {name}");
                arena.witness.record_violation(ViolationKind::Leak, what);
            }
            if bytes.len() as u64 > LOG_BYTES_MAX {
                let what = format!("{name} printed {} MB", bytes.len() / 1024 / 1024);
                arena.witness.record_violation(ViolationKind::Disk, what);
            }
            arena
                .witness
                .search_file(&format!("the output of {name}"), &path, &[]);
        }
    }
}

fn disk(arena: &HostileContext) {
    let mut bytes = 0;
    for dir in [arena.world.data(), arena.world.path("studio-data")] {
        for path in files(&dir) {
            bytes += std::fs::metadata(&path).map_or(0, |about| about.len());
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let but: &[&str] = match name.as_ref() {
                "settings.key" => &["the key"],
                _ => &[],
            };
            arena
                .witness
                .search_file(&format!("the file {name}"), &path, but);
        }
    }
    if bytes > DISK_BYTES_MAX {
        let what = format!("{} MB on disk", bytes / 1024 / 1024);
        arena.witness.record_violation(ViolationKind::Disk, what);
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

/// The calls in a log, by key.
fn calls(path: &Path) -> BTreeMap<String, Vec<Value>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut calls: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for call in text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        if call["cancelled"].is_null() {
            let key = call["key"].as_str().unwrap_or_default().to_owned();
            calls
                .entry(key)
                .or_default()
                .push(call["arguments"].clone());
        }
    }
    calls
}

/// Checks that every effect happened once, and that those that need approval had it.
fn effects(arena: &HostileContext) {
    let approved = locked(&arena.approved);
    for log in ["record.log", "bank.log"] {
        for (key, arguments) in calls(&arena.world.path(log)) {
            if arguments.len() > 1 {
                let what = format!("{key} happened {} times", arguments.len());
                arena
                    .witness
                    .record_violation(ViolationKind::Repeated, what);
            }
            let run = key.split('/').next().unwrap_or_default();
            if log == "bank.log" && !approved.contains(run) {
                let what = "a call that needs the operator's approval was made without it";
                arena
                    .witness
                    .record_violation(ViolationKind::Unapproved, what);
            }
            if arguments.iter().any(|given| given["pinned"] == true) {
                let what = "a call bypassed the pinned procedure";
                arena
                    .witness
                    .record_violation(ViolationKind::Unapproved, what);
            }
        }
    }
}

impl HostileContext {
    /// The report of everything observed.
    pub(super) fn report(&self) -> HostileReport {
        let (outcomes, violations) = self.witness.tally();
        let watched = self.counters();
        let dirs = [self.world.data(), self.world.path("studio-data")];
        let sizes = dirs.iter().flat_map(|dir| files(dir));
        HostileReport {
            seed: self.settings.seed,
            seconds: self.begun.elapsed().as_secs(),
            rounds: self.rounds(),
            calls: watched.calls,
            slowest_ms: watched.slowest.as_millis() as u64,
            kills: watched.kills,
            terms: watched.terms,
            slowest_term_ms: watched.slowest_term.as_millis() as u64,
            cut_short: watched.cut_short,
            left_behind: watched.left_behind,
            disk_bytes: sizes
                .map(|path| std::fs::metadata(path).map_or(0, |about| about.len()))
                .sum(),
            meters: watched.meters.clone(),
            outcomes,
            violations,
        }
    }
}
