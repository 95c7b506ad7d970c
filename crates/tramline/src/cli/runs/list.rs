//! `tramline runs`: the list, newest first.

use super::super::output::{self, Column, Table, ago, span};
use super::super::{CliError, CliResult, CommonArgs, Exit};
use super::open;
use tramline_engine::clock;
use tramline_engine::ports::{RunFilter, RunRow, RunStatus};

/// Which runs to list.
#[derive(clap::Args)]
pub(super) struct ListArgs {
    /// Only runs with this status
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<RunStatus>,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only runs of this session
    #[arg(long)]
    session: Option<String>,
    /// The maximum number of runs
    #[arg(long, default_value_t = 50, value_name = "N")]
    most: usize,
    /// Only runs older than this one: the next page
    #[arg(long, value_name = "RUN", value_parser = super::run_id)]
    after: Option<tramline_workflow::ids::RunId>,
}

fn status(text: &str) -> Result<RunStatus, String> {
    RunStatus::parse(text).ok_or_else(|| {
        let known: Vec<_> = RunStatus::ALL
            .iter()
            .map(|status| status.as_str())
            .collect();
        format!("one of {}", known.join(", "))
    })
}

pub(super) async fn main(common: CommonArgs, list: ListArgs) -> CliResult {
    let house = open(&common)?;
    let is_filtered = !list.status.is_empty()
        || list.workflow.is_some()
        || list.session.is_some()
        || list.after.is_some();
    let filter = RunFilter {
        status: list.status,
        workflow: list.workflow.map(Into::into),
        session: list.session.map(Into::into),
        updated_before_ms: None,
        after: list.after,
        limit: list.most.clamp(1, 10_000),
    };
    let page = house.engine.runs(filter).await.map_err(CliError::from)?;
    if common.json {
        let runs = page.rows.iter().map(as_json);
        output::list("runs", runs, [("more", page.more.into())]);
    } else if page.rows.is_empty() && is_filtered {
        output::status_line("no run matches; `tramline runs` lists all");
    } else if page.rows.is_empty() {
        output::status_line("no runs yet: `tramline run FILE` starts one");
    } else {
        table(&page.rows).print();
        if let (true, Some(last)) = (page.more, page.rows.last()) {
            output::status_line(&format!("older runs: tramline runs --after {}", last.run));
        }
    }
    Ok(Exit::Done)
}

fn as_json(row: &RunRow) -> serde_json::Value {
    serde_json::json!({
        "run_id": row.run,
        "status": row.index_row.status.as_str(),
        "workflow": row.index_row.workflow,
        "session": row.index_row.session,
        "started_ms": row.index_row.started_ms,
        "updated_ms": row.index_row.updated_ms,
        "events": row.last,
        "bytes": row.bytes,
        "driven": row.driven,
    })
}

fn table(rows: &[RunRow]) -> Table<5> {
    let now_ms = clock::now_ms();
    let mut table = Table::new([
        Column::fixed("RUN"),
        Column::flexible("WORKFLOW", 8),
        Column::fixed("STATUS"),
        Column::fixed("STARTED"),
        Column::fixed("TOOK").right(),
    ]);
    for row in rows {
        let head = &row.index_row;
        // A run without a driver or a question was interrupted.
        let status = match head.status {
            RunStatus::Running if !row.driven => "interrupted",
            other => other.as_str(),
        };
        table.row([
            row.run.to_string(),
            head.workflow.to_string(),
            status.to_owned(),
            ago(now_ms - head.started_ms),
            span((head.updated_ms - head.started_ms).max(0)),
        ]);
    }
    table
}
