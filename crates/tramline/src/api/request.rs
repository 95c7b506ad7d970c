//! Requesting a run: its tool and input, its hooks, its answers.

use super::{Answer, Error, Event, Question, Run, RunOutcome, Step, Tramline};
use serde_json::Value as Json;
use std::pin::Pin;
use std::time::Duration;
use tramline_engine::RunHandle;
use tramline_expr::{Str, Value};
use tramline_workflow::journal::{BreakpointSet, NodeBreakpoint};

/// How long to wait for a dropped run to appear in the store before giving up on aborting it. A
/// start takes milliseconds; after this it failed.
const STARTED_TIMEOUT: Duration = Duration::from_secs(5);

/// A run to start. Await it to start the run and get its [`Run`].
#[must_use = "a run starts when it is awaited"]
pub struct StartRequest {
    tramline: Tramline,
    tool: String,
    input: Json,
    session: Option<Str>,
    watch: BreakpointSet,
}

impl StartRequest {
    pub(super) fn new(tramline: Tramline, tool: String, input: Json) -> Self {
        Self {
            tramline,
            tool,
            input,
            session: None,
            watch: BreakpointSet::default(),
        }
    }

    /// A label that groups runs.
    pub fn session(mut self, label: impl Into<Str>) -> Self {
        self.session = Some(label.into());
        self
    }

    /// Sets a breakpoint before this node.
    pub fn halt_at(mut self, node: impl Into<Str>) -> Self {
        self.watch.breaks.push(NodeBreakpoint::new(node, None));
        self
    }

    /// Sets a conditional breakpoint before this node: JSONata as text, or a JSON Logic rule.
    pub fn halt_when(mut self, node: impl Into<Str>, condition: impl Into<Json>) -> Self {
        let condition = Some(Value::from(condition.into()));
        self.watch.breaks.push(NodeBreakpoint::new(node, condition));
        self
    }

    /// Halts before every step.
    pub fn stepping(mut self) -> Self {
        self.watch.stepping = true;
        self
    }

    async fn start(self) -> Result<(Run, RunHandle), Error> {
        let (graph, origin) = self.tramline.find(&self.tool)?;
        let mut start = tramline_engine::RunStart::new(graph.clone(), self.input.into());
        start.session = self.session;
        start.origin = origin;
        start.watch = (self.watch != BreakpointSet::default()).then_some(self.watch);
        let handle = self.tramline.engine().start(start).await?;
        let run = Run::new(self.tramline, handle.run.clone(), graph);
        Ok((run, handle))
    }
}

impl Run {
    /// Waits until the start of this run is durable: from then on every process can find it.
    pub(super) async fn wait_until_started(&self, handle: RunHandle) -> Result<(), Error> {
        let driver = self.set_driver(handle);
        let mut events = self.engine().subscribe(self.id.clone(), 0);
        tokio::select! {
            first = events.next() => first.map(drop).map_err(Error::from),
            ended = driver.wait() => ended.map(drop).map_err(Error::Engine),
        }
    }
}

impl IntoFuture for StartRequest {
    type Output = Result<Run, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (run, handle) = self.start().await?;
            run.wait_until_started(handle).await?;
            Ok(run)
        })
    }
}

type Hook<T> = Option<Box<dyn FnMut(&T) + Send>>;
type AnswerFuture = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

/// A run to start and wait for. Await it to run it and get its [`RunOutcome`](super::RunOutcome).
///
/// Hooks receive durable events, in order, in the task that awaits. A slow hook does not slow the
/// run. Dropping the future does not end the run unless [`abort_on_drop`](Self::abort_on_drop) is set: it
/// continues and can be found by its id.
#[must_use = "a run starts when it is awaited"]
pub struct RunRequest {
    start: StartRequest,
    hooks: Hooks,
    answers: Option<Box<dyn FnMut(Question) -> AnswerFuture + Send>>,
    abort_on_drop: bool,
}

#[derive(Default)]
struct Hooks {
    step_start: Hook<Step>,
    step_finish: Hook<Step>,
    pause: Hook<Question>,
    finish: Hook<RunOutcome>,
}

impl RunRequest {
    pub(super) fn new(start: StartRequest) -> Self {
        Self {
            start,
            hooks: Hooks::default(),
            answers: None,
            abort_on_drop: false,
        }
    }

    /// A label that groups runs.
    pub fn session(mut self, label: impl Into<Str>) -> Self {
        self.start = self.start.session(label);
        self
    }

    /// Calls this when a step starts. A step that only computes starts and ends at once.
    pub fn on_step_start(mut self, hook: impl FnMut(&Step) + Send + 'static) -> Self {
        self.hooks.step_start = Some(Box::new(hook));
        self
    }

