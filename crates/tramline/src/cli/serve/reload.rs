//! Serving what the files say now: an edit without flaws is served at once, one with flaws is told
//! and the version before it stays.

use super::super::documents::Flawed;
use super::super::{frames, output, probe};
use super::files;
use super::readings::{Readings, Unusable, told};
use super::saved::Shown;
use crate::config::Config;
use crate::trust::{HeldBack, TrustStore};
use crate::wire::{self, Equipment};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tramline_core::Value;
use tramline_core::graph::Graph;
use tramline_engine::Shelf;
use tramline_mcp::server::{About, Server};

/// How often files are looked at. What has changed is read when it was the same twice, so that a
/// file is not read while it is being written.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Servers get so long to list their tools: nobody waits for it, and a first start may fetch
/// packages.
const ASK_MAX: Duration = Duration::from_secs(60);

/// A server with what it is served from.
pub(super) struct Stage {
    pub(super) files: Vec<PathBuf>,
    pub(super) config: Config,
    pub(super) equipment: Equipment,
    pub(super) shelf: Arc<Shelf>,
    pub(super) server: Server,
    pub(super) shown: Shown,
    /// Whether documents with flaws are left out instead of keeping the version before.
    pub(super) drafts: bool,
}

/// What documents say of the server, and their graphs.
type Offered = (About, Vec<(Arc<Graph>, Value)>);

/// What tells one version of a file from another: when it was written, its length, its place on
/// disk. Nothing where there is no file.
pub(super) type Print = Option<(SystemTime, u64, u64)>;

impl Stage {
    /// Asks the servers about the tools that are called, now and after each edit. Without the
    /// prints that the files had before they were read, edits are not looked for.
    pub(super) async fn attend(self, readings: Readings, mut prints: Option<Vec<Print>>) {
        let mut offered = (readings.about(), readings.graphs(&self.config));
        let mut readings = Some(readings);
        loop {
            let asking = async {
                match &readings {
                    Some(readings) => self.ask(readings).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = asking => readings = None,
                () = self.shown.changed(&self.server) => {
                    if let Err(message) = self.offer(&offered).await {
                        output::say(&message);
                    }
                }
                () = self.edited(&mut prints) => match self.again().await {
                    Ok(newer) => {
                        offered = (newer.about(), newer.graphs(&self.config));
                        readings = Some(newer);
                    }
                    Err(unusable) => {
                        unusable.say();
                        let message = unusable.message();
                        output::say("the version before this edit is still served");
                        self.server.warn(&format!("an edit is not served: {message}"));
                    }
                },
            }
        }
    }

    /// Reads the files anew and serves what they say, if all of it can be served.
    async fn again(&self) -> Result<Readings, Unusable> {
        let readings = match self.drafts {
            true => Readings::usable(&self.files, &self.config)?,
            false => Readings::read(&self.files, &self.config)?,
        };
        let servers = wire::servers(&self.config, readings.documents())
            .map_err(|trouble| Unusable::from(trouble.to_string()))?;
        let graphs = self.shown.with(readings.graphs(&self.config)).await;
        let graphs = graphs.map_err(|fault| Unusable::from(fault.to_string()))?;
        let prepared = self
            .server
            .prepare(readings.about(), graphs)
            .map_err(|taken| Unusable::from(taken.to_string()))?;
        let before = self.equipment.servers.configs();
        let (servers, held) = self.config.gate.reloaded(before, servers);
        // First what graphs call: none is offered before that is there.
        wire::tell_users(&self.equipment.settings, &servers)
            .map_err(|trouble| Unusable::from(trouble.to_string()))?;
        let documents = readings.documents();
        wire::protect(&self.equipment.builtin, &self.config, documents, &servers);
        self.equipment.servers.replace(servers);
        self.shelf.replace(readings.callables(&self.config));
        self.server.offer(prepared);
        output::say("the edited files are served");
        self.tell_held_back(&held);
        Ok(readings)
    }

    /// Says which servers of the edited files are not taken, and what takes them.
    fn tell_held_back(&self, held: &[HeldBack]) {
        if held.is_empty() {
            return;
        }
        let held: Vec<_> = held.iter().map(ToString::to_string).collect();
        let how = files::allowing(&self.config, &self.files, self.drafts);
        let says = format!("the servers stay as they were: {}; {how}", held.join("; "));
        output::say(&says);
        self.server.warn(&says);
    }

    /// Offers these graphs with the saved workflows as they are now.
    async fn offer(&self, (about, graphs): &Offered) -> Result<(), String> {
        let graphs = self.shown.with(graphs.clone()).await;
        let graphs = graphs.map_err(|fault| fault.to_string())?;
        let prepared = self.server.prepare(about.clone(), graphs);
        self.server
            .offer(prepared.map_err(|taken| taken.to_string())?);
        Ok(())
    }

    /// Asks the servers of these documents for their tools, and tells what is missing.
    async fn ask(&self, readings: &Readings) {
        let saved = self.shown.names().await;
        let answers = probe::ask(&self.equipment, readings.documents(), saved, ASK_MAX).await;
        self.server.refresh();
        for reading in readings.iter() {
            let flaws = answers.flaws(&reading.document);
            if flaws.is_empty() {
                continue;
            }
            let flawed = Flawed {
                path: reading.shown.path.clone(),
                text: reading.shown.text.clone(),
                flaws,
            };
            frames::show(&flawed);
            self.server.warn(&told(&flawed));
        }
        for (server, failure) in answers.silent() {
            let says = format!("`{server}` could not be asked for its tools: {failure}");
            output::say(&says);
            self.server.warn(&says);
        }
    }

    /// Waits until the files are others than they were, and have stopped changing.
    async fn edited(&self, before: &mut Option<Vec<Print>>) {
        let Some(before) = before else {
            return std::future::pending().await;
        };
        let mut seen = before.clone();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = prints(&self.files, &self.config, self.drafts);
            if now == seen && now != *before {
                *before = now;
                return;
            }
            seen = now;
        }
    }
}

/// The prints of all files that are served from.
pub(super) fn prints(files: &[PathBuf], config: &Config, drafts: bool) -> Vec<Print> {
    let files = files.iter().chain(&config.mcp_config);
    let mut prints: Vec<_> = files.map(|path| print(path)).collect();
    // What somebody trusts meanwhile can be taken at once.
    let store = TrustStore::of(config).filter(|_| drafts);
    prints.extend(store.map(|store| print(store.path())));
    prints
}

fn print(path: &Path) -> Print {
    let about = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let place = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let place = 0;
    Some((about.modified().ok()?, about.len(), place))
}
