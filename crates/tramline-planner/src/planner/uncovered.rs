//! Which parts of a request a plan does not cover. A plan is picked as a whole, so the uncovered parts must be
//! reported.

use super::context::{PlanContext, ToolIx};
use super::search_results::Clause;
use super::{PlanInput, text};
use tramline_catalog::search::stemmed_words;

/// A tool covers a part if its score for the part is at least this share of the best score.
const COVERS_MIN: f64 = 0.7;

/// The parts of a request that no tool of a plan covers, in order.
pub(super) fn uncovered_parts(
    ask: &PlanInput<'_>,
    scene: &PlanContext<'_>,
    plan: &[ToolIx],
) -> Vec<String> {
    let clauses = &ask.search.clauses;
    let count: usize = clauses.iter().map(|clause| clause.parts.len()).sum();
    let voted = !scene.voters.is_empty();
    let mut dropped = Vec::new();
    for clause in clauses {
        // If precedents vote, the words need not match any description.
        if clause.best.is_none() && !(voted && is_known_from_precedents(scene, plan, &clause.text))
        {
            dropped.push(clause.text.clone());
            continue;
        }
        // If the request has only one part, the plan covers it.
        let parts = clause.parts.iter().filter(|_| count > 1);
        for part in parts.filter(|part| !text::stems(&part.text).is_empty()) {
            let answered = plan.iter().any(|place| {
                let name = &scene.candidate(*place).tool.name;
                let mut hits = part.hits.iter();
                hits.any(|(tool, fit)| tool.name == *name && *fit >= COVERS_MIN)
            });
            if !answered && !is_known_from_precedents(scene, plan, &part.text) {
                dropped.push(part.text.clone());
            }
        }
    }
    dropped
}

/// Whether precedents show that some tool of a plan is used for these words.
fn is_known_from_precedents(scene: &PlanContext<'_>, plan: &[ToolIx], text: &str) -> bool {
    let numbers: Vec<_> = plan
        .iter()
        .filter_map(|place| scene.candidate(*place).number)
        .collect();
    let speaks = |word: &String| {
        let mut pulls = numbers
            .iter()
            .map(|number| scene.precedents.affinity(word, *number));
        pulls.any(|pull| pull > 0.0)
    };
    !scene.voters.is_empty() && stemmed_words(text).iter().any(speaks)
}

/// A part of a clause with the tools that search found for it.
#[derive(Debug)]
pub(super) struct ClausePart {
    pub(super) text: String,
    /// Best first, with scores relative to the best, from 0 to 1.
    pub(super) hits: Vec<(std::sync::Arc<tramline_engine::ports::Tool>, f64)>,
}

impl Clause {
    /// The whole clause as one part.
    pub(super) fn as_part(&self) -> ClausePart {
        ClausePart {
            text: self.text.clone(),
            hits: self.hits.clone(),
        }
    }
}
