//! `--log` and `--log-format`, and the variables that switch telemetry on.

use super::{Common, Stopped};
use tramline_telemetry::{LogFormat, Settings, log_to_stderr};

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Begins to log, if that is wanted.
pub(super) fn begin(common: &Common) -> Result<(), Stopped> {
    let Some(filter) = &common.log else {
        return Ok(());
    };
    let format = match common.log_format {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    log_to_stderr(filter, format).map_err(Stopped::bad)
}

/// What the environment says of telemetry.
pub(super) fn telemetry() -> Result<Settings, Stopped> {
    Settings::read(|name| std::env::var(name).ok()).map_err(|bad| Stopped::bad(bad.to_string()))
}
