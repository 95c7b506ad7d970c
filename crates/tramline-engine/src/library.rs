//! The library: workflows saved under names, each with every version it ever had.
//!
//! The latest version of a workflow is one document of the store, and a save exchanges it for the
//! next one only if it is still the one that was seen, after that one was put aside among the
//! former. So of many saves at once, in whichever processes, none is lost, and a crash in between
//! leaves the library as it was. What is saved is held in memory too: runs find workflows without
//! waiting.

mod calls;
mod folder;
mod held;
mod name;
mod refusal;
mod saved;
#[cfg(test)]
mod tests;

pub use folder::{Index, Listed};
pub use name::{BadName, NAME_CHARS_MAX, Name};
pub use refusal::Refusal;
pub(crate) use saved::as_tool;
pub use saved::{Reading, Save, Saved, Saver, TEXT_BYTES_MAX, read};

use crate::clock;
use crate::seams::{Callable, Store, StoreFault, Tool, Workflows};
use held::Held;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tramline_core::graph::Graph;
use tramline_core::text::nearest;
use tramline_core::{Str, Value};

/// Under what the latest versions are kept.
const KIND: &str = "workflow";
/// Under what the library's stamp is kept, which is another after each change.
const STAMP: (&str, &str) = ("library", "stamp");
/// More versions of one workflow are refused: somebody saves in a loop.
pub const VERSIONS_MAX: u64 = 10_000;
/// More workflows are refused: all of them are held in memory.
pub const WORKFLOWS_MAX: usize = 10_000;
/// Longer descriptions are refused, in characters: agents read all of them.
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;
/// All is read again after so long even if the stamp is the same: whoever changed something may
/// have died before it could say so.
const READ_ALL_EVERY: Duration = Duration::from_secs(60);

/// The saved workflows, behind those of the documents at hand.
pub struct Library {
    store: Arc<dyn Store>,
    at_hand: Arc<dyn Workflows>,
    held: RwLock<Held>,
    /// One change or reading at a time in a process: many would only overtake each other.
    turn: Mutex<()>,
}

/// What came of a save.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What is saved now.
    pub saved: Arc<Saved>,
    /// Whether that is new; otherwise the same was there already.
    pub new: bool,
}

impl Library {
    /// The library in a store. Nothing is read yet.
    pub fn new(store: Arc<dyn Store>, at_hand: Arc<dyn Workflows>) -> Self {
        Self {
            store,
            at_hand,
            held: RwLock::default(),
            turn: Mutex::default(),
        }
    }

