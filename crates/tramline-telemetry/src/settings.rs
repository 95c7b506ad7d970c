//! What is exported, and where to: the usual `OTEL_*` variables, read once.
//!
//! Nothing is on unless one of them says so. What they say and we cannot do is an error that names
//! the variable, since telemetry that is silently not there is found missing when it is needed.

mod sampler;
mod words;

pub use sampler::Sampler;

use std::fmt;
use std::time::Duration;
use words::{Words, percent_decoded};

/// Where a receiver listens if nobody says otherwise.
const ENDPOINT: &str = "http://localhost:4318";
/// Longer queues are not taken: every span in them takes memory.
const QUEUE_MAX: u64 = 1_000_000;

/// What is exported, and where to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Spans to a receiver.
    pub traces: Option<Traces>,
    /// Metrics to a receiver.
    pub metrics: Option<Pushed>,
    /// Metrics as text, for whoever fetches them.
    pub prometheus: bool,
    /// Whether what tools are called with and give is told.
    pub content: bool,
    /// What is handed on to who is called.
    pub handed_on: HandedOn,
    /// Who we are, as names and texts.
    pub resource: Vec<(String, String)>,
}

/// Spans that are sent to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// Where to.
    pub to: Receiver,
    /// Which traces.
    pub sampler: Sampler,
    /// So many spans wait at most; those that come then are dropped.
    pub queue: usize,
    /// So many are sent at once.
    pub batch: usize,
    /// How long a span waits for others.
    pub delay: Duration,
    /// How long sending a batch may take, tries and all.
    pub patience: Duration,
}

/// Metrics that are sent to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Pushed {
    /// Where to.
    pub to: Receiver,
    /// How often.
    pub every: Duration,
}

/// Where OTLP is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver {
    /// The address.
    pub url: String,
    /// What goes with every request; may hold secrets.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Receiver")
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// What is handed on to who is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOn {
    /// `traceparent` and `tracestate`.
    pub context: bool,
    /// `baggage`.
    pub baggage: bool,
}

impl Default for HandedOn {
    fn default() -> Self {
        Self {
            context: true,
            baggage: true,
        }
    }
}

/// A variable that says what cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {says}")]
pub struct BadSetting {
    /// Which variable.
    pub variable: String,
    /// Why not, and what to write instead.
    pub says: String,
}

impl Settings {
    /// Reads the variables, which are looked up by name.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, BadSetting> {
        let words = Words::new(&lookup);
        if words.is_true("OTEL_SDK_DISABLED")? {
            return Ok(Self::default());
        }
        let endpoint = words.text("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
        let own = words.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").is_some();
        let wanted = words.list("OTEL_TRACES_EXPORTER", &["otlp", "none"])?;
        // Where a receiver is named and nothing else is said, it gets the spans.
        let traced = match wanted.is_empty() {
            true => endpoint || own,
            false => wanted.contains(&"otlp"),
        };
        let exporters = words.list("OTEL_METRICS_EXPORTER", &["prometheus", "otlp", "none"])?;
        if !traced && !exporters.iter().any(|it| *it != "none") {
            // What the other variables say is for other programs then.
            return Ok(Self::default());
        }
        Ok(Self {
            traces: traced.then(|| traces(&words)).transpose()?,
            metrics: exporters
                .contains(&"otlp")
                .then(|| pushed(&words))
                .transpose()?,
            prometheus: exporters.contains(&"prometheus"),
            content: content(&words)?,
            handed_on: handed_on(&words)?,
            resource: resource(&words),
        })
    }

    /// Whether anything is to be exported.
    pub fn is_on(&self) -> bool {
        self.traces.is_some() || self.metrics.is_some() || self.prometheus
    }

    /// What must not be shown: the values of headers.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let traces = self.traces.iter().map(|traces| &traces.to);
        let metrics = self.metrics.iter().map(|pushed| &pushed.to);
        let headers = traces.chain(metrics).flat_map(|to| &to.headers);
        headers.map(|(_, value)| value.as_str())
    }
}

fn traces(words: &Words<'_>) -> Result<Traces, BadSetting> {
    let queue = words.number("OTEL_BSP_MAX_QUEUE_SIZE", 2_048, 1..=QUEUE_MAX)?;
    let batch = words.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 1..=QUEUE_MAX)?;
    let delay = words.number("OTEL_BSP_SCHEDULE_DELAY", 5_000, 0..=3_600_000)?;
    let patience = words.number("OTEL_BSP_EXPORT_TIMEOUT", 30_000, 1..=3_600_000)?;
    Ok(Traces {
        to: receiver(words, "TRACES", "v1/traces")?,
        sampler: sampler::read(words)?,
        queue: queue as usize,
        batch: batch.min(queue) as usize,
        delay: Duration::from_millis(delay),
        patience: Duration::from_millis(patience),
    })
}

fn pushed(words: &Words<'_>) -> Result<Pushed, BadSetting> {
    let every = words.number("OTEL_METRIC_EXPORT_INTERVAL", 60_000, 100..=86_400_000)?;
    Ok(Pushed {
        to: receiver(words, "METRICS", "v1/metrics")?,
        every: Duration::from_millis(every),
    })
}

/// Where a signal goes: what is said of it alone counts before what is said of all.
fn receiver(words: &Words<'_>, signal: &str, path: &str) -> Result<Receiver, BadSetting> {
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
            "`{protocol}` is not spoken here; write `http/protobuf`, which receivers usually take at port 4318"
        );
        return Err(BadSetting { variable, says });
    }
    let (variable, url) = match words.text(&name("ENDPOINT")) {
        // One that is for this signal alone is taken as it is.
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
        let says = "it must be the address of a receiver, such as http://localhost:4318".to_owned();
        return Err(BadSetting { variable, says });
    }
    let headers = match either("HEADERS") {
        None => Vec::new(),
        Some((variable, text)) => words::pairs(&text).ok_or_else(|| BadSetting {
            variable,
            says: "write name=value, more of them after commas".to_owned(),
        })?,
    };
    let own = words.text(&name("TIMEOUT")).map(|_| name("TIMEOUT"));
    let variable = own.unwrap_or_else(|| general("TIMEOUT"));
    let timeout = words.number(&variable, 10_000, 1..=3_600_000)?;
    Ok(Receiver {
        url,
        headers,
        timeout: Duration::from_millis(timeout),
    })
}

/// Whether what tools are called with and give is told: our word, or the convention's.
fn content(words: &Words<'_>) -> Result<bool, BadSetting> {
    let usual = words.text("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
    let usual = usual.unwrap_or_default().to_ascii_lowercase();
    let usual = matches!(usual.as_str(), "true" | "span_only" | "span_and_event");
    Ok(words.is_true("TRAMLINE_TELEMETRY_CONTENT")? || usual)
}

fn handed_on(words: &Words<'_>) -> Result<HandedOn, BadSetting> {
    let known = ["tracecontext", "baggage", "none"];
    let wanted = words.list("OTEL_PROPAGATORS", &known)?;
    Ok(match wanted.is_empty() {
        true => HandedOn::default(),
        false => HandedOn {
            context: wanted.contains(&"tracecontext"),
            baggage: wanted.contains(&"baggage"),
        },
    })
}

/// Who we are: a name for the service, then what the operator says.
fn resource(words: &Words<'_>) -> Vec<(String, String)> {
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
