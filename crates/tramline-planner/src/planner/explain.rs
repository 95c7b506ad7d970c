//! Renders a plan: tasks with ids and arguments, the reasons for each task and edge, and the alternatives.

use super::context::PlanContext;
use super::draft::{ArgumentSource, DraftTask};
use super::edges::{self, EdgeCause};
use super::features::{ScoredPlan, calibrate};
use super::{
    ALTERNATIVES_MAX, AlternativePlan, EdgeReason, MissingArgument, PlanInput, TaskPlan, TaskReason,
};
use tramline_engine::ports::Tool;
use tramline_expr::{Map, Str, Value};

/// Number of alternative tools that are reported for a task.
const ALTERNATIVE_TOOLS_MAX: usize = 3;
/// Lowest share of an alternative plan that is reported.
const SHARE_MIN: f64 = 0.02;

/// The empty plan, for a request without any tool that can be called.
pub(super) fn empty_plan(ask: &PlanInput<'_>) -> TaskPlan {
    let mut plan = TaskPlan {
        tasks: Value::array([]),
        ..TaskPlan::default()
    };
    let clauses = ask.search.clauses.iter();
    report_uncovered(
        clauses.map(|clause| clause.text.clone()).collect(),
        &mut plan,
    );
    plan
}

/// Reports the parts of a request that the plan does not cover.
pub(super) fn report_uncovered(parts: Vec<String>, plan: &mut TaskPlan) {
    for part in &parts {
        if !plan.explanation.is_empty() {
            plan.explanation.push_str("; ");
        }
        let says = format!("no tool fits \"{part}\"");
        plan.explanation.push_str(&says);
    }
    plan.uncovered = parts;
}

/// The plan made from drafts, with its closest alternatives.
pub(super) fn render_plan(
    ask: &PlanInput<'_>,
    scene: &PlanContext<'_>,
    drafts: Vec<DraftTask>,
    weighed: &[ScoredPlan],
) -> TaskPlan {
    let ids = task_ids(ask, &drafts);
    let edges = edges::predecessors(scene, &drafts);
    let mut plan = TaskPlan::default();
    let mut tasks = Vec::new();
    let mut says = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let reason = reason(ask, scene, draft, &ids, at);
        says.push(format!("{} {}", draft.tool.name, reason.reasons.join(", ")));
        plan.reasons.push(reason);
        tasks.push(task(draft, &ids, at, &edges[at]));
        plan.links.extend(
            edges[at]
                .iter()
                .map(|(from, because)| link(&ids, *from, at, because)),
        );
        plan.tools.push(draft.tool.name.clone());
        plan.missing.extend(
            draft
                .missing
                .iter()
                .map(|(argument, description)| MissingArgument {
                    task: ids[at].clone(),
                    argument: argument.clone(),
                    description: description.clone(),
                }),
        );
    }
    plan.tasks = Value::array(tasks);
    plan.explanation = says.join("; ");
    let sure = |one: &ScoredPlan| round(calibrate(one.share, scene));
    plan.confidence = weighed.first().map_or(0.0, sure);
    let others = weighed.iter().skip(1).filter(|one| one.share >= SHARE_MIN);
    plan.alternatives = others
        .take(ALTERNATIVES_MAX)
        .map(|one| AlternativePlan {
            tools: one
                .tools
                .iter()
                .map(|place| scene.candidate(*place).tool.name.clone())
                .collect(),
            confidence: sure(one).min(plan.confidence),
        })
        .collect();
    plan
}

pub(super) fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// A unique id for each task.
fn task_ids(ask: &PlanInput<'_>, drafts: &[DraftTask]) -> Vec<Str> {
    let mut ids: Vec<Str> = Vec::new();
    for draft in drafts {
        let base = draft.tool.name.tool.as_str();
        let numbered = (1..).map(|number| match number {
            1 => base.to_owned(),
            more => format!("{base}-{more}"),
        });
        let free =
            |id: &String| !(ask.is_id_taken)(id) && !ids.iter().any(|known| known == id.as_str());
        let mut free = numbered.take(10_000).filter(free);
        let id = free
            .next()
            .unwrap_or_else(|| format!("{base}-{}", ids.len()));
        ids.push(id.into());
    }
    ids
}

fn task(draft: &DraftTask, ids: &[Str], at: usize, before: &[(usize, EdgeCause)]) -> Value {
    let mut arguments = draft.arguments.clone();
    for (name, giver, path, _) in &draft.inputs {
        let giver = match giver {
            ArgumentSource::Task(giver) => &ids[*giver],
            ArgumentSource::Done(id) => id,
        };
        arguments.insert(name.clone(), format!("$OUTPUT[{giver}]{path}").into());
    }
    let mut waits: Vec<Str> = before.iter().map(|(from, _)| ids[*from].clone()).collect();
    for (_, giver, ..) in &draft.inputs {
        if let ArgumentSource::Done(id) = giver
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

fn reason(
    ask: &PlanInput<'_>,
    scene: &PlanContext<'_>,
    draft: &DraftTask,
    ids: &[Str],
    at: usize,
) -> TaskReason {
    let seen = draft.candidate.map(|place| scene.candidate(place));
    let vote = seen.map_or(0.0, |seen| seen.vote);
    let mut why = Vec::new();
    if let Some((of, argument)) = &draft.needed_by {
        why.push(format!("gives {argument} to {}", ids[*of]));
    }
    if let Some(clause) = ask
        .search
        .clauses
        .get(draft.clause)
        .filter(|_| draft.needed_by.is_none())
    {
        why.push(format!("for \"{}\"", clause.text));
    }
    if vote > 0.0 {
        let has = |voter: &&super::context::VotingPrecedent| {
            draft
                .candidate
                .is_some_and(|place| voter.tools.contains(&place))
        };
        let count = scene.voters.iter().filter(has).count();
        let share = (vote * 100.0).round();
        why.push(format!(
            "used in {count} of the {} nearest past runs ({share} % of their votes)",
            scene.voters.len()
        ));
    }
    for (argument, giver, path, _) in &draft.inputs {
        if let ArgumentSource::Done(id) = giver {
            why.push(format!("{argument} is {id}{path}"));
        }
    }
    TaskReason {
        task: ids[at].clone(),
        reasons: why,
        vote: round(vote),
        alternatives: alternative_tools(scene, &draft.tool),
    }
}

/// The next best tools after the selected one.
fn alternative_tools(
    scene: &PlanContext<'_>,
    taken: &Tool,
) -> Vec<(tramline_workflow::ids::ToolName, f64)> {
    let best = scene.best(ALTERNATIVE_TOOLS_MAX + 1);
    let others = best.iter().map(|place| scene.candidate(*place));
    let others = others
        .filter(|seen| seen.tool.name != taken.name)
        .take(ALTERNATIVE_TOOLS_MAX);
    let score = |seen: &super::context::CandidateTool| {
        round(seen.vote.max(seen.search_score * (1.0 - scene.trust)))
    };
    others
        .map(|seen| (seen.tool.name.clone(), score(seen)))
        .collect()
}

fn link(ids: &[Str], from: usize, to: usize, because: &EdgeCause) -> EdgeReason {
    let why = match because {
        EdgeCause::Data(names) => format!("gives {}", names.join(", ")),
        EdgeCause::Precedents(share) => {
            let share = (share * 100.0).round();
            format!("waited for in {share} % of the past runs that use both")
        }
        EdgeCause::RequestOrder => "requested in this order".to_owned(),
    };
    EdgeReason {
        from: ids[from].clone(),
        to: ids[to].clone(),
        reason: why,
    }
}
