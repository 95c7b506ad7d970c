//! `tramline runs rm`: deletes finished runs.

use super::super::{CliError, CliResult, CommonArgs, Exit, output};
use super::open;
use tramline_engine::clock;
use tramline_engine::ports::{RunFilter, RunStatus};
use tramline_workflow::ids::RunId;

/// Delete finished runs.
#[derive(clap::Args)]
pub(super) struct RemoveArgs {
    /// The runs
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    runs: Vec<RunId>,
    /// All runs that ended at least this many days ago
    #[arg(long, value_name = "DAYS")]
    older_than: Option<f64>,
    /// Also delete runs that have not ended
    #[arg(long)]
    force: bool,
}

impl RemoveArgs {
    pub(super) fn runs(&self) -> &[RunId] {
        &self.runs
    }
}

/// How many runs are deleted per transaction.
const RUNS_PER_BATCH: usize = 1_000;

pub(super) async fn main(common: CommonArgs, verb: RemoveArgs) -> CliResult {
    if verb.runs.is_empty() && verb.older_than.is_none() {
        return Err(CliError::bad_input("name runs, or give --older-than DAYS"));
    }
    let house = open(&common)?;
    let store = house.engine.store();
    let fault = tramline_engine::Fault::from;
    for run in &verb.runs {
        match store.row(run).await.map_err(fault)? {
            None => return Err(tramline_engine::Fault::NotFound(run.clone()).into()),
            Some(row) if !row.index_row.status.is_over() && !verb.force => {
                let message = format!("{run} has not ended; abort it first, or use --force");
                return Err(CliError::bad_input(message));
            }
            Some(_) => {}
        }
    }
    let mut removed = house.engine.remove_runs(&verb.runs).await?;
    if let Some(days) = verb.older_than {
        let before = clock::now_ms() - (days.max(0.0) * 86_400_000.0) as i64;
        let over: Vec<_> = RunStatus::ALL
            .into_iter()
            .filter(|status| status.is_over())
            .collect();
        loop {
            let filter = RunFilter {
                status: over.clone(),
                updated_before_ms: Some(before),
                limit: RUNS_PER_BATCH,
                ..RunFilter::default()
            };
            let page = store.runs(filter).await.map_err(fault)?;
            let runs: Vec<_> = page.rows.into_iter().map(|row| row.run).collect();
            if runs.is_empty() {
                break;
            }
            removed += house.engine.remove_runs(&runs).await?;
        }
    }
    if common.json {
        output::line(&serde_json::json!({ "removed": removed }));
    } else {
        output::status_line(&format!("removed {}", output::counted(removed, "run")));
    }
    Ok(Exit::Done)
}
