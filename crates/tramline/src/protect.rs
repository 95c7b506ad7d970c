//! What file tools leave alone: everything that says what is started, and where runs are kept.

use crate::config::Config;
use std::path::{Path, PathBuf};
use tramline_builtin::{ProtectedPath, Protection};
use tramline_core::formats::yaml_graph::Document;
use tramline_mcp::config::{Reach, ServerConfig};

/// A document that is served or run.
pub(crate) fn document(path: &Path) -> ProtectedPath {
    ProtectedPath::new(path, "a document in use", Protection::Unchanged)
}

/// A file with tokens.
pub(crate) fn token_file(path: &Path) -> ProtectedPath {
    ProtectedPath::new(path, "the token file", Protection::Secret)
}

/// A procedure that is pinned.
pub(crate) fn procedure(path: &Path) -> ProtectedPath {
    ProtectedPath::new(path, "a pinned procedure", Protection::Unchanged)
}

/// Everything that is left alone under this configuration, with these documents and servers.
pub(crate) fn paths<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
    servers: &[ServerConfig],
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
    for companion in documents.into_iter().flat_map(|each| &each.companions) {
        // They are called by their whole paths.
        all.push(document(Path::new(companion.workflow.name.as_str())));
    }
    for server in servers {
        all.extend(started_from(server));
    }
    all
}

/// The files that a server's command names: its program, a script, a configuration of its own.
fn started_from(server: &ServerConfig) -> Vec<ProtectedPath> {
    let Reach::Stdio {
        command, args, cwd, ..
    } = &server.reach
    else {
        return Vec::new();
    };
    let base = cwd.as_deref().map_or(Path::new(""), Path::new);
    let mut names: Vec<&str> = Vec::new();
    if command.contains('/') {
        names.push(command);
    }
    for arg in args {
        names.push(arg);
        names.extend(arg.split_once('=').map(|(_, value)| value));
    }
    let files = names.into_iter().map(|name| base.join(name));
    let files = files.filter(|path| path.is_file());
    files
        .map(|path| {
            ProtectedPath::new(
                path,
                "a file that a server is started from",
                Protection::Unchanged,
            )
        })
        .collect()
}
