//! Draft tasks of a plan: their arguments, the source of each argument, and the tasks added to provide missing ones.

use super::bind::{accepts, take_literal};
use super::context::{PlanContext, ToolIx};
use super::features::ScoredPlan;
use super::fields::{self, FieldFit, OpenArgument, OutputField};
use super::literals::{self, Literal};
use super::{PlanInput, text};
use std::cell::OnceCell;
use std::sync::Arc;
use tramline_catalog::search::stemmed_words;
use tramline_engine::ports::Tool;
use tramline_expr::{Map, Str, Value};

/// Most tasks in a plan, including those added to provide arguments.
const TASKS_MAX: usize = 32;
/// How many levels of tasks may be added to provide the arguments of added tasks.
const DEPTH_MAX: usize = 2;
/// Most tools searched for one that provides an argument.
const SEARCHED_MAX: usize = 1_000;

/// A task that is being planned.
pub(super) struct DraftTask {
    pub(super) tool: Arc<Tool>,
    pub(super) candidate: Option<ToolIx>,
    /// The index of the clause it covers.
    pub(super) clause: usize,
    /// The task and the argument it was added for.
    pub(super) needed_by: Option<(usize, Str)>,
    pub(super) arguments: Map,
    /// Arguments taken from outputs: the argument, its source and the path in the source's output.
    pub(super) inputs: Vec<(Str, ArgumentSource, String, FieldFit)>,
    pub(super) missing: Vec<(Str, Option<Str>)>,
    depth: usize,
}

/// The source of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArgumentSource {
    /// Another task of the plan, by index.
    Task(usize),
    /// A completed task.
    Done(Str),
}

struct DraftBuilder<'a> {
    ask: &'a PlanInput<'a>,
    drafts: Vec<DraftTask>,
    /// By clause, the literals that are not used yet.
    literals: Vec<Vec<Literal>>,
    /// By draft, the fields of its tool's output.
    parts: Vec<Vec<OutputField>>,
    done: Vec<(Str, Str, Vec<OutputField>)>,
    tools_with_output: OnceCell<Vec<Arc<Tool>>>,
}

impl DraftTask {
    /// The tasks of a plan, sources before the tasks that use them.
    pub(super) fn build_all(
        ask: &PlanInput<'_>,
        scene: &PlanContext<'_>,
        picked: &ScoredPlan,
        by_words: bool,
    ) -> Vec<Self> {
        let clauses = &ask.search.clauses;
        let pool = clauses
            .iter()
            .map(|clause| literals::parse_literals(&clause.text));
        let done = ask.completed.iter();
        let done = done.map(|one| {
            (
                one.id.clone(),
                one.tool.clone(),
                fields::fields_of_value(&one.output),
            )
        });
        let mut table = DraftBuilder {
            ask,
            drafts: Vec::new(),
            literals: pool.collect(),
            parts: Vec::new(),
            done: done.collect(),
            tools_with_output: OnceCell::new(),
        };
        let met: Vec<usize> = (0..clauses.len())
            .filter(|at| clauses[*at].best.is_some())
            .collect();
        for (nth, place) in picked.tools.iter().enumerate() {
            let own = met.get(nth).copied().filter(|_| by_words);
            let clause = own.unwrap_or_else(|| nearest_clause(ask, scene, *place));
            table.add(
                Arc::clone(&scene.candidate(*place).tool),
                Some(*place),
                clause,
                None,
                0,
            );
        }
        let mut at = 0;
        while at < table.drafts.len() {
            table.bind(at, scene);
            at += 1;
        }
        topological_order(table.drafts)
    }
}

/// The clause whose words match a tool best.
fn nearest_clause(ask: &PlanInput<'_>, scene: &PlanContext<'_>, place: ToolIx) -> usize {
    let wish = stemmed_words(ask.request);
    let pulls = &scene.candidate(place).term_weights;
    let score = |words: &[String]| -> f64 {
        let each = wish
            .iter()
            .zip(pulls)
            .filter(|(word, _)| words.contains(word));
        each.map(|(_, pull)| pull).sum()
    };
    let mut best = (0, f64::MIN);
    for (at, clause) in ask.search.clauses.iter().enumerate() {
        let score = score(&clause.words);
        if score > best.1 {
            best = (at, score);
        }
    }
    best.0
}

