//! Paths that file tools must not touch: everything that decides what is started, and the store.

use crate::cli::mcp_clients::{self, ClientFile};
use crate::config::{Config, default_data_dir};
use std::path::{Path, PathBuf};
use tramline_builtin::{ProtectedPath, Protection};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_mcp_client::config::ServerConfig;

mod command_files;
mod live_processes;

pub(crate) use live_processes::{ProtectedList, others};

/// A document that is served or run.
pub(crate) fn document(path: &Path) -> ProtectedPath {
    ProtectedPath::new(path, "a document in use", Protection::Unchanged)
}

/// A token file.
#[cfg(feature = "cli")]
pub(crate) fn token_file(path: &Path) -> ProtectedPath {
    ProtectedPath::new(path, "the token file", Protection::Secret)
}

/// A pinned procedure.
#[cfg(feature = "cli")]
pub(crate) fn procedure(path: &Path) -> ProtectedPath {
    ProtectedPath::new(path, "a pinned procedure", Protection::Unchanged)
}

/// All paths to protect for this configuration and these documents.
pub(crate) fn paths<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
) -> Vec<ProtectedPath> {
    let mut all = config.protected.clone();
    let one = |path: &Option<PathBuf>, what, protection| {
        path.as_ref()
            .map(|path| ProtectedPath::new(path, what, protection))
    };
    all.extend(one(
        &config.data_dir,
        "in the data directory",
        Protection::SecretDirectory,
    ));
    // Another process of this user may use it.
    all.push(ProtectedPath::new(
        default_data_dir(),
        "in the default data directory",
        Protection::SecretDirectory,
    ));
    all.extend(one(
        &config.key_file,
        "the key of the settings",
        Protection::Secret,
    ));
    all.extend(one(
        &config.file,
        "the configuration file",
        Protection::Unchanged,
    ));
    let what = "the file that configures the servers";
    all.extend(one(&config.mcp_config, what, Protection::Unchanged));
    all.extend(client_files(&config.roots));
    for companion in documents
        .into_iter()
        .flat_map(|each| &each.linked_workflows)
    {
        // Companions are named by their full paths.
        all.push(document(Path::new(companion.workflow.name.as_str())));
    }
    all
}

/// The files from which MCP clients start servers: this user's, and those of the projects in the roots and the working
/// directory.
fn client_files(roots: &[PathBuf]) -> Vec<ProtectedPath> {
    let here = std::env::current_dir().ok();
    let mut projects: Vec<PathBuf> = roots.iter().cloned().chain(here).collect();
    projects.sort();
    projects.dedup();
    let files = mcp_clients::client_files(&projects).into_iter();
    let what = "the configuration of an MCP client";
    files
        .map(|file| match file {
            ClientFile::One(path) => ProtectedPath::new(path, what, Protection::Unchanged),
            ClientFile::Directory(path) => {
                ProtectedPath::new(path, what, Protection::UnchangedDirectory)
            }
        })
        .collect()
}

/// The files that a server is started from, with the variables and settings as they are now.
pub(crate) fn server_files(
    server: &ServerConfig,
    roots: &[PathBuf],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<ProtectedPath> {
    let files = command_files::command_files(server, roots, lookup).into_iter();
    let what = "a file that a server is started from";
    files
        .map(|path| ProtectedPath::new(path, what, Protection::Unchanged))
        .collect()
}
