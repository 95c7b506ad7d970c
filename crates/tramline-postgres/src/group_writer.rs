//! Group commit: appends of many runs in one statement, on two connections in turn.
//!
//! While one group is being committed, the next one is collected, so that a group is as large as the load is high.
//! An append whose connection broke is looked up by its token: it is never made twice.

use crate::append_group::{GroupColumns, GroupOwner, statement};
use crate::change_hub::ChangeHub;
use crate::connection::{Connector, Link, Params, RetryDelays, StatementError};
use crate::lease::Lease;
use crate::migrations::DOCUMENT_LOCK;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_postgres::types::Type;
use tramline_engine::ports::{Append, AppendError, ClaimChange, Epoch, StoreFault};
use tramline_workflow::ids::RunId;

/// Connections that append.
pub(crate) const LANES: usize = 2;
/// Appends in one statement.
const GROUP_APPENDS_MAX: usize = 256;
/// Bytes in one statement, unless a single append has more.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// Appends that wait for a connection; further callers wait before they are accepted.
const QUEUE_APPENDS_MAX: usize = 4_096;
/// How often an append that was refused for a reason that is gone is tried again.
const REFUSALS_MAX: usize = 20;

/// An append that waits for its commit.
struct Pending {
    append: Append,
    token: i64,
    /// How often it was refused for a reason that was gone when we looked.
    refusals: usize,
    reply: oneshot::Sender<Result<Epoch, AppendError>>,
}

/// The writers of a store.
pub(crate) struct GroupWriter {
    queue: mpsc::Sender<Pending>,
}

struct Lane {
    link: Link,
    number: usize,
    queue: Arc<Mutex<mpsc::Receiver<Pending>>>,
    lease: Arc<Lease>,
    hub: Arc<ChangeHub>,
}

impl GroupWriter {
    /// Starts the writers.
    pub(crate) fn start(
        handle: &Handle,
        connector: &Arc<Connector>,
        lease: &Arc<Lease>,
        hub: &Arc<ChangeHub>,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE_APPENDS_MAX);
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..LANES {
            let lane = Lane {
                link: Link::new(connector),
                number,
                queue: Arc::clone(&waiting),
                lease: Arc::clone(lease),
                hub: Arc::clone(hub),
            };
            handle.spawn(lane.work());
        }
        Self { queue }
    }

    /// Appends, and returns once it is committed. It is made even if the caller stops waiting.
    pub(crate) async fn append(&self, append: Append) -> Result<Epoch, AppendError> {
        let closed = || StoreFault {
            message: "the store was closed".into(),
        };
        if append.last <= append.seen {
            let message = format!("a chunk for {} has no event", append.run);
            return Err(StoreFault { message }.into());
        }
        let (reply, replied) = oneshot::channel();
        let token = getrandom::u64().map_err(|error| StoreFault {
            message: format!("the system gives no random numbers: {error}"),
        })?;
        let pending = Pending {
            append,
            token: token as i64,
            refusals: 0,
            reply,
        };
        self.queue.send(pending).await.map_err(|_| closed())?;
        replied.await.map_err(|_| closed())?
    }
}

fn bytes(append: &Append) -> usize {
    let documents = append.documents.iter().map(|document| document.body.len());
    append.body.len() + documents.sum::<usize>()
}

impl Lane {
    async fn work(self) {
        let mut later = VecDeque::new();
        loop {
            let Some(group) = self.collect(&mut later).await else {
                return;
            };
            let again = self.commit(group).await;
            later.extend(again);
        }
    }

