//! The documents of a server, read together: all of them can be used, or none is.

use super::super::documents::{self, Flawed};
use super::super::{frames, output};
use crate::config::Config;
use crate::wire::{self, Origin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::flaw::Severity;
use tramline_core::formats::Elsewhere;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::graph::Graph;
use tramline_engine::seams::Callable;
use tramline_mcp::server::About;

/// Documents that can be served.
pub(super) struct Readings(Vec<Reading>);

/// A document with its text.
pub(super) struct Reading {
    pub(super) path: PathBuf,
    pub(super) document: Document,
    pub(super) shown: Flawed,
}

/// Why documents cannot be served.
#[derive(Default)]
pub(super) struct Unusable {
    flawed: Vec<Flawed>,
    messages: Vec<String>,
}

impl Readings {
    /// Reads all documents, and shows what is odd about them if they can be used.
    pub(super) fn read(files: &[PathBuf], config: &Config) -> Result<Self, Unusable> {
        let (read, unusable) = Self::look(files, config)?;
        if !unusable.flawed.is_empty() || !unusable.messages.is_empty() {
            return Err(unusable);
        }
        read.iter().for_each(|reading| frames::show(&reading.shown));
        Ok(read)
    }

    /// Reads those documents that can be used. A file that is not there is none of them.
    pub(super) fn usable(files: &[PathBuf], config: &Config) -> Result<Self, Unusable> {
        let (read, unusable) = Self::look(files, config)?;
        match unusable.messages.is_empty() {
            true => Ok(read),
            false => Err(unusable),
        }
    }

    fn look(files: &[PathBuf], config: &Config) -> Result<(Self, Unusable), Unusable> {
        let mut unusable = Unusable::default();
        let elsewhere = match documents::elsewhere(config) {
            Ok(elsewhere) => elsewhere,
            Err(stopped) => return Err(stopped.message.into()),
        };
        let mut read = Vec::new();
        for path in files {
            match documents::read(path, Elsewhere::Configured(&elsewhere)) {
                Ok((whole, shown)) => read.push(Reading {
                    path: path.clone(),
                    document: whole.document,
                    shown,
                }),
                Err(Ok(flawed)) => unusable.flawed.push(flawed),
                Err(Err(stopped)) => unusable.messages.push(stopped.message),
            }
        }
        Ok((Self(read), unusable))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Reading> + Clone {
        self.0.iter()
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = &Document> + Clone {
        self.iter().map(|reading| &reading.document)
    }

    /// Every graph with where it is to be found again.
    pub(super) fn graphs(&self, config: &Config) -> Vec<(Arc<Graph>, Value)> {
        self.found_again(config, |document| &document.workflows)
    }

    fn found_again(
        &self,
        config: &Config,
        graphs: fn(&Document) -> &Vec<Arc<Graph>>,
    ) -> Vec<(Arc<Graph>, Value)> {
        let with_origin = |reading: &Reading| {
            let origin = Origin::of(Path::new(&reading.path), config).to_value();
            let graphs = graphs(&reading.document).iter();
            let graphs = graphs.map(|graph| (Arc::clone(graph), origin.clone()));
            graphs.collect::<Vec<_>>()
        };
        self.iter().flat_map(with_origin).collect()
    }

    /// Every graph as others can call it, with where it is to be found again.
    pub(super) fn callables(&self, config: &Config) -> impl Iterator<Item = Callable> {
        let beside = self.found_again(config, |document| &document.companions);
        let graphs = self.graphs(config).into_iter().chain(beside);
        graphs.map(|(graph, origin)| Callable { graph, origin })
    }

    /// What the server says of itself.
    pub(super) fn about(&self) -> About {
        wire::about(self.documents())
    }
}

impl From<String> for Unusable {
    fn from(message: String) -> Self {
        Self {
            flawed: Vec::new(),
            messages: vec![message],
        }
    }
}

impl Unusable {
    /// Shows every flaw where it is.
    pub(super) fn show(&self) {
        self.flawed.iter().for_each(frames::show);
    }

    /// What is wrong, for whoever sees no frames.
    pub(super) fn message(&self) -> String {
        let flawed = self.flawed.iter().map(told);
        let all: Vec<_> = self.messages.iter().cloned().chain(flawed).collect();
        all.join("\n")
    }

    /// Shows and tells what no frame shows.
    pub(super) fn say(&self) {
        self.show();
        self.messages
            .iter()
            .for_each(|message| output::say(message));
    }
}

/// The flaws of a document in words: the first, and how many more there are.
pub(super) fn told(flawed: &Flawed) -> String {
    let is_error = |flaw: &&tramline_core::flaw::Flaw| flaw.code.severity() == Severity::Error;
    let mut errors = flawed.flaws.iter().filter(is_error);
    let first = errors.next().map_or_else(String::new, ToString::to_string);
    match errors.count() {
        0 => format!("{}:{first}", flawed.path),
        more => format!("{}:{first}; and {more} more", flawed.path),
    }
}
