//! The library: workflows saved under names, with all their versions.
//!
//! The latest version of a workflow is one document of the store. A save first stores that version under its number,
//! then replaces the latest one by compare-and-swap. Concurrent saves, even in several processes, therefore never lose
//! one, and a crash in between leaves the library unchanged. Saved workflows are also cached in memory, so that runs
//! find them without waiting.

mod cache;
mod error;
mod folder;
mod name;
mod recursion;
mod saved_workflow;
#[cfg(test)]
mod tests;

pub use error::LibraryError;
pub use folder::{FolderEntry, FolderIndex};
pub use name::{InvalidName, NAME_CHARS_MAX, WorkflowName};
pub(crate) use saved_workflow::as_tool;
pub use saved_workflow::{
    ParsedWorkflow, SaveRequest, SavedWorkflow, Saver, TEXT_BYTES_MAX, parse_workflow,
};

use async_trait::async_trait;
use cache::WorkflowCache;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tramline_engine::clock;
use tramline_engine::ports::{Callable, Store, StoreFault, Tool, Workflows};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::text::nearest;

/// The kind of the latest versions in the store.
const KIND: &str = "workflow";
/// The document with the library's stamp, which changes with every change of the library.
const STAMP: (&str, &str) = ("library", "stamp");
/// Most versions of one workflow. More suggest that something saves in a loop.
pub const VERSIONS_MAX: u64 = 10_000;
/// Most workflows in the library, since all of them are cached in memory.
pub const WORKFLOWS_MAX: usize = 10_000;
/// Most text of all workflows together, in bytes, from which agents can save no larger ones: all of them are cached in
/// memory, as text and, once used, as graphs. 10,000 workflows of the usual size fit.
pub const LIBRARY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Longest description, in characters, since agents read all of them.
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;
/// How often everything is read again even if the stamp is unchanged: a process may crash between a change and the new
/// stamp.
const READ_ALL_EVERY: Duration = Duration::from_secs(60);

/// The saved workflows, with those of the loaded documents taking precedence.
pub struct Library {
    store: Arc<dyn Store>,
    documents: Arc<dyn Workflows>,
    cache: RwLock<WorkflowCache>,
    /// One change or refresh at a time in a process: parallel ones would only conflict.
    change_lock: Mutex<()>,
}

/// The result of a save.
#[derive(Clone, Debug)]
pub struct SaveResult {
    /// The workflow that is saved now.
    pub saved: Arc<SavedWorkflow>,
    /// Whether a new version was saved; `false` if it was already there.
    pub new: bool,
}

impl Library {
    /// The library in a store. Reads nothing yet.
    pub fn new(store: Arc<dyn Store>, documents: Arc<dyn Workflows>) -> Self {
        Self {
            store,
            documents,
            cache: RwLock::default(),
            change_lock: Mutex::default(),
        }
    }

    /// Saves a workflow. An existing workflow of that name is kept, unless it is the same or `force` makes this its
    /// next version. Only its owner and the operator can do that.
    pub async fn save(&self, save: SaveRequest) -> Result<SaveResult, LibraryError> {
        let name = save.name.to_str();
        if save.description.chars().count() > DESCRIPTION_CHARS_MAX {
            let message = format!("a description has at most {DESCRIPTION_CHARS_MAX} characters");
            return Err(LibraryError::TooLarge(message));
        }
        let reading = parse_workflow(&save.text, &name, save.tool.as_deref(), &save.description)?;
        if !save.recursive {
            // Workflows saved by other processes in the meantime count too. If they cannot be read, the cached ones are
            // used.
            let _ = self.refresh().await;
            if let Some(path) = recursion::recursion_path(&name, &reading.graph, self) {
                return Err(LibraryError::Recursive { name, path });
            }
        }
        let mut next = SavedWorkflow {
            name: name.clone(),
            version: 1,
            description: save.description,
            format: reading.format,
            tool: save.tool,
            by: save.by,
            operator: save.operator,
            owner: save.saver.owner(),
            at_ms: clock::now_ms(),
            text: save.text,
        };
        if !next.operator {
            let _ = self.refresh().await;
        }
        let _turn = self.change_lock.lock().await;
        loop {
            let seen = self.store.get(KIND, &name).await?;
            let before = seen
                .as_deref()
                .map(|body| SavedWorkflow::decode(&name, body));
            next.version = match before.transpose()? {
                None => {
                    self.check_room().await?;
                    1
                }
                // Saving as the operator makes an agent's workflow the operator's.
                Some(before)
                    if before.is_same_workflow(&next) && (before.operator || !next.operator) =>
                {
                    let saved = self.cache_saved(before);
                    return Ok(SaveResult { saved, new: false });
                }
                Some(before) if !before.is_replaceable_by(&save.saver) => {
                    let SavedWorkflow { name, by, .. } = before;
                    return Err(LibraryError::NotOwner { name, by });
                }
                Some(before) if !save.force && !before.is_same_workflow(&next) => {
                    let SavedWorkflow { name, version, .. } = before;
                    return Err(LibraryError::NameTaken { name, version });
                }
                Some(before) if before.version >= VERSIONS_MAX => {
                    return Err(LibraryError::TooLarge(format!(
                        "`{name}` has reached the limit of {VERSIONS_MAX} versions; save it under another name"
                    )));
                }
                Some(before) => {
                    let key = version_key(before.version);
                    let former = before.encode();
                    self.store.put(&version_kind(&name), &key, former).await?;
                    before.version + 1
                }
            };
            if !next.operator {
                self.check_text_room(&next)?;
            }
            if self.store.swap(KIND, &name, seen, next.encode()).await? {
                self.stamp().await;
                let saved = self.cache_saved(next);
                return Ok(SaveResult { saved, new: true });
            }
        }
    }

