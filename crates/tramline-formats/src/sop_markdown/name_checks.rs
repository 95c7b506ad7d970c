//! Reports names in expressions and lists that the file does not declare: almost always typos.

use super::SopReader;
use super::frontmatter::Frontmatter;
use super::instructions::NodeSection;
use std::collections::HashSet;
use tramline_expr::{
    AnalysisData, AnalysisScope, FindingKind, RootName, Shape, Str, Value, analyze,
};
use tramline_sop::audit::is_write_by_name;
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::graph::nearest_function;
use tramline_workflow::scope;
use tramline_workflow::sop::{Sop, SopNode};
use tramline_workflow::text::{display_name, nearest, resembles};

mod path_scanner;

use path_scanner::PathUse;

/// The root names available to guards.
const GUARD_ROOTS: [&str; 2] = ["slots", "results"];
/// The root names available to call rules.
const RULE_ROOTS: [&str; 7] = [
    "args", "slots", "results", "calls", "lookups", "caller", "each",
];

/// The expressions of one part of the file, with their locations and the lookups they can use.
pub(super) struct ExpressionSet {
    guards: Vec<(Value, SourceSpan)>,
    rules: Vec<(Value, SourceSpan)>,
    tools: Vec<(Str, SourceSpan)>,
    lookups: Vec<Str>,
}

impl ExpressionSet {
    /// The expressions of the frontmatter.
    pub(super) fn of_front(front: &Frontmatter) -> Self {
        Self {
            guards: Vec::new(),
            rules: front.rules.expressions.clone(),
            tools: front.rules.tools.clone(),
            lookups: Vec::new(),
        }
    }

