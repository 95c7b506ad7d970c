//! The last pass: a tree laid out becomes the program that is evaluated.

mod function;
mod path;

use super::node::*;
use super::recognise::{FOLD_DEPTH_MAX, fold_object, literal_keys, peekable, shallow};
use super::scope::{Meaning, Scopes, assigned};
use crate::error::{Outcome, Span};
use crate::functions::pattern::Pattern;
use crate::host::HostCall;
use crate::limits::{stack_mark, too_deep};
use crate::syntax::ast::{Ast, AstKind, BinaryOp, Pairs};
use crate::syntax::parser::STACK_BYTES_MAX;
use crate::value::{Str, Value};
use std::sync::Arc;

pub(super) fn lower(
    ast: Ast,
    labels: Vec<u32>,
    scopes: Scopes<'_>,
    named: bool,
) -> Outcome<(Program, Vec<HostCall>)> {
    let mut lowering = Lowering {
        scopes,
        labels,
        stack: stack_mark(),
        calls: Vec::new(),
        named,
    };
    let slots = lowering.scopes.push_frame(&[], assigned([&ast]));
    let names = lowering.names();
    let root = lowering.node(ast, false)?;
    Ok((Program { root, slots, names }, lowering.calls))
}

struct Lowering<'h> {
    scopes: Scopes<'h>,
    labels: Vec<u32>,
    stack: usize,
    calls: Vec<HostCall>,
    /// Frames keep the names of their slots, for `$eval`.
    named: bool,
}

