//! Commands that arrive at the moment a driver appends: it must not lose what only it knows.

use crate::support::{engine, tools};
use async_trait::async_trait;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tramline_engine::ports::{
    Append, AppendError, Claim, DocumentStore, Epoch, JournalChunk, JournalStore, RunFilter,
    RunPage, RunRow, RunStatus, Store, StoreFault, ToolHints, Tools,
};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, EngineOptions, Fault, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, ToolName};
use tramline_workflow::journal::{self, ContentDigest, Event, Outcome, Pause, RunEvent};
use tramline_workflow::workflow::{Action, Edge, Join, Node, RetryPolicy, Template, Workflow};

/// More than anything here takes.
const SOON: Duration = Duration::from_secs(10);

fn call(id: &str, tool: &str) -> Node {
    let arguments = Template::Literal(Value::object::<Str>([]));
    let tool = ToolName::new("t", tool);
    Node::new(id, Action::Call { tool, arguments })
}

/// Two parallel branches: a call, and an approval of another call.
fn graph(side: Node) -> Arc<Graph> {
    let id = side.id.clone();
    let asked = Node {
        approval: Some("may it?".into()),
        ..call("asked", "work")
    };
    let both = Node {
        join: Join::All,
        ..Node::new(
            "both",
            Action::Compute {
                expression: "\"both\"".into(),
            },
        )
    };
    let workflow = Workflow {
        name: "side by side".into(),
        nodes: vec![
            Node::new("entry", Action::Entry),
            side,
            asked,
            both,
            Node::new("exit", Action::Exit),
        ],
        edges: vec![
            Edge::new("entry", id.clone()),
            Edge::new("entry", "asked"),
            Edge::new(id, "both"),
            Edge::new("asked", "both"),
            Edge::new("both", "exit"),
        ],
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

/// A tool that starts and never ends by itself.
fn endless(hints: ToolHints) -> Arc<FakeTools> {
    let endless = |_| std::future::pending::<Result<Value, Failure>>();
    Arc::new(FakeTools::new().tool("t", "endless", hints, endless))
}

async fn until_called(tools: &FakeTools) {
    while tools.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn question(engine: &Engine, run: &RunId) -> Checkpoint {
    let loaded = engine.load(run).await.unwrap();
    let is_approval = |pause: &&Pause| matches!(pause, Pause::Approval { .. });
    let mut pauses = loaded.run.pauses.iter();
    let (&seq, _) = pauses.find(|(_, pause)| is_approval(pause)).unwrap();
    let run = run.clone();
    Checkpoint { run, seq }
}

#[tokio::test]
async fn a_call_left_by_the_dead_is_asked_about_though_an_answer_came_first() {
    let (store, endless) = (MemoryStore::new(), endless(ToolHints::default()));
    let first = engine(&store, &endless);
    let start = RunStart::new(graph(call("side", "endless")), Value::Null);
    let run = first.start(start).await.unwrap().run;
    until_called(&endless).await;
    store.kill();

    let yours = engine(&store.process(), &tools());
    let mine = InterruptedStore::new(store.process(), yours, InterruptAt::TakenUp);
    let mine = Engine::new(Arc::new(mine), tools(), EngineOptions::default());
    let handle = mine.resume(&run).await.unwrap();
    let ended = tokio::time::timeout(SOON, handle.wait()).await;
    let DriveOutcome::Paused(pauses) = ended.expect("the run did not pause in time").unwrap()
    else {
        panic!("the run did not pause");
    };
    assert!(matches!(pauses[0].1, Pause::InDoubt { .. }), "{pauses:?}");
}

#[tokio::test]
async fn a_further_attempt_is_made_though_an_answer_came_first() {
    let shared = MemoryStore::new();
    let tries = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&tries);
    let tools = FakeTools::new()
        .tool("t", "work", ToolHints::default(), |_| async {
            Ok(Value::Null)
        })
        .tool("t", "flaky", ToolHints::default(), move |_| {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                match first {
                    true => Err(Failure::new(FailureKind::Tool, "not yet")),
                    false => Ok(Value::Null),
                }
            }
        });
    let tools: Arc<dyn Tools> = Arc::new(tools);
    let other: Arc<dyn Store> = Arc::new(shared.process());
    let yours = Engine::new(other, Arc::clone(&tools), EngineOptions::default());
    let store = InterruptedStore::new(shared, yours, InterruptAt::SecondAttempt);
    let mine = Engine::new(Arc::new(store), tools, EngineOptions::default());
    let side = Node {
        retry: Some(RetryPolicy {
            max: 1,
            wait_ms: 1,
            backoff: 1.0,
        }),
        ..call("side", "flaky")
    };
    let start = RunStart::new(graph(side), Value::Null);
    let handle = mine.start(start).await.unwrap();
    let ended = tokio::time::timeout(SOON, handle.wait()).await;
    let ended = ended.expect("the attempt was lost").unwrap();
    let result = "both".into();
    assert_eq!(ended, DriveOutcome::Finished(Outcome::Completed { result }));
    assert_eq!(tries.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn who_answers_a_paused_run_finds_it_free_to_go_on() {
    let (shared, tools) = (MemoryStore::new(), tools());
    let yours = engine(&shared.process(), &tools);
    let store = InterruptedStore::new(shared.clone(), yours.clone(), InterruptAt::Paused);
    let mine = Engine::new(Arc::new(store), tools, EngineOptions::default());
    let start = RunStart::new(graph(call("side", "work")), Value::Null);
    let handle = mine.start(start).await.unwrap();
    let run = handle.run.clone();
    // The answer came before its driver knew that the pause is durable.
    let paused = handle.wait().await.unwrap();
    assert!(matches!(paused, DriveOutcome::Paused(_)), "{paused:?}");
    let row = shared.row(&run).await.unwrap().unwrap();
    assert_eq!(
        (row.index_row.status, row.driven),
        (RunStatus::Running, false)
    );
    let ended = yours.resume(&run).await.unwrap().wait().await.unwrap();
    let result = "both".into();
    assert_eq!(ended, DriveOutcome::Finished(Outcome::Completed { result }));
}

#[tokio::test]
async fn who_resumes_what_is_driven_here_does_not_set_it_free() {
    let (store, tools) = (MemoryStore::new(), endless(ToolHints::default()));
    let mine = engine(&store, &tools);
    let start = RunStart::new(graph(call("side", "endless")), Value::Null);
    let run = mine.start(start).await.unwrap().run;
    until_called(&tools).await;
    for engine in [&mine, &engine(&store.process(), &tools)] {
        let taken = engine.resume(&run).await.err().unwrap();
        assert!(matches!(taken, Fault::Elsewhere { .. }), "{taken}");
    }
}

#[tokio::test]
async fn of_two_who_resume_at_once_one_drives() {
    // Called again without confirmation, and still in flight when the second answer comes.
    let looks = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let (store, tools) = (MemoryStore::new(), endless(looks));
    let first = engine(&store, &tools);
    let start = RunStart::new(graph(call("side", "endless")), Value::Null);
    let run = first.start(start).await.unwrap().run;
    until_called(&tools).await;
    store.kill();
    let mine = engine(&store.process(), &tools);
    let (one, two) = tokio::join!(mine.resume(&run), mine.resume(&run));
    assert_eq!([one.is_ok(), two.is_ok()], [true, false]);
}

/// A call that ends while its run is read, and a read that ends when the call has.
struct CallDuringRead {
    read: Semaphore,
    call: Semaphore,
}

impl CallDuringRead {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            read: Semaphore::new(0),
            call: Semaphore::new(0),
        })
    }
}