    /// The next group: each run once, because the second append to a run depends on the first.
    async fn collect(&self, later: &mut VecDeque<Pending>) -> Option<Vec<Pending>> {
        let mut group: Vec<Pending> = Vec::new();
        let mut runs: HashSet<RunId> = HashSet::new();
        let mut add = |next: Pending, later: &mut VecDeque<Pending>, group: &mut Vec<Pending>| {
            if !runs.insert(next.append.run.clone()) {
                later.push_back(next);
                return;
            }
            group.push(next);
        };
        for next in std::mem::take(later) {
            add(next, later, &mut group);
        }
        let mut queue = match group.is_empty() {
            true => self.queue.lock().await,
            // The other lane may be waiting for an append: these do not wait with it.
            false => match self.queue.try_lock() {
                Ok(queue) => queue,
                Err(_) => return Some(group),
            },
        };
        if group.is_empty() {
            let first = queue.recv().await?;
            add(first, later, &mut group);
        }
        while group.len() < GROUP_APPENDS_MAX
            && group.iter().map(|it| bytes(&it.append)).sum::<usize>() < GROUP_BYTES_MAX
            && let Ok(next) = queue.try_recv()
        {
            add(next, later, &mut group);
        }
        Some(group)
    }

    /// Commits a group and replies to its appends. Returns those that are to be tried again.
    async fn commit(&self, group: Vec<Pending>) -> Vec<Pending> {
        let mut patience = RetryDelays::new();
        let mut group = group;
        let mut is_doubtful = false;
        loop {
            let tried = match is_doubtful {
                // Some may have been made before the connection broke.
                true => self.look_up(&mut group).await,
                false => Ok(()),
            };
            let tried = match tried {
                Ok(()) if group.is_empty() => return Vec::new(),
                Ok(()) => {
                    is_doubtful = false;
                    self.execute(&group).await
                }
                Err(error) => Err(error),
            };
            match tried {
                Ok(made) => return self.settle(group, made).await,
                Err(error) => {
                    is_doubtful |= matches!(error, StatementError::Lost(_));
                    if let Err(error) = patience.wait(error).await {
                        let fault = StoreFault::from(error);
                        for pending in group {
                            let _ = pending.reply.send(Err(fault.clone().into()));
                        }
                        return Vec::new();
                    }
                }
            }
        }
    }

    /// Executes the statement. Returns the epochs of the runs that were appended to.
    async fn execute(&self, group: &[Pending]) -> Result<HashMap<RunId, Epoch>, StatementError> {
        let owner = self.lease.id().await?;
        let mut columns = GroupColumns::default();
        for pending in group {
            columns.push(&pending.append, pending.token);
        }
        let writer = GroupOwner {
            owner,
            pool: self.lease.first_pool(),
            counter: owner * LANES as i64 + self.number as i64,
            document_lock: DOCUMENT_LOCK,
        };
        let sql = statement(columns.has_documents());
        let rows = self.link.once(&sql, &columns.params(&writer)).await?;
        let mut made = HashMap::new();
        for row in rows {
            let (run, epoch): (&str, i64) = (row.get(0), row.get(1));
            if row.get(2) {
                self.lease.count_take_over();
            }
            if let Ok(run) = run.parse::<RunId>() {
                made.insert(run, Epoch(epoch as u64));
            }
        }
        Ok(made)
    }

    /// Replies to the appends of a group that were made, and looks why the others were not.
    async fn settle(&self, group: Vec<Pending>, made: HashMap<RunId, Epoch>) -> Vec<Pending> {
        let (done, refused): (Vec<_>, Vec<_>) = group
            .into_iter()
            .partition(|pending| made.contains_key(&pending.append.run));
        self.hub
            .committed(done.iter().map(|pending| &pending.append.run));
        for pending in done {
            let epoch = made.get(&pending.append.run).copied();
            let _ = pending.reply.send(Ok(epoch.unwrap_or_default()));
        }
        if refused.is_empty() {
            return Vec::new();
        }
        match self.refusals(&refused).await {
            Ok(why) => self.refuse(refused, why),
            Err(error) => {
                let fault = StoreFault::from(error);
                for pending in refused {
                    let _ = pending.reply.send(Err(fault.clone().into()));
                }
                Vec::new()
            }
        }
    }

    /// Replies to refused appends. Returns those whose reason is gone.
    fn refuse(&self, refused: Vec<Pending>, why: HashMap<RunId, RunState>) -> Vec<Pending> {
        let mut again = Vec::new();
        for mut pending in refused {
            let state = why.get(&pending.append.run).cloned().unwrap_or_default();
            match self.refusal(&pending.append, state) {
                None if pending.refusals < REFUSALS_MAX => {
                    pending.refusals += 1;
                    again.push(pending);
                }
                refusal => {
                    let last = pending.append.seen;
                    let refusal = refusal.unwrap_or(AppendError::Conflict { last });
                    let _ = pending.reply.send(Err(refusal));
                }
            }
        }
        again
    }

