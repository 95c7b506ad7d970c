//! Requests that nearly match a saved workflow: none of them may be a confident hit.

use crate::report::{BenchReport, FigureTarget};
use crate::vectors::EmbeddingCache;
use anyhow::{Result, anyhow};
use std::path::Path;
use tramline_bench::near_miss_set::{Half, NearMissWorkflow, RequestKind, parse, workflows};
use tramline_catalog::search::{DocumentKind, SearchDocument, SearchHit, SearchIndex};

/// Confidence from which a caller may act.
const SURE: f64 = 0.95;
/// Targets in percent: near misses that reach it, matches that reach it, right ones of those that reach it.
const NEAR_MISSES_MAX: f64 = 5.01;
const MATCHES_MIN: f64 = 60.0;
const RIGHT_MIN: f64 = 95.0;

/// A request with its first hit.
struct Outcome {
    kind: RequestKind,
    request: &'static str,
    wanted: &'static str,
    hit: Option<SearchHit>,
}

impl Outcome {
    fn is_sure(&self) -> bool {
        self.hit.as_ref().is_some_and(|hit| hit.confidence >= SURE)
    }

    fn is_right(&self) -> bool {
        let is_wanted = self.hit.as_ref().is_some_and(|hit| hit.id == self.wanted);
        self.kind.is_match() && is_wanted
    }
}

/// Every text whose embedding is compared.
pub(crate) fn texts() -> Result<Vec<String>> {
    let mut all = Vec::new();
    for half in [Half::Fit, Half::HeldOut, Half::Independent] {
        for workflow in read(half)? {
            all.push(card(&workflow).text());
            let requests = workflow.requests.iter();
            all.extend(requests.map(|(_, request)| (*request).to_owned()));
        }
    }
    Ok(all)
}

pub(crate) fn measure(report: &mut BenchReport, vectors: &EmbeddingCache) -> Result<()> {
    let parts = [
        (Half::Fit, "fitted"),
        (Half::HeldOut, "held out"),
        (Half::Independent, "independent"),
    ];
    for (half, name) in parts {
        for (vectors, how) in [(None, "lexical"), (Some(vectors), "lexical and semantic")] {
            let all = outcomes(&read(half)?, vectors)?;
            let name = format!("near misses, {name}, {how}");
            table(report, &name, &all, half != Half::Fit);
        }
    }
    Ok(())
}

/// The table for lexical search alone, and the requests of the fitted half that are judged wrongly. Those of the other
/// half are not shown, so that nothing is tuned on them.
///
/// A file in the same format is measured instead, and its wrongly judged requests are shown.
pub(crate) fn print(file: Option<&Path>) -> Result<()> {
    let mut report = BenchReport::new(true);
    let shown = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file)?;
            // The set has the lifetime of the program.
            let own = parse(text.leak()).map_err(|error| anyhow!(error))?;
            let shown = outcomes(&own, None)?;
            table(&mut report, "near misses, lexical", &shown, true);
            shown
        }
        None => {
            let shown = outcomes(&read(Half::Fit)?, None)?;
            table(&mut report, "near misses, fitted, lexical", &shown, false);
            let held_out = outcomes(&read(Half::HeldOut)?, None)?;
            table(
                &mut report,
                "near misses, held out, lexical",
                &held_out,
                true,
            );
            shown
        }
    };
    for outcome in shown {
        let Outcome {
            kind,
            request,
            wanted,
            hit,
        } = &outcome;
        if outcome.is_sure() != kind.is_match() || (outcome.is_sure() && !outcome.is_right()) {
            let hit = hit.as_ref();
            let found = hit.map(|hit| (hit.id.as_str(), hit.confidence, hit.reasons.join("; ")));
            println!("{kind:?} of {wanted}: {request}\n    {found:?}");
        }
    }
    println!("{}", report.verdict());
    Ok(())
}

fn table(report: &mut BenchReport, name: &str, all: &[Outcome], has_targets: bool) {
    let target = |target: FigureTarget| match has_targets {
        true => target,
        false => FigureTarget::None,
    };
    let share = |wanted: &dyn Fn(&Outcome) -> bool| {
        let asked: Vec<&Outcome> = all.iter().filter(|one| wanted(one)).collect();
        let sure = asked.iter().filter(|one| one.is_sure()).count();
        (asked.len(), 100.0 * sure as f64 / asked.len().max(1) as f64)
    };
    for (kind, word) in RequestKind::NEAR_MISSES {
        let (count, value) = share(&|one| one.kind == kind);
        let name = format!("{name}: {word}, sure of {count}");
        report.add(name, value, "%", FigureTarget::None);
    }
    let (count, value) = share(&|one| !one.kind.is_match());
    let most = target(FigureTarget::Under(NEAR_MISSES_MAX));
    report.add(format!("{name}: all, sure of {count}"), value, "%", most);
    let (count, value) = share(&|one| one.kind == RequestKind::Paraphrase);
    let label = format!("{name}: paraphrases, sure of {count}");
    report.add(label, value, "%", FigureTarget::None);
    let (count, value) = share(&|one| one.kind.is_match());
    let least = target(FigureTarget::Over(MATCHES_MIN));
    report.add(
        format!("{name}: matches, sure of {count}"),
        value,
        "%",
        least,
    );
    let sure: Vec<&Outcome> = all.iter().filter(|one| one.is_sure()).collect();
    let right = sure.iter().filter(|one| one.is_right()).count();
    let value = 100.0 * right as f64 / sure.len().max(1) as f64;
    let least = target(FigureTarget::Over(RIGHT_MIN));
    report.add(
        format!("{name}: right of {} from 0.95", sure.len()),
        value,
        "%",
        least,
    );
}

fn outcomes(all: &[NearMissWorkflow], vectors: Option<&EmbeddingCache>) -> Result<Vec<Outcome>> {
    let mut index = SearchIndex::new();
    for workflow in all {
        let card = card(workflow);
        let vector = vectors.and_then(|vectors| vectors.of(&card));
        index.put(card, vector.as_ref())?;
    }
    let mut found = Vec::new();
    for workflow in all {
        for (kind, request) in &workflow.requests {
            let vector = vectors.and_then(|vectors| vectors.get(request));
            found.push(Outcome {
                kind: *kind,
                request,
                wanted: workflow.name,
                hit: index.search(request, vector, 5).into_iter().next(),
            });
        }
    }
    Ok(found)
}

fn card(workflow: &NearMissWorkflow) -> SearchDocument {
    let kind = DocumentKind::Workflow;
    let mut card = SearchDocument::new(kind, workflow.name, workflow.description);
    card.parameters = workflow.inputs.iter().map(|name| (*name).into()).collect();
    card
}

fn read(half: Half) -> Result<Vec<NearMissWorkflow>> {
    workflows(half).map_err(|error| anyhow!(error))
}
