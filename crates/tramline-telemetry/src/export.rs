//! Spans and metrics on their way to a receiver: a bounded queue, and one thread that empties it.
//!
//! Nobody who runs a workflow ever waits here. A receiver that is slow or away costs spans, which
//! are counted, and one warning, however long it lasts.

mod post;

use crate::metrics::Metrics;
use crate::otlp::{self, Message, Resource, Span};
use crate::settings::{Pushed, Receiver, Settings, Traces};
use post::{Post, Went};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// How long the end of a program waits for what is not sent yet.
const CLOSE_MAX: Duration = Duration::from_secs(3);
/// How often the thread looks up if it has nothing to wait for.
const IDLE: Duration = Duration::from_secs(60);

/// Says something to whoever runs the program.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// What waits to be sent.
pub(crate) struct Exporter {
    shared: Arc<Shared>,
    done: watch::Receiver<bool>,
}

struct Shared {
    queue: Mutex<Queue>,
    word: Condvar,
    /// Rung when nobody sends any more.
    over: Condvar,
    most: usize,
    /// So many are worth waking the thread for.
    batch: usize,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Queue {
    /// What is sent together, all but the last of them full.
    batches: VecDeque<Batch>,
    /// How many spans there are in all.
    spans: usize,
    closing: bool,
    /// Whether nobody sends any more.
    over: bool,
}

/// Spans as they are sent, one behind the other.
#[derive(Default)]
struct Batch {
    written: Message,
    spans: usize,
}

/// What the thread works with.
struct Sender {
    shared: Arc<Shared>,
    traces: Option<Traces>,
    pushed: Option<Pushed>,
    resource: Resource,
    began: SystemTime,
    post: Post,
}

impl Exporter {
    /// Begins to send, if there is a receiver. Nothing if there is none, or no thread to be had.
    pub(crate) fn open(settings: &Settings, metrics: &Arc<Metrics>, say: Say) -> Option<Self> {
        if settings.traces.is_none() && settings.metrics.is_none() {
            return None;
        }
        let traces = settings.traces.clone();
        let (most, batch) = traces.as_ref().map_or((0, 0), |it| (it.queue, it.batch));
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            word: Condvar::new(),
            over: Condvar::new(),
            most,
            batch,
            metrics: Arc::clone(metrics),
        });
        let sender = Sender {
            shared: Arc::clone(&shared),
            traces,
            pushed: settings.metrics.clone(),
            resource: Resource(settings.resource.clone()),
            began: SystemTime::now(),
            post: Post::new(say.clone()),
        };
        let (tell, done) = watch::channel(false);
        let thread = std::thread::Builder::new().name("telemetry".into());
        let spawned = thread.spawn(move || {
            let shared = Arc::clone(&sender.shared);
            sender.work();
            shared.queue().over = true;
            shared.over.notify_all();
            tell.send_replace(true);
        });
        match spawned {
            Ok(_) => Some(Self { shared, done }),
            Err(error) => {
                say(&format!(
                    "telemetry is off, the system gives no thread: {error}"
                ));
                None
            }
        }
    }

    /// Queues a span; one too many is dropped and counted.
    pub(crate) fn push(&self, span: &Span) {
        let mut queue = self.shared.queue();
        if queue.closing || queue.spans >= self.shared.most {
            drop(queue);
            self.shared.dropped(1);
            return;
        }
        if queue.put(span, self.shared.batch) {
            self.shared.word.notify_one();
        }
    }

    /// Sends what is left, for a while.
    pub(crate) async fn close(&self) {
        self.shared.queue().closing = true;
        self.shared.word.notify_one();
        let mut done = self.done.clone();
        let _ = tokio::time::timeout(CLOSE_MAX, done.wait_for(|done| *done)).await;
    }
}

/// Whoever ends without a word still gets sent what it did: a command that fails half-way is the one
/// that is looked for.
impl Drop for Exporter {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        // Who closed it has waited.
        if std::mem::replace(&mut queue.closing, true) {
            return;
        }
        self.shared.word.notify_one();
        let waits = |queue: &mut Queue| !queue.over;
        let _ = self.shared.over.wait_timeout_while(queue, CLOSE_MAX, waits);
    }
}

impl Queue {
    /// Takes a span in. True if that made the first batch full.
    fn put(&mut self, span: &Span, full: usize) -> bool {
        self.spans += 1;
        let batch = match self.batches.back_mut().filter(|last| last.spans < full) {
            Some(last) => last,
            None => self.batches.push_back_mut(Batch::default()),
        };
        span.write_behind(&mut batch.written);
        batch.spans += 1;
        self.spans == full
    }

    /// Takes out what is sent next.
    fn take(&mut self) -> Batch {
        let batch = self.batches.pop_front().unwrap_or_default();
        self.spans -= batch.spans;
        batch
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dropped(&self, spans: usize) {
        self.metrics.dropped.add(&[], spans as u64);
    }

    fn is_closing(&self) -> bool {
        self.queue().closing
    }
}

impl Sender {
    fn work(mut self) {
        let delay = self.traces.as_ref().map_or(IDLE, |traces| traces.delay);
        let mut push_at = self
            .pushed
            .as_ref()
            .map(|pushed| Instant::now() + pushed.every);
        loop {
            let (batch, closing, rest) = self.gather(delay, push_at);
            if batch.spans > 0 {
                self.export(&batch);
            }
            if push_at.is_some_and(|at| at <= Instant::now() || closing) {
                self.push();
                push_at = self
                    .pushed
                    .as_ref()
                    .map(|pushed| Instant::now() + pushed.every);
            }
            if closing && rest == 0 {
                return;
            }
        }
    }

    /// Waits for a batch, for the time that spans wait, or for the end.
    fn gather(&self, delay: Duration, push_at: Option<Instant>) -> (Batch, bool, usize) {
        let until = Instant::now() + delay;
        let until = push_at.map_or(until, |at| at.min(until));
        let mut queue = self.shared.queue();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let full = self.shared.batch > 0 && queue.spans >= self.shared.batch;
            if queue.closing || full || left.is_zero() {
                return (queue.take(), queue.closing, queue.spans);
            }
            let waited = self.shared.word.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn export(&mut self, batch: &Batch) {
        let Some(traces) = &self.traces else {
            return;
        };
        let body = otlp::spans(&self.resource, &batch.written);
        let (to, patience) = (traces.to.clone(), traces.patience);
        if self.send(&to, body, patience) != Went::Arrived {
            self.shared.dropped(batch.spans);
        }
    }

    fn push(&mut self) {
        let Some(pushed) = &self.pushed else {
            return;
        };
        let nanos = |at: SystemTime| {
            let since = at.duration_since(SystemTime::UNIX_EPOCH);
            u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
        };
        let (began, now) = (nanos(self.began), nanos(SystemTime::now()));
        let body = otlp::metrics(&self.resource, &self.shared.metrics, began, now);
        let (to, patience) = (pushed.to.clone(), pushed.to.timeout);
        self.send(&to, body, patience);
    }

    fn send(&mut self, to: &Receiver, body: Vec<u8>, patience: Duration) -> Went {
        let shared = Arc::clone(&self.shared);
        self.post.send(to, body, patience, &|| shared.is_closing())
    }
}

#[cfg(test)]
mod tests;