    fn refusal(&self, append: &Append, state: RunState) -> Option<AppendError> {
        if state.last != append.seen {
            let last = state.last;
            return Some(AppendError::Conflict { last });
        }
        let own = self.lease.known_id();
        let owner = state.owner_name;
        match append.claim {
            ClaimChange::Keep => None,
            ClaimChange::Take => (state.is_owner_live && state.owner != own)
                .then_some(AppendError::Elsewhere { owner }),
            ClaimChange::Hold(epoch) | ClaimChange::Release(epoch) => {
                if state.owner == own && state.epoch == epoch {
                    return None;
                }
                self.lease.count_fenced();
                Some(AppendError::Elsewhere { owner })
            }
        }
    }

    async fn refusals(
        &self,
        refused: &[Pending],
    ) -> Result<HashMap<RunId, RunState>, StatementError> {
        let runs: Vec<&str> = refused.iter().map(|it| it.append.run.as_str()).collect();
        let params: Params<'_> = &[(&runs, Type::TEXT_ARRAY)];
        let rows = self.link.repeat(
            "SELECT r.run, r.last, r.owner, r.epoch, coalesce(p.expires > now(), false), coalesce(p.name, 'no replica') \
             FROM tramline.runs r LEFT JOIN tramline.replicas p ON p.id = r.owner WHERE r.run = ANY($1)",
            params,
        );
        let mut states = HashMap::new();
        for row in rows.await? {
            let Ok(run) = row.get::<_, &str>(0).parse::<RunId>() else {
                continue;
            };
            let state = RunState {
                last: row.get::<_, i64>(1) as u64,
                owner: row.get(2),
                epoch: Epoch(row.get::<_, i64>(3) as u64),
                is_owner_live: row.get(4),
                owner_name: row.get(5),
            };
            states.insert(run, state);
        }
        Ok(states)
    }

    /// Replies to the appends that were made although their connection broke, and removes them from the group.
    async fn look_up(&self, group: &mut Vec<Pending>) -> Result<(), StatementError> {
        let runs: Vec<&str> = group.iter().map(|it| it.append.run.as_str()).collect();
        let tokens: Vec<i64> = group.iter().map(|it| it.token).collect();
        let params: Params<'_> = &[(&runs, Type::TEXT_ARRAY), (&tokens, Type::INT8_ARRAY)];
        let rows = self.link.once(
            "SELECT c.run, r.epoch FROM unnest($1::text[], $2::int8[]) AS t(run, token) \
             JOIN tramline.chunks c ON c.run = t.run AND c.token = t.token JOIN tramline.runs r ON r.run = t.run",
            params,
        );
        let rows = rows.await?;
        let mut made: HashMap<RunId, Epoch> = HashMap::new();
        for row in rows {
            if let Ok(run) = row.get::<_, &str>(0).parse() {
                made.insert(run, Epoch(row.get::<_, i64>(1) as u64));
            }
        }
        let (done, rest): (Vec<_>, Vec<_>) = std::mem::take(group)
            .into_iter()
            .partition(|pending| made.contains_key(&pending.append.run));
        *group = rest;
        self.hub
            .committed(done.iter().map(|pending| &pending.append.run));
        for pending in done {
            let now = made.get(&pending.append.run).copied().unwrap_or_default();
            // It may have been taken over since: the epoch of our own claim is the one that we had.
            let epoch = match pending.append.claim {
                ClaimChange::Hold(epoch) | ClaimChange::Release(epoch) => epoch,
                ClaimChange::Keep | ClaimChange::Take => now,
            };
            let _ = pending.reply.send(Ok(epoch));
        }
        Ok(())
    }
}

/// What is known of a run whose append was refused.
#[derive(Clone, Debug, Default)]
struct RunState {
    last: u64,
    owner: Option<i64>,
    epoch: Epoch,
    is_owner_live: bool,
    owner_name: String,
}
