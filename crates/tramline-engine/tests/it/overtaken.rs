//! Words that come in the very moment in which a driver appends: it must not forget what only it
//! knows.

use crate::support::{engine, tools};
use async_trait::async_trait;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId, Seq, ToolName};
use tramline_core::journal::{self, ContentDigest, Event, Outcome, Pause};
use tramline_core::workflow::{Action, Edge, Join, Node, Retry, Template, Workflow};
use tramline_core::{Str, Value};
use tramline_engine::seams::{
    Append, AppendError, Chunk, Claim, Hints, Page, RunFilter, RunRow, Status, Store, StoreFault,
    Tools,
};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Ended, Engine, Fault, Options, Start};

/// More than anything here takes.
const SOON: Duration = Duration::from_secs(10);

fn call(id: &str, tool: &str) -> Node {
    let arguments = Template::Literal(Value::object::<Str>([]));
    let tool = ToolName::new("t", tool);
    Node::new(id, Action::Call { tool, arguments })
}

/// Two ways side by side: a call, and a question about another call.
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

/// A tool that begins and never ends by itself.
fn endless(hints: Hints) -> Arc<FakeTools> {
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
    let (store, endless) = (MemoryStore::new(), endless(Hints::default()));
    let first = engine(&store, &endless);
    let start = Start::new(graph(call("side", "endless")), Value::Null);
    let run = first.start(start).await.unwrap().run;
    until_called(&endless).await;
    store.kill();

    let yours = engine(&store.process(), &tools());
    let mine = Interrupted::new(store.process(), yours, When::TakenUp);
    let mine = Engine::new(Arc::new(mine), tools(), Options::default());
    let handle = mine.resume(&run).await.unwrap();
    let ended = tokio::time::timeout(SOON, handle.ended()).await;
    let Ended::Paused(pauses) = ended.expect("it waits for nobody").unwrap() else {
        panic!("nobody asked");
    };
    assert!(matches!(pauses[0].1, Pause::InDoubt { .. }), "{pauses:?}");
}

#[tokio::test]
async fn a_further_attempt_is_made_though_an_answer_came_first() {
    let shared = MemoryStore::new();
    let tries = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&tries);
    let tools = FakeTools::new()
        .tool("t", "work", Hints::default(), |_| async { Ok(Value::Null) })
        .tool("t", "flaky", Hints::default(), move |_| {
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
    let yours = Engine::new(other, Arc::clone(&tools), Options::default());
    let store = Interrupted::new(shared, yours, When::SecondAttempt);
    let mine = Engine::new(Arc::new(store), tools, Options::default());
    let side = Node {
        retry: Some(Retry {
            max: 1,
            wait_ms: 1,
            backoff: 1.0,
        }),
        ..call("side", "flaky")
    };
    let start = Start::new(graph(side), Value::Null);
    let handle = mine.start(start).await.unwrap();
    let ended = tokio::time::timeout(SOON, handle.ended()).await;
    let ended = ended.expect("the attempt was forgotten").unwrap();
    let result = "both".into();
    assert_eq!(ended, Ended::Finished(Outcome::Completed { result }));
    assert_eq!(tries.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn who_answers_a_paused_run_finds_it_free_to_go_on() {
    let (shared, tools) = (MemoryStore::new(), tools());
    let yours = engine(&shared.process(), &tools);
    let store = Interrupted::new(shared.clone(), yours.clone(), When::Paused);
    let mine = Engine::new(Arc::new(store), tools, Options::default());
    let start = Start::new(graph(call("side", "work")), Value::Null);
    let handle = mine.start(start).await.unwrap();
    let run = handle.run.clone();
    // The answer came before its driver heard that the pause is durable.
    let paused = handle.ended().await.unwrap();
    assert!(matches!(paused, Ended::Paused(_)), "{paused:?}");
    let row = shared.row(&run).await.unwrap().unwrap();
    assert_eq!((row.head.status, row.driven), (Status::Running, false));
    let ended = yours.resume(&run).await.unwrap().ended().await.unwrap();
    let result = "both".into();
    assert_eq!(ended, Ended::Finished(Outcome::Completed { result }));
}

#[tokio::test]
async fn who_resumes_what_is_driven_here_does_not_set_it_free() {
    let (store, tools) = (MemoryStore::new(), endless(Hints::default()));
    let mine = engine(&store, &tools);
    let start = Start::new(graph(call("side", "endless")), Value::Null);
    let run = mine.start(start).await.unwrap().run;
    until_called(&tools).await;
    for engine in [&mine, &engine(&store.process(), &tools)] {
        let taken = engine.resume(&run).await.err().unwrap();
        assert!(matches!(taken, Fault::Elsewhere { .. }), "{taken}");
    }
}

#[tokio::test]
async fn of_two_who_resume_at_once_one_drives() {
    // Called again without asking, and still under way when the second comes.
    let looks = Hints {
        read_only: Some(true),
        ..Hints::default()
    };
    let (store, tools) = (MemoryStore::new(), endless(looks));
    let first = engine(&store, &tools);
    let start = Start::new(graph(call("side", "endless")), Value::Null);
    let run = first.start(start).await.unwrap().run;
    until_called(&tools).await;
    store.kill();
    let mine = engine(&store.process(), &tools);
    let (one, two) = tokio::join!(mine.resume(&run), mine.resume(&run));
    assert_eq!([one.is_ok(), two.is_ok()], [true, false]);
}

/// When another process answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Just before it is written down that somebody has taken the run up.
    TakenUp,
    /// Just before a second attempt is announced.
    SecondAttempt,
    /// As soon as the pause is durable.
    Paused,
}

/// A store in which another process answers in the worst moment.
struct Interrupted {
    store: MemoryStore,
    by: Engine,
    when: Mutex<Option<When>>,
}

impl Interrupted {
    fn new(store: MemoryStore, by: Engine, when: When) -> Self {
        let when = Mutex::new(Some(when));
        Self { store, by, when }
    }

    /// Lets the other answer, if this is the moment and it has not come before.
    async fn interrupt(&self, run: &RunId, moment: When) {
        let is_now = self.when.lock().unwrap().take_if(|when| *when == moment);
        if is_now.is_some() {
            let asked = question(&self.by, run).await;
            let said = self.by.approve(&asked, true, "ann".into(), None).await;
            said.unwrap();
        }
    }
}

/// Whether an append holds such an event.
fn holds(append: &Append, is: impl Fn(&Event) -> bool) -> bool {
    // A beginning names its workflow, which is not in it.
    let begins = usize::from(append.seen == 0);
    let body = journal::skip_lines(&append.body, begins);
    let events = journal::decode(append.seen + 1, body).unwrap();
    events.iter().any(|entry| is(&entry.event))
}

#[async_trait]
impl Store for Interrupted {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        if holds(&append, |it| {
            matches!(it, Event::StepStarted { attempt: 2, .. })
        }) {
            self.interrupt(&append.run, When::SecondAttempt).await;
        }
        if holds(&append, |it| matches!(it, Event::Resumed { .. })) {
            self.interrupt(&append.run, When::TakenUp).await;
        }
        let (run, status) = (append.run.clone(), append.head.status);
        self.store.append(append).await?;
        if status == Status::Paused {
            self.interrupt(&run, When::Paused).await;
        }
        Ok(())
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<Chunk>, StoreFault> {
        self.store.read(run, after).await
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.document(digest).await
    }

    async fn runs(&self, filter: RunFilter) -> Result<Page, StoreFault> {
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

    async fn forget(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        self.store.forget(kind, keys).await
    }
}
