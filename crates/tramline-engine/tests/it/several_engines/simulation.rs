//! Three simulated processes, their tools, and what happens to them.

use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tramline_engine::ports::{Exchange, ServerTools, Tool, ToolCallRequest, ToolHints, Tools};
use tramline_engine::testing::MemoryStore;
use tramline_engine::{Engine, EngineOptions, Fault, PauseAnswer, Respondent, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::{Graph, Patch};
use tramline_workflow::ids::{Checkpoint, RunId, Seq, StepNo, ToolName};
use tramline_workflow::journal::{Answer, Pause};
use tramline_workflow::workflow::{Action, Edge, Join, Node, Template, UnhandledFailure, Workflow};

/// How many processes are alive at a time.
const PROCESSES: usize = 3;
/// More scheduler turns than anything takes that does not wait for input.
const TURNS_MAX: usize = 4_000;
/// More rounds of answers than a run has pauses.
const ROUNDS_MAX: usize = 200;

/// The input of a history.
#[derive(Clone, Debug)]
pub(super) struct SimulationPlan {
    /// For each task: which earlier ones it depends on (as bits), whether its call is
    /// non-repeatable, and whether it needs approval.
    pub(super) tasks: Vec<(u8, bool, bool)>,
    pub(super) moves: Vec<u32>,
    pub(super) seed: u64,
}

impl SimulationPlan {
    fn graph(&self) -> Arc<Graph> {
        let mut edges = Vec::new();
        let nodes = self.tasks.iter().enumerate();
        let nodes = nodes.map(|(at, &(before, once, asks))| {
            let before = (0..at).filter(|first| before & (1 << first) != 0);
            edges.extend(before.map(|first| Edge::new(name(first), name(at))));
            task(&name(at), if once { "work" } else { "look" }, asks)
        });
        let workflow = Workflow {
            name: "tasks".into(),
            nodes: nodes.collect(),
            edges,
            unhandled: UnhandledFailure::SkipsDependents,
            ..Workflow::default()
        };
        Arc::new(Graph::build(workflow).unwrap().0)
    }
}

fn name(task: usize) -> String {
    format!("n{task}")
}

fn task(id: &str, tool: &str, asks: bool) -> Node {
    let arguments = Template::Literal(Value::object([("task", id.into())]));
    let tool = ToolName::new("t", tool);
    Node {
        join: Join::All,
        approval: asks.then(|| "may it?".into()),
        ..Node::new(id, Action::Call { tool, arguments })
    }
}

/// A call that was sent: its key and its task.
#[derive(Clone, Debug)]
pub(super) struct SentCall {
    pub(super) key: Str,
    pub(super) task: Str,
    pub(super) once: bool,
}

/// The outside world, shared by the calls of all processes.
#[derive(Debug)]
struct OutsideWorld {
    left: Mutex<Vec<SentCall>>,
    /// The tasks whose non-repeatable calls were abandoned by a live process.
    given_up: Mutex<Vec<Str>>,
    /// Calls end when they get one of these permits.
    ends: Semaphore,
    /// How many of the next results are lost: the call was executed and its answer never arrived.
    losses: Mutex<u32>,
}

/// The tools of one process. A crashed process sends nothing.
struct OwnTools {
    store: MemoryStore,
    outside: Arc<OutsideWorld>,
}

fn tool(name: &ToolName) -> Arc<Tool> {
    Arc::new(Tool {
        name: name.clone(),
        title: None,
        description: None,
        input_schema: Value::Bool(true),
        output_schema: None,
        hints: ToolHints {
            read_only: Some(name.tool == "look"),
            ..ToolHints::default()
        },
    })
}

#[async_trait]
impl Tools for OwnTools {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        Some(tool(name))
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        Ok(tool(name))
    }

    async fn list(&self) -> Vec<ServerTools> {
        Vec::new()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        if self.store.is_dead() {
            return std::future::pending().await;
        }
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").into();
        let once = call.tool.tool == "work";
        self.outside.left.lock().unwrap().push(SentCall {
            key: call.key.clone(),
            task: text(call.arguments.get("task")),
            once,
        });
        tokio::select! {
            () = call.cancel.cancelled() => {
                // A repeatable call is sent before it is durable, and may have been in vain.
                if once && !self.store.is_dead() {
                    let task = text(call.arguments.get("task"));
                    self.outside.given_up.lock().unwrap().push(task);
                }
                let failure = Failure::new(FailureKind::Cancelled, "it was cancelled");
                return Err(failure.after_sending());
            }
            permit = self.outside.ends.acquire() => permit.unwrap().forget(),
        }
        let lost = {
            let mut losses = self.outside.losses.lock().unwrap();
            let lost = *losses > 0;
            *losses = losses.saturating_sub(1);
            lost
        };
        match lost {
            true => {
                let failure = Failure::new(FailureKind::Unavailable, "its server was lost");
                Err(failure.after_sending())
            }
            false => Ok(Value::object([(
                "did",
                text(call.arguments.get("task")).into(),
            )])),
        }
    }
}

