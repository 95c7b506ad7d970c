//! Log lines on standard error, as text or as JSON, each with its run.
//!
//! Off by default. Every line is redacted before it is written, since we do not control what libraries log.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tramline_workflow::text::{printable_json, printable_line};

use crate::Redact;

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The redaction of lines, once settings are known.
static REDACT: Mutex<Option<Redact>> = Mutex::new(None);

/// Redacts every line with this from now on.
pub fn redact_logs_with(redact: Redact) {
    *REDACT.lock().unwrap_or_else(PoisonError::into_inner) = Some(redact);
}

/// Starts to log what this filter allows: `info`, or `warn,tramline=debug`. A level alone is ours: libraries log
/// warnings and errors.
///
/// Returns a message for the user if the filter is invalid.
pub fn log_to_stderr(filter: &str, format: LogFormat) -> Result<(), String> {
    let filter = EnvFilter::try_new(with_quiet_libraries(filter))
        .map_err(|error| format!("`{filter}` is not a valid log filter: {error}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(LineWriter(format))
        .with_ansi(false);
    let begun = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init(),
    };
    begun.map_err(|error| format!("cannot start logging: {error}"))
}

/// The filter with libraries limited to warnings, if it is a level alone.
fn with_quiet_libraries(filter: &str) -> Cow<'_, str> {
    match filter.trim().to_ascii_lowercase().as_str() {
        level @ ("info" | "debug" | "trace") => format!("warn,tramline={level}").into(),
        _ => filter.into(),
    }
}

/// Creates a writer for each line.
struct LineWriter(LogFormat);

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine {
            bytes: Vec::new(),
            format: self.0,
        }
    }
}

/// A line, written when it is complete, because a secret must not be split. It may contain foreign text and reaches a
/// terminal, so control characters are escaped and it stays one line.
struct LogLine {
    bytes: Vec<u8>,
    format: LogFormat,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let hide = REDACT
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let said = String::from_utf8_lossy(&self.bytes);
        let said = match hide {
            None => said,
            Some(hide) => hide(&said).into(),
        };
        let line = said.trim_end_matches('\n');
        let line = match self.format {
            LogFormat::Text => printable_line(line),
            LogFormat::Json => printable_json(line),
        };
        // A closed standard error is not our problem.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Logs a warning to the operator.
pub fn warn(text: &str) {
    tracing::warn!(target: "tramline::telemetry", "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_alone_leaves_libraries_quiet() {
        assert_eq!(with_quiet_libraries("info"), "warn,tramline=info");
        assert_eq!(with_quiet_libraries(" DEBUG "), "warn,tramline=debug");
        for filter in ["warn", "error", "off", "info,rmcp=debug", "rmcp=trace"] {
            assert_eq!(with_quiet_libraries(filter), filter);
        }
    }
}