#[tokio::test]
async fn calls_make_progress_while_their_run_is_read_again() {
    let both = CallDuringRead::new();
    let (tool, hints) = (Arc::clone(&both), ToolHints::default());
    let work = |_| async { Ok(Value::Null) };
    let slow = FakeTools::new().tool("t", "work", hints, work);
    let slow = slow.tool("t", "slow", hints, move |_| {
        let both = Arc::clone(&tool);
        async move {
            both.read.acquire().await.unwrap().forget();
            both.call.add_permits(1);
            Ok(Value::Null)
        }
    });
    let (store, slow) = (MemoryStore::new(), Arc::new(slow));
    let mut mine =
        InterruptedStore::new(store.process(), engine(&store, &slow), InterruptAt::Paused);
    mine.during_read = Some(both);
    let mine = Engine::new(
        Arc::new(mine),
        Arc::clone(&slow) as _,
        EngineOptions::default(),
    );
    let start = RunStart::new(graph(call("side", "slow")), Value::Null);
    let handle = mine.start(start).await.unwrap();
    until_called(&slow).await;
    // The answer makes the driver read, while its own call is in flight.
    let asked = question(&mine, &handle.run).await;
    mine.approve(&asked, true, "ann".into(), None)
        .await
        .unwrap();
    let ended = tokio::time::timeout(SOON, handle.wait()).await;
    let ended = ended.expect("the driver waits for the read, which waits for the call");
    assert!(matches!(ended.unwrap(), DriveOutcome::Finished(_)));
}

