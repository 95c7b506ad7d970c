//! The syntax tree: first as parsed, then with desugared paths (see [`crate::compile`]).

use super::signature::Signature;
use crate::error::Span;
use crate::value::{Str, Value};
use std::sync::Arc;

/// A node of the tree: its operator token, and the extent of source it covers.
#[derive(Debug)]
pub(crate) struct Ast {
    pub(crate) kind: AstKind,
    pub(crate) token: Span,
    pub(crate) extent: Span,
    /// The height of this subtree, with and without chains that are flattened later.
    pub(crate) height: TreeHeight,
    /// Followed by `[]`.
    pub(crate) keep: bool,
    /// Filters that follow something other than a path.
    pub(crate) predicates: Vec<Ast>,
    /// The group-by that follows.
    pub(crate) group: Option<Box<AstPairs>>,
    /// Parent references inside that no step of a path has resolved yet.
    pub(crate) unresolved_parents: Vec<usize>,
    /// Results carry bindings, because a parent reference outside needs one from inside.
    pub(crate) tuple: bool,
}

/// The height of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TreeHeight {
    pub(crate) all: u16,
    pub(crate) nested: u16,
}

/// Keys and values of an object constructor or group-by.
#[derive(Debug)]
pub(crate) struct AstPairs {
    pub(crate) pairs: Vec<(Ast, Ast)>,
    pub(crate) token: Span,
}

#[derive(Debug)]
pub(crate) enum AstKind {
    Literal(Value),
    Name(Str),
    Variable(Str),
    Regex(Str, Str),
    Wildcard,
    Descendants,
    /// `%`, with its number among all parent references.
    Parent(usize),
    /// `?`, a placeholder for an argument of a partial application.
    Placeholder,
    /// The end of the source where a value is expected.
    End,
    Negate(Box<Ast>),
    Binary(BinaryOp, Box<Ast>, Box<Ast>),
    Array(Vec<Ast>),
    Object(AstPairs),
    Block(Vec<Ast>),
    Call(Box<Ast>, Vec<Ast>),
    Lambda(Box<LambdaAst>),
    Conditional(Box<Ast>, Box<Ast>, Option<Box<Ast>>),
    Bind(Str, Box<Ast>),
    Transform(Box<Ast>, Box<Ast>, Option<Box<Ast>>),
    /// `a.b`, before desugaring.
    Dot(Box<Ast>, Box<Ast>),
    /// `a[b]`, before desugaring.
    Filter(Box<Ast>, Box<Ast>),
    /// `a[]`, before desugaring.
    Keep(Box<Ast>),
    /// `a{..}`, before desugaring.
    Grouped(Box<Ast>, AstPairs),
    /// `a^(..)`, before desugaring.
    Sorted(Box<Ast>, Vec<(bool, Ast)>),
    /// `a@$v`, before desugaring.
    Focus(Box<Ast>, Str),
    /// `a#$i`, before desugaring.
    Index(Box<Ast>, Str),
    /// A desugared path.
    Path(Vec<StepAst>),
}

/// One step of a desugared path.
#[derive(Debug)]
pub(crate) struct StepAst {
    pub(crate) kind: StepKind,
    pub(crate) stages: Vec<StageAst>,
    pub(crate) focus: Option<Str>,
    pub(crate) index: Option<Str>,
    /// The parent reference that this step's input resolves.
    pub(crate) ancestor: Option<usize>,
    pub(crate) tuple: bool,
    pub(crate) keep: bool,
    /// An array constructor whose arrays are not flattened.
    pub(crate) no_flatten: bool,
    pub(crate) unresolved_parents: Vec<usize>,
    pub(crate) token: Span,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Expr(Ast),
    Sort(Vec<(bool, Ast)>),
}

#[derive(Debug)]
pub(crate) enum StageAst {
    Filter(Ast),
    Index(Str),
}

#[derive(Debug)]
pub(crate) struct LambdaAst {
    pub(crate) params: Vec<Str>,
    pub(crate) signature: Option<Arc<Signature>>,
    pub(crate) body: Ast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Concat,
    And,
    Or,
    In,
    Range,
    Apply,
    Elvis,
    Coalesce,
}

