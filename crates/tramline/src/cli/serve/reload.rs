//! Reloads documents: an edit without flaws is served at once; one with flaws is reported, and the
//! previous version stays.

use super::super::documents::DocumentFlaws;
use super::super::{diagnostics, output, tool_check};
use super::access_config;
use super::saved_workflows::SavedWorkflows;
use super::served_documents::{InvalidDocuments, ServedDocuments, first_flaw};
use crate::app::{self, ToolSources};
use crate::config::Config;
use crate::trust::{HeldBack, TrustStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tramline_engine::WorkflowMap;
use tramline_expr::Value;
use tramline_mcp_server::{Server, ServerDescription};
use tramline_workflow::graph::Graph;

/// How often files are checked. A changed file is read once two checks agree, so that it is not
/// read while being written.
const FILE_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How long servers may take to list their tools. No request waits for this, and a first start may
/// download packages.
const LIST_TOOLS_TIMEOUT: Duration = Duration::from_secs(60);

/// A server and what it is served from.
pub(super) struct Reloader {
    pub(super) files: Vec<PathBuf>,
    pub(super) config: Config,
    pub(super) tool_sources: ToolSources,
    pub(super) workflow_map: Arc<WorkflowMap>,
    pub(super) server: Server,
    pub(super) saved: SavedWorkflows,
    /// Whether documents with flaws are left out instead of keeping the previous version.
    pub(super) drafts: bool,
}

/// The server info and graphs of documents.
type OfferedGraphs = (ServerDescription, Vec<(Arc<Graph>, Value)>);

/// Distinguishes versions of a file: modification time, length, inode. `None` if the file is
/// missing.
pub(super) type FileFingerprint = Option<(SystemTime, u64, u64)>;

impl Reloader {
    /// Checks the called tools with the servers, now and after each edit. Without fingerprints of
    /// the files from before they were read, edits are not watched.
    pub(super) async fn watch(
        self,
        readings: ServedDocuments,
        mut prints: Option<Vec<FileFingerprint>>,
    ) {
        let mut offered = (readings.server_info(), readings.graphs(&self.config));
        let mut readings = Some(readings);
        loop {
            let asking = async {
                match &readings {
                    Some(readings) => self.check_tools(readings).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = asking => readings = None,
                () = self.saved.wait_for_change(&self.server) => {
                    if let Err(message) = self.offer(&offered).await {
                        output::status_line(&message);
                    }
                }
                () = self.wait_for_edit(&mut prints) => match self.reload().await {
                    Ok(newer) => {
                        offered = (newer.server_info(), newer.graphs(&self.config));
                        readings = Some(newer);
                    }
                    Err(unusable) => {
                        unusable.print_all();
                        let message = unusable.message();
                        output::status_line("the previous version is still served");
                        self.server.warn(&format!("an edit was not applied: {message}"));
                    }
                },
            }
        }
    }

    /// Reads the files again and serves them if all are valid.
    async fn reload(&self) -> Result<ServedDocuments, InvalidDocuments> {
        let readings = match self.drafts {
            true => ServedDocuments::read_valid(&self.files, &self.config)?,
            false => ServedDocuments::read(&self.files, &self.config)?,
        };
        let servers = app::servers(&self.config, readings.documents())
            .map_err(|trouble| InvalidDocuments::from(trouble.to_string()))?;
        let graphs = self.saved.append_to(readings.graphs(&self.config)).await;
        let graphs = graphs.map_err(|fault| InvalidDocuments::from(fault.to_string()))?;
        let prepared = self
            .server
            .prepare(readings.server_info(), graphs)
            .map_err(|taken| InvalidDocuments::from(taken.to_string()))?;
        let before = self.tool_sources.servers.configs();
        let (servers, held) = self.config.gate.filter_reload(before, servers);
        // First the workflows that graphs call: no graph is offered before its callees.
        app::register_setting_users(&self.tool_sources.settings, &servers)
            .map_err(|trouble| InvalidDocuments::from(trouble.to_string()))?;
        let documents = readings.documents();
        app::protect(
            &self.tool_sources.builtin,
            &self.config,
            documents,
            &servers,
            &self.tool_sources.settings,
        );
        self.tool_sources.servers.replace(servers);
        self.workflow_map.replace(readings.callables(&self.config));
        self.server.replace_graphs(prepared);
        output::status_line("the edited files are now served");
        self.report_held_back(&held);
        Ok(readings)
    }

    /// Reports which servers of the edited files are held back, and how to apply them.
    fn report_held_back(&self, held: &[HeldBack]) {
        if held.is_empty() {
            return;
        }
        let held: Vec<_> = held.iter().map(ToString::to_string).collect();
        let how = access_config::allow_hint(&self.config, &self.files, self.drafts);
        let says = format!("servers unchanged: {}; {how}", held.join("; "));
        output::status_line(&says);
        self.server.warn(&says);
    }

    /// Offers these graphs with the current saved workflows.
    async fn offer(&self, (about, graphs): &OfferedGraphs) -> Result<(), String> {
        let graphs = self.saved.append_to(graphs.clone()).await;
        let graphs = graphs.map_err(|fault| fault.to_string())?;
        let prepared = self.server.prepare(about.clone(), graphs);
        self.server
            .replace_graphs(prepared.map_err(|taken| taken.to_string())?);
        Ok(())
    }

    /// Lists the tools of the documents' servers, and reports missing ones.
    async fn check_tools(&self, readings: &ServedDocuments) {
        let saved = self.saved.names().await;
        let answers = tool_check::list_tools(
            &self.tool_sources,
            readings.documents(),
            saved,
            LIST_TOOLS_TIMEOUT,
        )
        .await;
        self.server.refresh();
        for reading in readings.iter() {
            let flaws = answers.flaws(&reading.document);
            if flaws.is_empty() {
                continue;
            }
            let flawed = DocumentFlaws {
                path: reading.warnings.path.clone(),
                text: reading.warnings.text.clone(),
                flaws,
            };
            diagnostics::show(&flawed);
            self.server.warn(&first_flaw(&flawed));
        }
        for (server, failure) in answers.failed_servers() {
            let says = format!("could not list the tools of `{server}`: {failure}");
            output::status_line(&says);
            self.server.warn(&says);
        }
    }

    /// Waits until the files have changed and have stopped changing.
    async fn wait_for_edit(&self, before: &mut Option<Vec<FileFingerprint>>) {
        let Some(before) = before else {
            return std::future::pending().await;
        };
        let mut seen = before.clone();
        loop {
            tokio::time::sleep(FILE_CHECK_INTERVAL).await;
            let now = fingerprints(&self.files, &self.config, self.drafts);
            if now == seen && now != *before {
                *before = now;
                return;
            }
            seen = now;
        }
    }
}

/// The fingerprints of all served files.
pub(super) fn fingerprints(
    files: &[PathBuf],
    config: &Config,
    drafts: bool,
) -> Vec<FileFingerprint> {
    let files = files.iter().chain(&config.mcp_config);
    let mut prints: Vec<_> = files.map(|path| fingerprint(path)).collect();
    // A server that gets trusted meanwhile can be applied at once.
    let store = TrustStore::of(config).filter(|_| drafts);
    prints.extend(store.map(|store| fingerprint(store.path())));
    prints
}

fn fingerprint(path: &Path) -> FileFingerprint {
    let about = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let place = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let place = 0;
    Some((about.modified().ok()?, about.len(), place))
}
