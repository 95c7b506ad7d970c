//! Workflows and procedures by content: each is in memory once, together with its built form, and
//! is encoded once, however many runs and sessions use it.
//!
//! Documents that are not in use are dropped, except for the most recent ones.

use super::EngineInner;
use crate::fault::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tramline_sop::Procedure;
use tramline_workflow::graph::{Graph, Problem};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{
    self, ContentDigest, DocumentRef, Entry, Event, EventTooLarge, FirstEvent, RunEvent, SopEvent,
    StoredDocument,
};
use tramline_workflow::sop::Sop;
use tramline_workflow::workflow::Workflow;

/// Documents that stay in memory although no run uses them: another run of a recent one is likely.
const RECENT_MAX: usize = 64;
/// Encoded bytes of these documents. In built form they take about three times as much.
const RECENT_BYTES_MAX: usize = 4 << 20;
/// The smallest number of addresses at which dead documents are swept. A sweep runs when the number
/// has doubled since the last one.
const SWEEP_MIN: usize = 128;
/// The smallest number of encoded bytes at which dead documents are swept. A sweep runs when the
/// bytes have doubled since the last one.
const SWEEP_BYTES_MIN: usize = 8 << 20;

/// A document that is built into an indexed form before use.
pub(crate) trait BuildDocument: Serialize + DeserializeOwned {
    /// The indexed form.
    type Built;
    /// Why the document could not be built.
    type Problem;
    /// Builds the indexed form.
    fn build(whole: &Arc<Self>) -> Result<Self::Built, Self::Problem>;
}

impl BuildDocument for Workflow {
    type Built = Graph;
    type Problem = Vec<Problem>;

    fn build(whole: &Arc<Self>) -> Result<Graph, Vec<Problem>> {
        Graph::build(Arc::clone(whole)).map(|(graph, _)| graph)
    }
}

impl BuildDocument for Sop {
    type Built = Procedure;
    type Problem = String;

    fn build(whole: &Arc<Self>) -> Result<Procedure, String> {
        Procedure::build(Arc::clone(whole))
    }
}

/// The documents in the memory of an engine.
#[derive(Default)]
pub(crate) struct DocumentCaches {
    pub(crate) workflows: DocumentCache<Workflow>,
    pub(crate) procedures: DocumentCache<Sop>,
}

/// Documents of one kind.
pub(crate) struct DocumentCache<T: BuildDocument>(Mutex<DocumentTable<T>>);

impl<T: BuildDocument> Default for DocumentCache<T> {
    fn default() -> Self {
        Self(Mutex::new(DocumentTable {
            by_digest: HashMap::new(),
            by_address: HashMap::new(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            known_bytes: 0,
            sweep_at: (SWEEP_MIN, SWEEP_BYTES_MIN),
        }))
    }
}

struct DocumentTable<T: BuildDocument> {
    by_digest: HashMap<ContentDigest, KnownDocument<T>>,
    /// Documents that are already encoded. The `Weak` keeps an address from being reused, and a
    /// shared document cannot change, so an address identifies its content.
    by_address: HashMap<usize, (Weak<T>, ContentDigest)>,
    recent: VecDeque<RecentDocument<T>>,
    recent_bytes: usize,
    /// The bytes of all documents in `by_digest`.
    known_bytes: usize,
    /// The number of addresses and bytes at which the next sweep runs.
    sweep_at: (usize, usize),
}

struct KnownDocument<T: BuildDocument> {
    document: Arc<StoredDocument>,
    source: Weak<T>,
    built: Weak<T::Built>,
}

struct RecentDocument<T: BuildDocument> {
    digest: ContentDigest,
    bytes: usize,
    _whole: Arc<T>,
    _built: Option<Arc<T::Built>>,
}

/// A shared document and its stored form.
pub(crate) struct SharedDocument<T> {
    pub(crate) source: Arc<T>,
    pub(crate) document: Arc<StoredDocument>,
}

impl<T: BuildDocument> DocumentCache<T> {
    fn table(&self) -> MutexGuard<'_, DocumentTable<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shared document with this content, encoded once.
    pub(crate) fn shared(&self, whole: &Arc<T>) -> Result<SharedDocument<T>, EventTooLarge> {
        if let Some(known) = self.table().find_known(whole) {
            return Ok(known);
        }
        let document = Arc::new(StoredDocument::of(&**whole)?);
        Ok(self.table().insert(whole, document))
    }