/// The replies of processes to their callers.
#[derive(Clone, Debug, Default)]
pub(super) struct Replies {
    /// Answers that were accepted: the pause and the respondent.
    pub(super) taken: Vec<(Seq, String)>,
    /// Answers that were rejected: the respondent and the reason.
    pub(super) refused: Vec<(String, String)>,
    /// Replies that no process may give, whatever the others do.
    pub(super) wrong: Vec<String>,
}

impl Replies {
    /// Records a reply that only has to be plausible.
    fn note<T>(&mut self, reply: &Result<T, Fault>) {
        match reply {
            Ok(_)
            | Err(
                Fault::Store(_)
                | Fault::NotFound(_)
                | Fault::Elsewhere { .. }
                | Fault::Ended { .. }
                | Fault::Stale { .. },
            ) => {}
            Err(fault) => self.wrong.push(fault.to_string()),
        }
    }

    fn note_answer<T>(&mut self, pause: Seq, by: String, reply: &Result<T, Fault>) {
        self.note(reply);
        match reply {
            Ok(_) => self.taken.push((pause, by)),
            Err(fault @ (Fault::Ended { .. } | Fault::Stale { .. })) => {
                self.refused.push((by, fault.to_string()));
            }
            // It crashed or was overtaken, before or after the answer was appended.
            Err(_) => {}
        }
    }
}

struct Process {
    store: MemoryStore,
    engine: Engine,
}

/// One history.
pub(super) struct Simulation {
    plan: SimulationPlan,
    pub(super) claims_are_lost: bool,
    disk: MemoryStore,
    outside: Arc<OutsideWorld>,
    processes: Vec<Process>,
    pub(super) run: RunId,
    added: usize,
    answers: usize,
    replies: Arc<Mutex<Replies>>,
    under_way: Vec<JoinHandle<()>>,
    /// Reads and never crashes.
    pub(super) reader: Engine,
}

impl Simulation {
    pub(super) async fn new(plan: SimulationPlan, claims_are_lost: bool) -> Self {
        let disk = MemoryStore::new();
        let outside = Arc::new(OutsideWorld {
            left: Mutex::default(),
            given_up: Mutex::default(),
            ends: Semaphore::new(0),
            losses: Mutex::new(0),
        });
        let reader = process(&disk, &outside, 0).engine;
        let processes: Vec<_> = (0..PROCESSES as u64)
            .map(|at| process(&disk, &outside, plan.seed.wrapping_add(at)))
            .collect();
        let start = RunStart::new(plan.graph(), Value::Null);
        let handle = processes[0].engine.start(start).await.unwrap();
        let run = handle.run.clone();
        drop(handle);
        let mut world = Self {
            plan,
            claims_are_lost,
            disk,
            outside,
            processes,
            run,
            added: 0,
            answers: 0,
            replies: Arc::default(),
            under_way: Vec::new(),
            reader,
        };
        // The first process starts with a cached run, about half of the time.
        world.turns(20).await;
        world
    }

    /// The calls sent so far.
    pub(super) fn left(&self) -> Vec<SentCall> {
        self.outside.left.lock().unwrap().clone()
    }

