//! What is exported, and where: the standard `OTEL_*` variables, read once.
//!
//! Nothing is exported by default. An unsupported value is an error that names the variable, because telemetry that is
//! silently missing is noticed only when it is needed.

mod env;
mod sampler;

pub use sampler::Sampler;

use env::{EnvVars, percent_decoded};
use std::fmt;
use std::time::Duration;

/// The default address of a receiver.
const ENDPOINT: &str = "http://localhost:4318";
/// Largest queue size, in spans. Each queued span uses memory.
const QUEUE_MAX: u64 = 1_000_000;

/// What is exported, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetrySettings {
    /// Spans to a receiver.
    pub traces: Option<TraceExport>,
    /// Metrics to a receiver.
    pub metrics: Option<MetricExport>,
    /// Whether metrics can be scraped as text.
    pub prometheus: bool,
    /// Whether arguments and results of tools are exported.
    pub capture_content: bool,
    /// What is propagated to downstream calls.
    pub propagation: Propagation,
    /// The resource attributes of this process.
    pub resource: Vec<(String, String)>,
}

/// Spans that are sent to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceExport {
    /// The receiver.
    pub to: OtlpReceiver,
    /// Which traces are recorded.
    pub sampler: Sampler,
    /// Most queued spans. Further ones are dropped.
    pub queue: usize,
    /// Number of spans sent at once.
    pub batch: usize,
    /// How long a span waits for others.
    pub delay: Duration,
    /// How long sending a batch may take, including retries.
    pub export_timeout: Duration,
}

/// Metrics that are sent to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricExport {
    /// The receiver.
    pub to: OtlpReceiver,
    /// How often they are sent.
    pub interval: Duration,
}

/// An OTLP receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpReceiver {
    /// The URL.
    pub url: String,
    /// Headers of every request; they may contain secrets.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
}

impl fmt::Debug for OtlpReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Receiver")
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// What is propagated to downstream calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Propagation {
    /// `traceparent` and `tracestate`.
    pub context: bool,
    /// `baggage`.
    pub baggage: bool,
}

impl Default for Propagation {
    fn default() -> Self {
        Self {
            context: true,
            baggage: true,
        }
    }
}

/// A variable with an unsupported value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {message}")]
pub struct InvalidVariable {
    /// The variable.
    pub variable: String,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl TelemetrySettings {
    /// Reads the variables. `lookup` returns a variable's value by name.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidVariable> {
        let words = EnvVars::new(&lookup);
        if words.is_true("OTEL_SDK_DISABLED")? {
            return Ok(Self::default());
        }
        let endpoint = words.text("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
        let own = words.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").is_some();
        let wanted = words.list("OTEL_TRACES_EXPORTER", &["otlp", "none"])?;
        // If only a receiver is set, it gets the spans.
        let traced = match wanted.is_empty() {
            true => endpoint || own,
            false => wanted.contains(&"otlp"),
        };
        let exporters = words.list("OTEL_METRICS_EXPORTER", &["prometheus", "otlp", "none"])?;
        if !traced && !exporters.iter().any(|it| *it != "none") {
            // The other variables are meant for other programs then.
            return Ok(Self::default());
        }
        Ok(Self {
            traces: traced.then(|| traces(&words)).transpose()?,
            metrics: exporters
                .contains(&"otlp")
                .then(|| metric_export(&words))
                .transpose()?,
            prometheus: exporters.contains(&"prometheus"),
            capture_content: capture_content(&words)?,
            propagation: propagation(&words)?,
            resource: resource(&words),
        })
    }

    /// Whether anything is exported.
    pub fn is_on(&self) -> bool {
        self.traces.is_some() || self.metrics.is_some() || self.prometheus
    }

    /// The values of headers, which must not be shown.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let traces = self.traces.iter().map(|traces| &traces.to);
        let metrics = self.metrics.iter().map(|pushed| &pushed.to);
        let headers = traces.chain(metrics).flat_map(|to| &to.headers);
        headers.map(|(_, value)| value.as_str())
    }
}

fn traces(words: &EnvVars<'_>) -> Result<TraceExport, InvalidVariable> {
    let queue = words.number("OTEL_BSP_MAX_QUEUE_SIZE", 2_048, 1..=QUEUE_MAX)?;
    let batch = words.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 1..=QUEUE_MAX)?;
    let delay = words.number("OTEL_BSP_SCHEDULE_DELAY", 5_000, 0..=3_600_000)?;
    let patience = words.number("OTEL_BSP_EXPORT_TIMEOUT", 30_000, 1..=3_600_000)?;
    Ok(TraceExport {
        to: receiver(words, "TRACES", "v1/traces")?,
        sampler: sampler::read(words)?,
        queue: queue as usize,
        batch: batch.min(queue) as usize,
        delay: Duration::from_millis(delay),
        export_timeout: Duration::from_millis(patience),
    })
}

