//! The program: what evaluation walks.

use crate::error::Span;
use crate::functions::Builtin;
use crate::functions::pattern::Pattern;
use crate::syntax::ast::BinaryOp;
use crate::syntax::signature::Signature;
use crate::value::{Map, Str, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) root: Node,
    /// Slots of the outermost frame.
    pub(crate) slots: usize,
    /// Their names, where `$eval` may need them.
    pub(crate) names: Option<Arc<[Str]>>,
}

/// A node: what to do, the token to blame, and the stretch of source it stands for.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) token: Span,
    pub(crate) extent: Span,
    /// A literal, a field or a chain of them: trying it costs next to nothing.
    pub(crate) quick: bool,
    /// Can be tried on a borrowed value without making anything (see `eval::peek`).
    pub(crate) peek: bool,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Literal(Value),
    Regex(Arc<Pattern>),
    /// A field of the context.
    Name(Field),
    /// `$`
    Context,
    /// `$$`
    Root,
    Variable(Variable),
    Wildcard,
    Descendants,
    /// A variable bound along a path: `@$v`, `#$i`, `%`.
    Bound(u32),
    Negate(Box<Node>),
    Arithmetic(BinaryOp, Box<(Node, Node)>),
    Compare(BinaryOp, Box<(Node, Node)>),
    And(Box<(Node, Node)>),
    Or(Box<(Node, Node)>),
    /// All operands of a chain of `&`.
    Concat(Box<[Node]>),
    In(Box<(Node, Node)>),
    Range(Box<(Node, Node)>),
    Elvis(Box<(Node, Node)>),
    Coalesce(Box<(Node, Node)>),
    Apply(Box<(Node, Node)>),
    Array(Box<ArrayNode>),
    Object(Box<Group>),
    Block(Box<Block>),
    Conditional(Box<(Node, Node, Option<Node>)>),
    Bind(Box<Bind>),
    Call(Box<Call>),
    Lambda(Arc<Lambda>),
    Transform(Arc<Transform>),
    Path(Box<Path>),
    Staged(Box<Staged>),
}

/// The name of a field, and where it was found last.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Str,
    last: AtomicU32,
}

impl Field {
    pub(crate) fn new(name: Str) -> Self {
        Self {
            name,
            last: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn of<'m>(&self, map: &'m Map) -> Option<&'m Value> {
        map.get_near(&self.name, &self.last)
    }
}

/// Where a variable is found.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    /// So many frames out, in this slot; if it is not set there, then in the next.
    Slots(Box<[(u32, u32)]>, Outer),
    /// Not assigned in the source.
    Outer(Outer),
}

/// A variable from outside of the source.
#[derive(Clone, Debug)]
pub(crate) enum Outer {
    Builtin(Builtin),
    Host(usize, Str),
    /// Given with the evaluation, or nothing.
    Given(Str),
}

#[derive(Debug)]
pub(crate) struct ArrayNode {
    /// The items; whether each is itself an array constructor, which then stays whole.
    pub(crate) items: Vec<(bool, Node)>,
}

/// An object constructor or group-by.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) pairs: Vec<(Node, Node)>,
    pub(crate) token: Span,
    /// The keys, where all are literals and differ.
    pub(crate) keys: Option<Vec<Str>>,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) body: Vec<Node>,
    /// Slots of the block's own frame; it has none if nothing is assigned in it.
    pub(crate) slots: Option<usize>,
    pub(crate) names: Option<Arc<[Str]>>,
}

/// An assignment: so many frames out, into this slot.
#[derive(Debug)]
pub(crate) struct Bind {
    pub(crate) hops: u32,
    pub(crate) slot: u32,
    pub(crate) value: Node,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) procedure: Node,
    /// `None` is a place left open by `?`.
    pub(crate) arguments: Vec<Option<Node>>,
    pub(crate) partial: bool,
    /// The last thing its function does.
    pub(crate) tail: bool,
    /// What errors call the function.
    pub(crate) name: Option<Str>,
    /// A field name that is called as if it were a function: what it might have meant.
    pub(crate) hint: Option<Outer>,
}

#[derive(Debug)]
pub(crate) struct Lambda {
    pub(crate) params: Vec<Str>,
    pub(crate) signature: Option<Arc<Signature>>,
    pub(crate) body: Node,
    pub(crate) slots: usize,
    pub(crate) names: Option<Arc<[Str]>>,
}

#[derive(Debug)]
pub(crate) struct Transform {
    pub(crate) pattern: Node,
    pub(crate) update: Node,
    pub(crate) delete: Option<Node>,
}

#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) steps: Vec<Step>,
    /// A single result stays in an array.
    pub(crate) keep: bool,
    pub(crate) group: Option<Group>,
    /// From this step on, results carry bindings.
    pub(crate) tuple_from: Option<usize>,
    /// Results carry their bindings out of the path.
    pub(crate) tuple_out: bool,
    /// Every step is a field, filtered or not: see `eval::walk`.
    pub(crate) walk: bool,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    pub(crate) stages: Vec<Stage>,
    pub(crate) focus: Option<u32>,
    pub(crate) index: Option<u32>,
    pub(crate) ancestor: Option<u32>,
    /// An array constructor whose arrays stay whole.
    pub(crate) whole: bool,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Expr(Node),
    Sort(Vec<Term>, Span),
}

#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) descending: bool,
    pub(crate) node: Node,
}

#[derive(Debug)]
pub(crate) enum Stage {
    Filter(Filter),
    Index(u32),
}

#[derive(Debug)]
pub(crate) enum Filter {
    /// A literal place, counted from the end if negative.
    At(f64),
    Test(Node),
}

/// Something other than a path with filters, a group-by or `[]` behind it.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) inner: Node,
    pub(crate) filters: Vec<Filter>,
    pub(crate) group: Option<Group>,
    pub(crate) keep: bool,
}
