//! The tasks of a plan before they are told: with their arguments, what gives those, and what had to be
//! added for that.

use super::bind::{allows, take};
use super::fields::{self, Fit, Part, Wanted};
use super::literals::{self, Literal};
use super::scene::{Place, Scene};
use super::signs::Weighed;
use super::{Ask, words};
use crate::seams::Tool;
use crate::search::said;
use std::cell::OnceCell;
use std::sync::Arc;
use tramline_core::{Map, Str, Value};

/// So many tasks a plan has at most, those included that are added for what others need.
const TASKS_MAX: usize = 32;
/// What an added task needs is filled by adding again, so many deep.
const DEPTH_MAX: usize = 2;
/// So many tools are looked through for one that gives an argument.
const SEARCHED_MAX: usize = 1_000;

/// A task that is being planned.
pub(super) struct Draft {
    pub(super) tool: Arc<Tool>,
    pub(super) place: Option<Place>,
    /// The clause that it is for.
    pub(super) clause: usize,
    /// For which task it was added, and which argument.
    pub(super) needed_by: Option<(usize, Str)>,
    pub(super) arguments: Map,
    /// What comes from where: the argument, the giver and the part of what it gives.
    pub(super) feeds: Vec<(Str, Giver, String, Fit)>,
    pub(super) missing: Vec<(Str, Option<Str>)>,
    depth: usize,
}

/// Who gives an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Giver {
    /// Another task of the plan, by its place in it.
    Task(usize),
    /// A task that is done.
    Done(Str),
}

struct Table<'a> {
    ask: &'a Ask<'a>,
    drafts: Vec<Draft>,
    /// By clause, the literals that nobody has taken.
    literals: Vec<Vec<Literal>>,
    /// By draft, what its tool gives.
    parts: Vec<Vec<Part>>,
    done: Vec<(Str, Str, Vec<Part>)>,
    all_givers: OnceCell<Vec<Arc<Tool>>>,
}

impl Draft {
    /// The tasks of a plan in an order in which what gives comes before what is given to.
    pub(super) fn all(
        ask: &Ask<'_>,
        scene: &Scene<'_>,
        picked: &Weighed,
        by_words: bool,
    ) -> Vec<Self> {
        let clauses = &ask.found.clauses;
        let pool = clauses.iter().map(|clause| literals::of(&clause.text));
        let done = ask.done.iter();
        let done = done.map(|one| {
            (
                one.id.clone(),
                one.tool.clone(),
                fields::of_value(&one.output),
            )
        });
        let mut table = Table {
            ask,
            drafts: Vec::new(),
            literals: pool.collect(),
            parts: Vec::new(),
            done: done.collect(),
            all_givers: OnceCell::new(),
        };
        let met: Vec<usize> = (0..clauses.len())
            .filter(|at| clauses[*at].best.is_some())
            .collect();
        for (nth, place) in picked.tools.iter().enumerate() {
            let own = met.get(nth).copied().filter(|_| by_words);
            let clause = own.unwrap_or_else(|| nearest_clause(ask, scene, *place));
            table.add(
                Arc::clone(&scene.seen(*place).tool),
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
        in_order(table.drafts)
    }
}

/// The clause that speaks most of a tool.
fn nearest_clause(ask: &Ask<'_>, scene: &Scene<'_>, place: Place) -> usize {
    let wish = said(ask.wish);
    let pulls = &scene.seen(place).pulls;
    let score = |words: &[String]| -> f64 {
        let each = wish
            .iter()
            .zip(pulls)
            .filter(|(word, _)| words.contains(word));
        each.map(|(_, pull)| pull).sum()
    };
    let mut best = (0, f64::MIN);
    for (at, clause) in ask.found.clauses.iter().enumerate() {
        let score = score(&clause.words);
        if score > best.1 {
            best = (at, score);
        }
    }
    best.0
}

impl Table<'_> {
    fn add(
        &mut self,
        tool: Arc<Tool>,
        place: Option<Place>,
        clause: usize,
        needed_by: Option<(usize, Str)>,
        depth: usize,
    ) {
        let schema = tool.output_schema.as_ref();
        self.parts
            .push(schema.map(fields::of_schema).unwrap_or_default());
        self.drafts.push(Draft {
            tool,
            place,
            clause,
            needed_by,
            arguments: Map::new(),
            feeds: Vec::new(),
            missing: Vec::new(),
            depth,
        });
    }

    /// Finds what a task's arguments are.
    fn bind(&mut self, at: usize, scene: &Scene<'_>) {
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
            let known = self.known(name, about);
            if let Some(value) = known.or_else(|| self.literal(at, name, about)) {
                self.drafts[at].arguments.insert(name.clone(), value);
                continue;
            }
            let wanted = Wanted::new(name, about, &tool);
            if !self.feed(at, &wanted) && !self.fill(at, &wanted, scene) {
                let says = about.get("description").and_then(Value::as_str);
                self.drafts[at]
                    .missing
                    .push((name.clone(), says.map(Into::into)));
            }
        }
        let clause = self.ask.found.clauses.get(self.drafts[at].clause);
        let spoken = clause
            .map(|clause| words::all(&clause.text))
            .unwrap_or_default();
        for (name, about) in others {
            if spoken.contains(&words::stem(name))
                && let Some(value) = self.literal(at, name, about)
            {
                self.drafts[at].arguments.insert(name.clone(), value);
            }
        }
    }

