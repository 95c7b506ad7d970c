//! The command line beside the servers: it resumes, answers, aborts and reads the same runs, and is
//! killed as often.

use super::super::command::{KillMoment, KillOutcome};
use super::super::seeded_rng::SeededRng;
use super::StormContext;
use anyhow::{Result, ensure};
use std::time::Duration;

/// Runs commands repeatedly, and kills some of them.
pub(super) fn command(weather: &StormContext<'_>, mut chance: SeededRng) -> Result<()> {
    let servers = weather.servers_file().display().to_string();
    while !weather.is_over() {
        let picked = weather.board().pick(&mut chance);
        let Some((run, asked)) = picked else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let setting = weather.setting();
        let point = asked.as_ref().map(|asked| asked.checkpoint.as_str());
        let resume = ["runs", "resume", &run, "--mcp-config", &servers];
        let answer = ["runs", "answer", point.unwrap_or_default(), "--yes"];
        let abort = ["runs", "abort", &run];
        let is_approval = asked.as_ref().is_some_and(|asked| asked.kind == "approval");
        let (verb, arguments) = match chance.between(1, 10) {
            1..=4 => ("runs resume", resume.as_slice()),
            5 | 6 if is_approval => ("runs answer", answer.as_slice()),
            7 if chance.percent(20) => ("runs abort", abort.as_slice()),
            _ => {
                let shown = setting.run(&["runs", "show", &run])?;
                ensure!(shown.exit == 0, "{run} cannot be shown: {shown:?}");
                weather.board().record_shown(&shown.json);
                continue;
            }
        };
        let wait = Duration::from_micros(chance.between(0, 120_000));
        match setting.run_and_kill(arguments, KillMoment::After(wait), chance.percent(50))? {
            KillOutcome::Killed => weather.killed(&format!("`{verb}`"), "in the storm"),
            KillOutcome::Finished(_) => weather.board().tally.escaped += 1,
        }
    }
    Ok(())
}