impl DraftBuilder<'_> {
    fn add(
        &mut self,
        tool: Arc<Tool>,
        place: Option<ToolIx>,
        clause: usize,
        needed_by: Option<(usize, Str)>,
        depth: usize,
    ) {
        let schema = tool.output_schema.as_ref();
        self.parts
            .push(schema.map(fields::fields_of_schema).unwrap_or_default());
        self.drafts.push(DraftTask {
            tool,
            candidate: place,
            clause,
            needed_by,
            arguments: Map::new(),
            inputs: Vec::new(),
            missing: Vec::new(),
            depth,
        });
    }

    /// Finds the values of a task's arguments.
    fn bind(&mut self, at: usize, scene: &PlanContext<'_>) {
        let tool = Arc::clone(&self.drafts[at].tool);
        let schema = &tool.input_schema;
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .unwrap_or_default();
        let is_required = |name: &Str| required.iter().any(|one| one.as_str() == Some(name));
        let properties = schema.get("properties").and_then(Value::as_object);
        let all = properties.into_iter().flat_map(Map::iter);
        let (needed, others): (Vec<_>, Vec<_>) = all.partition(|(name, _)| is_required(name));
        for (name, about) in needed {
            let known = self.context_value(name, about);
            if let Some(value) = known.or_else(|| self.take_literal(at, name, about)) {
                self.drafts[at].arguments.insert(name.clone(), value);
                continue;
            }
            let wanted = OpenArgument::new(name, about, &tool);
            if !self.bind_output(at, &wanted) && !self.add_source(at, &wanted, scene) {
                let says = about.get("description").and_then(Value::as_str);
                self.drafts[at]
                    .missing
                    .push((name.clone(), says.map(Into::into)));
            }
        }
        let clause = self.ask.search.clauses.get(self.drafts[at].clause);
        let spoken = clause
            .map(|clause| text::stems(&clause.text))
            .unwrap_or_default();
        for (name, about) in others {
            if spoken.contains(&text::stem(name))
                && let Some(value) = self.take_literal(at, name, about)
            {
                self.drafts[at].arguments.insert(name.clone(), value);
            }
        }
    }

    /// The context's value for an argument, if the argument accepts it.
    fn context_value(&self, name: &str, about: &Value) -> Option<Value> {
        let value = self.ask.context?.get(name)?;
        accepts(about, value).then(|| value.clone())
    }

    fn take_literal(&mut self, at: usize, name: &str, about: &Value) -> Option<Value> {
        let draft = &self.drafts[at];
        let left = self.literals.get_mut(draft.clause)?;
        take_literal(left, &draft.tool, name, about)
    }

    /// Takes an argument from a completed task or another task of the plan.
    fn bind_output(&mut self, at: usize, wanted: &OpenArgument<'_>) -> bool {
        let of_done = self.done.iter().filter_map(|(id, tool, parts)| {
            let (part, fit) = fields::best_field(wanted, parts, tool)?;
            Some((
                fit,
                true,
                ArgumentSource::Done(id.clone()),
                part.path.clone(),
            ))
        });
        let of_tasks = (0..self.drafts.len())
            .filter(|giver| *giver != at)
            .filter_map(|giver| {
                let given = &self.drafts[giver].tool.name.tool;
                let (part, fit) = fields::best_field(wanted, &self.parts[giver], given)?;
                // A later task is used only if its field fits strongly, and never in a cycle.
                let allowed = giver < at || fit == FieldFit::Strong;
                let may = allowed && !self.depends_on(giver, at);
                may.then(|| {
                    (
                        fit,
                        giver < at,
                        ArgumentSource::Task(giver),
                        part.path.clone(),
                    )
                })
            });
        let best = of_done
            .chain(of_tasks)
            .max_by_key(|(fit, earlier, _, _)| (*fit, *earlier));
        let Some((fit, _, giver, path)) = best else {
            return false;
        };
        self.drafts[at]
            .inputs
            .push((wanted.name.into(), giver, path, fit));
        true
    }

    /// Whether one task depends on another, directly or indirectly.
    fn depends_on(&self, one: usize, other: usize) -> bool {
        let mut open = vec![one];
        let mut seen = vec![false; self.drafts.len()];
        while let Some(at) = open.pop() {
            if at == other {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                let givers = self.drafts[at].inputs.iter();
                open.extend(givers.filter_map(|(_, giver, ..)| match giver {
                    ArgumentSource::Task(giver) => Some(*giver),
                    ArgumentSource::Done(_) => None,
                }));
            }
        }
        false
    }

    /// Adds a task that provides an argument, if a tool surely does and its own required arguments have values.
    fn add_source(
        &mut self,
        at: usize,
        wanted: &OpenArgument<'_>,
        scene: &PlanContext<'_>,
    ) -> bool {
        let depth = self.drafts[at].depth + 1;
        if depth > DEPTH_MAX || self.drafts.len() >= TASKS_MAX {
            return false;
        }
        let found = self.ask.search.tools.iter().map(|(tool, _)| tool);
        let seen = scene.tools.iter().map(|seen| &seen.tool);
        let near: Vec<Arc<Tool>> = seen.chain(found).cloned().collect();
        let mut givers = self.find_sources(at, wanted, &near);
        if givers.is_empty() {
            let may_give = |tool: &&Arc<Tool>| {
                let schema = tool.output_schema.as_ref();
                schema.is_some_and(|schema| wanted.may_match(schema))
            };
            let all = self.tools_with_output().iter().filter(may_give);
            let all: Vec<Arc<Tool>> = all.take(SEARCHED_MAX).cloned().collect();
            givers = self.find_sources(at, wanted, &all);
            // Nothing shows which of several tools is meant.
            givers.truncate(if givers.len() == 1 { 1 } else { 0 });
        }
        let score = |tool: &Tool| {
            let seen = scene.find(tool).map(|place| scene.candidate(place));
            seen.map_or(0.0, |seen| seen.vote + seen.search_score)
        };
        givers.sort_by(|(a, _), (b, _)| score(b).total_cmp(&score(a)));
        let Some((tool, path)) = givers.into_iter().next() else {
            return false;
        };
        let (giver, clause) = (self.drafts.len(), self.drafts[at].clause);
        let place = scene.find(&tool);
        self.add(tool, place, clause, Some((at, wanted.name.into())), depth);
        let feed = (
            wanted.name.into(),
            ArgumentSource::Task(giver),
            path,
            FieldFit::Strong,
        );
        self.drafts[at].inputs.push(feed);
        true
    }

    /// Every tool with an output schema, by name. Loaded once, however many arguments are missing.
    fn tools_with_output(&self) -> &[Arc<Tool>] {
        self.tools_with_output.get_or_init(|| {
            let mut all = (self.ask.all_tools)();
            all.retain(|tool| tool.output_schema.is_some());
            all.sort_by(|a, b| a.name.cmp(&b.name));
            all
        })
    }

    /// The tools that surely provide an argument and can be called, each with the path of the field.
    fn find_sources(
        &self,
        at: usize,
        wanted: &OpenArgument<'_>,
        tools: &[Arc<Tool>],
    ) -> Vec<(Arc<Tool>, String)> {
        let gives = |tool: &Arc<Tool>| {
            let used = self.drafts.iter().any(|draft| draft.tool.name == tool.name);
            let parts = fields::fields_of_schema(tool.output_schema.as_ref().filter(|_| !used)?);
            let (part, fit) = fields::best_field(wanted, &parts, &tool.name.tool)?;
            let can = fit == FieldFit::Strong && self.can_be_called(tool, self.drafts[at].clause);
            can.then(|| (Arc::clone(tool), part.path.clone()))
        };
        tools.iter().filter_map(gives).collect()
    }

    /// Whether every required argument of a tool has a source: adding it must not leave more arguments open than it
    /// fills.
    fn can_be_called(&self, tool: &Tool, clause: usize) -> bool {
        let schema = &tool.input_schema;
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .unwrap_or_default();
        let mut left = self.literals.get(clause).cloned().unwrap_or_default();
        required.iter().filter_map(Value::as_str).all(|name| {
            let about = schema.get("properties").and_then(|all| all.get(name));
            let about = about.cloned().unwrap_or_default();
            let known = self.context_value(name, &about).is_some();
            let wanted = OpenArgument::new(name, &about, tool);
            let given = |parts: &[OutputField], giver: &str| {
                fields::best_field(&wanted, parts, giver).is_some()
            };
            known
                || take_literal(&mut left, tool, name, &about).is_some()
                || self
                    .done
                    .iter()
                    .any(|(_, giver, parts)| given(parts, giver))
                || self
                    .drafts
                    .iter()
                    .zip(&self.parts)
                    .any(|(draft, parts)| given(parts, &draft.tool.name.tool))
        })
    }
}

