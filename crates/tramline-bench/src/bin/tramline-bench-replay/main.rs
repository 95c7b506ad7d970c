//! Replays recorded SOP sessions through the gate, and counts what it stops.
//!
//! `cargo xtask bench sop` runs this. The flowchart, the shop's records, the expected actions and
//! the recording are shared data; the rules are those of `examples/sop/retail/retail.md`.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, anyhow, bail};
use report::{BenchReport, FigureTarget};
use std::path::{Path, PathBuf};
use tramline_bench::replay::{GateOutcome, Replay, ReplaySummary, WriteKind, WriteScope};

#[path = "../../report.rs"]
#[allow(dead_code, reason = "figures are written to JSON differently here")]
mod report;

struct ReplayOptions {
    traces: Option<PathBuf>,
    rules: Option<PathBuf>,
    json: bool,
    place: WriteScope,
}

fn main() -> Result<()> {
    let wanted = parse_options()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("TRAMLINE_SHARED");
    let data = shared.map_or_else(|| root.join("../shared"), PathBuf::from);
    let data = data.join("data/sop");
    let read =
        |path: PathBuf| std::fs::read_to_string(&path).with_context(|| path.display().to_string());
    let rules = wanted
        .rules
        .unwrap_or_else(|| root.join("examples/sop/retail/retail.md"));
    let traces = wanted
        .traces
        .unwrap_or_else(|| data.join("traces/gemini-3-flash.jsonl"));
    let replay = Replay::new(
        &read(data.join("policy_mermaid_mcp.md"))?,
        &read(rules)?,
        &read(data.join("tau2-retail/db.json"))?,
        &read(data.join("tau2-retail/gold_actions.json"))?,
        wanted.place,
    );
    let sums = replay.and_then(|it| it.run(&read(traces).map_err(|error| format!("{error:#}"))?));
    let sums = sums.map_err(|says| anyhow!(says))?;
    match wanted.json {
        true => println!("{}", sums.to_json()),
        false => show(&sums),
    }
    Ok(())
}

fn parse_options() -> Result<ReplayOptions> {
    let mut wanted = ReplayOptions {
        traces: None,
        rules: None,
        json: false,
        place: WriteScope::default(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut file = || {
            arguments
                .next()
                .map(PathBuf::from)
                .context("a file is missing")
        };
        match argument.as_str() {
            "--json" => wanted.json = true,
            "--own-branch" => wanted.place = WriteScope::OwnBranch,
            "--traces" => wanted.traces = Some(file()?),
            "--rules" => wanted.rules = Some(file()?),
            other => {
                bail!("unknown argument `{other}`; use --traces, --rules, --own-branch or --json")
            }
        }
    }
    Ok(wanted)
}

fn show(sums: &ReplaySummary) {
    for write in sums.writes.iter().filter(|it| it.last != GateOutcome::Made) {
        let word = if write.last == GateOutcome::Asked {
            "asked"
        } else {
            "rejected"
        };
        println!(
            "{word} ({}): session {}: {}",
            write.kind.as_str(),
            write.session,
            write.message
        );
    }
    let mut report = BenchReport::new(true);
    let mut add = |name: String, count: usize, aim| report.add(name, count as f64, "", aim);
    for kind in WriteKind::ALL {
        let (of, word) = (sums.of(kind), kind.as_str());
        let for_good = match kind {
            WriteKind::Right => FigureTarget::Under(1.0),
            WriteKind::Rejected if of.all > 0 => {
                FigureTarget::Over((of.all as f64 * 6.0 / 7.0).floor())
            }
            WriteKind::Rejected | WriteKind::Wrong => FigureTarget::None,
        };
        add(
            format!("writes that are {word}"),
            of.all,
            FigureTarget::None,
        );
        add(
            "  first rejected: not allowed at the node".into(),
            of.first_out_of_place,
            FigureTarget::None,
        );
        add(
            "  first rejected: a lookup is missing".into(),
            of.first_look_up,
            FigureTarget::None,
        );
        add(
            "  first rejected: a rule does not hold".into(),
            of.first_rule,
            FigureTarget::None,
        );
        add("  rejected for good".into(), of.rejected, for_good);
        add("  shown to a person".into(), of.asked, FigureTarget::None);
        add("  let through".into(), of.let_through, FigureTarget::None);
    }
    add("recorded moves".into(), sums.moves, FigureTarget::None);
    add("  rejected".into(), sums.moves_rejected, FigureTarget::None);
    add(
        "lookups that rejections named".into(),
        sums.extra_look_ups,
        FigureTarget::None,
    );
    add(
        "calls other than writes rejected for good".into(),
        sums.others_rejected,
        FigureTarget::None,
    );
    add(
        "answers equal to the recorded shop".into(),
        sums.agreeing,
        FigureTarget::None,
    );
    add(
        "answers different from the recorded shop".into(),
        sums.disagreeing,
        FigureTarget::None,
    );
    report.add(
        "right writes first rejected",
        sums.right_rejected_at_first(),
        "%",
        FigureTarget::Under(2.0),
    );
    report.add(
        "extra moves per session",
        sums.extra_moves_each(),
        "",
        FigureTarget::Under(1.5),
    );
    println!("{}", report.verdict());
}