impl Lowering<'_> {
    fn names(&self) -> Option<Arc<[Str]>> {
        self.named.then(|| self.scopes.frame_names())
    }

    fn node(&mut self, ast: Ast, tail: bool) -> Outcome<Node> {
        if self.stack.abs_diff(stack_mark()) > STACK_BYTES_MAX {
            return Err(too_deep().at(ast.token));
        }
        if matches!(ast.kind, AstKind::Binary(..)) && !ast.keep {
            return self.chain(ast);
        }
        self.staged(ast, tail)
    }

    /// Operators lean to the left: the chain is taken apart without recursion.
    #[inline(never)]
    fn chain(&mut self, mut ast: Ast) -> Outcome<Node> {
        let mut links = Vec::new();
        loop {
            match ast.kind {
                AstKind::Binary(op, left, right) if !ast.keep && ast.predicates.is_empty() => {
                    links.push((op, right, ast.token, ast.extent));
                    ast = *left;
                }
                kind => {
                    ast.kind = kind;
                    break;
                }
            }
        }
        let mut node = self.staged(ast, false)?;
        while let Some((op, right, token, extent)) = links.pop() {
            let right = self.node(*right, false)?;
            node = make(binary(op, Box::new((node, right))), token, extent);
        }
        Ok(node)
    }

    fn staged(&mut self, mut ast: Ast, tail: bool) -> Outcome<Node> {
        let (token, extent) = (ast.token, ast.extent);
        if matches!(ast.kind, AstKind::Path(_)) {
            return self.path(ast);
        }
        let predicates = std::mem::take(&mut ast.predicates);
        let group = ast.group.take();
        let keep = ast.keep;
        if predicates.is_empty() && group.is_none() && !keep {
            return self.bare(ast, tail);
        }
        let inner = self.bare(ast, false)?;
        let mut filters = Vec::with_capacity(predicates.len());
        for predicate in predicates {
            filters.push(self.filter(predicate)?);
        }
        let group = match group {
            Some(group) => Some(self.pairs(*group)?),
            None => None,
        };
        let staged = Staged {
            inner,
            filters,
            group,
            keep,
        };
        Ok(make(Kind::Staged(Box::new(staged)), token, extent))
    }

    fn pair(&mut self, left: Ast, right: Ast) -> Outcome<Box<(Node, Node)>> {
        let left = self.node(left, false)?;
        Ok(Box::new((left, self.node(right, false)?)))
    }

    #[inline(never)]
    fn bare(&mut self, ast: Ast, tail: bool) -> Outcome<Node> {
        let (token, extent) = (ast.token, ast.extent);
        let kind = match ast.kind {
            AstKind::Literal(value) => Kind::Literal(value),
            AstKind::Name(name) => Kind::Name(Field::new(name)),
            AstKind::Wildcard => Kind::Wildcard,
            AstKind::Descendants => Kind::Descendants,
            AstKind::Parent(slot) => Kind::Bound(self.labels[slot]),
            AstKind::Regex(pattern, flags) => {
                let pattern = Pattern::new(&pattern, &flags).map_err(|flaw| flaw.or_at(token))?;
                Kind::Regex(Arc::new(pattern))
            }
            AstKind::Variable(name) => self.variable(&name, false),
            AstKind::Negate(inner) => Kind::Negate(Box::new(self.node(*inner, false)?)),
            AstKind::Binary(op, left, right) => {
                let pair = self.pair(*left, *right)?;
                binary(op, pair)
            }
            AstKind::Array(items) => self.array(items)?,
            AstKind::Object(pairs) => {
                let group = self.pairs(pairs)?;
                fold_object(&group).map_or_else(|| Kind::Object(Box::new(group)), Kind::Literal)
            }
            AstKind::Block(body) => self.block(body, tail)?,
            AstKind::Call(procedure, arguments) => self.call(*procedure, arguments, tail)?,
            AstKind::Lambda(lambda) => self.lambda(*lambda)?,
            AstKind::Conditional(test, then, otherwise) => {
                let test = self.node(*test, false)?;
                let then = self.node(*then, tail)?;
                let otherwise = match otherwise {
                    Some(otherwise) => Some(self.node(*otherwise, tail)?),
                    None => None,
                };
                Kind::Conditional(Box::new((test, then, otherwise)))
            }
            AstKind::Bind(name, value) => {
                let value = self.node(*value, false)?;
                let (hops, slot) = self.scopes.assign(&name);
                Kind::Bind(Box::new(Bind { hops, slot, value }))
            }
            AstKind::Transform(pattern, update, delete) => {
                let pattern = self.node(*pattern, false)?;
                let update = self.node(*update, false)?;
                let delete = match delete {
                    Some(delete) => Some(self.node(*delete, false)?),
                    None => None,
                };
                Kind::Transform(Arc::new(Transform {
                    pattern,
                    update,
                    delete,
                }))
            }
            // Shaping has turned these into paths, and refused stray placeholders.
            AstKind::Path(_)
            | AstKind::Placeholder
            | AstKind::End
            | AstKind::Dot(..)
            | AstKind::Filter(..)
            | AstKind::Keep(_)
            | AstKind::Grouped(..)
            | AstKind::Sorted(..)
            | AstKind::Focus(..)
            | AstKind::Index(..) => Kind::Variable(Variable::Outer(Outer::Given(Str::default()))),
        };
        Ok(make(kind, token, extent))
    }

    fn variable(&mut self, name: &Str, called: bool) -> Kind {
        match name.as_str() {
            "" => return Kind::Context,
            "$" => return Kind::Root,
            _ => {}
        }
        let variable = match self.scopes.find(name) {
            Meaning::Bound(number) => return Kind::Bound(number),
            Meaning::Variable(variable) => variable,
        };
        let (Variable::Slots(_, outer) | Variable::Outer(outer)) = &variable;
        if let (Outer::Host(function, _), false) = (outer, called) {
            self.calls.push(HostCall {
                function: *function,
                arguments: Vec::new(),
                called: false,
            });
        }
        Kind::Variable(variable)
    }

    fn array(&mut self, items: Vec<Ast>) -> Outcome<Kind> {
        let mut lowered = Vec::with_capacity(items.len());
        for item in items {
            let is_array = matches!(item.kind, AstKind::Array(_)) && item.predicates.is_empty();
            lowered.push((is_array, self.node(item, false)?));
        }
        let literal = lowered.iter().map(|(is_array, node)| match &node.kind {
            // A literal array that is not an array constructor would be spread: none exists.
            Kind::Literal(Value::Array(_)) if !is_array => None,
            Kind::Literal(value) if shallow(value, FOLD_DEPTH_MAX) => Some(value.clone()),
            _ => None,
        });
        Ok(match literal.collect::<Option<Vec<_>>>() {
            Some(values) => Kind::Literal(values.into()),
            None => Kind::Array(Box::new(ArrayNode { items: lowered })),
        })
    }

    fn pairs(&mut self, pairs: Pairs) -> Outcome<Group> {
        let mut lowered = Vec::with_capacity(pairs.pairs.len());
        for (key, value) in pairs.pairs {
            let key = self.node(key, false)?;
            lowered.push((key, self.node(value, false)?));
        }
        let keys = literal_keys(&lowered);
        Ok(Group {
            pairs: lowered,
            token: pairs.token,
            keys,
        })
    }

    fn block(&mut self, body: Vec<Ast>, tail: bool) -> Outcome<Kind> {
        let names = assigned(&body);
        let slots = match names.is_empty() {
            true => None,
            false => Some(self.scopes.push_frame(&[], names)),
        };
        let names = slots.and_then(|_| self.names());
        let body = self.sequence(body, tail)?;
        if slots.is_some() {
            self.scopes.pop();
        }
        Ok(Kind::Block(Box::new(Block { body, slots, names })))
    }

    fn sequence(&mut self, body: Vec<Ast>, tail: bool) -> Outcome<Vec<Node>> {
        let last = body.len().saturating_sub(1);
        let mut lowered = Vec::with_capacity(body.len());
        for (at, ast) in body.into_iter().enumerate() {
            lowered.push(self.node(ast, tail && at == last)?);
        }
        Ok(lowered)
    }
}

fn make(kind: Kind, token: Span, extent: Span) -> Node {
    let peek = peekable(&kind);
    let simple = matches!(
        kind,
        Kind::Literal(_) | Kind::Name(_) | Kind::Path(_) | Kind::Variable(_)
    );
    Node {
        kind,
        quick: peek && simple,
        token,
        extent,
        peek,
    }
}

fn binary(op: BinaryOp, pair: Box<(Node, Node)>) -> Kind {
    match op {
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => Kind::Arithmetic(op, pair),
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => Kind::Compare(op, pair),
        BinaryOp::Concat => {
            let (left, right) = *pair;
            Kind::Concat(match left.kind {
                Kind::Concat(operands) => {
                    let mut operands = operands.into_vec();
                    operands.push(right);
                    operands.into()
                }
                _ => [left, right].into(),
            })
        }
        BinaryOp::And => Kind::And(pair),
        BinaryOp::Or => Kind::Or(pair),
        BinaryOp::In => Kind::In(pair),
        BinaryOp::Range => Kind::Range(pair),
        BinaryOp::Apply => Kind::Apply(pair),
        BinaryOp::Elvis => Kind::Elvis(pair),
        BinaryOp::Coalesce => Kind::Coalesce(pair),
    }
}
