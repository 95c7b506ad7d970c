//! The environment that a run was started in, as its journal records it.

use crate::config::Config;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tramline_expr::Value;
use tramline_workflow::run::Run;

/// Where a run's document and servers are found again, as stored in its journal.
///
/// Contains only paths, never contents: a server's entry may contain a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The document; empty for a document that an agent submitted.
    pub document: PathBuf,
    /// The documents of the server that it was submitted to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<PathBuf>,
    /// The configuration file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
    /// The MCP client configuration (JSON), if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_config: Option<PathBuf>,
    /// The working directory, which relative paths of servers refer to.
    pub directory: PathBuf,
    /// The directories in which files may be read and written.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// The hosts that may be called.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Whether commands may be run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shell: bool,
}

impl RunOrigin {
    /// The origin of runs of this document under this configuration.
    pub fn of(document: &Path, config: &Config) -> Self {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self {
            document: absolute(document),
            documents: Vec::new(),
            config: config.file.as_deref().map(absolute),
            mcp_config: config.mcp_config.as_deref().map(absolute),
            directory: std::env::current_dir().unwrap_or_default(),
            roots: config.roots.iter().map(|root| absolute(root)).collect(),
            hosts: config.hosts.iter().map(ToString::to_string).collect(),
            shell: config.shell,
        }
    }

    /// The origin of documents that agents submit to a server of these documents.
    pub fn of_submitted(documents: &[PathBuf], config: &Config) -> Self {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        Self {
            document: PathBuf::new(),
            documents: documents.iter().map(absolute).collect(),
            ..Self::of(Path::new("."), config)
        }
    }

    /// The documents whose servers a run calls.
    pub fn files(&self) -> Vec<PathBuf> {
        match self.document.as_os_str().is_empty() {
            true => self.documents.clone(),
            false => vec![self.document.clone()],
        }
    }

    /// The origin as stored in a journal.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default().into()
    }

    /// Whether a run was started in this environment: with the same servers, configuration and access. Paths are absolute, so
    /// the working directory does not matter.
    pub fn covers(&self, run: &Run) -> bool {
        Self::from_value(&run.started.origin)
            .is_some_and(|theirs| self.is_same_environment(&theirs))
    }

    fn is_same_environment(&self, theirs: &Self) -> bool {
        let directory = theirs.directory.clone();
        *theirs
            == Self {
                directory,
                ..self.clone()
            }
    }

    /// Whether a run of another origin can be driven here: it was started in this environment, or in one that is gone.
    ///
    /// If its working directory does not exist, everything was moved, and nothing can be compared by path. It then belongs to
    /// the same documents by name, unless it had a configuration and there is none here.
    pub fn can_drive(&self, theirs: &Self) -> bool {
        if theirs.directory.exists() {
            return self.is_same_environment(theirs);
        }
        let names = |origin: &Self| -> Vec<_> {
            let files = origin.files();
            let names = files
                .iter()
                .map(|file| file.file_name().map(ToOwned::to_owned));
            names.collect()
        };
        names(self) == names(theirs) && (theirs.config.is_none() || self.config.is_some())
    }

    /// Reads what [`Origin::to_value`] wrote.
    pub fn from_value(value: &Value) -> Option<Self> {
        serde_json::from_value(value.into()).ok()
    }
}
