//! `tramline runs prune`: forgets runs that are over by age and for room, or says which it would.

use super::super::{Common, Done, Exit, Reach, Stopped, output};
use crate::wire;
use tramline_core::text::milliseconds;
use tramline_engine::Retention;

/// Forget runs that are over, by age and for room.
#[derive(clap::Args)]
pub(super) struct Prune {
    /// Those that ended so long ago or earlier: 30d, 12h
    #[arg(long, value_name = "TIME", value_parser = age)]
    older: Option<u64>,
    /// The oldest, until all runs together hold no more than so many bytes
    #[arg(long, value_name = "BYTES")]
    keep_bytes: Option<u64>,
    /// Only say which
    #[arg(long)]
    dry_run: bool,
    /// A configuration file whose `retention` counts where the flags say nothing
    #[arg(long, env = "TRAMLINE_CONFIG", value_name = "FILE")]
    config: Option<std::path::PathBuf>,
}

fn age(text: &str) -> Result<u64, String> {
    milliseconds(text).ok_or_else(|| "write a time such as 30d or 12h".to_owned())
}

pub(super) async fn main(common: Common, verb: Prune) -> Done {
    let reach = Reach {
        config: verb.config,
        ..Reach::default()
    };
    let config = common.config(&reach)?;
    let mut keep = Retention {
        age_ms_max: verb.older,
        bytes_max: verb.keep_bytes,
    };
    if keep.is_endless() {
        keep = config.retention;
    }
    if keep.is_endless() {
        let message = "say what to keep: --older 30d, --keep-bytes N, or retention in --config";
        return Err(Stopped::bad(message));
    }
    let house = wire::open(&config, &[])?;
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
        output::say(&format!("{runs} runs of {bytes} bytes would be removed"));
    } else {
        output::say(&format!("{runs} runs of {bytes} bytes removed"));
    }
    Ok(Exit::Done)
}
