//! The registry: one list of everything that can be called, with schemas, without starting servers whose tools are
//! already known.
//!
//! A server's tools are stored with a fingerprint of its configuration. They are listed again when the server connects,
//! when it reports a change, and when its configuration changes. Saved workflows and those of the loaded documents
//! appear in the list as tools of the server `workflow`.

mod find;
mod output_paths;
mod search_index;
#[cfg(test)]
mod tests;
mod tool_cache;
mod try_tool;
mod vectors;

pub use find::UnknownName;
pub use output_paths::{OutputPath, output_paths};
pub use search_index::{PatternMatches, ToolHit};
pub use try_tool::{ToolTrial, TrialError};

use crate::library::{Library, as_tool};
use crate::search::{Embedder, SearchIndex, Vector};
use crate::usage_stats::UsageStats;
use futures_util::StreamExt as _;
use futures_util::stream;
use search_index::{RegistrySearch, SearchScope};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex as Lock, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tool_cache::CachedTools;
use tramline_engine::ports::{
    ListedTools, ServerSource, Store, StoreFault, Tool, Tools, Workflows as _,
};
use tramline_engine::settings::Settings;
use tramline_expr::Str;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// How long a server has to list its tools.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of servers that are started at once to list their tools. More would only slow each other down.
const LIST_CONCURRENCY: usize = 8;
/// How long after a failed listing a server is tried again.
const RELIST_AFTER: Duration = Duration::from_secs(60);

/// The list of everything that can be called.
pub struct Registry {
    store: Arc<dyn Store>,
    tools: Arc<dyn Tools>,
    library: Arc<Library>,
    usage: Arc<UsageStats>,
    settings: Option<Settings>,
    state: Lock<RegistryState>,
    search: RegistrySearch,
    /// One refresh at a time: parallel ones would list the same servers again.
    refresh_lock: Mutex<()>,
}

#[derive(Default)]
struct RegistryState {
    servers: BTreeMap<Str, CachedTools>,
    unavailable: BTreeMap<Str, (Failure, Instant)>,
    /// The fingerprints for which the store was already read.
    loaded: BTreeSet<(Str, Str)>,
    generation: u64,
    list: Option<((u64, u64), Arc<ToolList>)>,
}

/// Everything that can be called at one moment.
pub struct ToolList {
    /// All tools, by server and name.
    pub tools: Vec<Arc<Tool>>,
    /// The servers whose tools are unknown, with the reason.
    pub unavailable: Vec<(Str, Failure)>,
    /// By name, the index in `tools`. Built on first use.
    by_name: OnceLock<HashMap<String, usize>>,
}