    async fn check_room(&self) -> Result<(), LibraryError> {
        if self.store.list(KIND).await?.len() < WORKFLOWS_MAX {
            return Ok(());
        }
        Err(LibraryError::TooLarge(format!(
            "the library has reached its limit of {WORKFLOWS_MAX} workflows; remove some with `tramline library rm`"
        )))
    }

    /// Whether the text of a workflow fits beside that of all others.
    fn check_text_room(&self, next: &SavedWorkflow) -> Result<(), LibraryError> {
        let held = self.cache();
        let others = held.all().map(|kept| &kept.saved);
        let others = others.filter(|saved| saved.name != next.name);
        let bytes: usize = others.map(|saved| saved.text.len()).sum();
        if bytes.saturating_add(next.text.len()) <= LIBRARY_BYTES_MAX {
            return Ok(());
        }
        Err(LibraryError::TooLarge(format!(
            "the workflows of the library have {bytes} bytes of text; with this one it would be more than \
             {LIBRARY_BYTES_MAX}; remove some with `tramline library rm`"
        )))
    }

    /// A saved workflow: its latest version, or the given one.
    pub async fn get(
        &self,
        name: &str,
        version: Option<u64>,
    ) -> Result<Arc<SavedWorkflow>, LibraryError> {
        let Some(body) = self.store.get(KIND, name).await? else {
            return Err(self.not_found(name).await);
        };
        let latest = SavedWorkflow::decode(name, &body)?;
        match version {
            None => Ok(Arc::new(latest)),
            Some(version) if version == latest.version => Ok(Arc::new(latest)),
            Some(version) => {
                let missing = || LibraryError::NoVersion {
                    name: latest.name.clone(),
                    version,
                    latest: latest.version,
                };
                // Versions beyond the latest may be left over from a removed workflow of that name.
                if version == 0 || version > latest.version {
                    return Err(missing());
                }
                let kind = version_kind(name);
                let body = self.store.get(&kind, &version_key(version)).await?;
                let body = body.ok_or_else(missing)?;
                Ok(Arc::new(SavedWorkflow::decode(name, &body)?))
            }
        }
    }

    /// Every version of a workflow, the latest first.
    pub async fn versions(&self, name: &str) -> Result<Vec<Arc<SavedWorkflow>>, LibraryError> {
        let latest = self.get(name, None).await?;
        let mut all = vec![Arc::clone(&latest)];
        for version in (1..latest.version).rev() {
            all.push(self.get(name, Some(version)).await?);
        }
        Ok(all)
    }

    /// Removes a workflow with all its versions.
    pub async fn remove(&self, name: &str) -> Result<(), LibraryError> {
        if self.store.get(KIND, name).await?.is_none() {
            return Err(self.not_found(name).await);
        }
        let _turn = self.change_lock.lock().await;
        self.store.delete(KIND, &[name.to_owned()]).await?;
        self.stamp().await;
        self.cache_mut().remove(name);
        let kind = version_kind(name);
        let former = self.store.list(&kind).await?;
        Ok(self.store.delete(&kind, &former).await?)
    }