    /// The tasks whose non-repeatable calls were abandoned by a live process.
    pub(super) fn given_up(&self) -> Vec<Str> {
        self.outside.given_up.lock().unwrap().clone()
    }

    /// The replies so far.
    pub(super) fn replies(&self) -> Replies {
        self.replies.lock().unwrap().clone()
    }

    async fn turns(&mut self, count: u32) {
        for _ in 0..count {
            tokio::task::yield_now().await;
        }
        self.under_way.retain(|task| !task.is_finished());
    }

    pub(super) async fn live(&mut self) {
        for number in self.plan.moves.clone() {
            self.happen(number).await;
            self.turns(number >> 26).await;
        }
    }

    async fn happen(&mut self, number: u32) {
        let who = (number >> 4) as usize % PROCESSES;
        let which = (number >> 8) as usize;
        match number % 16 {
            0..=3 => self.answers(who, which, true).await,
            4 | 5 => self.answers(who, which, false).await,
            6 | 7 => self.resumes(who),
            8 | 9 => self.outside.ends.add_permits(1 + which % 3),
            10 => {
                *self.outside.losses.lock().unwrap() += 1;
                self.outside.ends.add_permits(1);
            }
            11 => self.dies(who),
            12 => {
                let appends = 1 + which as u64 % 3;
                match which & 8 {
                    0 => self.processes[who].store.crash_after(appends),
                    _ => self.processes[who].store.crash_unanswered(appends),
                }
            }
            13 => self.grows(who),
            14 if which.is_multiple_of(16) => {
                let (engine, run) = self.named(who);
                let replies = Arc::clone(&self.replies);
                self.begin(async move {
                    let reply = engine.abort(&run, "somebody".into(), None).await;
                    replies.lock().unwrap().note(&reply);
                });
            }
            14 if self.claims_are_lost => self.processes[who].store.lose_claims(),
            _ => self.dies_in_a_call(who, which).await,
        }
    }

    /// Another process resumes the run and crashes in the middle of its work, and this one answers
    /// something else from its stale state.
    async fn dies_in_a_call(&mut self, who: usize, which: usize) {
        self.revive();
        if which & 1 == 0 {
            // If it reaches a pause, it caches the run.
            self.resumes(who);
            self.turns(40).await;
        }
        let other = (who + 1 + which % (PROCESSES - 1)) % PROCESSES;
        self.answers(other, which, true).await;
        self.turns(40).await;
        self.dies(other);
        self.answers(who, which + 1, true).await;
    }

    fn resumes(&mut self, who: usize) {
        let (engine, run) = self.named(who);
        let replies = Arc::clone(&self.replies);
        self.begin(async move {
            let reply = match engine.resume(&run).await {
                Ok(handle) => handle.wait().await.map(drop),
                Err(fault) => Err(fault),
            };
            replies.lock().unwrap().note(&reply);
        });
    }

    fn named(&self, who: usize) -> (Engine, RunId) {
        (self.processes[who].engine.clone(), self.run.clone())
    }

    fn begin(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.under_way.push(tokio::spawn(work));
    }

    fn dies(&mut self, who: usize) {
        self.processes[who].store.kill();
        self.revive();
    }

    /// Starts new processes in place of crashed ones.
    fn revive(&mut self) {
        for process in &mut self.processes {
            if process.store.is_dead() {
                let seed = self.plan.seed.wrapping_mul(31);
                *process = self::process(&self.disk, &self.outside, seed);
            }
        }
    }

    fn grows(&mut self, who: usize) {
        self.added += 1;
        let id = format!("more{}", self.added);
        let patch = Patch {
            nodes: vec![task(&id, "work", self.added.is_multiple_of(2))],
            edges: vec![Edge::new(name(0), id)],
        };
        let (engine, run) = self.named(who);
        self.begin(async move {
            let _ = engine.amend(&run, patch, "somebody".into()).await;
        });
    }

