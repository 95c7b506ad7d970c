//! What `tramline doctor` says about the data directory: its size, disk, layout, key, runs and clock.

use super::Finding;
use crate::app::{self, DataFiles};
use crate::cli::output;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tramline_engine::ports::{RunFilter, RunRow, RunStatus, StoreFault};
use tramline_engine::{Engine, clock};

/// Free bytes on the disk below which runs will soon fail.
const FREE_BYTES_MIN: u64 = 50_000_000;
/// Open runs that are counted; more are reported as "more".
const OPEN_RUNS_COUNTED_MAX: usize = 100_000;
/// Rows read at once.
const PAGE_ROWS: usize = 1_000;
/// Interrupted runs that are named.
const NAMED_MAX: usize = 3;
/// How far the clock may be behind the newest event, in milliseconds: two machines that share a disk differ by less.
const CLOCK_BEHIND_MS_MAX: i64 = 5_000;

/// The size of the database, its layout, the free disk and the key.
pub(super) fn files(files: &DataFiles, findings: &mut Vec<Finding>) -> Value {
    let (bytes, log_bytes) = files.database_bytes();
    let layouts = files.database().and_then(|_| files.layouts().ok());
    if let Some((stored, supported)) = layouts {
        findings.push(Finding::ok(
            "database",
            format!(
                "{}, and {} in its log; layout {stored} of {supported}",
                output::bytes(bytes),
                output::bytes(log_bytes)
            ),
        ));
    }
    let disk = app::disk_space(&files.dir);
    if let Some(disk) = disk {
        let is_ok = disk.free_bytes >= FREE_BYTES_MIN;
        let step = match is_ok {
            true => "",
            false => "; free some space, or remove old runs with `tramline runs prune`",
        };
        findings.push(Finding::new(
            is_ok,
            "disk",
            format!(
                "{} of {} free{step}",
                output::bytes(disk.free_bytes),
                output::bytes(disk.total_bytes)
            ),
        ));
    }
    json!({
        "directory": files.dir.display().to_string(),
        "database_bytes": bytes,
        "log_bytes": log_bytes,
        "layout": layouts.map(|(stored, _)| stored),
        "layout_supported": layouts.map(|(_, supported)| supported),
        "disk_free_bytes": disk.map(|disk| disk.free_bytes),
        "disk_total_bytes": disk.map(|disk| disk.total_bytes),
    })
}

/// The file with the key of settings. It is not read here.
pub(super) fn key_file(file: &Path, findings: &mut Vec<Finding>) -> Value {
    let shown = file.display();
    let about = fs::metadata(file).ok();
    let mode = about.as_ref().and_then(mode);
    let exists = about.is_some();
    findings.push(match (exists, mode) {
        (false, _) => Finding::ok(
            "key file",
            format!("{shown} is made with the first stored secret"),
        ),
        (true, Some(mode)) if mode & 0o077 != 0 => Finding::bad(
            "key file",
            format!("{shown} can be read by others (mode {mode:03o}); run: chmod 600 {shown}"),
        ),
        (true, Some(mode)) => Finding::ok("key file", format!("{shown} (mode {mode:03o})")),
        (true, None) => Finding::ok("key file", shown.to_string()),
    });
    json!({
        "file": shown.to_string(),
        "exists": exists,
        "mode": mode.map(|mode| format!("{mode:03o}")),
    })
}

#[cfg(unix)]
fn mode(about: &fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(about.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_about: &fs::Metadata) -> Option<u32> {
    None
}

/// The runs that are not over.
#[derive(Default)]
struct OpenRuns {
    driven: usize,
    interrupted: usize,
    paused: usize,
    sop_sessions: usize,
    /// The newest interrupted ones.
    named: Vec<String>,
    more: bool,
}

impl OpenRuns {
    fn count(&mut self, row: &RunRow) {
        match row.index_row.status {
            RunStatus::Running if row.driven => self.driven += 1,
            RunStatus::Running => {
                self.interrupted += 1;
                if self.named.len() < NAMED_MAX {
                    self.named.push(row.run.to_string());
                }
            }
            RunStatus::Paused => self.paused += 1,
            RunStatus::SopSession => self.sop_sessions += 1,
            RunStatus::Completed
            | RunStatus::Failed
            | RunStatus::Rejected
            | RunStatus::Aborted
            | RunStatus::Expired => {}
        }
    }

    async fn read(engine: &Engine) -> Result<Self, StoreFault> {
        let mut found = Self::default();
        let mut seen = 0;
        let mut filter = RunFilter {
            status: vec![RunStatus::Running, RunStatus::Paused, RunStatus::SopSession],
            limit: PAGE_ROWS,
            ..RunFilter::default()
        };
        loop {
            let page = engine.store().runs(filter.clone()).await?;
            page.rows.iter().for_each(|row| found.count(row));
            seen += page.rows.len();
            filter.after = page.rows.last().map(|row| row.run.clone());
            if !page.more || filter.after.is_none() {
                return Ok(found);
            }
            if seen >= OPEN_RUNS_COUNTED_MAX {
                found.more = true;
                return Ok(found);
            }
        }
    }
}

/// Open and interrupted runs.
pub(super) async fn runs(engine: &Engine, findings: &mut Vec<Finding>) -> Value {
    let found = match OpenRuns::read(engine).await {
        Ok(found) => found,
        Err(fault) => {
            findings.push(Finding::bad("runs", fault.to_string()));
            return Value::Null;
        }
    };
    let least = if found.more { "at least " } else { "" };
    findings.push(Finding::ok(
        "runs",
        format!(
            "{least}{} running, {} waiting for an answer, {} interrupted, {} open procedures",
            found.driven, found.paused, found.interrupted, found.sop_sessions
        ),
    ));
    if let Some(newest) = found.named.first() {
        findings.push(Finding::ok(
            "interrupted runs",
            format!(
                "{}; resume one with `tramline runs resume {newest}`, or end it with `tramline runs abort`",
                found.named.join(", ")
            ),
        ));
    }
    json!({
        "running": found.driven,
        "paused": found.paused,
        "interrupted": found.interrupted,
        "sop_sessions": found.sop_sessions,
        "more": found.more,
    })
}

/// Whether the clock fits what was recorded: timers and timeouts depend on it.
pub(super) async fn clock(engine: &Engine, findings: &mut Vec<Finding>) -> Value {
    let newest = RunFilter {
        limit: 1,
        ..RunFilter::default()
    };
    let newest = engine.store().runs(newest).await.ok();
    let newest = newest.and_then(|page| Some(page.rows.first()?.index_row.updated_ms));
    // Read after the list: a run may have written in between.
    let now = clock::now_ms();
    let behind = newest.map_or(0, |newest| newest.saturating_sub(now));
    findings.push(match behind > CLOCK_BEHIND_MS_MAX {
        true => Finding::bad(
            "clock",
            format!(
                "{}, which is {} before the newest recorded event; set the clock, or timers will be late",
                app::utc(now),
                output::span(behind)
            ),
        ),
        false => Finding::ok("clock", app::utc(now)),
    });
    json!({ "now_ms": now, "newest_event_ms": newest, "is_behind": behind > CLOCK_BEHIND_MS_MAX })
}
