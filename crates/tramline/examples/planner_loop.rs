//! The planner loop with mock tools and a planner of the program's own.
//!
//! Run it with `cargo run --example planner_loop`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tramline::{Config, Error, LoopRequest, LoopResponse, PlanMaker, PlanningTask, Tool, Tramline};

/// The arguments of a mock tool.
#[derive(Deserialize, JsonSchema)]
struct Gaps {
    /// Whose skills.
    person: String,
    /// For which role.
    role: String,
}

/// A tool that gives a fixed answer.
fn capability_gaps() -> Tool {
    let work = |gaps: Gaps| async move {
        Ok::<_, String>(json!({ "person": gaps.person, "role": gaps.role, "missing": ["Rust"] }))
    };
    Tool::new(
        "capability_gaps",
        "Finds the skills that a person lacks for a role.",
        work,
    )
    .read_only()
}

/// A tool that uses the answer of the other one.
fn development_plan() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": { "skills": { "type": "array", "items": { "type": "string" } } },
        "required": ["skills"]
    });
    let work = |given: Value| async move {
        let skills = given["skills"].as_array().map_or(0, Vec::len);
        Ok::<_, String>(json!({ "weeks": 2 * skills }))
    };
    Tool::with_schema(
        "development_plan",
        "Plans how to learn skills.",
        schema,
        work,
    )
    .read_only()
}

/// A planner with a plan that is known in advance. A real one asks a model, or follows rules.
struct FixedPlanner;

#[async_trait]
impl PlanMaker for FixedPlanner {
    async fn plan(&self, task: &PlanningTask) -> Result<Option<Value>, String> {
        if !task.message.contains("skills") {
            // The next planner is tried: the model, then the one that needs no model.
            return Ok(None);
        }
        Ok(Some(json!([
            { "id": "gaps", "tool": "capability_gaps", "args": { "person": "Ada", "role": "engineer" } },
            { "id": "plan", "tool": "development_plan", "args": { "skills": "$OUTPUT[gaps].missing" } }
        ])))
    }
}

/// Plans and runs a message with mock tools.
pub(crate) async fn skills(message: &str) -> Result<LoopResponse, Error> {
    let tramline = Tramline::open(Config::in_memory().tool(capability_gaps()))?;
    // Tools may also be added later.
    tramline.register(development_plan())?;
    let runner = tramline.loop_runner().with_planner(Arc::new(FixedPlanner));
    let response = runner.run(LoopRequest::new(message)).await?;
    tramline.close().await;
    Ok(response)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let response =
        skills("Which skills does Ada lack, and how long does it take to learn them?").await?;
    for result in &response.results {
        println!("{}: {}", result.tool, result.output);
    }
    Ok(())
}