    /// What the context has under an argument's name, if that is what the argument allows.
    fn known(&self, name: &str, about: &Value) -> Option<Value> {
        let value = self.ask.context?.get(name)?;
        allows(about, value).then(|| value.clone())
    }

    fn literal(&mut self, at: usize, name: &str, about: &Value) -> Option<Value> {
        let draft = &self.drafts[at];
        let left = self.literals.get_mut(draft.clause)?;
        take(left, &draft.tool, name, about)
    }

    /// Takes an argument from what is done or what other tasks give.
    fn feed(&mut self, at: usize, wanted: &Wanted<'_>) -> bool {
        let of_done = self.done.iter().filter_map(|(id, tool, parts)| {
            let (part, fit) = fields::best(wanted, parts, tool)?;
            Some((fit, true, Giver::Done(id.clone()), part.path.clone()))
        });
        let of_tasks = (0..self.drafts.len())
            .filter(|giver| *giver != at)
            .filter_map(|giver| {
                let given = &self.drafts[giver].tool.name.tool;
                let (part, fit) = fields::best(wanted, &self.parts[giver], given)?;
                // What comes later gives only what is surely meant, and never in a circle.
                let allowed = giver < at || fit == Fit::Strong;
                let may = allowed && !self.needs(giver, at);
                may.then(|| (fit, giver < at, Giver::Task(giver), part.path.clone()))
            });
        let best = of_done
            .chain(of_tasks)
            .max_by_key(|(fit, earlier, _, _)| (*fit, *earlier));
        let Some((fit, _, giver, path)) = best else {
            return false;
        };
        self.drafts[at]
            .feeds
            .push((wanted.name.into(), giver, path, fit));
        true
    }

    /// Whether one task gets something from another, however far.
    fn needs(&self, one: usize, other: usize) -> bool {
        let mut open = vec![one];
        let mut seen = vec![false; self.drafts.len()];
        while let Some(at) = open.pop() {
            if at == other {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                let givers = self.drafts[at].feeds.iter();
                open.extend(givers.filter_map(|(_, giver, ..)| match giver {
                    Giver::Task(giver) => Some(*giver),
                    Giver::Done(_) => None,
                }));
            }
        }
        false
    }

