//! `tramline runs prune`: deletes finished runs by age and total size, or lists them.

use super::super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, output};
use crate::app;
use tramline_engine::Retention;
use tramline_workflow::text::parse_duration_ms;

/// Delete finished runs by age and total size.
#[derive(clap::Args)]
pub(super) struct PruneArgs {
    /// Runs that ended at least this long ago: 30d, 12h
    #[arg(long, value_name = "TIME", value_parser = age)]
    older: Option<u64>,
    /// The oldest runs, until all runs together take at most this many bytes
    #[arg(long, value_name = "BYTES")]
    keep_bytes: Option<u64>,
    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// A configuration file whose `retention` applies if no flag is given
    #[arg(long, env = "TRAMLINE_CONFIG", value_name = "FILE")]
    config: Option<std::path::PathBuf>,
}

fn age(text: &str) -> Result<u64, String> {
    parse_duration_ms(text).ok_or_else(|| "write a time such as 30d or 12h".to_owned())
}

pub(super) async fn main(common: CommonArgs, verb: PruneArgs) -> CliResult {
    let reach = AccessArgs {
        config: verb.config,
        ..AccessArgs::default()
    };
    let config = common.config(&reach)?;
    let mut keep = Retention {
        age_ms_max: verb.older,
        bytes_max: verb.keep_bytes,
    };
    if keep.keeps_everything() {
        keep = config.retention;
    }
    if keep.keeps_everything() {
        let message = "say what to keep: --older 30d, --keep-bytes N, or retention in --config";
        return Err(CliError::bad_input(message));
    }
    let house = app::open(&config, &[])?;
    let pruned = house.engine.prune(keep, verb.dry_run).await?;
    let (runs, bytes) = (pruned.runs.len(), pruned.bytes);
    if common.json {
        output::line(&serde_json::json!({
            "removed": if verb.dry_run { 0 } else { runs },
            "runs": pruned.runs,
            "bytes": bytes,
            "dry_run": verb.dry_run,
        }));
    } else if verb.dry_run {
        for run in &pruned.runs {
            output::text_line(run.as_str());
        }
        output::status_line(&format!("{runs} runs of {bytes} bytes would be removed"));
    } else {
        output::status_line(&format!("{runs} runs of {bytes} bytes removed"));
    }
    Ok(Exit::Done)
}
