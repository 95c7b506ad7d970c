//! `tramline audit`: what was commanded, by whom, why and with what result, as JSON lines.

use super::{Common, Done, Exit, Stopped, output, runs};
use tramline_core::ids::RunId;
use tramline_core::text::{milliseconds, moment_ms};
use tramline_engine::clock;

/// Print what was commanded.
#[derive(clap::Args)]
pub(super) struct Audit {
    /// Only since then: how long ago (30m, 2h, 7d), a date (2026-11-16), a moment as in RFC 3339, or
    /// milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<i64>,
    /// Only about this run
    #[arg(long, value_name = "RUN", value_parser = runs::run_id)]
    run: Option<RunId>,
}

fn moment(text: &str) -> Result<i64, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    if let Some(at) = moment_ms(text) {
        return Ok(at);
    }
    let ago = milliseconds(text).and_then(|ms| i64::try_from(ms).ok());
    let ago = ago.ok_or_else(|| {
        "write how long ago, such as 30m, 2h or 7d, a date such as 2026-11-16, or a moment such as \
         2026-11-16T05:00:00Z"
            .to_owned()
    })?;
    Ok(clock::now_ms().saturating_sub(ago))
}

pub(super) async fn main(common: Common, verb: Audit) -> Done {
    let engine = runs::open(&common)?.engine;
    let notes = engine
        .notes(verb.since.unwrap_or(0), verb.run.as_ref())
        .await;
    for note in notes.map_err(Stopped::from)? {
        output::line(&note);
    }
    Ok(Exit::Done)
}
