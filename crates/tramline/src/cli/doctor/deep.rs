//! `tramline doctor --deep`: verifies the checksums of the whole data directory.

use super::super::CliError;
use super::Finding;
use crate::app;
use crate::config::Config;
use std::collections::BTreeSet;
use tramline_engine::ports::RunFilter;
use tramline_engine::{Engine, Fault};

/// Reads everything; returns the problems, or one finding that there are none.
pub(in crate::cli) async fn verify_all(
    config: &Config,
    engine: &Engine,
) -> Result<Vec<Finding>, CliError> {
    let Some(verified) = app::verify(config).await? else {
        return Ok(vec![Finding {
            is_ok: true,
            subject: "stored data".to_owned(),
            message: "nothing is stored yet".to_owned(),
        }]);
    };
    let mut found = Vec::new();
    let mut named = BTreeSet::new();
    for problem in verified.problems {
        found.push(match &problem.run {
            Some(run) => damaged_run(run, &problem.what),
            None => Finding {
                is_ok: false,
                subject: "stored data".to_owned(),
                message: format!(
                    "{}; restore the data directory from a backup, or export the runs you need \
                     (`tramline runs export RUN --out FILE`) and start with a new one",
                    problem.what
                ),
            },
        });
        named.extend(problem.run);
    }
    found.extend(undecodable_runs(engine, &named).await?);
    if verified.more > 0 {
        found.push(Finding {
            is_ok: false,
            subject: "stored data".to_owned(),
            message: format!("{} more problems are not shown", verified.more),
        });
    }
    if found.is_empty() {
        found.push(Finding {
            is_ok: true,
            subject: "stored data".to_owned(),
            message: format!(
                "{} runs with {} events and {} documents are intact",
                verified.runs, verified.events, verified.documents
            ),
        });
    }
    Ok(found)
}

fn damaged_run(run: &str, what: &str) -> Finding {
    Finding {
        is_ok: false,
        subject: run.to_owned(),
        message: format!(
            "{what}; `tramline runs export {run} --out FILE` saves what can be read of it, and \
             `tramline runs rm {run}` removes it once it is over"
        ),
    }
}

/// Runs that are intact but that this version cannot decode.
async fn undecodable_runs(
    engine: &Engine,
    named: &BTreeSet<String>,
) -> Result<Vec<Finding>, CliError> {
    let mut found = Vec::new();
    let mut filter = RunFilter::default();
    loop {
        // A list that cannot be read was reported above.
        let Ok(page) = engine.store().runs(filter.clone()).await else {
            return Ok(found);
        };
        for row in &page.rows {
            if named.contains(row.run.as_str()) {
                continue;
            }
            match engine.load(&row.run).await {
                // Removed in the meantime.
                Ok(_) | Err(Fault::NotFound(_)) => {}
                Err(fault) => found.push(damaged_run(row.run.as_str(), &fault.to_string())),
            }
        }
        filter.after = page.rows.last().map(|row| row.run.clone());
        if !page.more || filter.after.is_none() {
            return Ok(found);
        }
    }
}
