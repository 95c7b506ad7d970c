//! `--log` and `--log-format`, and the environment variables for telemetry.

use super::{CliError, CommonArgs};
use tramline_telemetry::{LogFormat, TelemetrySettings, log_to_stderr};

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LogFormatArg {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// Starts logging, if requested.
pub(super) fn init(common: &CommonArgs) -> Result<(), CliError> {
    let Some(filter) = &common.log else {
        return Ok(());
    };
    let format = match common.log_format {
        LogFormatArg::Text => LogFormat::Text,
        LogFormatArg::Json => LogFormat::Json,
    };
    log_to_stderr(filter, format).map_err(CliError::bad_input)
}

/// The telemetry settings from the environment.
pub(super) fn telemetry() -> Result<TelemetrySettings, CliError> {
    TelemetrySettings::read(|name| std::env::var(name).ok())
        .map_err(|bad| CliError::bad_input(bad.to_string()))
}
