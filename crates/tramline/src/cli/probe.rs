//! Asks the servers that documents call whether they have what is called.

use crate::wire::Equipment;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tramline_builtin::SERVER;
use tramline_core::Str;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::flaw::Flaw;
use tramline_core::formats::yaml_graph::{Document, Listing};
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_engine::seams::Tools as _;

/// What servers said when they were asked for their tools.
pub(super) struct Answers {
    said: BTreeMap<Str, Result<Vec<Str>, Failure>>,
    /// The servers that could be called.
    known: Vec<Str>,
}

/// Asks every server that these documents call, all at once, for no longer than `patience`. Saved
/// workflows can be called too.
pub(super) async fn ask<'d>(
    equipment: &Equipment,
    documents: impl IntoIterator<Item = &'d Document> + Clone,
    saved: Vec<Str>,
    patience: Duration,
) -> Answers {
    let workflows = documents.clone().into_iter();
    let workflows =
        workflows.flat_map(|document| document.workflows.iter().chain(&document.companions));
    let workflows = workflows.map(|graph| graph.workflow.name.clone());
    let workflows = workflows.chain(saved);
    let mut said = BTreeMap::from([(Str::from(WORKFLOW_SERVER), Ok(workflows.collect()))]);
    let calls = documents.into_iter().flat_map(|document| &document.calls);
    let called: BTreeSet<Str> = calls
        .map(|call| call.name.server.clone())
        .filter(|server| !said.contains_key(server))
        .collect();
    let mut asking = tokio::task::JoinSet::new();
    for server in called {
        let equipment = equipment.clone();
        asking.spawn(async move {
            let answer = tokio::time::timeout(patience, list(&equipment, &server)).await;
            let answer = answer.unwrap_or_else(|_| {
                let message = format!("server `{server}` did not answer in {patience:?}");
                Some(Err(Failure::new(FailureKind::Timeout, message)))
            });
            (server, answer)
        });
    }
    while let Some(done) = asking.join_next().await {
        if let Ok((server, Some(answer))) = done {
            said.insert(server, answer);
        }
    }
    let mut known = equipment.servers.names();
    known.push(SERVER.into());
    Answers { said, known }
}

/// The names of one server's tools.
async fn list(equipment: &Equipment, server: &str) -> Option<Result<Vec<Str>, Failure>> {
    let tools = match server {
        SERVER => equipment.builtin.list().await.pop()?.tools,
        server => {
            // One that needs a setting says so itself.
            let _ = equipment.settings.refresh().await;
            equipment.servers.list_of(server).await?
        }
    };
    let tools = tools.map_err(|failure| equipment.settings.redact_failure(failure));
    Some(tools.map(|tools| tools.iter().map(|tool| tool.name.tool.clone()).collect()))
}

impl Answers {
    /// The calls of a document that no server answers to.
    pub(super) fn flaws(&self, document: &Document) -> Vec<Flaw> {
        document.check_tools(|server| match self.said.get(server) {
            Some(Ok(tools)) => Listing::Tools(tools.clone()),
            Some(Err(_)) => Listing::Silent,
            None => Listing::NoServer(self.known.clone()),
        })
    }

    /// The servers that could not be asked, with why.
    pub(super) fn silent(&self) -> impl Iterator<Item = (&Str, &Failure)> {
        let said = self.said.iter();
        said.filter_map(|(server, answer)| Some((server, answer.as_ref().err()?)))
    }
}