fn metric_export(words: &EnvVars<'_>) -> Result<MetricExport, InvalidVariable> {
    let every = words.number("OTEL_METRIC_EXPORT_INTERVAL", 60_000, 100..=86_400_000)?;
    Ok(MetricExport {
        to: receiver(words, "METRICS", "v1/metrics")?,
        interval: Duration::from_millis(every),
    })
}

/// The receiver of a signal: variables of the signal take precedence over general ones.
fn receiver(
    words: &EnvVars<'_>,
    signal: &str,
    path: &str,
) -> Result<OtlpReceiver, InvalidVariable> {
    let name = |what: &str| format!("OTEL_EXPORTER_OTLP_{signal}_{what}");
    let general = |what: &str| format!("OTEL_EXPORTER_OTLP_{what}");
    let either = |what: &str| {
        let own = words.text(&name(what)).map(|text| (name(what), text));
        own.or_else(|| Some((general(what), words.text(&general(what))?)))
    };
    if let Some((variable, protocol)) = either("PROTOCOL")
        && protocol != "http/protobuf"
    {
        let says = format!(
            "`{protocol}` is not supported; write `http/protobuf`, which receivers usually accept on port 4318"
        );
        return Err(InvalidVariable {
            variable,
            message: says,
        });
    }
    let (variable, url) = match words.text(&name("ENDPOINT")) {
        // A URL for this signal alone is used unchanged.
        Some(url) => (name("ENDPOINT"), url),
        None => {
            let base = words.text(&general("ENDPOINT"));
            let base = base.unwrap_or_else(|| ENDPOINT.to_owned());
            let url = format!("{}/{path}", base.trim_end_matches('/'));
            (general("ENDPOINT"), url)
        }
    };
    let sound = reqwest::Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !sound {
        let says = "it must be the URL of a receiver, such as http://localhost:4318".to_owned();
        return Err(InvalidVariable {
            variable,
            message: says,
        });
    }
    let headers = match either("HEADERS") {
        None => Vec::new(),
        Some((variable, text)) => env::pairs(&text).ok_or_else(|| InvalidVariable {
            variable,
            message: "write name=value, separated by commas".to_owned(),
        })?,
    };
    let own = words.text(&name("TIMEOUT")).map(|_| name("TIMEOUT"));
    let variable = own.unwrap_or_else(|| general("TIMEOUT"));
    let timeout = words.number(&variable, 10_000, 1..=3_600_000)?;
    Ok(OtlpReceiver {
        url,
        headers,
        timeout: Duration::from_millis(timeout),
    })
}

/// Whether arguments and results of tools are exported: our variable, or the one of the semantic conventions.
fn capture_content(words: &EnvVars<'_>) -> Result<bool, InvalidVariable> {
    let usual = words.text("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
    let usual = usual.unwrap_or_default().to_ascii_lowercase();
    let usual = matches!(usual.as_str(), "true" | "span_only" | "span_and_event");
    Ok(words.is_true("TRAMLINE_TELEMETRY_CONTENT")? || usual)
}

fn propagation(words: &EnvVars<'_>) -> Result<Propagation, InvalidVariable> {
    let known = ["tracecontext", "baggage", "none"];
    let wanted = words.list("OTEL_PROPAGATORS", &known)?;
    Ok(match wanted.is_empty() {
        true => Propagation::default(),
        false => Propagation {
            context: wanted.contains(&"tracecontext"),
            baggage: wanted.contains(&"baggage"),
        },
    })
}

/// The resource attributes: the service name, then what the operator set.
fn resource(words: &EnvVars<'_>) -> Vec<(String, String)> {
    let said = words.text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut resource: Vec<(String, String)> = Vec::new();
    let pairs = said.split(',').filter_map(|pair| pair.split_once('='));
    resource
        .extend(pairs.map(|(name, text)| (name.trim().to_owned(), percent_decoded(text.trim()))));
    let mut put = |name: &str, text: String, always: bool| {
        let known = resource.iter().position(|(it, _)| it == name);
        match known {
            Some(at) if always => resource[at].1 = text,
            Some(_) => {}
            None => resource.push((name.to_owned(), text)),
        }
    };
    match words.text("OTEL_SERVICE_NAME") {
        Some(name) => put("service.name", name, true),
        None => put("service.name", "tramline".to_owned(), false),
    }
    put(
        "service.version",
        env!("CARGO_PKG_VERSION").to_owned(),
        false,
    );
    put("process.pid", std::process::id().to_string(), false);
    resource
}

#[cfg(test)]
mod tests;