/// When another process answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InterruptAt {
    /// Just before the resumption of the run is recorded.
    TakenUp,
    /// Just before a second attempt is recorded.
    SecondAttempt,
    /// As soon as the pause is durable.
    Paused,
}

/// A store in which another process answers at the worst moment.
struct InterruptedStore {
    store: MemoryStore,
    by: Engine,
    when: Mutex<Option<InterruptAt>>,
    during_read: Option<Arc<CallDuringRead>>,
}

impl InterruptedStore {
    fn new(store: MemoryStore, by: Engine, when: InterruptAt) -> Self {
        Self {
            store,
            by,
            when: Mutex::new(Some(when)),
            during_read: None,
        }
    }

    /// Lets the other process answer, once, if this is the moment.
    async fn interrupt(&self, run: &RunId, moment: InterruptAt) {
        let is_now = self.when.lock().unwrap().take_if(|when| *when == moment);
        if is_now.is_some() {
            let asked = question(&self.by, run).await;
            let said = self.by.approve(&asked, true, "ann".into(), None).await;
            said.unwrap();
        }
    }
}

/// Whether an append contains such an event.
fn holds(append: &Append, is: impl Fn(&Event) -> bool) -> bool {
    // A first event refers to its workflow, which is not in the chunk.
    let begins = usize::from(append.seen == 0);
    let body = journal::skip_lines(&append.body, begins);
    let events = journal::decode(append.seen + 1, body).unwrap();
    events.iter().any(|entry| is(&entry.event))
}

#[async_trait]
impl JournalStore for InterruptedStore {
    async fn append(&self, append: Append) -> Result<Epoch, AppendError> {
        if holds(&append, |it| {
            matches!(it, Event::Run(RunEvent::StepStarted { attempt: 2, .. }))
        }) {
            self.interrupt(&append.run, InterruptAt::SecondAttempt)
                .await;
        }
        if holds(&append, |it| {
            matches!(it, Event::Run(RunEvent::Resumed { .. }))
        }) {
            self.interrupt(&append.run, InterruptAt::TakenUp).await;
        }
        let (run, status) = (append.run.clone(), append.index_row.status);
        let epoch = self.store.append(append).await?;
        if status == RunStatus::Paused {
            self.interrupt(&run, InterruptAt::Paused).await;
        }
        Ok(epoch)
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<JournalChunk>, StoreFault> {
        // Only a driver reads from the middle of a journal.
        if let Some(both) = self.during_read.as_ref().filter(|_| after > 0) {
            both.read.add_permits(1);
            both.call.acquire().await.unwrap().forget();
            both.call.add_permits(1);
        }
        self.store.read(run, after).await
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.document(digest).await
    }

    async fn runs(&self, filter: RunFilter) -> Result<RunPage, StoreFault> {
        self.store.runs(filter).await
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        self.store.row(run).await
    }

    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault> {
        self.store.claim(run).await
    }

    async fn release(&self, run: &RunId) -> Result<(), StoreFault> {
        self.store.release(run).await
    }

    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        self.store.remove(runs).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }
}

#[async_trait]
impl DocumentStore for InterruptedStore {
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        self.store.put(kind, key, body).await
    }

    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.store.swap(kind, key, seen, body).await
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.get(kind, key).await
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        self.store.list(kind).await
    }

    async fn delete(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        self.store.delete(kind, keys).await
    }
}