    /// Saves a workflow. What has the name already stays, unless it is the same or `force` makes
    /// this its next version. Only who saved it and the operator can do that.
    pub async fn save(&self, save: Save) -> Result<Kept, Refusal> {
        let name = save.name.to_str();
        if save.description.chars().count() > DESCRIPTION_CHARS_MAX {
            let message = format!("a description has at most {DESCRIPTION_CHARS_MAX} characters");
            return Err(Refusal::TooLarge(message));
        }
        let reading = read(&save.text, &name, save.tool.as_deref(), &save.description)?;
        if !save.recursive {
            // What another process has saved meanwhile counts too; where that cannot be seen, what
            // is known here does.
            let _ = self.refresh().await;
            if let Some(path) = calls::path_back(&name, &reading.graph, self) {
                return Err(Refusal::Recursive { name, path });
            }
        }
        let mut next = Saved {
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
        let _turn = self.turn.lock().await;
        loop {
            let seen = self.store.get(KIND, &name).await?;
            let before = seen.as_deref().map(|body| Saved::decode(&name, body));
            next.version = match before.transpose()? {
                None => {
                    self.room().await?;
                    1
                }
                // The operator's word makes an agent's workflow the operator's.
                Some(before) if before.same(&next) && (before.operator || !next.operator) => {
                    let saved = self.hold(before);
                    return Ok(Kept { saved, new: false });
                }
                Some(before) if !before.is_replaceable_by(&save.saver) => {
                    let Saved { name, by, .. } = before;
                    return Err(Refusal::NotYours { name, by });
                }
                Some(before) if !save.force && !before.same(&next) => {
                    let Saved { name, version, .. } = before;
                    return Err(Refusal::Taken { name, version });
                }
                Some(before) if before.version >= VERSIONS_MAX => {
                    return Err(Refusal::TooLarge(format!(
                        "`{name}` has {VERSIONS_MAX} versions, as many as are kept; save it under another name"
                    )));
                }
                Some(before) => {
                    let key = version_key(before.version);
                    let former = before.encode();
                    self.store.put(&former_kind(&name), &key, former).await?;
                    before.version + 1
                }
            };
            if self.store.swap(KIND, &name, seen, next.encode()).await? {
                self.stamp().await;
                let saved = self.hold(next);
                return Ok(Kept { saved, new: true });
            }
        }
    }

    async fn room(&self) -> Result<(), Refusal> {
        if self.store.list(KIND).await?.len() < WORKFLOWS_MAX {
            return Ok(());
        }
        Err(Refusal::TooLarge(format!(
            "the library has {WORKFLOWS_MAX} workflows, as many as it holds; remove some with `tramline library rm`"
        )))
    }

    /// A saved workflow: its latest version, or the one of this number.
    pub async fn get(&self, name: &str, version: Option<u64>) -> Result<Arc<Saved>, Refusal> {
        let Some(body) = self.store.get(KIND, name).await? else {
            return Err(self.unknown(name).await);
        };
        let latest = Saved::decode(name, &body)?;
        match version {
            None => Ok(Arc::new(latest)),
            Some(version) if version == latest.version => Ok(Arc::new(latest)),
            Some(version) => {
                let missing = || Refusal::NoVersion {
                    name: latest.name.clone(),
                    version,
                    latest: latest.version,
                };
                // Beyond the latest there may be some of a workflow that had the name before.
                if version == 0 || version > latest.version {
                    return Err(missing());
                }
                let kind = former_kind(name);
                let body = self.store.get(&kind, &version_key(version)).await?;
                let body = body.ok_or_else(missing)?;
                Ok(Arc::new(Saved::decode(name, &body)?))
            }
        }
    }

    /// Every version of a workflow, the latest first.
    pub async fn versions(&self, name: &str) -> Result<Vec<Arc<Saved>>, Refusal> {
        let latest = self.get(name, None).await?;
        let mut all = vec![Arc::clone(&latest)];
        for version in (1..latest.version).rev() {
            all.push(self.get(name, Some(version)).await?);
        }
        Ok(all)
    }

    /// Removes a workflow with all its versions.
    pub async fn remove(&self, name: &str) -> Result<(), Refusal> {
        if self.store.get(KIND, name).await?.is_none() {
            return Err(self.unknown(name).await);
        }
        let _turn = self.turn.lock().await;
        self.store.forget(KIND, &[name.to_owned()]).await?;
        self.stamp().await;
        self.write().remove(name);
        let kind = former_kind(name);
        let former = self.store.list(&kind).await?;
        Ok(self.store.forget(&kind, &former).await?)
    }

    /// The saved workflows whose name or description has every word of the filter, by name. What
    /// cannot be read is left out here and told by [`Library::get`].
    pub async fn list(&self, filter: Option<&str>) -> Result<Vec<Arc<Saved>>, Refusal> {
        self.refresh().await?;
        let words: Vec<_> = filter
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let fits = |saved: &Saved| {
            let text = format!("{} {}", saved.name, saved.description).to_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let held = self.read();
        let all = held.all().map(|kept| &kept.saved);
        Ok(all.filter(|saved| fits(saved)).cloned().collect())
    }

    /// The saved workflows as tools, and as runs call them: by name, those that can be run.
    pub fn tools(&self) -> Vec<(Arc<Tool>, Arc<Graph>)> {
        let held = self.read();
        let ready = |kept: &Arc<saved::Kept>| Some((kept.tool()?.clone(), kept.graph()?.clone()));
        held.all().filter_map(ready).collect()
    }

    /// A number that is another whenever what is held has changed.
    pub fn generation(&self) -> u64 {
        self.read().generation()
    }

    /// A number that is another whenever what can be called by name has changed, the workflows of
    /// the documents at hand among it.
    pub(crate) fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.generation().hash(&mut hasher);
        for name in self.at_hand.names() {
            let found = self.at_hand.find(&name);
            (name, found.map(|found| Arc::as_ptr(&found.graph))).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether a graph is that of a saved workflow.
    pub(crate) fn holds(&self, graph: &Arc<Graph>) -> bool {
        let held = self.read();
        let kept = held.get(&graph.workflow.name);
        kept.is_some_and(|kept| kept.graph().is_some_and(|own| Arc::ptr_eq(own, graph)))
    }

    /// Sees what other processes have saved.
    pub async fn refresh(&self) -> Result<(), StoreFault> {
        let _turn = self.turn.lock().await;
        let stamp = self.store.get(STAMP.0, STAMP.1).await?;
        if self.read().fresh(stamp.as_deref(), READ_ALL_EVERY) {
            return Ok(());
        }
        let began = Instant::now();
        let mut found = Vec::new();
        for name in self.store.list(KIND).await? {
            if let Some(body) = self.store.get(KIND, &name).await?
                && let Ok(saved) = Saved::decode(&name, &body)
            {
                found.push(saved);
            }
        }
        self.write().replace(found, stamp, began);
        Ok(())
    }

    /// As [`Library::refresh`], where a name is not one of a document at hand.
    pub(crate) async fn refresh_for(&self, name: &str) -> Result<(), StoreFault> {
        match self.at_hand.find(name) {
            Some(_) => Ok(()),
            None => self.refresh().await,
        }
    }

    /// Lets other processes see that something has changed.
    async fn stamp(&self) {
        let stamp = format!("{:x}", clock::random()).into_bytes();
        // Where this fails they see it at their next full reading.
        let _ = self.store.put(STAMP.0, STAMP.1, stamp).await;
    }

    async fn unknown(&self, name: &str) -> Refusal {
        // What is near is only help: without it the answer stands.
        let _ = self.refresh().await;
        let held = self.read();
        let names = held.all().map(|kept| kept.saved.name.as_str());
        Refusal::NotFound {
            name: name.to_owned(),
            near: nearest(name, names).map(Str::from),
        }
    }

    fn hold(&self, saved: Saved) -> Arc<Saved> {
        self.write().put(saved)
    }

    fn read(&self) -> RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Held> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Under what the former versions of a workflow are kept.
fn former_kind(name: &str) -> String {
    format!("{KIND}/{name}")
}

fn version_key(version: u64) -> String {
    format!("{version:06}")
}

impl Workflows for Library {
    fn find(&self, name: &str) -> Option<Callable> {
        if let Some(found) = self.at_hand.find(name) {
            return Some(found);
        }
        let graph = self.read().get(name)?.graph()?.clone();
        Some(Callable {
            graph,
            origin: Value::Null,
        })
    }

    fn names(&self) -> Vec<Str> {
        let mut names = self.at_hand.names();
        let held = self.read();
        names.extend(held.all().map(|kept| kept.saved.name.clone()));
        names.sort();
        names.dedup();
        names
    }
}