    /// The expressions of a node.
    pub(super) fn of_node(given: &NodeSection) -> Self {
        let said = &given.settings;
        let guards = said.guards.iter();
        Self {
            guards: guards
                .map(|it| (it.condition.clone(), it.condition_span.clone()))
                .collect(),
            rules: said.rules.expressions.clone(),
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

/// The names declared in the file.
struct DeclaredNames<'s> {
    tools: HashSet<&'s str>,
    slots: HashSet<&'s str>,
    /// Whether names may be declared elsewhere; if so, only near misses are flaws.
    is_open: bool,
}

/// Whether nested procedures can declare further names.
fn is_open(sop: &Sop) -> bool {
    sop.nodes.iter().any(|it| it.procedure.is_some())
}

impl<'s> DeclaredNames<'s> {
    fn of(sop: &'s Sop) -> Self {
        let demanded = |it: &'s SopNode| it.must_call.iter().flat_map(|any| &any.0);
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

    /// Whether a tool is declared, with or without its server.
    fn has_tool(&self, name: &str) -> bool {
        let short = |name: &str| name.rsplit(':').next().map(str::to_owned);
        self.tools.contains(name) || self.tools.iter().any(|it| short(it) == short(name))
    }
}

impl SopReader<'_> {
    /// Checks the names in `read_only_tools`, in guards and in rules.
    pub(super) fn check_names(
        &mut self,
        front: &Frontmatter,
        formulas: &[ExpressionSet],
        sop: &Sop,
    ) {
        let mut listed = DeclaredNames::of(sop);
        // Without `tools` in the frontmatter, `read_only_tools` is the only list of tools.
        listed.is_open |= sop.tools.is_empty();
        if !listed.tools.is_empty() {
            for (name, place) in &front.anywhere {
                if !listed.has_tool(name) {
                    self.report_unknown_tool(name, place, &listed, "`read_only_tools`");
                }
            }
        }
        listed.is_open = is_open(sop);
        for (name, place) in &front.anywhere {
            if is_write_by_name(name) {
                let message = format!(
                    "`{}` is listed in `read_only_tools` but seems to write",
                    display_name(name)
                );
                let hint =
                    "list it at the nodes that may call it; read-only tools are allowed everywhere";
                self.flaws
                    .add(FlawCode::WritingTool, place.clone(), message, hint);
            }
        }
        let has_tools = !listed.tools.is_empty();
        listed.tools.extend(sop.anywhere.iter().map(Str::as_str));
        let shared: Vec<Str> = sop.lookups.iter().map(|it| it.name.clone()).collect();
        for part in formulas {
            for (name, place) in part.tools.iter().filter(|_| has_tools) {
                if !listed.has_tool(name) {
                    self.report_unknown_tool(name, place, &listed, "a rule");
                }
            }
            let lookups: Vec<&str> = shared
                .iter()
                .chain(&part.lookups)
                .map(Str::as_str)
                .collect();
            for (formula, place) in &part.guards {
                self.check_uses(formula, place, &GUARD_ROOTS, &lookups, &listed);
                self.check_functions(formula, place);
            }
            for (formula, place) in &part.rules {
                self.check_uses(formula, place, &RULE_ROOTS, &lookups, &listed);
                self.check_functions(formula, place);
            }
        }
    }

    fn report_unknown_tool(
        &mut self,
        name: &str,
        place: &SourceSpan,
        listed: &DeclaredNames<'_>,
        owner: &str,
    ) {
        let near = nearest(name, listed.tools.iter().copied());
        if listed.is_open && !near.is_some_and(|near| resembles(name, near)) {
            return;
        }
        let message = format!(
            "{owner} names the tool `{}`, which is not listed",
            display_name(name)
        );
        let hint = suggestion(near, "add it to `tools` in the frontmatter, or to a node");
        self.flaws
            .add(FlawCode::UnknownName, place.clone(), message, hint);
    }

    /// Checks the names in one expression.
    fn check_uses(
        &mut self,
        formula: &Value,
        place: &SourceSpan,
        roots: &[&str],
        lookups: &[&str],
        listed: &DeclaredNames<'_>,
    ) {
        for PathUse { root, name } in path_scanner::uses(formula) {
            if !roots.contains(&root.as_str()) {
                let place = self.name_place(place, "", &root);
                self.report_unknown_root(&root, &place, roots);
                continue;
            }
            let Some(name) = name else { continue };
            let place = &self.name_place(place, &root, &name);
            match root.as_str() {
                "results" | "calls" if !listed.tools.is_empty() && !listed.has_tool(&name) => {
                    self.report_unknown_tool(
                        &name,
                        place,
                        listed,
                        &format!("`{root}.{}`", display_name(&name)),
                    );
                }
                "slots" if !listed.slots.is_empty() && !listed.slots.contains(name.as_str()) => {
                    let near = nearest(&name, listed.slots.iter().copied());
                    if listed.is_open && !near.is_some_and(|near| resembles(&name, near)) {
                        continue;
                    }
                    let message = format!("no node collects the slot `{}`", display_name(&name));
                    let hint = suggestion(near, "add it to the `slots` of a node");
                    self.flaws
                        .add(FlawCode::UnknownName, place.clone(), message, hint);
                }
                "lookups" if !lookups.contains(&name.as_str()) => {
                    let near = nearest(&name, lookups.iter().copied());
                    let message = format!("there is no lookup `{}` here", display_name(&name));
                    let hint = suggestion(near, "add it to `lookups`");
                    self.flaws
                        .add(FlawCode::UnknownName, place.clone(), message, hint);
                }
                _ => {}
            }
        }
    }

    /// Reports functions and variables that do not exist.
    fn check_functions(&mut self, formula: &Value, place: &SourceSpan) {
        let Some(source) = formula.as_str() else {
            return;
        };
        let anything = |_: &str| RootName::Known(Shape::Any);
        let scope = AnalysisScope {
            data: AnalysisData::Root(&anything),
            variables: &[],
            functions: scope::functions(),
        };
        for finding in analyze(source, scope).findings {
            let what = match finding.kind {
                FindingKind::UnknownFunction => "function",
                FindingKind::UnknownVariable(_) => "variable",
                FindingKind::UnknownRoot
                | FindingKind::NotYet
                | FindingKind::TextSum
                | FindingKind::UnknownField { .. }
                | FindingKind::NotAnObject { .. }
                | FindingKind::HostArgument(_) => continue,
            };
            let near = nearest_function(&finding.name).map(|near| format!("${near}"));
            let name = format!("${}", finding.name);
            self.flaws.add(
                FlawCode::UnknownVariable,
                self.name_place(place, "", &name),
                format!("there is no {what} `{}`", display_name(&name)),
                suggestion(near.as_deref(), "docs/expressions.md lists the functions"),
            );
        }
    }

    /// The place of a name inside an expression, after its root and a dot if there is one. An expression that is written
    /// in another way, such as with escapes, is marked as a whole.
    fn name_place(&self, whole: &SourceSpan, root: &str, name: &str) -> SourceSpan {
        let start = self.lines.byte_offset(whole.line, whole.column);
        let end = self.lines.byte_offset(whole.end_line, whole.end_column);
        let text = self.text.get(start..end).unwrap_or_default();
        let path = match root {
            "" => name.to_owned(),
            root => format!("{root}.{name}"),
        };
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let found = text.match_indices(&path).map(|(at, _)| at).find(|at| {
            let before = text[..*at].chars().next_back();
            let after = text[at + path.len()..].chars().next();
            !before.is_some_and(|c| is_part(c) || c == '.') && !after.is_some_and(is_part)
        });
        match found {
            Some(at) => {
                let end = start + at + path.len();
                self.lines.source_span(end - name.len()..end)
            }
            None => whole.clone(),
        }
    }

    fn report_unknown_root(&mut self, root: &str, place: &SourceSpan, roots: &[&str]) {
        let elsewhere = RULE_ROOTS.contains(&root);
        let near = nearest(root, roots.iter().copied()).filter(|near| resembles(root, near));
        if near.is_none() && !elsewhere {
            return;
        }
        let message = format!("`{}` is not available here", display_name(root));
        let sees = format!("available: {}", roots.join(", "));
        self.flaws.add(
            FlawCode::UnknownName,
            place.clone(),
            message,
            suggestion(near, &sees),
        );
    }
}

fn suggestion(near: Option<&str>, otherwise: &str) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.to_owned(),
    }
}
