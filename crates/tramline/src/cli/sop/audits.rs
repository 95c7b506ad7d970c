//! `tramline sop audit`: a verdict on each conversation, with every place where it was off.

use super::{Conversations, gather, output};
use crate::cli::{Common, Done, Exit, Stopped};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use tramline_core::navigate::audit::{Audit as Verdict, Auditor, Off};
use tramline_core::navigate::coverage::Coverage;

/// So many places are shown of each conversation; `--json` has all.
const SHOWN: usize = 5;

/// Was a transcript a legal walk? Where did it leave the procedure?
#[derive(clap::Args)]
pub(super) struct Audit {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    held: Conversations,
    /// Print only the sums
    #[arg(long)]
    summary: bool,
    /// Print the flowchart with what was taken, and moves off the ways in red
    #[arg(long)]
    mermaid: bool,
}

pub(super) async fn main(common: &Common, verb: &Audit) -> Done {
    let read = gather(&verb.file, common.json)?;
    let transcripts = verb.held.read(common, &read.sops[0]).await?;
    let auditor = Auditor::new(&read, &transcripts).map_err(Stopped::bad)?;
    let verdicts: Result<Vec<Verdict>, String> =
        transcripts.iter().map(|it| auditor.audit(it)).collect();
    let verdicts = verdicts.map_err(Stopped::bad)?;
    let pictures: Vec<String> = match verb.mermaid {
        true => pictures(&auditor, &verdicts),
        false => Vec::new(),
    };
    let sums = sums(&verdicts);
    if common.json {
        let all: Vec<Json> = match verb.summary {
            true => Vec::new(),
            false => verdicts.iter().map(told).collect(),
        };
        let (first, inside) = (pictures.first(), pictures.iter().skip(1));
        let inside: Vec<_> = inside.collect();
        output::line(&json!({
            "summary": sums, "conversations": all, "mermaid": first, "mermaid_inside": inside,
        }));
    } else {
        if !verb.summary {
            verdicts.iter().for_each(show);
        }
        for picture in &pictures {
            output::result(picture.trim_end());
        }
        say(&sums);
    }
    let legal = verdicts.iter().all(Verdict::is_legal);
    Ok(if legal { Exit::Done } else { Exit::Failed })
}

/// The flowchart of each procedure with what was taken of it.
fn pictures(auditor: &Auditor, verdicts: &[Verdict]) -> Vec<String> {
    let procedures = auditor.procedures().iter().enumerate();
    let drawn = procedures.filter_map(|(number, procedure)| {
        let mut coverage = Coverage::new(procedure);
        verdicts
            .iter()
            .for_each(|it| coverage.add(procedure, number, it));
        coverage.picture(procedure)
    });
    drawn.collect()
}

fn sums(all: &[Verdict]) -> Json {
    let sum = |count: fn(&Verdict) -> usize| all.iter().map(count).sum::<usize>();
    json!({
        "conversations": all.len(),
        "legal": all.iter().filter(|it| it.is_legal()).count(),
        "ended": all.iter().filter(|it| it.ended).count(),
        "moves": sum(|it| it.moves),
        "moves_off_edges": sum(|it| it.off_edges.len()),
        "moves_unproven": sum(|it| it.unproven.len()),
        "calls": sum(|it| it.calls),
        "calls_off_node": sum(|it| it.off_node.len()),
        "writes": sum(|it| it.writes),
        "writes_off_node": sum(|it| it.writes_off_node),
        "rules_broken": sum(|it| it.off_rules.len()),
        "rules_undecided": sum(|it| it.undecided.len()),
        "required_calls_missed": sum(|it| it.missed.len()),
    })
}

fn say(sums: &Json) {
    let count = |key: &str| sums[key].as_u64().unwrap_or_default();
    output::say(&format!(
        "{} conversations, {} legal, {} reached an end",
        count("conversations"),
        count("legal"),
        count("ended")
    ));
    for (all, off, says) in [
        ("moves", "moves_off_edges", "moves follow no way"),
        (
            "calls",
            "calls_off_node",
            "calls are not allowed at their node",
        ),
        (
            "writes",
            "writes_off_node",
            "calls that change something are not allowed at their node",
        ),
    ] {
        output::say(&format!("{} of {} {says}", count(off), count(all)));
    }
    let (broken, undecided) = (count("rules_broken"), count("rules_undecided"));
    if broken + undecided > 0 {
        output::say(&format!(
            "{broken} rules over calls broken, {undecided} undecided for lack of results"
        ));
    }
    let (missed, unproven) = (count("required_calls_missed"), count("moves_unproven"));
    if missed + unproven > 0 {
        output::say(&format!(
            "{missed} required calls missed, {unproven} moves unproven"
        ));
    }
}

fn places(all: &[Off]) -> Vec<Json> {
    let told = all
        .iter()
        .map(|it| json!({ "event": it.event, "at": it.at, "what": it.what, "why": it.why }));
    told.collect()
}

fn told(verdict: &Verdict) -> Json {
    json!({
        "name": verdict.name,
        "legal": verdict.is_legal(),
        "ended": verdict.ended,
        "moves": verdict.moves,
        "off_edges": places(&verdict.off_edges),
        "unproven": places(&verdict.unproven),
        "calls": verdict.calls,
        "off_node": places(&verdict.off_node),
        "writes": verdict.writes,
        "writes_off_node": verdict.writes_off_node,
        "off_rules": places(&verdict.off_rules),
        "undecided": places(&verdict.undecided),
        "missed": places(&verdict.missed),
    })
}

fn show(verdict: &Verdict) {
    let word = if verdict.is_legal() { "legal" } else { "OFF" };
    let end = if verdict.ended {
        ""
    } else {
        ", stopped before an end"
    };
    output::text_line(&format!(
        "{}: {word}, {} moves, {} calls{end}",
        verdict.name, verdict.moves, verdict.calls
    ));
    let off = verdict
        .off_edges
        .iter()
        .chain(&verdict.missed)
        .chain(&verdict.off_node)
        .chain(&verdict.off_rules);
    let all: Vec<&Off> = off.collect();
    for it in all.iter().take(SHOWN) {
        let at = it.at.as_deref().unwrap_or("nowhere");
        output::text_line(&format!(
            "    event {} at {at}: {} ({})",
            it.event, it.what, it.why
        ));
    }
    if all.len() > SHOWN {
        output::text_line(&format!("    … and {} more", all.len() - SHOWN));
    }
}