    /// Adds a task that gives an argument, if one surely does and all that it needs itself can be had.
    fn fill(&mut self, at: usize, wanted: &Wanted<'_>, scene: &Scene<'_>) -> bool {
        let depth = self.drafts[at].depth + 1;
        if depth > DEPTH_MAX || self.drafts.len() >= TASKS_MAX {
            return false;
        }
        let found = self.ask.found.tools.iter().map(|(tool, _)| tool);
        let seen = scene.tools.iter().map(|seen| &seen.tool);
        let near: Vec<Arc<Tool>> = seen.chain(found).cloned().collect();
        let mut givers = self.givers(at, wanted, &near);
        if givers.is_empty() {
            let may_give = |tool: &&Arc<Tool>| {
                let schema = tool.output_schema.as_ref();
                schema.is_some_and(|schema| wanted.may_be_in(schema))
            };
            let all = self.all_givers().iter().filter(may_give);
            let all: Vec<Arc<Tool>> = all.take(SEARCHED_MAX).cloned().collect();
            givers = self.givers(at, wanted, &all);
            // Which of several is meant nothing tells.
            givers.truncate(if givers.len() == 1 { 1 } else { 0 });
        }
        let score = |tool: &Tool| {
            let seen = scene.find(tool).map(|place| scene.seen(place));
            seen.map_or(0.0, |seen| seen.vote + seen.found)
        };
        givers.sort_by(|(a, _), (b, _)| score(b).total_cmp(&score(a)));
        let Some((tool, path)) = givers.into_iter().next() else {
            return false;
        };
        let (giver, clause) = (self.drafts.len(), self.drafts[at].clause);
        let place = scene.find(&tool);
        self.add(tool, place, clause, Some((at, wanted.name.into())), depth);
        let feed = (wanted.name.into(), Giver::Task(giver), path, Fit::Strong);
        self.drafts[at].feeds.push(feed);
        true
    }

    /// Every tool that says what it gives, by name: looked up once, however many arguments are open.
    fn all_givers(&self) -> &[Arc<Tool>] {
        self.all_givers.get_or_init(|| {
            let mut all = (self.ask.everything)();
            all.retain(|tool| tool.output_schema.is_some());
            all.sort_by(|a, b| a.name.cmp(&b.name));
            all
        })
    }

    /// The tools that surely give an argument and can be called, each with the part that it is.
    fn givers(
        &self,
        at: usize,
        wanted: &Wanted<'_>,
        tools: &[Arc<Tool>],
    ) -> Vec<(Arc<Tool>, String)> {
        let gives = |tool: &Arc<Tool>| {
            let used = self.drafts.iter().any(|draft| draft.tool.name == tool.name);
            let parts = fields::of_schema(tool.output_schema.as_ref().filter(|_| !used)?);
            let (part, fit) = fields::best(wanted, &parts, &tool.name.tool)?;
            let can = fit == Fit::Strong && self.can_be_called(tool, self.drafts[at].clause);
            can.then(|| (Arc::clone(tool), part.path.clone()))
        };
        tools.iter().filter_map(gives).collect()
    }

    /// Whether what a tool needs is said somewhere: nothing is added that leaves more open than it closes.
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
            let known = self.known(name, &about).is_some();
            let wanted = Wanted::new(name, &about, tool);
            let given = |parts: &[Part], giver: &str| fields::best(&wanted, parts, giver).is_some();
            known
                || take(&mut left, tool, name, &about).is_some()
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

/// What gives before what is given to; otherwise the order stays, and what was added stands right before
/// what it was added for.
fn in_order(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut order: Vec<usize> = Vec::new();
    fn visit(at: usize, drafts: &[Draft], order: &mut Vec<usize>, open: &mut Vec<usize>) {
        if order.contains(&at) || open.contains(&at) {
            return;
        }
        open.push(at);
        for (_, giver, ..) in &drafts[at].feeds {
            if let Giver::Task(giver) = giver {
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
    let mut moved: Vec<(usize, Draft)> = drafts
        .into_iter()
        .enumerate()
        .map(|(at, draft)| (place(at), draft))
        .collect();
    moved.sort_by_key(|(at, _)| *at);
    let mut all: Vec<Draft> = moved.into_iter().map(|(_, draft)| draft).collect();
    for draft in &mut all {
        for (_, giver, ..) in &mut draft.feeds {
            if let Giver::Task(giver) = giver {
                *giver = place(*giver);
            }
        }
        if let Some((of, _)) = &mut draft.needed_by {
            *of = place(*of);
        }
    }
    all
}
