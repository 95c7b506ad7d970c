//! A plan as it is told: tasks with ids and arguments, why each is there and waits, and what else there is.

use super::draft::{Draft, Giver};
use super::edges::{self, Because};
use super::scene::Scene;
use super::signs::{Weighed, sureness};
use super::{Ask, Link, Missing, OTHERS_MAX, Other, Plan, Reason};
use crate::seams::Tool;
use tramline_core::{Map, Str, Value};

/// So many tools are told that may have been meant instead.
const INSTEAD_MAX: usize = 3;
/// What has less of a share is not worth telling.
const SHARE_MIN: f64 = 0.02;

/// Nothing that can be called was found.
pub(super) fn nothing(ask: &Ask<'_>) -> Plan {
    let mut plan = Plan {
        tasks: Value::array([]),
        ..Plan::default()
    };
    let clauses = ask.found.clauses.iter();
    unmet(
        clauses.map(|clause| clause.text.clone()).collect(),
        &mut plan,
    );
    plan
}

/// Tells which parts of a request the plan does nothing for.
pub(super) fn unmet(parts: Vec<String>, plan: &mut Plan) {
    for part in &parts {
        if !plan.explanation.is_empty() {
            plan.explanation.push_str("; ");
        }
        let says = format!("no tool fits \"{part}\"");
        plan.explanation.push_str(&says);
    }
    plan.unmet = parts;
}

/// The plan that some drafts make, and the ones that were nearly it.
pub(super) fn plan(
    ask: &Ask<'_>,
    scene: &Scene<'_>,
    drafts: Vec<Draft>,
    weighed: &[Weighed],
) -> Plan {
    let ids = ids(ask, &drafts);
    let edges = edges::all(scene, &drafts);
    let mut plan = Plan::default();
    let mut tasks = Vec::new();
    let mut says = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let reason = reason(ask, scene, draft, &ids, at);
        says.push(format!("{} {}", draft.tool.name, reason.why.join(", ")));
        plan.reasons.push(reason);
        tasks.push(task(draft, &ids, at, &edges[at]));
        plan.links.extend(
            edges[at]
                .iter()
                .map(|(from, because)| link(&ids, *from, at, because)),
        );
        plan.tools.push(draft.tool.name.clone());
        plan.missing
            .extend(draft.missing.iter().map(|(argument, description)| Missing {
                task: ids[at].clone(),
                argument: argument.clone(),
                description: description.clone(),
            }));
    }
    plan.tasks = Value::array(tasks);
    plan.explanation = says.join("; ");
    let sure = |one: &Weighed| round(sureness(one.share, scene));
    plan.confidence = weighed.first().map_or(0.0, sure);
    let others = weighed.iter().skip(1).filter(|one| one.share >= SHARE_MIN);
    plan.others = others
        .take(OTHERS_MAX)
        .map(|one| Other {
            tools: one
                .tools
                .iter()
                .map(|place| scene.seen(*place).tool.name.clone())
                .collect(),
            confidence: sure(one).min(plan.confidence),
        })
        .collect();
    plan
}

pub(super) fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// An id for each task that no other has.
fn ids(ask: &Ask<'_>, drafts: &[Draft]) -> Vec<Str> {
    let mut ids: Vec<Str> = Vec::new();
    for draft in drafts {
        let base = draft.tool.name.tool.as_str();
        let numbered = (1..).map(|number| match number {
            1 => base.to_owned(),
            more => format!("{base}-{more}"),
        });
        let free = |id: &String| !(ask.taken)(id) && !ids.iter().any(|known| known == id.as_str());
        let mut free = numbered.take(10_000).filter(free);
        let id = free
            .next()
            .unwrap_or_else(|| format!("{base}-{}", ids.len()));
        ids.push(id.into());
    }
    ids
}

fn task(draft: &Draft, ids: &[Str], at: usize, before: &[(usize, Because)]) -> Value {
    let mut arguments = draft.arguments.clone();
    for (name, giver, path, _) in &draft.feeds {
        let giver = match giver {
            Giver::Task(giver) => &ids[*giver],
            Giver::Done(id) => id,
        };
        arguments.insert(name.clone(), format!("$OUTPUT[{giver}]{path}").into());
    }
    let mut waits: Vec<Str> = before.iter().map(|(from, _)| ids[*from].clone()).collect();
    for (_, giver, ..) in &draft.feeds {
        if let Giver::Done(id) = giver
            && !waits.contains(id)
        {
            waits.push(id.clone());
        }
    }
    let mut task = Map::new();
    task.insert("id", ids[at].clone().into());
    task.insert("tool", draft.tool.name.to_string().into());
    task.insert("arguments", arguments.into());
    task.insert(
        "depends_on",
        Value::array(waits.into_iter().map(Value::from)),
    );
    task.into()
}

fn reason(ask: &Ask<'_>, scene: &Scene<'_>, draft: &Draft, ids: &[Str], at: usize) -> Reason {
    let seen = draft.place.map(|place| scene.seen(place));
    let vote = seen.map_or(0.0, |seen| seen.vote);
    let mut why = Vec::new();
    if let Some((of, argument)) = &draft.needed_by {
        why.push(format!("gives {argument} to {}", ids[*of]));
    }
    if let Some(clause) = ask
        .found
        .clauses
        .get(draft.clause)
        .filter(|_| draft.needed_by.is_none())
    {
        why.push(format!("for \"{}\"", clause.text));
    }
    if vote > 0.0 {
        let has = |voter: &&super::scene::Voter| {
            draft
                .place
                .is_some_and(|place| voter.tools.contains(&place))
        };
        let count = scene.voters.iter().filter(has).count();
        let share = (vote * 100.0).round();
        why.push(format!(
            "used in {count} of the {} nearest past runs ({share} % of their votes)",
            scene.voters.len()
        ));
    }
    for (argument, giver, path, _) in &draft.feeds {
        if let Giver::Done(id) = giver {
            why.push(format!("{argument} is {id}{path}"));
        }
    }
    Reason {
        task: ids[at].clone(),
        why,
        vote: round(vote),
        instead: instead(scene, &draft.tool),
    }
}

/// The tools that come nearest after the one that was taken.
fn instead(scene: &Scene<'_>, taken: &Tool) -> Vec<(tramline_core::ids::ToolName, f64)> {
    let best = scene.best(INSTEAD_MAX + 1);
    let others = best.iter().map(|place| scene.seen(*place));
    let others = others
        .filter(|seen| seen.tool.name != taken.name)
        .take(INSTEAD_MAX);
    let score = |seen: &super::scene::Seen| round(seen.vote.max(seen.found * (1.0 - scene.trust)));
    others
        .map(|seen| (seen.tool.name.clone(), score(seen)))
        .collect()
}

fn link(ids: &[Str], from: usize, to: usize, because: &Because) -> Link {
    let why = match because {
        Because::Gives(names) => format!("gives {}", names.join(", ")),
        Because::Usual(share) => {
            let share = (share * 100.0).round();
            format!("waited for in {share} % of the past runs that have both")
        }
        Because::Said => "wished for in this order".to_owned(),
    };
    Link {
        from: ids[from].clone(),
        to: ids[to].clone(),
        why,
    }
}
