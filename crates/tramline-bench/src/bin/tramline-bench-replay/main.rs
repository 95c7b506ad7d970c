//! Replays recorded conversations through the gate, and counts what it stops.
//!
//! `cargo xtask bench sop` runs this. The flowchart, the shop's records, the expected actions and the
//! recording are shared data; the rules are those of `examples/sop/retail/retail.md`.

#![allow(
    clippy::print_stdout,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, anyhow, bail};
use report::{Aim, Report};
use std::path::{Path, PathBuf};
use tramline_bench::replay::{Fate, Kind, Place, Replay, Sums};

#[path = "../../report.rs"]
#[allow(dead_code, reason = "figures go to JSON by another way here")]
mod report;

struct ReplayOptions {
    traces: Option<PathBuf>,
    rules: Option<PathBuf>,
    json: bool,
    place: Place,
}

fn main() -> Result<()> {
    let wanted = wanted()?;
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

fn wanted() -> Result<ReplayOptions> {
    let mut wanted = ReplayOptions {
        traces: None,
        rules: None,
        json: false,
        place: Place::default(),
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
            "--own-branch" => wanted.place = Place::OwnBranch,
            "--traces" => wanted.traces = Some(file()?),
            "--rules" => wanted.rules = Some(file()?),
            other => bail!(
                "`{other}` is not known; there are --traces, --rules, --own-branch and --json"
            ),
        }
    }
    Ok(wanted)
}

fn show(sums: &Sums) {
    for write in sums.writes.iter().filter(|it| it.last != Fate::Made) {
        let word = if write.last == Fate::Asked {
            "asked"
        } else {
            "refused"
        };
        println!(
            "{word} ({}): conversation {}: {}",
            write.kind.as_str(),
            write.conversation,
            write.says
        );
    }
    let mut report = Report::new(true);
    let mut add = |name: String, count: usize, aim| report.add(name, count as f64, "", aim);
    for kind in Kind::ALL {
        let (of, word) = (sums.of(kind), kind.as_str());
        let for_good = match kind {
            Kind::Right => Aim::Under(1.0),
            Kind::Rejected if of.all > 0 => Aim::Over((of.all as f64 * 6.0 / 7.0).floor()),
            Kind::Rejected | Kind::Wrong => Aim::None,
        };
        add(format!("writes that are {word}"), of.all, Aim::None);
        add(
            "  refused at first: out of place".into(),
            of.first_out_of_place,
            Aim::None,
        );
        add(
            "  refused at first: a look-up is missing".into(),
            of.first_look_up,
            Aim::None,
        );
        add(
            "  refused at first: a rule does not hold".into(),
            of.first_rule,
            Aim::None,
        );
        add("  refused for good".into(), of.refused, for_good);
        add("  asked".into(), of.asked, Aim::None);
        add("  let through".into(), of.let_through, Aim::None);
    }
    add("recorded moves".into(), sums.moves, Aim::None);
    add("  refused".into(), sums.moves_refused, Aim::None);
    add(
        "look-ups that refusals named".into(),
        sums.extra_look_ups,
        Aim::None,
    );
    add(
        "calls other than writes refused for good".into(),
        sums.others_refused,
        Aim::None,
    );
    add(
        "answers like those of the recorded shop".into(),
        sums.agreeing,
        Aim::None,
    );
    add(
        "answers unlike those of the recorded shop".into(),
        sums.disagreeing,
        Aim::None,
    );
    report.add(
        "right writes refused at first",
        sums.right_refused_at_first(),
        "%",
        Aim::Under(2.0),
    );
    report.add(
        "extra moves a conversation",
        sums.extra_moves_each(),
        "",
        Aim::Under(1.5),
    );
    println!("{}", report.verdict());
}
