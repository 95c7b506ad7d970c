//! Lines on standard error: what happens, with the run it happens in, as text or as JSON.
//!
//! Off unless asked for. Every line is searched for known secrets before it is written, since what
//! libraries below us say is not ours to choose.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tramline_core::text::{printable_json, printable_line};

use crate::Redact;

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What lines are searched with, once settings are known.
static HIDE: Mutex<Option<Redact>> = Mutex::new(None);

/// Searches every line with this from now on.
pub fn hide_with(redact: Redact) {
    *HIDE.lock().unwrap_or_else(PoisonError::into_inner) = Some(redact);
}

/// Begins to write what this filter lets through: `info`, or `warn,tramline=debug`.
///
/// Fails with words for the user if the filter cannot be read.
pub fn log_to_stderr(filter: &str, format: LogFormat) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("`{filter}` is no filter of logs: {error}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Lines(format))
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
    begun.map_err(|error| format!("logs cannot be written: {error}"))
}

/// Makes a writer for each line.
struct Lines(LogFormat);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line {
            bytes: Vec::new(),
            format: self.0,
        }
    }
}

/// A line, written when it is whole: a secret must not be cut in two. What others say in it reaches
/// a terminal, so it steers none and stays one line.
struct Line {
    bytes: Vec<u8>,
    format: LogFormat,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let hide = HIDE.lock().unwrap_or_else(PoisonError::into_inner).clone();
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
        // Whoever does not read our log has none.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Says in the log what whoever runs the program should know.
pub fn warn(text: &str) {
    tracing::warn!(target: "tramline::telemetry", "{text}");
}
