//! `tramline doctor --deep`: everything in the data directory, held against its checksums.

use super::super::Stopped;
use super::Finding;
use crate::config::Config;
use crate::wire;
use std::collections::BTreeSet;
use tramline_engine::seams::RunFilter;
use tramline_engine::{Engine, Fault};

/// Reads everything; gives what is wrong, or that nothing is.
pub(super) async fn read_all(config: &Config, engine: &Engine) -> Result<Vec<Finding>, Stopped> {
    let Some(verified) = wire::verify(config).await? else {
        return Ok(vec![Finding {
            sound: true,
            what: "stored data".to_owned(),
            says: "nothing is kept yet".to_owned(),
        }]);
    };
    let mut found = Vec::new();
    let mut named = BTreeSet::new();
    for problem in verified.problems {
        found.push(match &problem.run {
            Some(run) => damaged_run(run, &problem.what),
            None => Finding {
                sound: false,
                what: "stored data".to_owned(),
                says: format!(
                    "{}; restore the data directory from a backup, or export the runs you need \
                     (`tramline runs export RUN --out FILE`) and begin with a new one",
                    problem.what
                ),
            },
        });
        named.extend(problem.run);
    }
    found.extend(unreadable(engine, &named).await?);
    if verified.more > 0 {
        found.push(Finding {
            sound: false,
            what: "stored data".to_owned(),
            says: format!("{} more problems are not shown", verified.more),
        });
    }
    if found.is_empty() {
        found.push(Finding {
            sound: true,
            what: "stored data".to_owned(),
            says: format!(
                "{} runs with {} events and {} documents are as they were written",
                verified.runs, verified.events, verified.documents
            ),
        });
    }
    Ok(found)
}

fn damaged_run(run: &str, what: &str) -> Finding {
    Finding {
        sound: false,
        what: run.to_owned(),
        says: format!(
            "{what}; `tramline runs export {run} --out FILE` saves what can be read of it, and \
             `tramline runs rm {run}` removes it once it is over"
        ),
    }
}

/// Runs whose bytes are as they were written, and still mean nothing to this version.
async fn unreadable(engine: &Engine, named: &BTreeSet<String>) -> Result<Vec<Finding>, Stopped> {
    let mut found = Vec::new();
    let mut filter = RunFilter::default();
    loop {
        // Where even the list cannot be read, that was found above.
        let Ok(page) = engine.store().runs(filter.clone()).await else {
            return Ok(found);
        };
        for row in &page.rows {
            if named.contains(row.run.as_str()) {
                continue;
            }
            match engine.load(&row.run).await {
                // Removed meanwhile.
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
