//! The rules of a procedure, compiled once and shared by its sessions.

use super::{Formula, lookup};
use crate::tool_gate::is_listed;
use std::collections::HashMap;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::{NodeIx, ToolName};
use tramline_workflow::sop::{CallLookup, CallRule, OnViolation, RuleDemand, Sop};

/// A compiled rule.
#[derive(Debug)]
pub(super) struct CompiledRule {
    tools: Vec<Str>,
    pub(super) field: &'static str,
    pub(super) source: Value,
    pub(super) kind: RuleKind,
    pub(super) message: Option<Str>,
    pub(super) otherwise: OnViolation,
}

/// What a rule requires.
#[derive(Debug)]
pub(super) enum RuleKind {
    /// The condition holds.
    Holds(Formula),
    /// No earlier call of the tool or of these tools had the same value.
    OncePer(Formula, Vec<Str>),
    /// Fewer calls than this were made.
    MaxCalls(u32),
}

impl CompiledRule {
    fn new(rule: &CallRule) -> Result<Self, String> {
        let (source, kind) = match &rule.demand {
            RuleDemand::Args(source) => {
                (source.clone(), RuleKind::Holds(Formula::compile(source)?))
            }
            RuleDemand::OncePer { value, with } => (
                value.clone(),
                RuleKind::OncePer(Formula::compile(value)?, with.clone()),
            ),
            RuleDemand::MaxCalls(most) => ((*most).into(), RuleKind::MaxCalls(*most)),
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

    /// Whether it uses earlier calls.
    pub(super) fn reads_history(&self) -> bool {
        match &self.kind {
            RuleKind::Holds(_) => {
                let text = self.source.to_string();
                text.contains("calls") || text.contains("lookups")
            }
            RuleKind::OncePer(..) | RuleKind::MaxCalls(_) => true,
        }
    }
}

/// Every rule and look-up of a procedure.
#[derive(Debug, Default)]
pub(crate) struct CompiledRules {
    everywhere: RuleSet,
    nodes: HashMap<NodeIx, RuleSet>,
}

#[derive(Debug, Default)]
struct RuleSet {
    rules: Vec<CompiledRule>,
    lookups: Vec<lookup::CompiledLookup>,
}

impl RuleSet {
    fn compile(rules: &[CallRule], lookups: &[CallLookup]) -> Result<Self, String> {
        Ok(Self {
            rules: rules
                .iter()
                .map(CompiledRule::new)
                .collect::<Result<_, _>>()?,
            lookups: lookups
                .iter()
                .map(lookup::CompiledLookup::new)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl CompiledRules {
    pub(crate) fn compile(sop: &Sop) -> Result<Self, String> {
        let mut nodes = HashMap::new();
        for (at, node) in sop.nodes.iter().enumerate() {
            if !node.rules.is_empty() || !node.lookups.is_empty() {
                nodes.insert(
                    NodeIx(at as u32),
                    RuleSet::compile(&node.rules, &node.lookups)?,
                );
            }
        }
        Ok(Self {
            everywhere: RuleSet::compile(&sop.rules, &sop.lookups)?,
            nodes,
        })
    }

    /// Whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        let mut parts = self.nodes.values().chain([&self.everywhere]);
        parts.all(|it| it.rules.is_empty())
    }

    /// Whether a rule counts the calls of a tool.
    pub(crate) fn counts(&self, tool: &ToolName) -> bool {
        let parts = self.nodes.values().chain([&self.everywhere]);
        let mut rules = parts.flat_map(|part| &part.rules);
        rules.any(|rule| match &rule.kind {
            RuleKind::Holds(_) => false,
            RuleKind::OncePer(_, with) => is_listed(&rule.tools, tool) || is_listed(with, tool),
            RuleKind::MaxCalls(_) => is_listed(&rule.tools, tool),
        })
    }

    /// The rules for a tool, including those of the node, if there is one.
    pub(super) fn of(&self, node: Option<NodeIx>, tool: &ToolName) -> Vec<&CompiledRule> {
        let there = node.and_then(|at| self.nodes.get(&at));
        let parts = [Some(&self.everywhere), there].into_iter().flatten();
        let rules = parts.flat_map(|part| &part.rules);
        rules.filter(|it| is_listed(&it.tools, tool)).collect()
    }

    /// The look-ups visible at a node; its own take precedence over those of the whole file.
    pub(super) fn lookups(&self, node: Option<NodeIx>) -> Vec<&lookup::CompiledLookup> {
        let own = node
            .and_then(|at| self.nodes.get(&at))
            .map(|it| &it.lookups);
        let is_own = |name: &str| own.is_some_and(|own| own.iter().any(|it| it.name() == name));
        let shared = self.everywhere.lookups.iter();
        let shared = shared.filter(|it| !is_own(it.name()));
        shared.chain(own.into_iter().flatten()).collect()
    }
}