impl BinaryOp {
    pub(crate) fn of(mark: &str) -> Option<Self> {
        Some(match mark {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "%" => Self::Modulo,
            "=" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            "&" => Self::Concat,
            "and" => Self::And,
            "or" => Self::Or,
            "in" => Self::In,
            ".." => Self::Range,
            "~>" => Self::Apply,
            "?:" => Self::Elvis,
            "??" => Self::Coalesce,
            _ => return None,
        })
    }

    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Concat => "&",
            Self::And => "and",
            Self::Or => "or",
            Self::In => "in",
            Self::Range => "..",
            Self::Apply => "~>",
            Self::Elvis => "?:",
            Self::Coalesce => "??",
        }
    }
}

impl AstKind {
    /// The height of a tree with this node at its root.
    pub(crate) fn height(&self) -> TreeHeight {
        let mut height = TreeHeight::default();
        self.children(&mut |child| {
            height.all = height.all.max(child.height.all);
            height.nested = height.nested.max(child.height.nested);
        });
        let flat = matches!(self, Self::Dot(..) | Self::Filter(..) | Self::Keep(_))
            || matches!(self, Self::Binary(BinaryOp::Concat, ..));
        height.all = height.all.saturating_add(1);
        height.nested = height.nested.saturating_add(u16::from(!flat));
        height
    }

    /// Visits the direct children.
    pub(crate) fn children(&self, visit: &mut dyn FnMut(&Ast)) {
        match self {
            Self::Negate(one) | Self::Keep(one) | Self::Bind(_, one) => visit(one),
            Self::Focus(one, _) | Self::Index(one, _) => visit(one),
            Self::Binary(_, left, right) | Self::Dot(left, right) | Self::Filter(left, right) => {
                visit(left);
                visit(right);
            }
            Self::Array(list) | Self::Block(list) => list.iter().for_each(visit),
            Self::Object(pairs) => pairs.children(visit),
            Self::Grouped(one, pairs) => {
                visit(one);
                pairs.children(visit);
            }
            Self::Sorted(one, terms) => {
                visit(one);
                terms.iter().for_each(|(_, term)| visit(term));
            }
            Self::Call(procedure, arguments) => {
                visit(procedure);
                arguments.iter().for_each(visit);
            }
            Self::Lambda(lambda) => visit(&lambda.body),
            Self::Conditional(one, two, three) | Self::Transform(one, two, three) => {
                visit(one);
                visit(two);
                if let Some(three) = three {
                    visit(three);
                }
            }
            // Paths are desugared after heights are checked.
            Self::Path(_)
            | Self::Literal(_)
            | Self::Name(_)
            | Self::Variable(_)
            | Self::Regex(..)
            | Self::Wildcard
            | Self::Descendants
            | Self::Parent(_)
            | Self::Placeholder
            | Self::End => {}
        }
    }
}

impl AstPairs {
    fn children(&self, visit: &mut dyn FnMut(&Ast)) {
        for (key, value) in &self.pairs {
            visit(key);
            visit(value);
        }
    }
}

impl Ast {
    pub(crate) fn new(kind: AstKind, token: Span, extent: Span) -> Self {
        Self {
            kind,
            token,
            extent,
            height: TreeHeight::default(),
            keep: false,
            predicates: Vec::new(),
            group: None,
            unresolved_parents: Vec::new(),
            tuple: false,
        }
    }

    /// The reference's name for this kind of node, used in errors.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            AstKind::Literal(Value::String(_)) => "string",
            AstKind::Literal(Value::Number(_)) => "number",
            AstKind::Literal(_) => "value",
            AstKind::Name(_) => "name",
            AstKind::Variable(_) => "variable",
            AstKind::Regex(..) => "regex",
            AstKind::Wildcard => "wildcard",
            AstKind::Descendants => "descendant",
            AstKind::Parent(_) => "parent",
            AstKind::Placeholder | AstKind::End => "operator",
            AstKind::Negate(_) | AstKind::Array(_) | AstKind::Object(_) => "unary",
            AstKind::Binary(BinaryOp::Apply, ..) => "apply",
            AstKind::Binary(BinaryOp::Elvis | BinaryOp::Coalesce, ..) => "condition",
            AstKind::Binary(..) => "binary",
            AstKind::Block(_) => "block",
            AstKind::Call(..) => "function",
            AstKind::Lambda(_) => "lambda",
            AstKind::Conditional(..) => "condition",
            AstKind::Bind(..) => "bind",
            AstKind::Transform(..) => "transform",
            AstKind::Path(_)
            | AstKind::Dot(..)
            | AstKind::Filter(..)
            | AstKind::Keep(_)
            | AstKind::Grouped(..)
            | AstKind::Sorted(..)
            | AstKind::Focus(..)
            | AstKind::Index(..) => "path",
        }
    }
}
