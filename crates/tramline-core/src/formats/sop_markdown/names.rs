//! Names in expressions and lists that no list of the file contains: nearly always a typing slip.

use super::Reader;
use super::front::Front;
use super::prompts::Given;
use crate::flaw::{Code, Place};
use crate::navigate::audit::writes_by_name;
use crate::sop::{Node, Sop};
use crate::text::{nearest, shown};
use std::collections::HashSet;
use tramline_expr::{Str, Value};

mod scan;

use scan::Use;

/// Names as near as this are slips.
pub(super) const LIKENESS: f64 = 0.75;

/// What guards see.
const GUARD_ROOTS: [&str; 2] = ["slots", "results"];
/// What rules over calls see.
const RULE_ROOTS: [&str; 7] = [
    "args", "slots", "results", "calls", "lookups", "caller", "each",
];

/// Whether one name is probably the other, mistyped.
pub(super) fn resembles(given: &str, known: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let likeness = strsim::normalized_damerau_levenshtein(&plain(given), &plain(known));
    likeness >= LIKENESS
}

/// The formulas of one part of the file, with their places and the look-ups that they see.
pub(super) struct Formulas {
    guards: Vec<(Value, Place)>,
    rules: Vec<(Value, Place)>,
    tools: Vec<(Str, Place)>,
    lookups: Vec<Str>,
}

impl Formulas {
    /// Those of the frontmatter.
    pub(super) fn of_front(front: &Front) -> Self {
        Self {
            guards: Vec::new(),
            rules: front.rules.formulas.clone(),
            tools: front.rules.tools.clone(),
            lookups: Vec::new(),
        }
    }

    /// Those of a node.
    pub(super) fn of_node(given: &Given) -> Self {
        let said = &given.said;
        let guards = said.guards.iter();
        Self {
            guards: guards
                .map(|(_, it, place)| (it.clone(), place.clone()))
                .collect(),
            rules: said.rules.formulas.clone(),
            tools: said.rules.tools.clone(),
            lookups: said
                .rules
                .lookups
                .iter()
                .map(|it| it.name.clone())
                .collect(),
        }
    }
}

/// The names that the file lists.
struct Listed<'s> {
    tools: HashSet<&'s str>,
    slots: HashSet<&'s str>,
    /// Whether there can be names that are listed elsewhere: then only near misses are flaws.
    is_open: bool,
}

/// Whether procedures inside this one can have names of their own.
fn is_open(sop: &Sop) -> bool {
    sop.nodes.iter().any(|it| it.procedure.is_some())
}

impl<'s> Listed<'s> {
    fn of(sop: &'s Sop) -> Self {
        let demanded = |it: &'s Node| it.must_call.iter().flat_map(|any| &any.0);
        let at_nodes = sop.nodes.iter();
        let at_nodes = at_nodes.flat_map(|it| it.tools.iter().chain(demanded(it)));
        Self {
            tools: sop.tools.iter().chain(at_nodes).map(Str::as_str).collect(),
            slots: sop
                .nodes
                .iter()
                .flat_map(|it| &it.slots)
                .map(|it| it.name.as_str())
                .collect(),
            is_open: is_open(sop),
        }
    }

    /// Whether a tool is listed, with or without its server.
    fn has_tool(&self, name: &str) -> bool {
        let short = |name: &str| name.rsplit(':').next().map(str::to_owned);
        self.tools.contains(name) || self.tools.iter().any(|it| short(it) == short(name))
    }
}

