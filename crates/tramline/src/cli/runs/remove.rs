//! `tramline runs rm`: forgets runs that are over.

use super::super::{Common, Done, Exit, Stopped, output};
use super::open;
use tramline_core::ids::RunId;
use tramline_engine::clock;
use tramline_engine::seams::{RunFilter, Status};

/// Forget runs that are over.
#[derive(clap::Args)]
pub(super) struct Remove {
    /// Which runs
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    runs: Vec<RunId>,
    /// All runs that ended so many days ago or earlier
    #[arg(long, value_name = "DAYS")]
    older_than: Option<f64>,
    /// Runs that are not over too
    #[arg(long)]
    force: bool,
}

impl Remove {
    pub(super) fn runs(&self) -> &[RunId] {
        &self.runs
    }
}

/// So many are removed in one go.
const BATCH: usize = 1_000;

pub(super) async fn main(common: Common, verb: Remove) -> Done {
    if verb.runs.is_empty() && verb.older_than.is_none() {
        return Err(Stopped::bad("name runs, or give --older-than DAYS"));
    }
    let house = open(&common)?;
    let store = house.engine.store();
    let fault = tramline_engine::Fault::from;
    for run in &verb.runs {
        match store.row(run).await.map_err(fault)? {
            None => return Err(tramline_engine::Fault::NotFound(run.clone()).into()),
            Some(row) if !row.head.status.is_over() && !verb.force => {
                let message = format!("{run} is not over; abort it first, or give --force");
                return Err(Stopped::bad(message));
            }
            Some(_) => {}
        }
    }
    let mut removed = store.remove(&verb.runs).await.map_err(fault)?;
    if let Some(days) = verb.older_than {
        let before = clock::now_ms() - (days.max(0.0) * 86_400_000.0) as i64;
        let over: Vec<_> = Status::ALL
            .into_iter()
            .filter(|status| status.is_over())
            .collect();
        loop {
            let filter = RunFilter {
                status: over.clone(),
                updated_before_ms: Some(before),
                most: BATCH,
                ..RunFilter::default()
            };
            let page = store.runs(filter).await.map_err(fault)?;
            let runs: Vec<_> = page.rows.into_iter().map(|row| row.run).collect();
            if runs.is_empty() {
                break;
            }
            removed += store.remove(&runs).await.map_err(fault)?;
        }
    }
    if common.json {
        output::line(&serde_json::json!({ "removed": removed }));
    } else {
        output::say(&format!("{removed} runs removed"));
    }
    Ok(Exit::Done)
}
