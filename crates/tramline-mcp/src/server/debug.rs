//! The debug toolset: what ran, for an agent that looks into it.

use super::reply;
use super::toolset::{LOOKS, Means, Own};
use rmcp::model::CallToolResult;
use tramline_core::{Map, Value};
use tramline_engine::seams::{Page, RunFilter, RunRow, Status};

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[Own {
    name: "runs_list",
    title: "List runs",
    description: "Lists recent workflow runs, newest first: run_id, workflow, status, started, \
                  updated. Use it to find a run to look at or one that waits for an answer.",
    input: r#"{
        "type": "object",
        "properties": {
            "status": {
                "type": "string",
                "enum": ["running", "paused", "completed", "failed", "rejected", "aborted"],
                "description": "Only runs that stand so"
            },
            "workflow": { "type": "string", "description": "Only runs of this workflow" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 200, "default": 20 }
        },
        "additionalProperties": false
    }"#,
    hints: LOOKS,
    answer: |means, arguments| Box::pin(runs_list(means, arguments)),
}];

/// So many runs are listed when nobody says how many: a screenful.
const LISTED: u64 = 20;

async fn runs_list(means: Means, arguments: Value) -> CallToolResult {
    let text = |key| arguments.get(key).and_then(Value::as_str);
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let filter = RunFilter {
        status: text("status").and_then(Status::parse).into_iter().collect(),
        workflow: text("workflow").map(Into::into),
        most: limit.unwrap_or(LISTED) as usize,
        ..RunFilter::default()
    };
    match means.engine.runs(filter).await {
        Ok(page) => reply::success(&listed(&page)),
        Err(fault) => reply::fault(&fault, None),
    }
}

fn listed(page: &Page) -> Value {
    let rows = page.rows.iter().map(row);
    Value::object([
        ("runs", Value::array(rows)),
        ("more", Value::from(page.more)),
    ])
}

fn row(row: &RunRow) -> Value {
    let mut shown = Map::new();
    shown.insert("run_id", row.run.as_str().into());
    shown.insert("workflow", row.head.workflow.clone().into());
    shown.insert("status", row.head.status.as_str().into());
    shown.insert("started", reply::moment(row.head.started_ms).into());
    shown.insert("updated", reply::moment(row.head.updated_ms).into());
    shown.into()
}
