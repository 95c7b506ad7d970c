//! The documents of a server, loaded together: all are valid, or none is used.

use super::super::documents::{self, DocumentFlaws};
use super::super::{diagnostics, output};
use crate::app::{self, RunOrigin};
use crate::config::Config;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_engine::ports::Callable;
use tramline_expr::Value;
use tramline_formats::KnownServers;
use tramline_formats::yaml_graph::GraphDocument;
use tramline_mcp_server::ServerDescription;
use tramline_workflow::flaw::Severity;
use tramline_workflow::graph::Graph;

/// Valid documents.
pub(super) struct ServedDocuments(Vec<ServedDocument>);

/// A document with its text.
pub(super) struct ServedDocument {
    pub(super) path: PathBuf,
    pub(super) document: GraphDocument,
    pub(super) warnings: DocumentFlaws,
}

/// Why documents cannot be served.
#[derive(Default)]
pub(super) struct InvalidDocuments {
    flawed: Vec<DocumentFlaws>,
    messages: Vec<String>,
}

impl ServedDocuments {
    /// Reads all documents, and prints their warnings if they are valid.
    pub(super) fn read(files: &[PathBuf], config: &Config) -> Result<Self, InvalidDocuments> {
        let (read, unusable) = Self::read_all(files, config)?;
        if !unusable.flawed.is_empty() || !unusable.messages.is_empty() {
            return Err(unusable);
        }
        read.iter()
            .for_each(|reading| diagnostics::show(&reading.warnings));
        Ok(read)
    }

    /// Reads the valid documents. Missing files are skipped.
    pub(super) fn read_valid(files: &[PathBuf], config: &Config) -> Result<Self, InvalidDocuments> {
        let (read, unusable) = Self::read_all(files, config)?;
        match unusable.messages.is_empty() {
            true => Ok(read),
            false => Err(unusable),
        }
    }

    fn read_all(
        files: &[PathBuf],
        config: &Config,
    ) -> Result<(Self, InvalidDocuments), InvalidDocuments> {
        let mut unusable = InvalidDocuments::default();
        let elsewhere = match documents::known_servers(config) {
            Ok(elsewhere) => elsewhere,
            Err(stopped) => return Err(stopped.message.into()),
        };
        let mut read = Vec::new();
        for path in files {
            match documents::read(path, KnownServers::Configured(&elsewhere)) {
                Ok((whole, shown)) => read.push(ServedDocument {
                    path: path.clone(),
                    document: whole.document,
                    warnings: shown,
                }),
                Err(Ok(flawed)) => unusable.flawed.push(flawed),
                Err(Err(stopped)) => unusable.messages.push(stopped.message),
            }
        }
        Ok((Self(read), unusable))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ServedDocument> + Clone {
        self.0.iter()
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = &GraphDocument> + Clone {
        self.iter().map(|reading| &reading.document)
    }

    /// Every graph with the origin that locates it again.
    pub(super) fn graphs(&self, config: &Config) -> Vec<(Arc<Graph>, Value)> {
        self.with_origins(config, |document| &document.workflows)
    }

    fn with_origins(
        &self,
        config: &Config,
        graphs: fn(&GraphDocument) -> &Vec<Arc<Graph>>,
    ) -> Vec<(Arc<Graph>, Value)> {
        let with_origin = |reading: &ServedDocument| {
            let origin = RunOrigin::of(Path::new(&reading.path), config).to_value();
            let graphs = graphs(&reading.document).iter();
            let graphs = graphs.map(|graph| (Arc::clone(graph), origin.clone()));
            graphs.collect::<Vec<_>>()
        };
        self.iter().flat_map(with_origin).collect()
    }

    /// Every graph as a callable, with the origin that locates it again.
    pub(super) fn callables(&self, config: &Config) -> impl Iterator<Item = Callable> {
        let beside = self.with_origins(config, |document| &document.linked_workflows);
        let graphs = self.graphs(config).into_iter().chain(beside);
        graphs.map(|(graph, origin)| Callable { graph, origin })
    }

    /// The server info.
    pub(super) fn server_info(&self) -> ServerDescription {
        app::server_info(self.documents())
    }
}

impl From<String> for InvalidDocuments {
    fn from(message: String) -> Self {
        Self {
            flawed: Vec::new(),
            messages: vec![message],
        }
    }
}

impl InvalidDocuments {
    /// Prints every flaw as a code frame.
    pub(super) fn show(&self) {
        self.flawed.iter().for_each(diagnostics::show);
    }

    /// The flaws as one message, for readers without code frames.
    pub(super) fn message(&self) -> String {
        let flawed = self.flawed.iter().map(first_flaw);
        let all: Vec<_> = self.messages.iter().cloned().chain(flawed).collect();
        all.join("\n")
    }

    /// How many flaws each document has, for readers of the frames, and the messages that have none.
    pub(super) fn summary(&self) -> String {
        let count = |flawed: &DocumentFlaws| {
            let flaws = output::counted(flawed.flaws.len(), "flaw");
            format!("{} has {flaws}", flawed.path)
        };
        let flawed = self.flawed.iter().map(count);
        let all: Vec<_> = self.messages.iter().cloned().chain(flawed).collect();
        all.join("\n")
    }

    /// Prints the flaws and the messages that have no frame.
    pub(super) fn print_all(&self) {
        self.show();
        self.messages
            .iter()
            .for_each(|message| output::status_line(message));
    }
}

/// The flaws of a document as text: the first, and the number of others.
pub(super) fn first_flaw(flawed: &DocumentFlaws) -> String {
    let is_error = |flaw: &&tramline_workflow::flaw::Flaw| flaw.code.severity() == Severity::Error;
    let mut errors = flawed.flaws.iter().filter(is_error);
    let first = errors.next().map_or_else(String::new, ToString::to_string);
    match errors.count() {
        0 => format!("{}:{first}", flawed.path),
        more => format!("{}:{first}; and {more} more", flawed.path),
    }
}
