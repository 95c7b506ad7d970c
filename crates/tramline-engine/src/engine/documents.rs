//! Workflows and procedures by their content: each is in memory once, with what it was built into,
//! and is encoded once, however many runs and conversations use it.
//!
//! What nobody uses is forgotten, but for a few that were used last.

use super::Inner;
use crate::fault::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tramline_core::graph::{Graph, Problem};
use tramline_core::ids::RunId;
use tramline_core::journal::{
    self, Beginning, ContentDigest, DocumentRef, Entry, Event, StoredDocument, TooLarge,
};
use tramline_core::navigate::Procedure;
use tramline_core::sop::Sop;
use tramline_core::workflow::Workflow;

/// So many documents stay in memory although nobody uses them: the next run of one is likely.
const RECENT_MAX: usize = 64;
/// And so many bytes of them, encoded. Built they take about three times as much.
const RECENT_BYTES_MAX: usize = 4 << 20;
/// Documents that are gone are looked for when there are twice as many as after the last time, and
/// at least so many,
const SWEEP_MIN: usize = 128;
/// or when twice as many bytes of them are kept, and at least so many.
const SWEEP_BYTES_MIN: usize = 8 << 20;

/// A document that is built into something before it is used.
pub(crate) trait Document: Serialize + DeserializeOwned {
    /// What it is built into.
    type Built;
    /// Why it could not be.
    type Problem;
    /// Builds it.
    fn build(whole: &Arc<Self>) -> Result<Self::Built, Self::Problem>;
}

impl Document for Workflow {
    type Built = Graph;
    type Problem = Vec<Problem>;

    fn build(whole: &Arc<Self>) -> Result<Graph, Vec<Problem>> {
        Graph::build(Arc::clone(whole)).map(|(graph, _)| graph)
    }
}

impl Document for Sop {
    type Built = Procedure;
    type Problem = String;

    fn build(whole: &Arc<Self>) -> Result<Procedure, String> {
        Procedure::build(Arc::clone(whole))
    }
}

/// The documents that an engine knows.
#[derive(Default)]
pub(crate) struct Documents {
    pub(crate) workflows: DocumentCache<Workflow>,
    pub(crate) procedures: DocumentCache<Sop>,
}

/// Documents of one kind.
pub(crate) struct DocumentCache<T: Document>(Mutex<Table<T>>);

impl<T: Document> Default for DocumentCache<T> {
    fn default() -> Self {
        Self(Mutex::new(Table {
            by_digest: HashMap::new(),
            by_address: HashMap::new(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            known_bytes: 0,
            sweep_at: (SWEEP_MIN, SWEEP_BYTES_MIN),
        }))
    }
}

struct Table<T: Document> {
    by_digest: HashMap<ContentDigest, Known<T>>,
    /// What was encoded already. A `Weak` keeps its address from being used again, and what is
    /// shared cannot be changed, so an address stands for its content.
    by_address: HashMap<usize, (Weak<T>, ContentDigest)>,
    recent: VecDeque<Recent<T>>,
    recent_bytes: usize,
    /// The bytes of all documents in `by_digest`.
    known_bytes: usize,
    /// How many addresses and bytes there may be before the next sweep.
    sweep_at: (usize, usize),
}

struct Known<T: Document> {
    document: Arc<StoredDocument>,
    whole: Weak<T>,
    built: Weak<T::Built>,
}

struct Recent<T: Document> {
    digest: ContentDigest,
    bytes: usize,
    _whole: Arc<T>,
    _built: Option<Arc<T::Built>>,
}

/// A document that is shared, and as it is kept.
pub(crate) struct Shared<T> {
    pub(crate) whole: Arc<T>,
    pub(crate) document: Arc<StoredDocument>,
}

impl<T: Document> DocumentCache<T> {
    fn table(&self) -> MutexGuard<'_, Table<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The document with the same content that all use, encoded once.
    pub(crate) fn shared(&self, whole: &Arc<T>) -> Result<Shared<T>, TooLarge> {
        if let Some(known) = self.table().known(whole) {
            return Ok(known);
        }
        let document = Arc::new(StoredDocument::of(&**whole)?);
        Ok(self.table().keep(whole, document))
    }

