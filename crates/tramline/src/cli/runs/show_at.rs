//! `tramline runs show --at`: the state of a run at a position.

use super::super::{CliResult, CommonArgs, Exit, output, run_state};
use super::open;
use tramline_engine::JournalPoint;
use tramline_workflow::ids::RunId;

pub(super) async fn main(
    common: &CommonArgs,
    run: &RunId,
    at: JournalPoint,
    most: usize,
) -> CliResult {
    let engine = open(common)?.engine;
    let then = engine.load_at(run, at).await?;
    if common.json {
        output::line(&run_state::to_json(&then.run));
        return Ok(Exit::Done);
    }
    let now = engine.load(run).await?;
    output::text_line(&format!(
        "{run}  {}  after event {} of {}",
        then.run.graph.workflow.name, then.run.seq, now.run.seq
    ));
    section("scope", &run_state::outputs(&then.run, most));
    section("open", &run_state::open_steps(&then.run, most));
    section("waits", &run_state::question_details(&then.run));
    section("next", &run_state::next_nodes(&then.run));
    Ok(Exit::Done)
}

fn section(name: &str, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        output::text_line(&format!("{name:<7} {line}"));
    }
}
