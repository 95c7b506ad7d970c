//! Asking for a run: what to run and with what, who is told of it, who answers for it.

use super::{Answer, Ended, Error, Event, Question, Run, Step, Tramline};
use serde_json::Value as Json;
use std::pin::Pin;
use std::time::Duration;
use tramline_core::journal::{Break, Watch};
use tramline_core::{Str, Value};
use tramline_engine::Handle;

/// A run that is dropped as it begins is in the store after so long, or never will be.
const BEGUN_MAX: Duration = Duration::from_secs(5);

/// A run that is to be begun. Await it to begin it and get a [`Run`] to wait for and steer.
#[must_use = "a run begins when it is awaited"]
pub struct Start {
    tramline: Tramline,
    tool: String,
    input: Json,
    session: Option<Str>,
    watch: Watch,
}

impl Start {
    pub(super) fn new(tramline: Tramline, tool: String, input: Json) -> Self {
        Self {
            tramline,
            tool,
            input,
            session: None,
            watch: Watch::default(),
        }
    }

    /// A label that groups runs.
    pub fn session(mut self, label: impl Into<Str>) -> Self {
        self.session = Some(label.into());
        self
    }

    /// Halts before this node.
    pub fn halt_at(mut self, node: impl Into<Str>) -> Self {
        let node = node.into();
        let condition = None;
        self.watch.breaks.push(Break { node, condition });
        self
    }

    /// Halts before this node when this holds: JSONata as text, or a JSON Logic rule.
    pub fn halt_when(mut self, node: impl Into<Str>, condition: impl Into<Json>) -> Self {
        let node = node.into();
        let condition = Some(Value::from(condition.into()));
        self.watch.breaks.push(Break { node, condition });
        self
    }

    /// Halts before every step.
    pub fn stepping(mut self) -> Self {
        self.watch.stepping = true;
        self
    }

    async fn begin(self) -> Result<(Run, Handle), Error> {
        let (graph, origin) = self.tramline.find(&self.tool)?;
        let mut start = tramline_engine::Start::new(graph.clone(), self.input.into());
        start.session = self.session;
        start.origin = origin;
        start.watch = (self.watch != Watch::default()).then_some(self.watch);
        let handle = self.tramline.engine().start(start).await?;
        let run = Run::new(self.tramline, handle.run.clone(), graph);
        Ok((run, handle))
    }
}

impl Run {
    /// Waits until the beginning of this run is durable: from then on every process can find it.
    pub(super) async fn begun(&self, handle: Handle) -> Result<(), Error> {
        let driver = self.driven_by(handle);
        let mut events = self.engine().subscribe(self.id.clone(), 0);
        tokio::select! {
            first = events.next() => first.map(drop).map_err(Error::from),
            ended = driver.ended() => ended.map(drop).map_err(Error::Engine),
        }
    }
}

impl IntoFuture for Start {
    type Output = Result<Run, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (run, handle) = self.begin().await?;
            run.begun(handle).await?;
            Ok(run)
        })
    }
}

type Told<T> = Option<Box<dyn FnMut(&T) + Send>>;
type Asking = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

/// A run that is to be begun and waited for. Await it to run it and get how it [`Ended`].
///
/// Hooks are told what is durable, in order, in the task that awaits. A slow hook does not slow the
/// run. Dropping the future does not end the run, unless [`Request::abort_on_drop`] says so: it
/// goes on and can be found by its id.
#[must_use = "a run begins when it is awaited"]
pub struct Request {
    start: Start,
    hooks: Hooks,
    answers: Option<Box<dyn FnMut(Question) -> Asking + Send>>,
    abort_on_drop: bool,
}

#[derive(Default)]
struct Hooks {
    step_start: Told<Step>,
    step_finish: Told<Step>,
    pause: Told<Question>,
    finish: Told<Ended>,
}

