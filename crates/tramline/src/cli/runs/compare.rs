//! `tramline runs compare`: how two runs differ.

use super::super::diff::{self, RunDiff};
use super::super::{CliResult, CommonArgs, Exit, output};
use super::open;
use tramline_views::compare::compare;
use tramline_views::trace::Trace;
use tramline_workflow::ids::RunId;

/// Show how two runs differ.
#[derive(clap::Args)]
pub(super) struct CompareArgs {
    /// The first run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    first: RunId,
    /// The second run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    second: RunId,
    /// Show values in full
    #[arg(long)]
    full: bool,
}

pub(super) async fn main(common: CommonArgs, verb: CompareArgs) -> CliResult {
    let engine = open(&common)?.engine;
    let mut traces = Vec::new();
    for run in [&verb.first, &verb.second] {
        let loaded = engine.load(run).await?;
        traces.push(Trace::of(run, &loaded.run.graph, &loaded.entries));
    }
    let comparison = compare(&traces[0], &traces[1]);
    let same = comparison.same;
    if common.json {
        let mut shown = serde_json::to_value(&comparison).unwrap_or_default();
        if let Some(map) = shown.as_object_mut() {
            map.insert("first".into(), verb.first.as_str().into());
            map.insert("second".into(), verb.second.as_str().into());
        }
        output::line(&shown);
    } else {
        let report = RunDiff {
            first: &traces[0],
            second: &traces[1],
            comparison: &comparison,
            names: [verb.first.as_str(), verb.second.as_str()],
            most: diff::chars_max(verb.full),
        };
        report.show();
    }
    Ok(if same { Exit::Done } else { Exit::Failed })
}