    /// Answers one of the pending pauses, from what this process knows or by an append.
    async fn answers(&mut self, who: usize, which: usize, drives: bool) {
        let Some((seq, answer)) = self.truth(which).await else {
            return;
        };
        let (engine, run) = self.named(who);
        let replies = Arc::clone(&self.replies);
        self.answers += 1;
        let name = format!("person {}", self.answers);
        self.begin(async move {
            let by = name.as_str().into();
            let reply = match drives {
                true => drive_on(&engine, &run, (seq, answer), by).await,
                false => {
                    let asked = Checkpoint { run, seq };
                    engine.answer(&asked, answer, by, None).await
                }
            };
            replies.lock().unwrap().note_answer(seq, name, &reply);
        });
    }

    /// A pending pause with a truthful answer.
    async fn truth(&self, which: usize) -> Option<(Seq, Answer)> {
        let loaded = match self.reader.load(&self.run).await {
            Ok(loaded) => loaded,
            Err(Fault::NotFound(_)) => return None,
            Err(fault) => panic!("{fault}"),
        };
        let pauses = &loaded.run.pauses;
        let (&seq, pause) = pauses.iter().nth(which % pauses.len().max(1))?;
        let answer = match pause {
            Pause::InDoubt { step, .. } => self.happened(*step),
            _ => Answer::Proceed,
        };
        Some((seq, answer))
    }

    fn happened(&self, step: StepNo) -> Answer {
        let key = format!("{}/{step}", self.run);
        let left = self.left().into_iter().find(|left| left.key == *key);
        match left {
            Some(left) => Answer::Skip {
                output: left.task.into(),
            },
            // A process that lost its claim may still be about to call.
            None if self.claims_are_lost => Answer::Skip {
                output: "nobody knows".into(),
            },
            None => Answer::Retry,
        }
    }

    /// All processes but the last one crash; that one drives the run to its end.
    pub(super) async fn end(&mut self) {
        for process in &self.processes {
            process.store.kill();
        }
        for task in self.under_way.drain(..) {
            task.abort();
        }
        self.outside.ends.add_permits(Semaphore::MAX_PERMITS / 2);
        *self.outside.losses.lock().unwrap() = 0;
        let last = process(&self.disk, &self.outside, 7).engine;
        for _ in 0..ROUNDS_MAX {
            let loaded = match last.load(&self.run).await {
                Ok(loaded) => loaded,
                // It crashed before anything was written.
                Err(Fault::NotFound(_)) => return,
                Err(fault) => panic!("{fault}"),
            };
            if loaded.run.outcome.is_some() {
                return;
            }
            let handle = match self.truth(0).await {
                Some((pause, answer)) => {
                    let (by, why) = ("somebody".into(), None);
                    let said = PauseAnswer {
                        pause,
                        answer,
                        by,
                        why,
                    };
                    last.answer_and_resume(&self.run, vec![said])
                        .await
                        .unwrap()
                        .unwrap()
                }
                None => last.resume(&self.run).await.unwrap(),
            };
            let ended = tokio::time::timeout(Duration::from_secs(3_600), handle.wait());
            ended.await.expect("the run did not end in time").unwrap();
        }
        panic!("the run did not end after {ROUNDS_MAX} rounds ({TURNS_MAX} turns each)");
    }
}

/// Answers a pause and drives the run until it ends or pauses.
async fn drive_on(
    engine: &Engine,
    run: &RunId,
    (pause, answer): (Seq, Answer),
    by: Respondent,
) -> Result<(), Fault> {
    let said = PauseAnswer {
        pause,
        answer,
        by,
        why: None,
    };
    match engine.answer_and_resume(run, vec![said]).await? {
        Some(handle) => handle.wait().await.map(drop),
        None => Ok(()),
    }
}

fn process(disk: &MemoryStore, outside: &Arc<OutsideWorld>, seed: u64) -> Process {
    let store = disk.process();
    if seed > 0 {
        store.set_yield_seed(seed);
    }
    let tools = OwnTools {
        store: store.clone(),
        outside: Arc::clone(outside),
    };
    let engine = Engine::new(
        Arc::new(store.clone()),
        Arc::new(tools),
        EngineOptions::default(),
    );
    Process { store, engine }
}