impl Request {
    pub(super) fn new(start: Start) -> Self {
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

    /// Calls this when a step begins. One that only computes begins and ends in one moment.
    pub fn on_step_start(mut self, hook: impl FnMut(&Step) + Send + 'static) -> Self {
        self.hooks.step_start = Some(Box::new(hook));
        self
    }

    /// Calls this when a step has ended, well or not.
    pub fn on_step_finish(mut self, hook: impl FnMut(&Step) + Send + 'static) -> Self {
        self.hooks.step_finish = Some(Box::new(hook));
        self
    }

    /// Calls this when the run asks something.
    pub fn on_pause(mut self, hook: impl FnMut(&Question) + Send + 'static) -> Self {
        self.hooks.pause = Some(Box::new(hook));
        self
    }

    /// Calls this when the run has ended.
    pub fn on_finish(mut self, hook: impl FnMut(&Ended) + Send + 'static) -> Self {
        self.hooks.finish = Some(Box::new(hook));
        self
    }

    /// Answers what the run asks, and the run goes on. `None` leaves it waiting.
    pub fn answer_with<F>(mut self, mut answer: impl FnMut(Question) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Option<Answer>> + Send + 'static,
    {
        self.answers = Some(Box::new(move |question| Box::pin(answer(question))));
        self
    }

    /// Aborts the run if this future is dropped before the run has ended: by a time-out, a
    /// `select!`, a caller that went away.
    pub fn abort_on_drop(mut self) -> Self {
        self.abort_on_drop = true;
        self
    }

    async fn run(mut self) -> Result<Ended, Error> {
        let (run, handle) = self.start.begin().await?;
        let mut guard = Guard(self.abort_on_drop.then(|| run.clone()));
        let ended = conduct(&run, handle, &mut self.hooks, &mut self.answers).await;
        guard.0 = None;
        ended
    }
}

impl IntoFuture for Request {
    type Output = Result<Ended, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Sees a run through: tells the hooks, asks for answers, until it ends or stays paused.
async fn conduct(
    run: &Run,
    handle: Handle,
    hooks: &mut Hooks,
    answers: &mut Option<Box<dyn FnMut(Question) -> Asking + Send>>,
) -> Result<Ended, Error> {
    run.driven_by(handle);
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
                            Some(event) => hooks.tell(&event),
                            None => break ended.await?,
                        },
                    }
                }
            }
        };
        if let Some(events) = &mut follow {
            let rest = events.rest().await?;
            rest.iter().for_each(|event| hooks.tell(event));
        }
        if !answered(run, &ended, answers).await? {
            return Ok(ended);
        }
    }
}

/// Asks for answers to all that a run waits for, and goes on if there is one.
async fn answered(
    run: &Run,
    ended: &Ended,
    answers: &mut Option<Box<dyn FnMut(Question) -> Asking + Send>>,
) -> Result<bool, Error> {
    let Some(answers) = answers else {
        return Ok(false);
    };
    let mut any = false;
    for question in ended.questions() {
        if let Some(answer) = answers(question.clone()).await {
            run.say(&question.checkpoint, answer).await?;
            any = true;
        }
    }
    if any {
        run.drive_on().await?;
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

    fn tell(&mut self, event: &Event) {
        match event {
            Event::StepStarted(step) => tell(&mut self.step_start, step),
            Event::StepFinished(step) => tell(&mut self.step_finish, step),
            Event::Asked(question) => tell(&mut self.pause, question),
            Event::Finished(ended) => tell(&mut self.finish, ended),
        }
    }
}

fn tell<T>(hook: &mut Told<T>, what: &T) {
    if let Some(hook) = hook {
        hook(what);
    }
}

/// Aborts a run that nobody waits for any more.
struct Guard(Option<Run>);

impl Drop for Guard {
    fn drop(&mut self) {
        let (Some(run), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            // What is not in the store yet cannot be aborted.
            let mut events = run.engine().subscribe(run.id.clone(), 0);
            let _ = tokio::time::timeout(BEGUN_MAX, events.next()).await;
            // It may have ended meanwhile, which is as good.
            let _ = run.abort(Some("nobody waits for it any more")).await;
        });
    }
}
