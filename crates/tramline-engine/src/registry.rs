//! The registry: everything that can be called in one list, with its schema, without starting
//! anything that has been listed before.
//!
//! A server's tools are kept in the store beside a print of its configuration. They are listed anew
//! when the server is connected, when it says that they have changed, and when its configuration
//! has. Saved workflows and those of the documents at hand stand in the list as tools of the server
//! `workflow`.

mod find;
mod kept;
mod rank;
mod shape;
#[cfg(test)]
mod tests;
mod trial;
mod vectors;

pub use find::Unknown;
pub use rank::{Fitting, Hit};
pub use shape::{Path, shape};
pub use trial::{Trial, Untried};

use crate::library::{Library, as_tool};
use crate::planner::Found;
use crate::seams::{Embedder, Listed, Source, Store, StoreFault, Tool, Tools, Workflows as _};
use crate::settings::Settings;
use crate::uses::Uses;
use futures_util::StreamExt as _;
use futures_util::stream;
use kept::Shelf;
use rank::{Scope, Seeker};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex as Lock, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tramline_core::Str;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::workflow::WORKFLOW_SERVER;

/// Servers get so long to say what tools they have.
const ASK_MAX: Duration = Duration::from_secs(30);
/// So many servers are started at once to be asked: more would only slow each other.
const ASKED_AT_ONCE: usize = 8;
/// A server that could not be asked is asked again after so long.
const SILENCE_HOLDS: Duration = Duration::from_secs(60);
/// So many tools are quickly searched without an index that is kept.
const FEW: usize = 64;

/// The list of everything that can be called.
pub struct Registry {
    store: Arc<dyn Store>,
    tools: Arc<dyn Tools>,
    library: Arc<Library>,
    uses: Arc<Uses>,
    settings: Option<Settings>,
    held: Lock<Held>,
    seeker: Seeker,
    /// One reading at a time: many would only ask the same servers again.
    turn: Mutex<()>,
}

#[derive(Default)]
struct Held {
    servers: BTreeMap<Str, Shelf>,
    silent: BTreeMap<Str, (Failure, Instant)>,
    /// The prints under which it was looked into the store.
    looked: BTreeSet<(Str, Str)>,
    generation: u64,
    list: Option<((u64, u64), Arc<List>)>,
}

/// Everything that can be called at one moment.
pub struct List {
    /// All of it, by server and name.
    pub tools: Vec<Arc<Tool>>,
    /// The servers whose tools are not known, with why.
    pub silent: Vec<(Str, Failure)>,
    /// By name, where it is among the tools: made when it is first asked for.
    places: OnceLock<HashMap<String, usize>>,
}

impl List {
    /// The tool with a name, as `server:tool`.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        let places = self.places.get_or_init(|| {
            let each = self.tools.iter().enumerate();
            each.map(|(at, tool)| (tool.name.to_string(), at)).collect()
        });
        self.tools.get(*places.get(name)?)
    }
}