    /// The saved workflows whose name or description contains every word of the filter, by name. Damaged ones are
    /// omitted here; [`Library::get`] reports them.
    pub async fn list(
        &self,
        filter: Option<&str>,
    ) -> Result<Vec<Arc<SavedWorkflow>>, LibraryError> {
        self.refresh().await?;
        let words: Vec<_> = filter
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let fits = |saved: &SavedWorkflow| {
            let text = format!("{} {}", saved.name, saved.description).to_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let held = self.cache();
        let all = held.all().map(|kept| &kept.saved);
        Ok(all.filter(|saved| fits(saved)).cloned().collect())
    }

    /// The saved workflows that can run, as tools with their graphs.
    pub fn tools(&self) -> Vec<(Arc<Tool>, Arc<Graph>)> {
        let held = self.cache();
        let ready = |kept: &Arc<saved_workflow::CachedWorkflow>| {
            Some((kept.tool()?.clone(), kept.graph()?.clone()))
        };
        held.all().filter_map(ready).collect()
    }

    /// A number that changes whenever the cache changes.
    pub fn generation(&self) -> u64 {
        self.cache().generation()
    }

    /// A number that changes whenever the set of workflows that can be called by name changes, including those of the
    /// loaded documents.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.generation().hash(&mut hasher);
        for name in self.documents.names() {
            let found = self.documents.find(&name);
            (name, found.map(|found| Arc::as_ptr(&found.graph))).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether a graph belongs to a saved workflow.
    pub(crate) fn contains(&self, graph: &Arc<Graph>) -> bool {
        let held = self.cache();
        let kept = held.get(&graph.workflow.name);
        kept.is_some_and(|kept| kept.graph().is_some_and(|own| Arc::ptr_eq(own, graph)))
    }

    /// Reads every saved workflow anew: how many there are, and which cannot be used by this version.
    pub async fn check_all(&self) -> Result<(usize, Vec<(Str, LibraryError)>), StoreFault> {
        let names = self.store.list(KIND).await?;
        let mut unusable = Vec::new();
        for name in &names {
            let Some(body) = self.store.get(KIND, name).await? else {
                continue;
            };
            let read = SavedWorkflow::decode(name, &body).and_then(|saved| saved.graph());
            if let Err(error) = read {
                unusable.push((name.as_str().into(), error));
            }
        }
        Ok((names.len(), unusable))
    }

    /// Loads changes made by other processes.
    pub async fn refresh(&self) -> Result<(), StoreFault> {
        let _turn = self.change_lock.lock().await;
        let stamp = self.store.get(STAMP.0, STAMP.1).await?;
        if self.cache().is_fresh(stamp.as_deref(), READ_ALL_EVERY) {
            return Ok(());
        }
        let began = Instant::now();
        let mut found = Vec::new();
        for name in self.store.list(KIND).await? {
            if let Some(body) = self.store.get(KIND, &name).await?
                && let Ok(saved) = SavedWorkflow::decode(&name, &body)
            {
                found.push(saved);
            }
        }
        self.cache_mut().replace(found, stamp, began);
        Ok(())
    }

    /// Tells other processes that something has changed.
    async fn stamp(&self) {
        let stamp = format!("{:x}", clock::random()).into_bytes();
        // If this fails, they see the change at their next full read.
        let _ = self.store.put(STAMP.0, STAMP.1, stamp).await;
    }

    async fn not_found(&self, name: &str) -> LibraryError {
        // Suggestions are optional; without them the error is still correct.
        let _ = self.refresh().await;
        let held = self.cache();
        let names = held.all().map(|kept| kept.saved.name.as_str());
        LibraryError::NotFound {
            name: name.to_owned(),
            near: nearest(name, names).map(Str::from),
        }
    }

    fn cache_saved(&self, saved: SavedWorkflow) -> Arc<SavedWorkflow> {
        self.cache_mut().put(saved)
    }

    fn cache(&self) -> RwLockReadGuard<'_, WorkflowCache> {
        self.cache.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn cache_mut(&self) -> RwLockWriteGuard<'_, WorkflowCache> {
        self.cache.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kind of a workflow's previous versions in the store.
fn version_kind(name: &str) -> String {
    format!("{KIND}/{name}")
}

fn version_key(version: u64) -> String {
    format!("{version:06}")
}

#[async_trait]
impl Workflows for Library {
    fn find(&self, name: &str) -> Option<Callable> {
        if let Some(found) = self.documents.find(name) {
            return Some(found);
        }
        let graph = self.cache().get(name)?.graph()?.clone();
        Some(Callable {
            graph,
            origin: Value::Null,
        })
    }

    fn names(&self) -> Vec<Str> {
        let mut names = self.documents.names();
        let held = self.cache();
        names.extend(held.all().map(|kept| kept.saved.name.clone()));
        names.sort();
        names.dedup();
        names
    }

    async fn refresh(&self, name: &str) {
        // A loaded document wins anyway.
        if self.documents.find(name).is_none() {
            let _ = Self::refresh(self).await;
        }
    }
}
