//! `tramline runs show --at`: a run as it stood at a moment.

use super::super::{Common, Done, Exit, look, output};
use super::open;
use tramline_core::ids::RunId;
use tramline_engine::At;

pub(super) async fn main(common: &Common, run: &RunId, at: At, most: usize) -> Done {
    let engine = open(common)?.engine;
    let then = engine.load_at(run, at).await?;
    if common.json {
        output::line(&look::value(&then.run));
        return Ok(Exit::Done);
    }
    let now = engine.load(run).await?;
    output::text_line(&format!(
        "{run}  {}  after event {} of {}",
        then.run.graph.workflow.name, then.run.seq, now.run.seq
    ));
    section("scope", &look::outputs(&then.run, most));
    section("open", &look::open(&then.run, most));
    section("waits", &look::asked(&then.run));
    section("next", &look::ready(&then.run));
    Ok(Exit::Done)
}

fn section(name: &str, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        output::text_line(&format!("{name:<7} {line}"));
    }
}
