//! A wish as tasks: which tools it needs, in which order, with which arguments, and how sure that is.
//!
//! Pure and without a model: the same wish over the same tools and the same past gives the same plan.
//! Search finds tools, the nearest precedents vote, gaps are filled backwards through what outputs can
//! give, and what data, past orders and the wish's own clauses say makes the order. `docs/planning.md`
//! tells it all.

use crate::seams::Tool;
use std::sync::Arc;
use tramline_core::ids::ToolName;
use tramline_core::{Str, Value};

mod bind;
mod candidates;
mod caution;
mod chain;
mod choice;
mod draft;
mod dropped;
mod edges;
mod fields;
mod found;
pub(crate) mod literals;
mod near;
mod past;
mod scene;
mod selection;
mod signs;
mod told;
mod weights;
mod words;

pub use choice::choose;
pub use found::Found;
pub use near::near;
pub use past::{PRECEDENTS_MAX, Past, Precedent};
pub use signs::{SIGNS, Signs};

use candidates::all;
use draft::Draft;
use scene::{NearPrecedents, Place, Scene};
use selection::Selection;
use signs::{Weighed, weigh};

/// So many other plans are told.
const OTHERS_MAX: usize = 2;

/// What is to be planned, and from what.
pub struct Ask<'a> {
    /// What is wanted.
    pub wish: &'a str,
    /// What stands here under an argument's name is that argument.
    pub context: Option<&'a Value>,
    /// What search found.
    pub found: &'a Found,
    /// What was done before.
    pub past: &'a Past,
    /// The tool with a name, if it may be used.
    pub lookup: &'a dyn Fn(&str) -> Option<Arc<Tool>>,
    /// Everything that may be used: looked through where an argument is given by nothing that was found.
    pub everything: &'a dyn Fn() -> Vec<Arc<Tool>>,
    /// Whether an id is in use.
    pub taken: &'a dyn Fn(&str) -> bool,
    /// What is done already, and stays so.
    pub done: &'a [Done],
}

/// A task that is done.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its id.
    pub id: Str,
    /// What it called.
    pub tool: Str,
    /// What it gave.
    pub output: Value,
}

/// What a wish comes to.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The tasks, as a DAG has them.
    pub tasks: Value,
    /// What they call.
    pub tools: Vec<ToolName>,
    /// How sure it is that this is what was wanted, from 0 to 1.
    pub confidence: f64,
    /// Why these tools, for people.
    pub explanation: String,
    /// Why each task is there.
    pub reasons: Vec<Reason>,
    /// Why each waits for what.
    pub links: Vec<Link>,
    /// Other plans that may have been meant, the likelier first.
    pub others: Vec<Other>,
    /// The arguments that are needed and not known.
    pub missing: Vec<Missing>,
    /// The parts of the request that the plan does nothing for.
    pub unmet: Vec<String>,
    /// Why it is not to be run before anybody has looked at it, in words. Empty if it may be.
    pub objections: Vec<String>,
}

/// Why a task is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// Its id.
    pub task: Str,
    /// What speaks for it, in words.
    pub why: Vec<String>,
    /// Its share of the votes of precedents.
    pub vote: f64,
    /// Tools that may have been meant instead, with what speaks for each.
    pub instead: Vec<(ToolName, f64)>,
}

/// Why a task waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What is waited for.
    pub from: Str,
    /// What waits.
    pub to: Str,
    /// Why.
    pub why: String,
}

/// Another plan that may have been meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// What it calls, in order.
    pub tools: Vec<ToolName>,
    /// How sure it is that this was meant.
    pub confidence: f64,
}

/// An argument that is needed and not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Of which task.
    pub task: Str,
    /// Which one.
    pub argument: Str,
    /// What it is, as its tool says.
    pub description: Option<Str>,
}

impl Plan {
    /// Whether nothing about it is open. That does not make it safe to run: see [`Plan::may_run`].
    pub fn is_complete(&self) -> bool {
        !self.tools.is_empty() && self.unmet.is_empty() && self.missing.is_empty()
    }

    /// Whether it may run before anybody has looked at it: it only reads, nothing about it is open,
    /// and the request is no question, no negation and not conditional.
    pub fn may_run(&self) -> bool {
        self.is_complete() && self.objections.is_empty()
    }
}

/// The parts of a request that may each want something of their own.
pub(crate) fn parts(wish: &str) -> Vec<String> {
    let clauses = words::clauses(wish);
    clauses
        .iter()
        .flat_map(|clause| words::parts(clause))
        .collect()
}

/// Makes tasks out of a wish, among these tools alone and without a past.
pub fn plan(
    wish: &str,
    context: Option<&Value>,
    tools: &[Arc<Tool>],
    taken: impl Fn(&str) -> bool,
) -> Plan {
    let lookup = |name: &str| {
        let found = tools.iter().find(|tool| tool.name.to_string() == name);
        found.map(Arc::clone)
    };
    propose(&Ask {
        wish,
        context,
        found: &Found::among(wish, tools),
        past: &Past::default(),
        lookup: &lookup,
        everything: &|| tools.to_vec(),
        taken: &taken,
        done: &[],
    })
}

/// Makes tasks out of a wish.
pub fn propose(ask: &Ask<'_>) -> Plan {
    let Selection {
        scene,
        weighed,
        said,
        usual,
    } = Selection::of(ask);
    let Some(picked) = weighed.first() else {
        let mut plan = told::nothing(ask);
        plan.objections = caution::objections(ask.wish, &plan, &[]);
        return plan;
    };
    let was_said = picked.tools == said;
    let drafts = Draft::all(ask, &scene, picked, was_said);
    let annotated = caution::annotated(drafts.iter().map(|draft| &*draft.tool));
    let mut plan = told::plan(ask, &scene, drafts, &weighed);
    if let Some(sure) = usual {
        plan.confidence = plan.confidence.max(told::round(sure));
    }
    if was_said {
        // Where search is sure of the tool of every clause, so is the plan of just these tools.
        let sures = ask.found.clauses.iter().map(|clause| clause.sure);
        plan.confidence = plan.confidence.max(told::round(sures.product::<f64>()));
    }
    told::unmet(dropped::parts(ask, &scene, &picked.tools), &mut plan);
    plan.objections = caution::objections(ask.wish, &plan, &annotated);
    plan
}

/// Every plan that may be meant with what speaks for it, and how far the past is to be trusted: what
/// weights are fitted to.
pub fn weigh_all(ask: &Ask<'_>) -> (Vec<(Vec<Str>, Signs)>, f64) {
    let scene = Scene::new(ask, &NearPrecedents::of(ask));
    let said = clause_places(ask, &scene);
    let name = |place: &Place| Str::from(scene.seen(*place).tool.name.to_string());
    let all = weighed(&scene, &said).into_iter();
    let named = all.map(|one| (one.tools.iter().map(name).collect(), one.signs));
    (named.collect(), scene.trust)
}

fn weighed(scene: &Scene<'_>, said: &[Place]) -> Vec<Weighed> {
    weigh(scene, all(scene, said), said)
}

/// What the clauses say, one after the other.
fn clause_places(ask: &Ask<'_>, scene: &Scene<'_>) -> Vec<Place> {
    let best = ask
        .found
        .clauses
        .iter()
        .filter_map(|clause| clause.best.as_ref());
    best.filter_map(|(tool, _)| scene.find(tool)).collect()
}

#[cfg(test)]
mod tests;