    /// Calls this when a step has ended, successfully or not.
    pub fn on_step_finish(mut self, hook: impl FnMut(&Step) + Send + 'static) -> Self {
        self.hooks.step_finish = Some(Box::new(hook));
        self
    }

    /// Calls this when the run pauses with a question.
    pub fn on_pause(mut self, hook: impl FnMut(&Question) + Send + 'static) -> Self {
        self.hooks.pause = Some(Box::new(hook));
        self
    }

    /// Calls this when the run has ended.
    pub fn on_finish(mut self, hook: impl FnMut(&RunOutcome) + Send + 'static) -> Self {
        self.hooks.finish = Some(Box::new(hook));
        self
    }

    /// Answers the run's questions; the run then continues. `None` leaves it waiting.
    pub fn answer_with<F>(mut self, mut answer: impl FnMut(Question) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Option<Answer>> + Send + 'static,
    {
        self.answers = Some(Box::new(move |question| Box::pin(answer(question))));
        self
    }

    /// Aborts the run if this future is dropped before the run has ended, for example by a timeout,
    /// a `select!` or a caller that disconnects.
    pub fn abort_on_drop(mut self) -> Self {
        self.abort_on_drop = true;
        self
    }

    async fn run(mut self) -> Result<RunOutcome, Error> {
        let (run, handle) = self.start.start().await?;
        let mut guard = AbortRunOnDrop(self.abort_on_drop.then(|| run.clone()));
        let ended = run_to_end(&run, handle, &mut self.hooks, &mut self.answers).await;
        guard.0 = None;
        ended
    }
}

impl IntoFuture for RunRequest {
    type Output = Result<RunOutcome, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Follows a run to its end: calls the hooks and requests answers until it ends or stays paused.
async fn run_to_end(
    run: &Run,
    handle: RunHandle,
    hooks: &mut Hooks,
    answers: &mut Option<Box<dyn FnMut(Question) -> AnswerFuture + Send>>,
) -> Result<RunOutcome, Error> {
    run.set_driver(handle);
    let mut follow = hooks.any().then(|| run.follow());
    loop {
        let ended = match &mut follow {
            None => run.wait().await?,
            Some(events) => {
                let ended = run.wait();
                tokio::pin!(ended);
                loop {
                    tokio::select! {
                        ended = &mut ended => break ended?,
                        event = events.next() => match event? {
                            Some(event) => hooks.call(&event),
                            None => break ended.await?,
                        },
                    }
                }
            }
        };
        if let Some(events) = &mut follow {
            let rest = events.drain().await?;
            rest.iter().for_each(|event| hooks.call(event));
        }
        if !answer_questions(run, &ended, answers).await? {
            return Ok(ended);
        }
    }
}

/// Requests answers to all open questions, and resumes the run if there is one.
async fn answer_questions(
    run: &Run,
    ended: &RunOutcome,
    answers: &mut Option<Box<dyn FnMut(Question) -> AnswerFuture + Send>>,
) -> Result<bool, Error> {
    let Some(answers) = answers else {
        return Ok(false);
    };
    let mut any = false;
    for question in ended.questions() {
        if let Some(answer) = answers(question.clone()).await {
            run.append_answer(&question.checkpoint, answer).await?;
            any = true;
        }
    }
    if any {
        run.ensure_driven().await?;
    }
    Ok(any)
}

impl Hooks {
    fn any(&self) -> bool {
        self.step_start.is_some()
            || self.step_finish.is_some()
            || self.pause.is_some()
            || self.finish.is_some()
    }

    fn call(&mut self, event: &Event) {
        match event {
            Event::StepStarted(step) => tell(&mut self.step_start, step),
            Event::StepFinished(step) => tell(&mut self.step_finish, step),
            Event::Paused(question) => tell(&mut self.pause, question),
            Event::Finished(ended) => tell(&mut self.finish, ended),
        }
    }
}

fn tell<T>(hook: &mut Hook<T>, what: &T) {
    if let Some(hook) = hook {
        hook(what);
    }
}

/// Aborts a run whose future was dropped.
struct AbortRunOnDrop(Option<Run>);

impl Drop for AbortRunOnDrop {
    fn drop(&mut self) {
        let (Some(run), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            // A run that is not in the store yet cannot be aborted.
            let mut events = run.engine().subscribe(run.id.clone(), 0);
            let _ = tokio::time::timeout(STARTED_TIMEOUT, events.next()).await;
            // The run may have ended meanwhile, which is fine.
            let _ = run.abort(Some("its caller stopped waiting")).await;
        });
    }
}
