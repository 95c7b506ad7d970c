//! A compiled rule as a tree of nodes.

use super::operator::{EagerOperator, ItemOperator};
use super::var_path::VarTarget;
use crate::value::{Str, Value};

/// A part of a rule, with its position as a JSON pointer.
#[derive(Debug)]
pub(super) struct RuleNode {
    pub(super) kind: RuleNodeKind,
    pub(super) pointer: Str,
    /// The operator's name in the rule; empty for values.
    pub(super) operator: Str,
    /// How many levels of arrays and objects this may add around its data.
    pub(super) growth: u32,
}

#[derive(Debug)]
pub(super) enum RuleNodeKind {
    Constant(Value),
    Array(Vec<RuleNode>),
    If(Vec<RuleNode>),
    And(Vec<RuleNode>),
    Or(Vec<RuleNode>),
    /// A `var` whose path is written in the rule, with its default.
    Var(VarTarget, Option<Box<RuleNode>>),
    /// A `var` whose path is computed. It is always a plain path, since data is never evaluated.
    VarAt(Box<RuleNode>, Option<Box<RuleNode>>),
    Each(ItemOperator, Box<RuleNode>, Option<Box<RuleNode>>),
    Reduce(Box<ReduceNode>),
    Eager(EagerOperator, Vec<RuleNode>),
}

#[derive(Debug)]
pub(super) struct ReduceNode {
    pub(super) list: RuleNode,
    pub(super) body: Option<RuleNode>,
    pub(super) first: Option<RuleNode>,
}

/// Levels that an expression in a `var` may add, by its own limit.
const EXPRESSION_GROWTH: u32 = 100;

/// Levels that a reduce may add; it checks this as it runs.
pub(super) const REDUCE_GROWTH: u32 = 300;

impl RuleNode {
    pub(super) fn new(kind: RuleNodeKind, pointer: Str, operator: Str) -> Self {
        let growth = kind.growth();
        Self {
            kind,
            pointer,
            operator,
            growth,
        }
    }
}

impl RuleNode {
    /// Whether a reduce in here may build a value that contains itself many times.
    pub(super) fn can_multiply(&self) -> bool {
        let any = |nodes: &[RuleNode]| nodes.iter().any(RuleNode::can_multiply);
        let one =
            |node: &Option<Box<RuleNode>>| node.as_ref().is_some_and(|node| node.can_multiply());
        match &self.kind {
            RuleNodeKind::Constant(_) => false,
            RuleNodeKind::Array(parts)
            | RuleNodeKind::If(parts)
            | RuleNodeKind::And(parts)
            | RuleNodeKind::Or(parts) => any(parts),
            RuleNodeKind::Eager(_, parts) => any(parts),
            RuleNodeKind::Var(_, default) => one(default),
            RuleNodeKind::VarAt(path, default) => path.can_multiply() || one(default),
            RuleNodeKind::Each(_, list, body) => list.can_multiply() || one(body),
            RuleNodeKind::Reduce(reduce) => {
                let built =
                    |node: &Option<RuleNode>| node.as_ref().is_some_and(RuleNode::can_multiply);
                reduce.body.as_ref().is_some_and(|body| body.growth > 0)
                    || reduce.list.can_multiply()
                    || built(&reduce.body)
                    || built(&reduce.first)
            }
        }
    }
}

impl RuleNodeKind {
    fn growth(&self) -> u32 {
        let most = |nodes: &[RuleNode]| nodes.iter().map(|node| node.growth).max().unwrap_or(0);
        let of = |node: &Option<Box<RuleNode>>| node.as_ref().map_or(0, |node| node.growth);
        match self {
            Self::Constant(_) => 0,
            Self::Array(items) => 1 + most(items),
            Self::If(parts) | Self::And(parts) | Self::Or(parts) => most(parts),
            Self::Var(VarTarget::Path(_), default) => of(default),
            // Inside a reduce, the whole data is an object around the accumulator.
            Self::Var(VarTarget::Whole, _) => 1,
            Self::Var(VarTarget::Fields(..) | VarTarget::Expression(_), default) => {
                EXPRESSION_GROWTH.max(of(default))
            }
            Self::VarAt(_, default) => 1 + of(default),
            Self::Each(ItemOperator::Map, list, body) => 1 + list.growth + of(body),
            Self::Each(ItemOperator::Filter, list, _) => list.growth,
            Self::Each(ItemOperator::All | ItemOperator::None | ItemOperator::Some, ..) => 0,
            Self::Reduce(_) => REDUCE_GROWTH,
            Self::Eager(
                EagerOperator::Merge | EagerOperator::Missing | EagerOperator::MissingSome,
                parts,
            ) => 1 + most(parts),
            Self::Eager(EagerOperator::Log | EagerOperator::Multiply, parts) => most(parts),
            Self::Eager(..) => 0,
        }
    }
}
