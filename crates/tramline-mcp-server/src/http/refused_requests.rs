//! Requests that were not admitted, in the audit: somebody tried to give a command without a valid token.
//!
//! Anyone who reaches the address can send such requests. Their bodies are not read, the same one is counted in
//! one line for an hour, and only so many lines an hour name a run.

use super::CommandOf;
use axum::extract::Request;
use axum::http::Method;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tramline_engine::Engine;
use tramline_engine::audit::AuditNote;
use tramline_workflow::ids::RunId;

/// Lines that name a run, per hour; further requests are counted in lines without one, so that made-up runs
/// cannot push other lines out of the audit.
const RUNS_NAMED_MAX: usize = 100;
/// The time, in milliseconds, after which runs are named again.
const NAMED_WINDOW_MS: i64 = 60 * 60 * 1000;
/// Who gave a command that was not admitted.
const UNKNOWN: &str = "unknown caller";

/// Records requests that were not admitted.
pub(super) struct RefusedRequests {
    engine: Engine,
    /// The command of a request to a route besides MCP.
    command: Option<CommandOf>,
    named: Mutex<NamedRuns>,
}

/// The runs that were named within the current hour.
#[derive(Default)]
struct NamedRuns {
    since_ms: i64,
    runs: BTreeSet<RunId>,
}

impl NamedRuns {
    /// Whether a line may name a run.
    fn admits(&mut self, run: &RunId, now_ms: i64) -> bool {
        if now_ms.saturating_sub(self.since_ms) >= NAMED_WINDOW_MS {
            *self = Self {
                since_ms: now_ms,
                runs: BTreeSet::new(),
            };
        }
        if self.runs.len() < RUNS_NAMED_MAX {
            self.runs.insert(run.clone());
        }
        self.runs.contains(run)
    }
}

impl RefusedRequests {
    pub(super) fn new(engine: Engine, command: Option<CommandOf>) -> Self {
        Self {
            engine,
            command,
            named: Mutex::default(),
        }
    }

    /// The audit note of a request, if it gives a command.
    pub(super) fn note(&self, request: &Request, kind: &str, message: &str) -> Option<AuditNote> {
        let is_mcp = super::dispatch::is_mcp(request.uri().path());
        let command = match (is_mcp, self.command) {
            (true, _) => (*request.method() == Method::POST).then(|| ("request".to_owned(), None)),
            (false, Some(command_of)) => command_of(request),
            (false, None) => None,
        };
        let (command, run) = command?;
        let mut note = AuditNote::new(command, UNKNOWN);
        note.channel = Some(if is_mcp { "mcp" } else { "http" }.to_owned());
        let named = |run: &RunId| {
            let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
            named.admits(run, note.at_ms)
        };
        let run = run.filter(|run| named(run));
        note.run = run.map(|run| run.to_string());
        note.result = "refused".to_owned();
        note.error = Some(format!("{kind}: {message}"));
        Some(note)
    }

    /// Stores a note. If that fails, the request is refused all the same: nothing happened.
    pub(super) async fn write(&self, note: Option<AuditNote>) {
        if let Some(note) = note {
            drop(self.engine.write_audit_note(note).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_runs_are_named_only_so_often() {
        let mut named = NamedRuns::default();
        let run = |at: usize| RunId::new(1, at as u128);
        let many = (0..RUNS_NAMED_MAX * 3).filter(|at| named.admits(&run(*at), NAMED_WINDOW_MS));
        assert_eq!(many.count(), RUNS_NAMED_MAX);
        // One that is named already stays so, and after an hour others are.
        assert!(named.admits(&run(0), NAMED_WINDOW_MS + 1));
        assert!(!named.admits(&run(RUNS_NAMED_MAX), NAMED_WINDOW_MS + 1));
        assert!(named.admits(&run(RUNS_NAMED_MAX), 2 * NAMED_WINDOW_MS));
    }
}
