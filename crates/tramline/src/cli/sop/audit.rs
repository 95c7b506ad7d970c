//! `tramline sop audit`: a verdict on each session, with every violation.

use super::{SessionArgs, output, read_with_includes};
use crate::cli::{CliError, CliResult, CommonArgs, Exit};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use tramline_sop::audit::{Auditor, SopAudit as Verdict, SopViolation};
use tramline_sop::coverage::SopCoverage;
use tramline_views::sop_coverage_chart;

/// How many violations of each session are printed; `--json` prints all.
const VIOLATIONS_SHOWN: usize = 5;

/// Check transcripts against a procedure: was every move legal?
#[derive(clap::Args)]
pub(super) struct SopAuditArgs {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    held: SessionArgs,
    /// Print only the totals
    #[arg(long)]
    summary: bool,
    /// Print the flowchart with the path taken, and illegal moves in red
    #[arg(long)]
    mermaid: bool,
}

pub(super) async fn main(common: &CommonArgs, verb: &SopAuditArgs) -> CliResult {
    let read = read_with_includes(&verb.file, common.json)?;
    let transcripts = verb.held.read(common, &read.sops[0]).await?;
    let auditor = Auditor::new(&read, &transcripts).map_err(CliError::bad_input)?;
    let verdicts: Result<Vec<Verdict>, String> =
        transcripts.iter().map(|it| auditor.audit(it)).collect();
    let verdicts = verdicts.map_err(CliError::bad_input)?;
    let pictures: Vec<String> = match verb.mermaid {
        true => flowcharts(&auditor, &verdicts),
        false => Vec::new(),
    };
    let sums = totals(&verdicts);
    if common.json {
        let all: Vec<Json> = match verb.summary {
            true => Vec::new(),
            false => verdicts.iter().map(verdict_json).collect(),
        };
        let (first, inside) = (pictures.first(), pictures.iter().skip(1));
        let inside: Vec<_> = inside.collect();
        output::line(&json!({
            "summary": sums, "conversations": all, "mermaid": first, "mermaid_inside": inside,
        }));
    } else {
        if !verb.summary {
            verdicts.iter().for_each(print_verdict);
        }
        for picture in &pictures {
            output::result(picture.trim_end());
        }
        print_totals(&sums);
    }
    let legal = verdicts.iter().all(Verdict::is_legal);
    Ok(if legal { Exit::Done } else { Exit::Failed })
}

/// The flowchart of each procedure with the path taken.
fn flowcharts(auditor: &Auditor, verdicts: &[Verdict]) -> Vec<String> {
    let procedures = auditor.procedures().iter().enumerate();
    let drawn = procedures.filter_map(|(number, procedure)| {
        let mut coverage = SopCoverage::new(procedure);
        verdicts
            .iter()
            .for_each(|it| coverage.add(procedure, number, it));
        sop_coverage_chart::mermaid(&coverage, procedure)
    });
    drawn.collect()
}

fn totals(all: &[Verdict]) -> Json {
    let sum = |count: fn(&Verdict) -> usize| all.iter().map(count).sum::<usize>();
    json!({
        "conversations": all.len(),
        "legal": all.iter().filter(|it| it.is_legal()).count(),
        "ended": all.iter().filter(|it| it.reached_end).count(),
        "moves": sum(|it| it.moves),
        "moves_off_edges": sum(|it| it.edge_violations.len()),
        "moves_unproven": sum(|it| it.unproven_moves.len()),
        "calls": sum(|it| it.calls),
        "calls_off_node": sum(|it| it.tool_violations.len()),
        "writes": sum(|it| it.writes),
        "writes_off_node": sum(|it| it.write_violations),
        "rules_broken": sum(|it| it.rule_violations.len()),
        "rules_undecided": sum(|it| it.undecided_calls.len()),
        "required_calls_missed": sum(|it| it.missed_tools.len()),
    })
}

fn print_totals(sums: &Json) {
    let count = |key: &str| sums[key].as_u64().unwrap_or_default();
    output::status_line(&format!(
        "{} sessions, {} legal, {} reached an end",
        count("conversations"),
        count("legal"),
        count("ended")
    ));
    for (all, off, says) in [
        ("moves", "moves_off_edges", "moves follow no edge"),
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
        output::status_line(&format!("{} of {} {says}", count(off), count(all)));
    }
    let (broken, undecided) = (count("rules_broken"), count("rules_undecided"));
    if broken + undecided > 0 {
        output::status_line(&format!(
            "{broken} rules over calls broken, {undecided} undecided for lack of results"
        ));
    }
    let (missed, unproven) = (count("required_calls_missed"), count("moves_unproven"));
    if missed + unproven > 0 {
        output::status_line(&format!(
            "{missed} required calls missed, {unproven} moves unproven"
        ));
    }
}

fn violations_json(all: &[SopViolation]) -> Vec<Json> {
    let told = all
        .iter()
        .map(|it| json!({ "event": it.event, "at": it.at, "what": it.what, "why": it.why }));
    told.collect()
}

fn verdict_json(verdict: &Verdict) -> Json {
    json!({
        "name": verdict.name,
        "legal": verdict.is_legal(),
        "ended": verdict.reached_end,
        "moves": verdict.moves,
        "off_edges": violations_json(&verdict.edge_violations),
        "unproven": violations_json(&verdict.unproven_moves),
        "calls": verdict.calls,
        "off_node": violations_json(&verdict.tool_violations),
        "writes": verdict.writes,
        "writes_off_node": verdict.write_violations,
        "off_rules": violations_json(&verdict.rule_violations),
        "undecided": violations_json(&verdict.undecided_calls),
        "missed": violations_json(&verdict.missed_tools),
    })
}

fn print_verdict(verdict: &Verdict) {
    let word = if verdict.is_legal() { "legal" } else { "OFF" };
    let end = if verdict.reached_end {
        ""
    } else {
        ", stopped before an end"
    };
    output::text_line(&format!(
        "{}: {word}, {} moves, {} calls{end}",
        verdict.name, verdict.moves, verdict.calls
    ));
    let off = verdict
        .edge_violations
        .iter()
        .chain(&verdict.missed_tools)
        .chain(&verdict.tool_violations)
        .chain(&verdict.rule_violations);
    let all: Vec<&SopViolation> = off.collect();
    for it in all.iter().take(VIOLATIONS_SHOWN) {
        let at = it.at.as_deref().unwrap_or("nowhere");
        output::text_line(&format!(
            "    event {} at {at}: {} ({})",
            it.event, it.what, it.why
        ));
    }
    if all.len() > VIOLATIONS_SHOWN {
        output::text_line(&format!("    … and {} more", all.len() - VIOLATIONS_SHOWN));
    }
}