impl Registry {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        tools: Arc<dyn Tools>,
        library: Arc<Library>,
        uses: Arc<Uses>,
        embedder: Option<Arc<dyn Embedder>>,
        settings: Option<Settings>,
    ) -> Self {
        Self {
            settings,
            seeker: Seeker::new(Arc::clone(&store), embedder),
            store,
            tools,
            library,
            uses,
            held: Lock::default(),
            turn: Mutex::default(),
        }
    }

    /// How tools and workflows were used.
    pub fn uses(&self) -> &Arc<Uses> {
        &self.uses
    }

    /// Everything that can be called. Only servers that were never listed are started for it.
    pub async fn list(&self) -> Result<Arc<List>, StoreFault> {
        self.settle().await?;
        let asked = self.unlisted();
        if !asked.is_empty() {
            self.ask(asked).await;
            self.settle().await?;
        }
        self.library.refresh().await?;
        Ok(self.listed())
    }

    /// Every workflow that can be called by name. No server is asked for anything.
    pub async fn list_workflows(&self) -> Result<Vec<Arc<Tool>>, StoreFault> {
        self.library.refresh().await?;
        Ok(self.workflows())
    }

    /// What meets a wish best of everything that can be called, with how sure that is and why.
    pub async fn search(
        &self,
        words: &str,
        most: usize,
    ) -> Result<(Arc<List>, Vec<Hit>), StoreFault> {
        let list = self.list().await?;
        self.follow(&list).await;
        let hits = self.seeker.search(words, most, Scope::All).await;
        Ok((list, hits))
    }

    /// The workflows that meet a wish best. No server is asked for anything.
    pub async fn search_workflows(&self, words: &str, most: usize) -> Result<Vec<Hit>, StoreFault> {
        let workflows = self.list_workflows().await?;
        // Only a help in finding: without it everything is found by its own words.
        let _ = self.uses.refresh().await;
        self.seeker.follow_workflows(&workflows, &self.uses).await;
        Ok(self.seeker.search(words, most, Scope::Workflows).await)
    }

    /// What has a text in its name or description, or fits a pattern with `*`.
    pub async fn fitting(
        &self,
        pattern: &str,
        most: usize,
    ) -> Result<(Arc<List>, Fitting), StoreFault> {
        let list = self.list().await?;
        self.follow(&list).await;
        Ok((list, self.seeker.fitting(pattern, most)))
    }

    /// What is found for a wish among what may be used and can be, and the list of everything.
    pub(crate) async fn found(
        &self,
        wish: &str,
        may: &(dyn Fn(&ToolName) -> bool + Sync),
        can: &(dyn Fn(&ToolName) -> bool + Sync),
    ) -> Result<(Arc<List>, Found), StoreFault> {
        let list = self.list().await?;
        self.follow(&list).await;
        let allowed = || list.tools.iter().filter(|tool| may(&tool.name));
        // Few of many would hardly be among the best of all.
        if allowed().count() < list.tools.len() {
            let usable = allowed().filter(|tool| can(&tool.name)).take(FEW + 1);
            let usable: Vec<_> = usable.cloned().collect();
            if usable.len() <= FEW {
                let found = Found::among(wish, &usable);
                return Ok((list, found));
            }
        }
        let usable = |tool: &Arc<Tool>| may(&tool.name) && can(&tool.name);
        let lookup = |name: &str| list.get(name).filter(|tool| usable(tool)).cloned();
        let found = self.seeker.found(wish, lookup).await;
        Ok((list, found))
    }

    async fn follow(&self, list: &Arc<List>) {
        // Only a help in finding: without it everything is found by its own words.
        let _ = self.uses.refresh().await;
        self.seeker.follow_list(list, &self.uses).await;
    }

    /// Which of some servers cannot be reached now, with why. Servers that are connected are not asked.
    pub async fn unreachable(&self, servers: &BTreeSet<Str>) -> Vec<(Str, Failure)> {
        let asked = servers.iter().filter(|server| *server != WORKFLOW_SERVER);
        let asked: Vec<Str> = asked.cloned().collect();
        let answers = stream::iter(asked).map(|server| async move {
            match self.ask_one(&server).await {
                Some(Ok(_)) => None,
                Some(Err(failure)) => Some((server, failure)),
                None => {
                    let message = format!("no server `{server}` is configured");
                    Some((server, Failure::new(FailureKind::UnknownTool, message)))
                }
            }
        });
        let answers = answers.buffered(ASKED_AT_ONCE).collect::<Vec<_>>().await;
        answers.into_iter().flatten().collect()
    }

    /// Asks every server anew, whatever is known of its tools.
    pub async fn refresh(&self) -> Result<Arc<List>, StoreFault> {
        self.held().silent.clear();
        let servers = self.tools.sources().into_iter();
        self.ask(servers.map(|source| source.server).collect())
            .await;
        self.list().await
    }

    /// Takes over what servers have said of their tools since the last time.
    pub async fn settle(&self) -> Result<(), StoreFault> {
        let _turn = self.turn.lock().await;
        let sources = self.tools.sources();
        self.drop_others(&sources);
        for source in sources {
            match &source.tools {
                Some(tools) => self.adopt(&source, tools).await,
                None => self.recall(&source).await?,
            }
        }
        Ok(())
    }

    /// One server's tools as they are known, asking it only if they are not.
    pub async fn of_server(&self, server: &str) -> Result<Option<Listed>, StoreFault> {
        self.settle().await?;
        if let Some(shelf) = self.held().servers.get(server) {
            return Ok(Some(Ok(Arc::clone(&shelf.tools))));
        }
        let answer = self.ask_one(server).await;
        self.settle().await?;
        Ok(answer)
    }

    /// The names of all servers.
    pub fn servers(&self) -> Vec<Str> {
        let sources = self.tools.sources().into_iter();
        sources.map(|source| source.server).collect()
    }

    /// Forgets servers that are no longer configured, or otherwise.
    fn drop_others(&self, sources: &[Source]) {
        let mut held = self.held();
        let before = held.servers.len();
        held.servers.retain(|server, shelf| {
            let source = sources.iter().find(|source| source.server == *server);
            source.is_some_and(|source| source.print == shelf.print)
        });
        held.generation += u64::from(held.servers.len() != before);
        held.silent
            .retain(|server, _| sources.iter().any(|source| source.server == *server));
    }

    async fn adopt(&self, source: &Source, tools: &Arc<Vec<Arc<Tool>>>) {
        let shelf = Shelf {
            print: source.print.clone(),
            tools: Arc::clone(tools),
        };
        {
            let mut held = self.held();
            held.silent.remove(&source.server);
            let known = held.servers.get(&source.server);
            if known.is_some_and(|known| known.is(&shelf)) {
                return;
            }
            let same = known.is_some_and(|known| known.same(&shelf));
            held.servers.insert(source.server.clone(), shelf.clone());
            if same {
                return;
            }
            held.generation += 1;
        }
        if shelf.print.is_some() {
            // What cannot be kept is asked for again by the next process.
            let _ = kept::put(&*self.store, &source.server, &shelf).await;
        }
    }

    async fn recall(&self, source: &Source) -> Result<(), StoreFault> {
        let Some(print) = source.print.clone() else {
            return Ok(());
        };
        if !self.held().looked.insert((source.server.clone(), print)) {
            return Ok(());
        }
        let Some(shelf) = kept::get(&*self.store, &source.server).await? else {
            return Ok(());
        };
        let shelf = self.without_secrets(&source.server, shelf).await;
        if shelf.print == source.print {
            let mut held = self.held();
            held.generation += 1;
            held.servers.insert(source.server.clone(), shelf);
        }
        Ok(())
    }

    /// What was kept, without secrets: an earlier version may have kept them, or they were none yet.
    async fn without_secrets(&self, server: &str, shelf: Shelf) -> Shelf {
        let Some(settings) = &self.settings else {
            return shelf;
        };
        // Where they cannot be read now, calls fail and say so.
        let _ = settings.refresh().await;
        let redact = |tool: &Arc<Tool>| Some(Arc::new(settings.redact_tool((**tool).clone())?));
        let clean = Shelf {
            print: shelf.print.clone(),
            tools: Arc::new(shelf.tools.iter().filter_map(redact).collect()),
        };
        if !clean.same(&shelf) {
            // What cannot be kept is cleaned again by the next process.
            let _ = kept::put(&*self.store, server, &clean).await;
        }
        clean
    }

    /// The servers whose tools nobody knows, those that were silent lately left out.
    fn unlisted(&self) -> Vec<Str> {
        let held = self.held();
        let recent = |server: &Str| {
            let silent = held.silent.get(server);
            silent.is_some_and(|(_, at)| at.elapsed() < SILENCE_HOLDS)
        };
        let servers = self.servers().into_iter();
        servers
            .filter(|server| !held.servers.contains_key(server) && !recent(server))
            .collect()
    }

    async fn ask(&self, servers: Vec<Str>) {
        stream::iter(servers)
            .for_each_concurrent(ASKED_AT_ONCE, async |server| {
                self.ask_one(&server).await;
            })
            .await;
    }

    async fn ask_one(&self, server: &str) -> Option<Listed> {
        let asking = tokio::time::timeout(ASK_MAX, self.tools.ask(server));
        let answer = asking.await.unwrap_or_else(|_| {
            let message = format!("server `{server}` did not say in {ASK_MAX:?} what tools it has");
            Some(Err(Failure::new(FailureKind::Timeout, message)))
        });
        if let Some(Err(failure)) = &answer {
            let mut held = self.held();
            held.generation += 1;
            let silence = (failure.clone(), Instant::now());
            held.silent.insert(server.into(), silence);
        }
        answer
    }

    /// The list as it is known now, made anew only if something has changed.
    fn listed(&self) -> Arc<List> {
        let mut held = self.held();
        let now = (held.generation, self.library.print());
        if let Some((then, list)) = &held.list
            && *then == now
        {
            return Arc::clone(list);
        }
        let shelves = held.servers.values();
        let mut tools: Vec<_> = shelves
            .flat_map(|shelf| shelf.tools.iter().cloned())
            .collect();
        tools.extend(self.workflows());
        let silent = held.silent.iter();
        let silent = silent.map(|(server, (failure, _))| (server.clone(), failure.clone()));
        let silent = silent.collect();
        let list = Arc::new(List {
            tools,
            silent,
            places: OnceLock::new(),
        });
        held.list = Some((now, Arc::clone(&list)));
        list
    }

    /// Every workflow that can be called by name, as a tool.
    fn workflows(&self) -> Vec<Arc<Tool>> {
        let saved: BTreeMap<Str, Arc<Tool>> = self
            .library
            .tools()
            .into_iter()
            .map(|(tool, graph)| (graph.workflow.name.clone(), tool))
            .collect();
        let names = self.library.names().into_iter();
        names
            .filter_map(|name| {
                let found = self.library.find(&name)?;
                let same = saved.get(&name).filter(|_| found.origin.is_null());
                let made = || Arc::new(as_tool(&found.graph));
                Some(same.cloned().unwrap_or_else(made))
            })
            .collect()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