impl Reader<'_> {
    /// Checks the names in `read_only_tools`, in guards and in rules.
    pub(super) fn names(&mut self, front: &Front, formulas: &[Formulas], sop: &Sop) {
        let mut listed = Listed::of(sop);
        // Without `tools` in the frontmatter, `read_only_tools` is the list of its tools.
        listed.is_open |= sop.tools.is_empty();
        if !listed.tools.is_empty() {
            for (name, place) in &front.anywhere {
                if !listed.has_tool(name) {
                    self.no_tool(name, place, &listed, "`read_only_tools`");
                }
            }
        }
        listed.is_open = is_open(sop);
        for (name, place) in &front.anywhere {
            if writes_by_name(name) {
                let message = format!("`{}` under `read_only_tools` seems to write", shown(name));
                let hint = "list it at the nodes that may call it; read-only tools pass everywhere";
                self.flaws
                    .add(Code::WritingTool, place.clone(), message, hint);
            }
        }
        let has_tools = !listed.tools.is_empty();
        listed.tools.extend(sop.anywhere.iter().map(Str::as_str));
        let shared: Vec<Str> = sop.lookups.iter().map(|it| it.name.clone()).collect();
        for part in formulas {
            for (name, place) in part.tools.iter().filter(|_| has_tools) {
                if !listed.has_tool(name) {
                    self.no_tool(name, place, &listed, "a rule");
                }
            }
            let lookups: Vec<&str> = shared
                .iter()
                .chain(&part.lookups)
                .map(Str::as_str)
                .collect();
            for (formula, place) in &part.guards {
                self.uses(formula, place, &GUARD_ROOTS, &lookups, &listed);
            }
            for (formula, place) in &part.rules {
                self.uses(formula, place, &RULE_ROOTS, &lookups, &listed);
            }
        }
    }

    fn no_tool(&mut self, name: &str, place: &Place, listed: &Listed<'_>, owner: &str) {
        let near = nearest(name, listed.tools.iter().copied());
        if listed.is_open && !near.is_some_and(|near| resembles(name, near)) {
            return;
        }
        let message = format!(
            "{owner} names the tool `{}`, which no list has",
            shown(name)
        );
        let hint = hint(near, "add it to `tools` in the frontmatter, or to a node");
        self.flaws
            .add(Code::UnknownName, place.clone(), message, hint);
    }

    /// Checks the names in one formula.
    fn uses(
        &mut self,
        formula: &Value,
        place: &Place,
        roots: &[&str],
        lookups: &[&str],
        listed: &Listed<'_>,
    ) {
        for Use { root, name } in scan::uses(formula) {
            if !roots.contains(&root.as_str()) {
                self.no_root(&root, place, roots);
                continue;
            }
            let Some(name) = name else { continue };
            match root.as_str() {
                "results" | "calls" if !listed.tools.is_empty() && !listed.has_tool(&name) => {
                    self.no_tool(&name, place, listed, &format!("`{root}.{}`", shown(&name)));
                }
                "slots" if !listed.slots.is_empty() && !listed.slots.contains(name.as_str()) => {
                    let near = nearest(&name, listed.slots.iter().copied());
                    if listed.is_open && !near.is_some_and(|near| resembles(&name, near)) {
                        continue;
                    }
                    let message = format!("no node collects the slot `{}`", shown(&name));
                    let hint = hint(near, "add it to the `slots` of a node");
                    self.flaws
                        .add(Code::UnknownName, place.clone(), message, hint);
                }
                "lookups" if !lookups.contains(&name.as_str()) => {
                    let near = nearest(&name, lookups.iter().copied());
                    let message = format!("there is no look-up `{}` here", shown(&name));
                    let hint = hint(near, "add it to `lookups`");
                    self.flaws
                        .add(Code::UnknownName, place.clone(), message, hint);
                }
                _ => {}
            }
        }
    }

    fn no_root(&mut self, root: &str, place: &Place, roots: &[&str]) {
        let elsewhere = RULE_ROOTS.contains(&root);
        let near = nearest(root, roots.iter().copied()).filter(|near| resembles(root, near));
        if near.is_none() && !elsewhere {
            return;
        }
        let message = format!("there is no `{}` here", shown(root));
        let sees = format!("there are {}", roots.join(", "));
        self.flaws
            .add(Code::UnknownName, place.clone(), message, hint(near, &sees));
    }
}

fn hint(near: Option<&str>, otherwise: &str) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.to_owned(),
    }
}