/// Sources before the tasks that use them. Otherwise the order is kept, and an added task comes directly before the
/// task it was added for.
fn topological_order(drafts: Vec<DraftTask>) -> Vec<DraftTask> {
    let mut order: Vec<usize> = Vec::new();
    fn visit(at: usize, drafts: &[DraftTask], order: &mut Vec<usize>, open: &mut Vec<usize>) {
        if order.contains(&at) || open.contains(&at) {
            return;
        }
        open.push(at);
        for (_, giver, ..) in &drafts[at].inputs {
            if let ArgumentSource::Task(giver) = giver {
                visit(*giver, drafts, order, open);
            }
        }
        open.pop();
        order.push(at);
    }
    for at in (0..drafts.len()).filter(|at| drafts[*at].needed_by.is_none()) {
        visit(at, &drafts, &mut order, &mut Vec::new());
    }
    let place = |old: usize| order.iter().position(|at| *at == old).unwrap_or(old);
    let mut moved: Vec<(usize, DraftTask)> = drafts
        .into_iter()
        .enumerate()
        .map(|(at, draft)| (place(at), draft))
        .collect();
    moved.sort_by_key(|(at, _)| *at);
    let mut all: Vec<DraftTask> = moved.into_iter().map(|(_, draft)| draft).collect();
    for draft in &mut all {
        for (_, giver, ..) in &mut draft.inputs {
            if let ArgumentSource::Task(giver) = giver {
                *giver = place(*giver);
            }
        }
        if let Some((of, _)) = &mut draft.needed_by {
            *of = place(*of);
        }
    }
    all
}
