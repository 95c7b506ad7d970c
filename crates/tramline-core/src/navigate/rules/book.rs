//! The rules of a procedure, compiled once and shared by its conversations.

use super::{Formula, lookup};
use crate::ids::{NodeIx, ToolName};
use crate::navigate::gate::is_listed;
use crate::sop::{CallRule, Demand, Lookup, Otherwise, Sop};
use std::collections::HashMap;
use tramline_expr::{Str, Value};

/// A rule that is ready to be evaluated.
#[derive(Debug)]
pub(super) struct Compiled {
    tools: Vec<Str>,
    pub(super) field: &'static str,
    pub(super) source: Value,
    pub(super) kind: Kind,
    pub(super) message: Option<Str>,
    pub(super) otherwise: Otherwise,
}

/// What it demands.
#[derive(Debug)]
pub(super) enum Kind {
    /// This holds.
    Holds(Formula),
    /// No earlier call, also of these tools, had the same value.
    Once(Formula, Vec<Str>),
    /// Fewer calls were made.
    AtMost(u32),
}

impl Compiled {
    fn new(rule: &CallRule) -> Result<Self, String> {
        let (source, kind) = match &rule.demand {
            Demand::Args(source) => (source.clone(), Kind::Holds(Formula::compile(source)?)),
            Demand::OncePer { value, with } => (
                value.clone(),
                Kind::Once(Formula::compile(value)?, with.clone()),
            ),
            Demand::MaxCalls(most) => ((*most).into(), Kind::AtMost(*most)),
        };
        Ok(Self {
            tools: rule.tools.clone(),
            field: rule.demand.field(),
            source,
            kind,
            message: rule.message.clone(),
            otherwise: rule.otherwise,
        })
    }

    /// Whether it looks at earlier calls.
    pub(super) fn reads_history(&self) -> bool {
        match &self.kind {
            Kind::Holds(_) => {
                let text = self.source.to_string();
                text.contains("calls") || text.contains("lookups")
            }
            Kind::Once(..) | Kind::AtMost(_) => true,
        }
    }
}

/// Every rule and look-up of a procedure.
#[derive(Debug, Default)]
pub(in crate::navigate) struct Book {
    everywhere: Part,
    nodes: HashMap<NodeIx, Part>,
}

#[derive(Debug, Default)]
struct Part {
    rules: Vec<Compiled>,
    lookups: Vec<lookup::Compiled>,
}

impl Part {
    fn compile(rules: &[CallRule], lookups: &[Lookup]) -> Result<Self, String> {
        Ok(Self {
            rules: rules.iter().map(Compiled::new).collect::<Result<_, _>>()?,
            lookups: lookups
                .iter()
                .map(lookup::Compiled::new)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Book {
    pub(in crate::navigate) fn compile(sop: &Sop) -> Result<Self, String> {
        let mut nodes = HashMap::new();
        for (at, node) in sop.nodes.iter().enumerate() {
            if !node.rules.is_empty() || !node.lookups.is_empty() {
                nodes.insert(
                    NodeIx(at as u32),
                    Part::compile(&node.rules, &node.lookups)?,
                );
            }
        }
        Ok(Self {
            everywhere: Part::compile(&sop.rules, &sop.lookups)?,
            nodes,
        })
    }

    /// Whether there are no rules at all.
    pub(in crate::navigate) fn is_empty(&self) -> bool {
        let mut parts = self.nodes.values().chain([&self.everywhere]);
        parts.all(|it| it.rules.is_empty())
    }

    /// The rules for a tool, at a node if there is one.
    pub(super) fn of(&self, node: Option<NodeIx>, tool: &ToolName) -> Vec<&Compiled> {
        let there = node.and_then(|at| self.nodes.get(&at));
        let parts = [Some(&self.everywhere), there].into_iter().flatten();
        let rules = parts.flat_map(|part| &part.rules);
        rules.filter(|it| is_listed(&it.tools, tool)).collect()
    }

    /// The look-ups that a node sees; its own come before those of the whole file.
    pub(super) fn lookups(&self, node: Option<NodeIx>) -> Vec<&lookup::Compiled> {
        let own = node
            .and_then(|at| self.nodes.get(&at))
            .map(|it| &it.lookups);
        let is_own = |name: &str| own.is_some_and(|own| own.iter().any(|it| it.name() == name));
        let shared = self.everywhere.lookups.iter();
        let shared = shared.filter(|it| !is_own(it.name()));
        shared.chain(own.into_iter().flatten()).collect()
    }
}
