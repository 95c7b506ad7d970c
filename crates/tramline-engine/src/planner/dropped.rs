//! Which parts of a request a plan leaves out: a plan is picked as a whole, and what its tools do not
//! answer to must be named rather than lost.

use super::found::Clause;
use super::scene::{Place, Scene};
use super::{Ask, words};
use crate::search::said;

/// A tool answers to a part if it was found for it nearly as well as the best one.
const ANSWERS_MIN: f64 = 0.7;

/// The parts of a request that no tool of a plan answers to, in their order.
pub(super) fn parts(ask: &Ask<'_>, scene: &Scene<'_>, plan: &[Place]) -> Vec<String> {
    let clauses = &ask.found.clauses;
    let count: usize = clauses.iter().map(|clause| clause.parts.len()).sum();
    let voted = !scene.voters.is_empty();
    let mut dropped = Vec::new();
    for clause in clauses {
        // Where the past has voted, words need not fit any description.
        if clause.best.is_none() && !(voted && is_usual(scene, plan, &clause.text)) {
            dropped.push(clause.text.clone());
            continue;
        }
        // A plan for a request of one part is for that part.
        let parts = clause.parts.iter().filter(|_| count > 1);
        for part in parts.filter(|part| !words::all(&part.text).is_empty()) {
            let answered = plan.iter().any(|place| {
                let name = &scene.seen(*place).tool.name;
                let mut hits = part.hits.iter();
                hits.any(|(tool, fit)| tool.name == *name && *fit >= ANSWERS_MIN)
            });
            if !answered && !is_usual(scene, plan, &part.text) {
                dropped.push(part.text.clone());
            }
        }
    }
    dropped
}

/// Whether the past says that some tool of a plan is used where these words are said.
fn is_usual(scene: &Scene<'_>, plan: &[Place], text: &str) -> bool {
    let numbers: Vec<_> = plan
        .iter()
        .filter_map(|place| scene.seen(*place).number)
        .collect();
    let speaks = |word: &String| {
        let mut pulls = numbers.iter().map(|number| scene.past.pull(word, *number));
        pulls.any(|pull| pull > 0.0)
    };
    !scene.voters.is_empty() && said(text).iter().any(speaks)
}

/// A part of a clause with the tools that were found for it.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) text: String,
    /// Best first, each next to the best, from 0 to 1.
    pub(super) hits: Vec<(std::sync::Arc<crate::seams::Tool>, f64)>,
}

impl Clause {
    /// The clause as one part.
    pub(super) fn whole(&self) -> Part {
        Part {
            text: self.text.clone(),
            hits: self.hits.clone(),
        }
    }
}
