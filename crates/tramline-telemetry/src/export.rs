//! The exporter: a bounded queue of spans, and one thread that sends them and the metrics to a receiver.
//!
//! Runs never wait here. A slow or unreachable receiver costs spans, which are counted, and one warning, however long
//! the problem lasts.

mod http_sender;

use crate::metrics::Metrics;
use crate::otlp::{self, OtlpSpan, ProtoMessage, Resource};
use crate::settings::{MetricExport, OtlpReceiver, TelemetrySettings, TraceExport};
use http_sender::{HttpSender, SendResult};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// How long a program's exit waits for unsent spans.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How often the thread wakes up if it has nothing to wait for.
const IDLE_WAIT: Duration = Duration::from_secs(60);

/// Shows a message to the operator.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// The queue of unsent spans.
pub(crate) struct Exporter {
    shared: Arc<ExportState>,
    done: watch::Receiver<bool>,
}

struct ExportState {
    queue: Mutex<SpanQueue>,
    wakeup: Condvar,
    /// Notified when the sending thread has ended.
    ended: Condvar,
    capacity: usize,
    /// Number of queued spans at which the thread is woken.
    batch: usize,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct SpanQueue {
    /// Batches to send; all but the last are full.
    batches: VecDeque<SpanBatch>,
    /// Number of spans in all batches.
    spans: usize,
    closing: bool,
    /// Whether the sending thread has ended.
    ended: bool,
}

/// Encoded spans that are sent together.
#[derive(Default)]
struct SpanBatch {
    written: ProtoMessage,
    spans: usize,
}

/// The state of the sending thread.
struct ExportThread {
    shared: Arc<ExportState>,
    traces: Option<TraceExport>,
    metrics: Option<MetricExport>,
    resource: Resource,
    began: SystemTime,
    post: HttpSender,
}

impl Exporter {
    /// Starts to export if there is a receiver. `None` if there is none, or if the thread cannot be started.
    pub(crate) fn open(
        settings: &TelemetrySettings,
        metrics: &Arc<Metrics>,
        say: Notify,
    ) -> Option<Self> {
        if settings.traces.is_none() && settings.metrics.is_none() {
            return None;
        }
        let traces = settings.traces.clone();
        let (most, batch) = traces.as_ref().map_or((0, 0), |it| (it.queue, it.batch));
        let shared = Arc::new(ExportState {
            queue: Mutex::default(),
            wakeup: Condvar::new(),
            ended: Condvar::new(),
            capacity: most,
            batch,
            metrics: Arc::clone(metrics),
        });
        let sender = ExportThread {
            shared: Arc::clone(&shared),
            traces,
            metrics: settings.metrics.clone(),
            resource: Resource(settings.resource.clone()),
            began: SystemTime::now(),
            post: HttpSender::new(say.clone()),
        };
        let (tell, done) = watch::channel(false);
        let thread = std::thread::Builder::new().name("telemetry".into());
        let spawned = thread.spawn(move || {
            let shared = Arc::clone(&sender.shared);
            sender.run();
            shared.queue().ended = true;
            shared.ended.notify_all();
            tell.send_replace(true);
        });
        match spawned {
            Ok(_) => Some(Self { shared, done }),
            Err(error) => {
                say(&format!(
                    "telemetry is off, cannot start its thread: {error}"
                ));
                None
            }
        }
    }

    /// Queues a span. If the queue is full, the span is dropped and counted.
    pub(crate) fn push(&self, span: &OtlpSpan) {
        let mut queue = self.shared.queue();
        if queue.closing || queue.spans >= self.shared.capacity {
            drop(queue);
            self.shared.dropped(1);
            return;
        }
        if queue.put(span, self.shared.batch) {
            self.shared.wakeup.notify_one();
        }
    }

    /// Sends the remaining spans, for at most `CLOSE_MAX`.
    pub(crate) async fn close(&self) {
        self.shared.queue().closing = true;
        self.shared.wakeup.notify_one();
        let mut done = self.done.clone();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, done.wait_for(|done| *done)).await;
    }
}

/// A program that exits without `close` still exports its spans: a command that fails half-way is the one to look for.
impl Drop for Exporter {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        // `close` has already waited.
        if std::mem::replace(&mut queue.closing, true) {
            return;
        }
        self.shared.wakeup.notify_one();
        let waits = |queue: &mut SpanQueue| !queue.ended;
        let _ = self
            .shared
            .ended
            .wait_timeout_while(queue, CLOSE_TIMEOUT, waits);
    }
}

impl SpanQueue {
    /// Adds a span. Returns true if that filled the first batch.
    fn put(&mut self, span: &OtlpSpan, full: usize) -> bool {
        self.spans += 1;
        let batch = match self.batches.back_mut().filter(|last| last.spans < full) {
            Some(last) => last,
            None => self.batches.push_back_mut(SpanBatch::default()),
        };
        span.append_to(&mut batch.written);
        batch.spans += 1;
        self.spans == full
    }

    /// Takes the next batch to send.
    fn take(&mut self) -> SpanBatch {
        let batch = self.batches.pop_front().unwrap_or_default();
        self.spans -= batch.spans;
        batch
    }
}

impl ExportState {
    fn queue(&self) -> MutexGuard<'_, SpanQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dropped(&self, spans: usize) {
        self.metrics.dropped.add(&[], spans as u64);
    }

    fn is_closing(&self) -> bool {
        self.queue().closing
    }
}

impl ExportThread {
    fn run(mut self) {
        let delay = self
            .traces
            .as_ref()
            .map_or(IDLE_WAIT, |traces| traces.delay);
        let mut push_at = self
            .metrics
            .as_ref()
            .map(|pushed| Instant::now() + pushed.interval);
        loop {
            let (batch, closing, rest) = self.wait_for_batch(delay, push_at);
            if batch.spans > 0 {
                self.export(&batch);
            }
            if push_at.is_some_and(|at| at <= Instant::now() || closing) {
                self.push_metrics();
                push_at = self
                    .metrics
                    .as_ref()
                    .map(|pushed| Instant::now() + pushed.interval);
            }
            if closing && rest == 0 {
                return;
            }
        }
    }

    /// Waits for a full batch, for the export delay, or for the end.
    fn wait_for_batch(
        &self,
        delay: Duration,
        push_at: Option<Instant>,
    ) -> (SpanBatch, bool, usize) {
        let until = Instant::now() + delay;
        let until = push_at.map_or(until, |at| at.min(until));
        let mut queue = self.shared.queue();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let full = self.shared.batch > 0 && queue.spans >= self.shared.batch;
            if queue.closing || full || left.is_zero() {
                return (queue.take(), queue.closing, queue.spans);
            }
            let waited = self.shared.wakeup.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn export(&mut self, batch: &SpanBatch) {
        let Some(traces) = &self.traces else {
            return;
        };
        let body = otlp::spans(&self.resource, &batch.written);
        let (to, patience) = (traces.to.clone(), traces.export_timeout);
        if self.send(&to, body, patience) != SendResult::Delivered {
            self.shared.dropped(batch.spans);
        }
    }

    fn push_metrics(&mut self) {
        let Some(pushed) = &self.metrics else {
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

    fn send(&mut self, to: &OtlpReceiver, body: Vec<u8>, patience: Duration) -> SendResult {
        let shared = Arc::clone(&self.shared);
        self.post.send(to, body, patience, &|| shared.is_closing())
    }
}

#[cfg(test)]
mod tests;