    /// The document with this digest, if it is in memory.
    pub(crate) fn find(&self, digest: &ContentDigest) -> Option<Arc<T>> {
        self.table().by_digest.get(digest)?.source.upgrade()
    }

    /// Decodes a stored document and checks its digest.
    pub(crate) fn read(&self, digest: ContentDigest, body: Vec<u8>) -> Result<Arc<T>, String> {
        if ContentDigest::of(&body) != digest {
            return Err("does not match its digest".to_owned());
        }
        let whole: T =
            serde_json::from_slice(&body).map_err(|error| format!("cannot be decoded: {error}"))?;
        let document = Arc::new(StoredDocument { digest, body });
        let mut table = self.table();
        let shared = table.insert(&Arc::new(whole), document);
        table.mark_used(&shared, None);
        Ok(shared.source)
    }

    /// The built form of a document, which all users share.
    pub(crate) fn built(&self, whole: &Arc<T>) -> Result<Arc<T::Built>, T::Problem> {
        let Ok(shared) = self.shared(whole) else {
            // Too large to be stored, so it is not shared.
            return T::build(whole).map(Arc::new);
        };
        if let Some(built) = self.table().built(&shared) {
            return Ok(built);
        }
        let made = Arc::new(T::build(&shared.source)?);
        Ok(self.table().insert_built(&shared, made))
    }

    /// The shared built form of a document that a caller has built: the existing one, or the
    /// caller's.
    pub(crate) fn adopt(
        &self,
        whole: &Arc<T>,
        built: &Arc<T::Built>,
    ) -> Result<(Arc<T::Built>, Arc<StoredDocument>), EventTooLarge> {
        let shared = self.shared(whole)?;
        let built = self.table().insert_built(&shared, Arc::clone(built));
        Ok((built, shared.document))
    }
}

impl<T: BuildDocument> DocumentTable<T> {
    fn find_known(&self, whole: &Arc<T>) -> Option<SharedDocument<T>> {
        let (_, digest) = self.by_address.get(&address(whole))?;
        let known = self.by_digest.get(digest)?;
        Some(SharedDocument {
            source: known.source.upgrade()?,
            document: Arc::clone(&known.document),
        })
    }

    fn insert(&mut self, whole: &Arc<T>, document: Arc<StoredDocument>) -> SharedDocument<T> {
        self.sweep();
        let digest = document.digest;
        let known = self.by_digest.entry(digest).or_insert_with(|| {
            self.known_bytes += document.body.len();
            KnownDocument {
                document,
                source: Weak::new(),
                built: Weak::new(),
            }
        });
        let shared = known.source.upgrade().unwrap_or_else(|| Arc::clone(whole));
        known.source = Arc::downgrade(&shared);
        let document = Arc::clone(&known.document);
        for one in [whole, &shared] {
            let place = (Arc::downgrade(one), digest);
            self.by_address.insert(address(one), place);
        }
        SharedDocument {
            source: shared,
            document,
        }
    }

    fn built(&self, shared: &SharedDocument<T>) -> Option<Arc<T::Built>> {
        let known = self.by_digest.get(&shared.document.digest)?;
        known.built.upgrade()
    }

    /// Stores the built form of a document, or returns the existing one.
    fn insert_built(&mut self, shared: &SharedDocument<T>, made: Arc<T::Built>) -> Arc<T::Built> {
        let Some(known) = self.by_digest.get_mut(&shared.document.digest) else {
            return made;
        };
        let built = known.built.upgrade().unwrap_or(made);
        known.built = Arc::downgrade(&built);
        self.mark_used(shared, Some(&built));
        built
    }

