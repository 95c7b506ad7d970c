//! The compiled program: the tree that the evaluator runs.

use crate::error::Span;
use crate::functions::Builtin;
use crate::functions::pattern::RegexPattern;
use crate::syntax::ast::BinaryOp;
use crate::syntax::signature::Signature;
use crate::value::{Map, Str, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) root: ExprNode,
    /// Slots of the outermost frame.
    pub(crate) slots: usize,
    /// The names of those slots, if `$eval` may need them.
    pub(crate) names: Option<Arc<[Str]>>,
}

/// A node: its operation, the token that errors point at, and its extent in the source.
#[derive(Debug)]
pub(crate) struct ExprNode {
    pub(crate) kind: ExprKind,
    pub(crate) token: Span,
    pub(crate) extent: Span,
    /// A literal, a field or a chain of fields: trying it first costs almost nothing.
    pub(crate) is_quick: bool,
    /// Can be tried on a borrowed value without allocating, by the fast path.
    pub(crate) peek: bool,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Literal(Value),
    Regex(Arc<RegexPattern>),
    /// A field of the context.
    Name(FieldName),
    /// `$`
    Context,
    /// `$$`
    Root,
    Variable(Variable),
    Wildcard,
    Descendants,
    /// A variable bound along a path: `@$v`, `#$i`, `%`.
    Bound(u32),
    Negate(Box<ExprNode>),
    Arithmetic(BinaryOp, Box<(ExprNode, ExprNode)>),
    Compare(BinaryOp, Box<(ExprNode, ExprNode)>),
    And(Box<(ExprNode, ExprNode)>),
    Or(Box<(ExprNode, ExprNode)>),
    /// All operands of a chain of `&`.
    Concat(Box<[ExprNode]>),
    In(Box<(ExprNode, ExprNode)>),
    Range(Box<(ExprNode, ExprNode)>),
    Elvis(Box<(ExprNode, ExprNode)>),
    Coalesce(Box<(ExprNode, ExprNode)>),
    Apply(Box<(ExprNode, ExprNode)>),
    Array(Box<ArrayNode>),
    Object(Box<GroupNode>),
    Block(Box<BlockNode>),
    Conditional(Box<(ExprNode, ExprNode, Option<ExprNode>)>),
    Bind(Box<BindNode>),
    Call(Box<CallNode>),
    Lambda(Arc<Lambda>),
    Transform(Arc<Transform>),
    Path(Box<PathNode>),
    Staged(Box<SuffixedNode>),
}

/// A field name, and the index at which it was last found.
#[derive(Debug)]
pub(crate) struct FieldName {
    pub(crate) name: Str,
    last: AtomicU32,
}

impl FieldName {
    pub(crate) fn new(name: Str) -> Self {
        Self {
            name,
            last: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn of<'m>(&self, map: &'m Map) -> Option<&'m Value> {
        map.get_cached(&self.name, &self.last)
    }
}

/// Where a variable is found.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    /// `(hops, slot)`: that many frames out, in this slot. If it is unset there, the next pair is
    /// tried.
    Slots(Box<[(u32, u32)]>, OuterVariable),
    /// Not assigned in the source.
    Outer(OuterVariable),
}

/// A variable from outside of the source.
#[derive(Clone, Debug)]
pub(crate) enum OuterVariable {
    Builtin(Builtin),
    Host(usize, Str),
    /// Passed in with the evaluation, or undefined.
    PassedIn(Str),
}

#[derive(Debug)]
pub(crate) struct ArrayNode {
    /// The items, and whether each is itself an array constructor, which is not flattened.
    pub(crate) items: Vec<(bool, ExprNode)>,
}

/// An object constructor or group-by.
#[derive(Debug)]
pub(crate) struct GroupNode {
    pub(crate) pairs: Vec<(ExprNode, ExprNode)>,
    pub(crate) token: Span,
    /// The keys, if all are distinct literals.
    pub(crate) keys: Option<Vec<Str>>,
}

#[derive(Debug)]
pub(crate) struct BlockNode {
    pub(crate) body: Vec<ExprNode>,
    /// Slots of the block's own frame; `None` if nothing is assigned in it.
    pub(crate) slots: Option<usize>,
    pub(crate) names: Option<Arc<[Str]>>,
}

/// An assignment into the slot of a frame `hops` levels out.
#[derive(Debug)]
pub(crate) struct BindNode {
    pub(crate) hops: u32,
    pub(crate) slot: u32,
    pub(crate) value: ExprNode,
}

#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) procedure: ExprNode,
    /// `None` is a placeholder `?`.
    pub(crate) arguments: Vec<Option<ExprNode>>,
    pub(crate) partial: bool,
    /// Whether the call is in tail position.
    pub(crate) tail: bool,
    /// The function's name in error messages.
    pub(crate) name: Option<Str>,
    /// For a field name that is called like a function: the function that may have been meant.
    pub(crate) hint: Option<OuterVariable>,
}

#[derive(Debug)]
pub(crate) struct Lambda {
    pub(crate) params: Vec<Str>,
    pub(crate) signature: Option<Arc<Signature>>,
    pub(crate) body: ExprNode,
    pub(crate) slots: usize,
    pub(crate) names: Option<Arc<[Str]>>,
}

#[derive(Debug)]
pub(crate) struct Transform {
    pub(crate) pattern: ExprNode,
    pub(crate) update: ExprNode,
    pub(crate) delete: Option<ExprNode>,
}

#[derive(Debug)]
pub(crate) struct PathNode {
    pub(crate) steps: Vec<PathStep>,
    /// A single result stays in an array.
    pub(crate) keep: bool,
    pub(crate) group: Option<GroupNode>,
    /// The first step whose results carry bindings.
    pub(crate) tuple_from: Option<usize>,
    /// Results keep their bindings when they leave the path.
    pub(crate) tuple_out: bool,
    /// Every step is a field, optionally filtered: the fast path follows it.
    pub(crate) is_field_path: bool,
}

#[derive(Debug)]
pub(crate) struct PathStep {
    pub(crate) kind: StepKind,
    pub(crate) stages: Vec<PathStage>,
    pub(crate) focus: Option<u32>,
    pub(crate) index: Option<u32>,
    pub(crate) ancestor: Option<u32>,
    /// An array constructor whose arrays are not flattened.
    pub(crate) no_flatten: bool,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Expr(ExprNode),
    Sort(Vec<SortTerm>, Span),
}

#[derive(Debug)]
pub(crate) struct SortTerm {
    pub(crate) descending: bool,
    pub(crate) node: ExprNode,
}

#[derive(Debug)]
pub(crate) enum PathStage {
    Filter(StepFilter),
    Index(u32),
}

#[derive(Debug)]
pub(crate) enum StepFilter {
    /// A literal index, counted from the end if negative.
    At(f64),
    Test(ExprNode),
}

/// Anything but a path, followed by filters, a group-by or `[]`.
#[derive(Debug)]
pub(crate) struct SuffixedNode {
    pub(crate) inner: ExprNode,
    pub(crate) filters: Vec<StepFilter>,
    pub(crate) group: Option<GroupNode>,
    pub(crate) keep: bool,
}