    /// The document that is kept under a digest, if it is in memory.
    pub(crate) fn find(&self, digest: &ContentDigest) -> Option<Arc<T>> {
        self.table().by_digest.get(digest)?.whole.upgrade()
    }

    /// Reads a document that is kept under a digest, and holds it against that.
    pub(crate) fn read(&self, digest: ContentDigest, body: Vec<u8>) -> Result<Arc<T>, String> {
        if ContentDigest::of(&body) != digest {
            return Err("is not as it was written".to_owned());
        }
        let whole: T =
            serde_json::from_slice(&body).map_err(|error| format!("cannot be read: {error}"))?;
        let document = Arc::new(StoredDocument { digest, body });
        let mut table = self.table();
        let shared = table.keep(&Arc::new(whole), document);
        table.used(&shared, None);
        Ok(shared.whole)
    }

    /// What a document is built into, which all share.
    pub(crate) fn built(&self, whole: &Arc<T>) -> Result<Arc<T::Built>, T::Problem> {
        let Ok(shared) = self.shared(whole) else {
            // Too large to be kept, so it is nobody else's.
            return T::build(whole).map(Arc::new);
        };
        if let Some(built) = self.table().built(&shared) {
            return Ok(built);
        }
        let made = Arc::new(T::build(&shared.whole)?);
        Ok(self.table().put_built(&shared, made))
    }

    /// What all share of a document that a caller has built: theirs, or the caller's from now on.
    pub(crate) fn adopt(
        &self,
        whole: &Arc<T>,
        built: &Arc<T::Built>,
    ) -> Result<(Arc<T::Built>, Arc<StoredDocument>), TooLarge> {
        let shared = self.shared(whole)?;
        let built = self.table().put_built(&shared, Arc::clone(built));
        Ok((built, shared.document))
    }
}

impl<T: Document> Table<T> {
    fn known(&self, whole: &Arc<T>) -> Option<Shared<T>> {
        let (_, digest) = self.by_address.get(&address(whole))?;
        let known = self.by_digest.get(digest)?;
        Some(Shared {
            whole: known.whole.upgrade()?,
            document: Arc::clone(&known.document),
        })
    }

    fn keep(&mut self, whole: &Arc<T>, document: Arc<StoredDocument>) -> Shared<T> {
        self.sweep();
        let digest = document.digest;
        let known = self.by_digest.entry(digest).or_insert_with(|| {
            self.known_bytes += document.body.len();
            Known {
                document,
                whole: Weak::new(),
                built: Weak::new(),
            }
        });
        let shared = known.whole.upgrade().unwrap_or_else(|| Arc::clone(whole));
        known.whole = Arc::downgrade(&shared);
        let document = Arc::clone(&known.document);
        for one in [whole, &shared] {
            let place = (Arc::downgrade(one), digest);
            self.by_address.insert(address(one), place);
        }
        Shared {
            whole: shared,
            document,
        }
    }

    fn built(&self, shared: &Shared<T>) -> Option<Arc<T::Built>> {
        let known = self.by_digest.get(&shared.document.digest)?;
        known.built.upgrade()
    }

    /// Keeps what a document was built into, unless somebody was quicker: then theirs is given.
    fn put_built(&mut self, shared: &Shared<T>, made: Arc<T::Built>) -> Arc<T::Built> {
        let Some(known) = self.by_digest.get_mut(&shared.document.digest) else {
            return made;
        };
        let built = known.built.upgrade().unwrap_or(made);
        known.built = Arc::downgrade(&built);
        self.used(shared, Some(&built));
        built
    }

    /// Keeps a document for the next who wants it.
    fn used(&mut self, shared: &Shared<T>, built: Option<&Arc<T::Built>>) {
        let (digest, bytes) = (shared.document.digest, shared.document.body.len());
        let at = self.recent.iter().rposition(|it| it.digest == digest);
        let known = at.and_then(|at| self.recent.remove(at));
        let mut recent = known.unwrap_or_else(|| {
            self.recent_bytes += bytes;
            Recent {
                digest,
                bytes,
                _whole: Arc::clone(&shared.whole),
                _built: None,
            }
        });
        if let Some(built) = built {
            recent._built = Some(Arc::clone(built));
        }
        self.recent.push_back(recent);
        while self.recent.len() > RECENT_MAX
            || (self.recent_bytes > RECENT_BYTES_MAX && self.recent.len() > 1)
        {
            let Some(oldest) = self.recent.pop_front() else {
                break;
            };
            self.recent_bytes -= oldest.bytes;
        }
    }