    /// Keeps a document in memory for its next use.
    fn mark_used(&mut self, shared: &SharedDocument<T>, built: Option<&Arc<T::Built>>) {
        let (digest, bytes) = (shared.document.digest, shared.document.body.len());
        let at = self.recent.iter().rposition(|it| it.digest == digest);
        let known = at.and_then(|at| self.recent.remove(at));
        let mut recent = known.unwrap_or_else(|| {
            self.recent_bytes += bytes;
            RecentDocument {
                digest,
                bytes,
                _whole: Arc::clone(&shared.source),
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
        self.by_digest.retain(|_, known| lives(&known.source));
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

impl EngineInner {
    /// The documents that an event refers to, in stored form; only a first event has any.
    pub(crate) fn documents_of(
        &self,
        event: &Event,
    ) -> Result<Vec<Arc<StoredDocument>>, EventTooLarge> {
        if let Event::Run(RunEvent::Started(started)) = event {
            let shared = self.documents.workflows.shared(&started.workflow)?;
            return Ok(vec![shared.document]);
        }
        if let Event::Sop(SopEvent::SopStarted(begun)) = event {
            let known = &self.documents.procedures;
            let all = begun.sops.iter().map(|sop| Ok(known.shared(sop)?.document));
            return all.collect();
        }
        Ok(Vec::new())
    }

    /// Adds an event's line to `out`; returns the documents that the line refers to.
    pub(crate) fn encode(
        &self,
        entry: &Entry,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Arc<StoredDocument>>, EventTooLarge> {
        let documents = self.documents_of(&entry.event)?;
        encode_with_documents(entry, &documents, out)?;
        Ok(documents)
    }

    /// A first event with its documents.
    pub(super) async fn with_documents(
        &self,
        id: &RunId,
        beginning: FirstEvent,
    ) -> Result<Event, Fault> {
        match beginning {
            FirstEvent::Started(started) => {
                let known = &self.documents.workflows;
                let workflow = self.load_document(id, known, &started.workflow).await?;
                Ok(Event::Run(RunEvent::Started(Box::new(
                    started.with_workflow(workflow),
                ))))
            }
            FirstEvent::SopStarted(begun) => {
                let known = &self.documents.procedures;
                let mut sops = Vec::with_capacity(begun.sops.len());
                for sop in &begun.sops {
                    sops.push(self.load_document(id, known, sop).await?);
                }
                Ok(Event::Sop(SopEvent::SopStarted(Box::new(
                    begun.with_sops(sops),
                ))))
            }
        }
    }

    async fn load_document<T: BuildDocument>(
        &self,
        id: &RunId,
        known: &DocumentCache<T>,
        document: &DocumentRef<T>,
    ) -> Result<Arc<T>, Fault> {
        let digest = match document {
            // A document that cannot be shared is used as it is.
            DocumentRef::Inline(whole) => {
                let shared = known.shared(whole);
                return Ok(shared.map_or_else(|_| Arc::clone(whole), |shared| shared.source));
            }
            DocumentRef::Digest(digest) => digest,
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
            // The run may have been removed in the meantime, and the document with it.
            None => match self.store.row(id).await? {
                None => Err(Fault::NotFound(id.clone())),
                Some(_) => Err(damaged("is missing")),
            },
        }
    }
}

/// Adds an event's line that refers to these documents.
pub(crate) fn encode_with_documents(
    entry: &Entry,
    documents: &[Arc<StoredDocument>],
    out: &mut Vec<u8>,
) -> Result<(), EventTooLarge> {
    if documents.is_empty() {
        return journal::encode(entry, out);
    }
    let digests: Vec<ContentDigest> = documents.iter().map(|it| it.digest).collect();
    journal::encode_with_digests(entry, &digests, out)
}

#[cfg(test)]
mod tests;
