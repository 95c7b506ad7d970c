//! A compiled rule as a tree of nodes.

use super::operator::{Each, Eager};
use super::path::Place;
use crate::value::{Str, Value};

/// A part of a rule with its place, a JSON pointer into the rule.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) at: Str,
    /// What the rule calls this: the operator, or nothing for values.
    pub(super) operator: Str,
    /// How many levels of arrays and objects this may put around what it was given.
    pub(super) growth: u32,
}

#[derive(Debug)]
pub(super) enum Kind {
    Constant(Value),
    Array(Vec<Node>),
    If(Vec<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    /// A `var` whose place stands in the rule, with its default.
    Var(Place, Option<Box<Node>>),
    /// A `var` whose path is computed: always a plain path, since data is never evaluated.
    VarAt(Box<Node>, Option<Box<Node>>),
    Each(Each, Box<Node>, Option<Box<Node>>),
    Reduce(Box<Reduce>),
    Eager(Eager, Vec<Node>),
}

#[derive(Debug)]
pub(super) struct Reduce {
    pub(super) list: Node,
    pub(super) body: Option<Node>,
    pub(super) first: Option<Node>,
}

/// What an expression in a `var` may add, by its own limit.
const EXPRESSION_GROWTH: u32 = 100;

/// What a reduce may leave behind, by the check it makes as it goes.
pub(super) const REDUCE_GROWTH: u32 = 300;

impl Node {
    pub(super) fn new(kind: Kind, at: Str, operator: Str) -> Self {
        let growth = kind.growth();
        Self {
            kind,
            at,
            operator,
            growth,
        }
    }
}

impl Node {
    /// Whether a reduce in here may make a value that holds itself many times over.
    pub(super) fn multiplies(&self) -> bool {
        let any = |nodes: &[Node]| nodes.iter().any(Node::multiplies);
        let one = |node: &Option<Box<Node>>| node.as_ref().is_some_and(|node| node.multiplies());
        match &self.kind {
            Kind::Constant(_) => false,
            Kind::Array(parts) | Kind::If(parts) | Kind::And(parts) | Kind::Or(parts) => any(parts),
            Kind::Eager(_, parts) => any(parts),
            Kind::Var(_, default) => one(default),
            Kind::VarAt(path, default) => path.multiplies() || one(default),
            Kind::Each(_, list, body) => list.multiplies() || one(body),
            Kind::Reduce(reduce) => {
                let built = |node: &Option<Node>| node.as_ref().is_some_and(Node::multiplies);
                reduce.body.as_ref().is_some_and(|body| body.growth > 0)
                    || reduce.list.multiplies()
                    || built(&reduce.body)
                    || built(&reduce.first)
            }
        }
    }
}

impl Kind {
    fn growth(&self) -> u32 {
        let most = |nodes: &[Node]| nodes.iter().map(|node| node.growth).max().unwrap_or(0);
        let of = |node: &Option<Box<Node>>| node.as_ref().map_or(0, |node| node.growth);
        match self {
            Self::Constant(_) => 0,
            Self::Array(items) => 1 + most(items),
            Self::If(parts) | Self::And(parts) | Self::Or(parts) => most(parts),
            Self::Var(Place::Path(_), default) => of(default),
            // Inside a reduce the whole is an object around the accumulator.
            Self::Var(Place::Whole, _) => 1,
            Self::Var(Place::Fields(..) | Place::Expression(_), default) => {
                EXPRESSION_GROWTH.max(of(default))
            }
            Self::VarAt(_, default) => 1 + of(default),
            Self::Each(Each::Map, list, body) => 1 + list.growth + of(body),
            Self::Each(Each::Filter, list, _) => list.growth,
            Self::Each(Each::All | Each::None | Each::Some, ..) => 0,
            Self::Reduce(_) => REDUCE_GROWTH,
            Self::Eager(Eager::Merge | Eager::Missing | Eager::MissingSome, parts) => {
                1 + most(parts)
            }
            Self::Eager(Eager::Log | Eager::Multiply, parts) => most(parts),
            Self::Eager(..) => 0,
        }
    }
}