impl ToolList {
    /// The tool with a name, as `server:tool`.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        let places = self.by_name.get_or_init(|| {
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
        usage: Arc<UsageStats>,
        embedder: Option<Arc<dyn Embedder>>,
        settings: Option<Settings>,
    ) -> Self {
        Self {
            settings,
            search: RegistrySearch::new(Arc::clone(&store), embedder),
            store,
            tools,
            library,
            usage,
            state: Lock::default(),
            refresh_lock: Mutex::default(),
        }
    }

    /// Usage statistics of tools and workflows.
    pub fn usage(&self) -> &Arc<UsageStats> {
        &self.usage
    }

    /// Everything that can be called. Starts only servers that were never listed.
    pub async fn list(&self) -> Result<Arc<ToolList>, StoreFault> {
        self.sync().await?;
        let asked = self.unlisted();
        if !asked.is_empty() {
            self.list_servers(asked).await;
            self.sync().await?;
        }
        self.library.refresh().await?;
        Ok(self.current_list())
    }

    /// Every workflow that can be called by name. No server is contacted.
    pub async fn list_workflows(&self) -> Result<Vec<Arc<Tool>>, StoreFault> {
        self.library.refresh().await?;
        Ok(self.workflows())
    }

    /// The tools and workflows that match a request best, with confidence and reasons.
    pub async fn search(
        &self,
        words: &str,
        most: usize,
    ) -> Result<(Arc<ToolList>, Vec<ToolHit>), StoreFault> {
        let list = self.list_indexed().await?;
        let hits = self.search.search(words, most, SearchScope::All).await;
        Ok((list, hits))
    }

    /// The workflows that match a request best. No server is contacted.
    pub async fn search_workflows(
        &self,
        words: &str,
        most: usize,
    ) -> Result<Vec<ToolHit>, StoreFault> {
        let workflows = self.list_workflows().await?;
        // Usage only improves the ranking: without it, search still works by words.
        let _ = self.usage.refresh().await;
        self.search
            .update_for_workflows(&workflows, &self.usage)
            .await;
        Ok(self
            .search
            .search(words, most, SearchScope::Workflows)
            .await)
    }

    /// The tools that contain a text in their name or description, or match a pattern with `*`.
    pub async fn find_by_pattern(
        &self,
        pattern: &str,
        most: usize,
    ) -> Result<(Arc<ToolList>, PatternMatches), StoreFault> {
        let list = self.list_indexed().await?;
        Ok((list, self.search.find_by_pattern(pattern, most)))
    }

    /// Everything that can be called, with an index that reflects it.
    pub async fn list_indexed(&self) -> Result<Arc<ToolList>, StoreFault> {
        let list = self.list().await?;
        self.update_index(&list).await;
        Ok(list)
    }

    /// The embeddings of texts, one for each; empty without an embedder or if it fails.
    pub async fn embeddings(&self, texts: &[String]) -> Vec<Option<Vector>> {
        self.search.embeddings(texts).await
    }

    /// Gives read access to the search index.
    pub fn read_index<T>(&self, read: impl FnOnce(&SearchIndex) -> T) -> T {
        self.search.read_index(read)
    }

    async fn update_index(&self, list: &Arc<ToolList>) {
        // Usage only improves the ranking: without it, search still works by words.
        let _ = self.usage.refresh().await;
        self.search.update_for_list(list, &self.usage).await;
    }

    /// The servers that cannot be reached now, with the reason. Connected servers are not contacted.
    pub async fn unreachable(&self, servers: &BTreeSet<Str>) -> Vec<(Str, Failure)> {
        let asked = servers.iter().filter(|server| *server != WORKFLOW_SERVER);
        let asked: Vec<Str> = asked.cloned().collect();
        let answers = stream::iter(asked).map(|server| async move {
            match self.list_server(&server).await {
                Some(Ok(_)) => None,
                Some(Err(failure)) => Some((server, failure)),
                None => {
                    let message = format!("no server `{server}` is configured");
                    Some((server, Failure::new(FailureKind::UnknownTool, message)))
                }
            }
        });
        let answers = answers.buffered(LIST_CONCURRENCY).collect::<Vec<_>>().await;
        answers.into_iter().flatten().collect()
    }

    /// Lists the tools of every server again, whatever is known.
    pub async fn refresh(&self) -> Result<Arc<ToolList>, StoreFault> {
        self.state().unavailable.clear();
        let servers = self.tools.sources().into_iter();
        self.list_servers(servers.map(|source| source.server).collect())
            .await;
        self.list().await
    }

    /// Takes over the tools that servers have reported since the last call.
    pub async fn sync(&self) -> Result<(), StoreFault> {
        let _turn = self.refresh_lock.lock().await;
        let sources = self.tools.sources();
        self.drop_stale(&sources);
        for source in sources {
            match &source.tools {
                Some(tools) => self.store_listing(&source, tools).await,
                None => self.load_cached(&source).await?,
            }
        }
        Ok(())
    }

    /// One server's tools. The server is contacted only if they are unknown.
    pub async fn server_tools(&self, server: &str) -> Result<Option<ListedTools>, StoreFault> {
        self.sync().await?;
        if let Some(shelf) = self.state().servers.get(server) {
            return Ok(Some(Ok(Arc::clone(&shelf.tools))));
        }
        let answer = self.list_server(server).await;
        self.sync().await?;
        Ok(answer)
    }

    /// The names of all servers.
    pub fn servers(&self) -> Vec<Str> {
        let sources = self.tools.sources().into_iter();
        sources.map(|source| source.server).collect()
    }

    /// Drops servers that were removed or whose configuration changed.
    fn drop_stale(&self, sources: &[ServerSource]) {
        let mut held = self.state();
        let before = held.servers.len();
        held.servers.retain(|server, shelf| {
            let source = sources.iter().find(|source| source.server == *server);
            source.is_some_and(|source| source.fingerprint == shelf.fingerprint)
        });
        held.generation += u64::from(held.servers.len() != before);
        held.unavailable
            .retain(|server, _| sources.iter().any(|source| source.server == *server));
    }

    async fn store_listing(&self, source: &ServerSource, tools: &Arc<Vec<Arc<Tool>>>) {
        let shelf = CachedTools {
            fingerprint: source.fingerprint.clone(),
            tools: Arc::clone(tools),
        };
        {
            let mut held = self.state();
            held.unavailable.remove(&source.server);
            let known = held.servers.get(&source.server);
            if known.is_some_and(|known| known.is_identical(&shelf)) {
                return;
            }
            let same = known.is_some_and(|known| known.is_equal(&shelf));
            held.servers.insert(source.server.clone(), shelf.clone());
            if same {
                return;
            }
            held.generation += 1;
        }
        if shelf.fingerprint.is_some() {
            // If this fails, the next process lists the tools again.
            let _ = tool_cache::put(&*self.store, &source.server, &shelf).await;
        }
    }

    async fn load_cached(&self, source: &ServerSource) -> Result<(), StoreFault> {
        let Some(print) = source.fingerprint.clone() else {
            return Ok(());
        };
        if !self.state().loaded.insert((source.server.clone(), print)) {
            return Ok(());
        }
        let Some(shelf) = tool_cache::get(&*self.store, &source.server).await? else {
            return Ok(());
        };
        let shelf = self.without_secrets(&source.server, shelf).await;
        if shelf.fingerprint == source.fingerprint {
            let mut held = self.state();
            held.generation += 1;
            held.servers.insert(source.server.clone(), shelf);
        }
        Ok(())
    }

    /// Redacts secrets from stored tools: an earlier version may have stored them, or they were set later.
    async fn without_secrets(&self, server: &str, shelf: CachedTools) -> CachedTools {
        let Some(settings) = &self.settings else {
            return shelf;
        };
        // If the settings cannot be read now, calls fail and report it.
        let _ = settings.refresh().await;
        let redact = |tool: &Arc<Tool>| Some(Arc::new(settings.redact_tool((**tool).clone())?));
        let clean = CachedTools {
            fingerprint: shelf.fingerprint.clone(),
            tools: Arc::new(shelf.tools.iter().filter_map(redact).collect()),
        };
        if !clean.is_equal(&shelf) {
            // If this fails, the next process redacts the tools again.
            let _ = tool_cache::put(&*self.store, server, &clean).await;
        }
        clean
    }

    /// The servers whose tools are unknown, without those that failed recently.
    fn unlisted(&self) -> Vec<Str> {
        let held = self.state();
        let recent = |server: &Str| {
            let silent = held.unavailable.get(server);
            silent.is_some_and(|(_, at)| at.elapsed() < RELIST_AFTER)
        };
        let servers = self.servers().into_iter();
        servers
            .filter(|server| !held.servers.contains_key(server) && !recent(server))
            .collect()
    }

    async fn list_servers(&self, servers: Vec<Str>) {
        stream::iter(servers)
            .for_each_concurrent(LIST_CONCURRENCY, async |server| {
                self.list_server(&server).await;
            })
            .await;
    }

    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        let asking = tokio::time::timeout(LIST_TIMEOUT, self.tools.list_server(server));
        let answer = asking.await.unwrap_or_else(|_| {
            let message =
                format!("server `{server}` did not list its tools within {LIST_TIMEOUT:?}");
            Some(Err(Failure::new(FailureKind::Timeout, message)))
        });
        if let Some(Err(failure)) = &answer {
            let mut held = self.state();
            held.generation += 1;
            let silence = (failure.clone(), Instant::now());
            held.unavailable.insert(server.into(), silence);
        }
        answer
    }

    /// The current list, rebuilt only if something has changed.
    fn current_list(&self) -> Arc<ToolList> {
        let mut held = self.state();
        let now = (held.generation, self.library.fingerprint());
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
        let silent = held.unavailable.iter();
        let silent = silent.map(|(server, (failure, _))| (server.clone(), failure.clone()));
        let silent = silent.collect();
        let list = Arc::new(ToolList {
            tools,
            unavailable: silent,
            by_name: OnceLock::new(),
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

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
