//! The environment of a server: which runs it drives, and how others are resumed in theirs.

use super::super::output;
use crate::app::RunOrigin;
use crate::config::{Config, SharedStore};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tramline_engine::RunEnvironment;
use tramline_expr::Value;
use tramline_workflow::ids::RunId;

/// Runs of other environments that are driven at once, each by a process of its own.
const OUTSIDE_RUNS_MAX: usize = 4;

/// The environment of this server.
pub(super) struct ServerEnvironment {
    origins: Vec<RunOrigin>,
    data_dir: Option<PathBuf>,
    key_file: Option<PathBuf>,
    store: Option<SharedStore>,
    slots: Arc<Semaphore>,
}

impl ServerEnvironment {
    /// The environment in which runs of these origins were started.
    pub(super) fn new(origins: &[RunOrigin], config: &Config) -> Self {
        Self {
            origins: origins.to_vec(),
            data_dir: config.data_dir.clone(),
            key_file: config.key_file.clone(),
            store: config.store.clone(),
            slots: Arc::new(Semaphore::new(OUTSIDE_RUNS_MAX)),
        }
    }

    /// The command that resumes a run in its own environment; none without a data directory.
    fn resume_command(&self, run: &RunId) -> Option<Command> {
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.arg("--data-dir").arg(self.data_dir.as_ref()?);
        if let Some(key_file) = &self.key_file {
            command.arg("--key-file").arg(key_file);
        }
        if let Some(store) = &self.store {
            // Not as an argument: others may see those, and the address may contain a password.
            command.env("TRAMLINE_STORE", store.url.expose());
        }
        command
            .args(["runs", "resume", "--quiet"])
            .arg(run.to_string());
        // Standard output belongs to the protocol.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Some(command)
    }
}

impl RunEnvironment for ServerEnvironment {
    fn covers(&self, origin: &Value) -> bool {
        let theirs = RunOrigin::from_value(origin);
        theirs.is_some_and(|theirs| self.origins.iter().any(|mine| mine.can_drive(&theirs)))
    }

    fn resume_outside(&self, run: &RunId) {
        let Some(mut command) = self.resume_command(run) else {
            return;
        };
        let (slots, run) = (Arc::clone(&self.slots), run.clone());
        tokio::spawn(async move {
            let _slot = slots.acquire_owned().await;
            if let Err(error) = command.status().await {
                output::status_line(&format!(
                    "cannot resume {run} in its own environment: {error}"
                ));
            }
        });
    }
}