    fn sweep(&mut self) {
        let (addresses, bytes) = self.sweep_at;
        if self.by_address.len() < addresses && self.known_bytes < bytes {
            return;
        }
        let lives = |whole: &Weak<T>| whole.strong_count() > 0;
        self.by_address.retain(|_, (whole, _)| lives(whole));
        self.by_digest.retain(|_, known| lives(&known.whole));
        let kept = self.by_digest.values();
        self.known_bytes = kept.map(|known| known.document.body.len()).sum();
        self.sweep_at = (
            SWEEP_MIN.max(2 * self.by_address.len()),
            SWEEP_BYTES_MIN.max(2 * self.known_bytes),
        );
    }
}

fn address<T>(whole: &Arc<T>) -> usize {
    Arc::as_ptr(whole).addr()
}

impl Inner {
    /// The documents that an event refers to, as they are kept: only a beginning has any.
    pub(crate) fn documents_of(&self, event: &Event) -> Result<Vec<Arc<StoredDocument>>, TooLarge> {
        if let Event::Started(started) = event {
            let shared = self.documents.workflows.shared(&started.workflow)?;
            return Ok(vec![shared.document]);
        }
        if let Event::Guided(begun) = event {
            let known = &self.documents.procedures;
            let all = begun.sops.iter().map(|sop| Ok(known.shared(sop)?.document));
            return all.collect();
        }
        Ok(Vec::new())
    }

    /// Adds an event's line to `out`; gives the documents that the line refers to.
    pub(crate) fn encode(
        &self,
        entry: &Entry,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Arc<StoredDocument>>, TooLarge> {
        let documents = self.documents_of(&entry.event)?;
        encode_with(entry, &documents, out)?;
        Ok(documents)
    }

    /// A beginning with its documents.
    pub(super) async fn whole(&self, id: &RunId, beginning: Beginning) -> Result<Event, Fault> {
        match beginning {
            Beginning::Started(started) => {
                let known = &self.documents.workflows;
                let workflow = self.document(id, known, &started.workflow).await?;
                Ok(Event::Started(Box::new(started.with(workflow))))
            }
            Beginning::Guided(begun) => {
                let known = &self.documents.procedures;
                let mut sops = Vec::with_capacity(begun.sops.len());
                for sop in &begun.sops {
                    sops.push(self.document(id, known, sop).await?);
                }
                Ok(Event::Guided(Box::new(begun.with(sops))))
            }
        }
    }

    async fn document<T: Document>(
        &self,
        id: &RunId,
        known: &DocumentCache<T>,
        document: &DocumentRef<T>,
    ) -> Result<Arc<T>, Fault> {
        let digest = match document {
            // One that cannot be shared is as good.
            DocumentRef::Whole(whole) => {
                let shared = known.shared(whole);
                return Ok(shared.map_or_else(|_| Arc::clone(whole), |shared| shared.whole));
            }
            DocumentRef::Named(digest) => digest,
        };
        if let Some(found) = known.find(digest) {
            return Ok(found);
        }
        let damaged = |what: &str| Fault::Damaged {
            run: id.clone(),
            message: format!("its document {digest} {what}"),
        };
        match self.store.document(digest).await? {
            Some(body) => known.read(*digest, body).map_err(|what| damaged(&what)),
            // Somebody may have removed the run meanwhile, and the document with it.
            None => match self.store.row(id).await? {
                None => Err(Fault::NotFound(id.clone())),
                Some(_) => Err(damaged("is missing")),
            },
        }
    }
}

/// Adds an event's line that refers to these documents.
pub(crate) fn encode_with(
    entry: &Entry,
    documents: &[Arc<StoredDocument>],
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    if documents.is_empty() {
        return journal::encode(entry, out);
    }
    let digests: Vec<ContentDigest> = documents.iter().map(|it| it.digest).collect();
    journal::encode_named(entry, &digests, out)
}

#[cfg(test)]
mod tests;
