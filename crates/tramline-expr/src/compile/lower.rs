//! Lowers a desugared tree to the program that is evaluated.

mod function;
mod path;

use super::node::*;
use super::optimize::{FOLD_DEPTH_MAX, fold_object, is_peekable, is_shallow, literal_keys};
use super::scope::{ResolvedName, Scopes, assigned_names};
use crate::error::{ExprResult, Span};
use crate::functions::pattern::RegexPattern;
use crate::host::HostCall;
use crate::limits::{stack_position, too_deep};
use crate::syntax::ast::{Ast, AstKind, AstPairs, BinaryOp};
use crate::syntax::parser::STACK_BYTES_MAX;
use crate::value::{Str, Value};
use std::sync::Arc;

pub(super) fn lower(
    ast: Ast,
    labels: Vec<u32>,
    scopes: Scopes<'_>,
    named: bool,
) -> ExprResult<(Program, Vec<HostCall>)> {
    let mut lowering = Lowerer {
        scopes,
        labels,
        stack: stack_position(),
        calls: Vec::new(),
        named,
    };
    let slots = lowering.scopes.push_frame(&[], assigned_names([&ast]));
    let names = lowering.names();
    let root = lowering.node(ast, false)?;
    Ok((Program { root, slots, names }, lowering.calls))
}

struct Lowerer<'h> {
    scopes: Scopes<'h>,
    labels: Vec<u32>,
    stack: usize,
    calls: Vec<HostCall>,
    /// Frames keep the names of their slots, for `$eval`.
    named: bool,
}

impl Lowerer<'_> {
    fn names(&self) -> Option<Arc<[Str]>> {
        self.named.then(|| self.scopes.frame_names())
    }

    fn node(&mut self, ast: Ast, tail: bool) -> ExprResult<ExprNode> {
        if self.stack.abs_diff(stack_position()) > STACK_BYTES_MAX {
            return Err(too_deep().at(ast.token));
        }
        if matches!(ast.kind, AstKind::Binary(..)) && !ast.keep {
            return self.lower_operator_chain(ast);
        }
        self.lower_suffixed(ast, tail)
    }

    /// Operators are left-associative, so a chain is taken apart in a loop instead of by recursion.
    #[inline(never)]
    fn lower_operator_chain(&mut self, mut ast: Ast) -> ExprResult<ExprNode> {
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
        let mut node = self.lower_suffixed(ast, false)?;
        while let Some((op, right, token, extent)) = links.pop() {
            let right = self.node(*right, false)?;
            node = make_node(binary(op, Box::new((node, right))), token, extent);
        }
        Ok(node)
    }

    fn lower_suffixed(&mut self, mut ast: Ast, tail: bool) -> ExprResult<ExprNode> {
        let (token, extent) = (ast.token, ast.extent);
        if matches!(ast.kind, AstKind::Path(_)) {
            return self.path(ast);
        }
        let predicates = std::mem::take(&mut ast.predicates);
        let group = ast.group.take();
        let keep = ast.keep;
        if predicates.is_empty() && group.is_none() && !keep {
            return self.lower_operand(ast, tail);
        }
        let inner = self.lower_operand(ast, false)?;
        let mut filters = Vec::with_capacity(predicates.len());
        for predicate in predicates {
            filters.push(self.filter(predicate)?);
        }
        let group = match group {
            Some(group) => Some(self.pairs(*group)?),
            None => None,
        };
        let staged = SuffixedNode {
            inner,
            filters,
            group,
            keep,
        };
        Ok(make_node(ExprKind::Staged(Box::new(staged)), token, extent))
    }

    fn pair(&mut self, left: Ast, right: Ast) -> ExprResult<Box<(ExprNode, ExprNode)>> {
        let left = self.node(left, false)?;
        Ok(Box::new((left, self.node(right, false)?)))
    }

    #[inline(never)]
    fn lower_operand(&mut self, ast: Ast, tail: bool) -> ExprResult<ExprNode> {
        let (token, extent) = (ast.token, ast.extent);
        let kind = match ast.kind {
            AstKind::Literal(value) => ExprKind::Literal(value),
            AstKind::Name(name) => ExprKind::Name(FieldName::new(name)),
            AstKind::Wildcard => ExprKind::Wildcard,
            AstKind::Descendants => ExprKind::Descendants,
            AstKind::Parent(slot) => ExprKind::Bound(self.labels[slot]),
            AstKind::Regex(pattern, flags) => {
                let pattern =
                    RegexPattern::new(&pattern, &flags).map_err(|flaw| flaw.or_at(token))?;
                ExprKind::Regex(Arc::new(pattern))
            }
            AstKind::Variable(name) => self.variable(&name, false),
            AstKind::Negate(inner) => ExprKind::Negate(Box::new(self.node(*inner, false)?)),
            AstKind::Binary(op, left, right) => {
                let pair = self.pair(*left, *right)?;
                binary(op, pair)
            }
            AstKind::Array(items) => self.array(items)?,
            AstKind::Object(pairs) => {
                let group = self.pairs(pairs)?;
                fold_object(&group)
                    .map_or_else(|| ExprKind::Object(Box::new(group)), ExprKind::Literal)
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
                ExprKind::Conditional(Box::new((test, then, otherwise)))
            }
            AstKind::Bind(name, value) => {
                let value = self.node(*value, false)?;
                let (hops, slot) = self.scopes.assign(&name);
                ExprKind::Bind(Box::new(BindNode { hops, slot, value }))
            }
            AstKind::Transform(pattern, update, delete) => {
                let pattern = self.node(*pattern, false)?;
                let update = self.node(*update, false)?;
                let delete = match delete {
                    Some(delete) => Some(self.node(*delete, false)?),
                    None => None,
                };
                ExprKind::Transform(Arc::new(Transform {
                    pattern,
                    update,
                    delete,
                }))
            }
            // Desugaring has turned these into paths and rejected stray placeholders.
            AstKind::Path(_)
            | AstKind::Placeholder
            | AstKind::End
            | AstKind::Dot(..)
            | AstKind::Filter(..)
            | AstKind::Keep(_)
            | AstKind::Grouped(..)
            | AstKind::Sorted(..)
            | AstKind::Focus(..)
            | AstKind::Index(..) => {
                ExprKind::Variable(Variable::Outer(OuterVariable::PassedIn(Str::default())))
            }
        };
        Ok(make_node(kind, token, extent))
    }

    fn variable(&mut self, name: &Str, called: bool) -> ExprKind {
        match name.as_str() {
            "" => return ExprKind::Context,
            "$" => return ExprKind::Root,
            _ => {}
        }
        let variable = match self.scopes.find(name) {
            ResolvedName::Bound(number) => return ExprKind::Bound(number),
            ResolvedName::Variable(variable) => variable,
        };
        let (Variable::Slots(_, outer) | Variable::Outer(outer)) = &variable;
        if let (OuterVariable::Host(function, _), false) = (outer, called) {
            self.calls.push(HostCall {
                function: *function,
                arguments: Vec::new(),
                called: false,
            });
        }
        ExprKind::Variable(variable)
    }

    fn array(&mut self, items: Vec<Ast>) -> ExprResult<ExprKind> {
        let mut lowered = Vec::with_capacity(items.len());
        for item in items {
            let is_array = matches!(item.kind, AstKind::Array(_)) && item.predicates.is_empty();
            lowered.push((is_array, self.node(item, false)?));
        }
        let literal = lowered.iter().map(|(is_array, node)| match &node.kind {
            // An array literal that is not an array constructor would have to be flattened; none
            // exists.
            ExprKind::Literal(Value::Array(_)) if !is_array => None,
            ExprKind::Literal(value) if is_shallow(value, FOLD_DEPTH_MAX) => Some(value.clone()),
            _ => None,
        });
        Ok(match literal.collect::<Option<Vec<_>>>() {
            Some(values) => ExprKind::Literal(values.into()),
            None => ExprKind::Array(Box::new(ArrayNode { items: lowered })),
        })
    }

    fn pairs(&mut self, pairs: AstPairs) -> ExprResult<GroupNode> {
        let mut lowered = Vec::with_capacity(pairs.pairs.len());
        for (key, value) in pairs.pairs {
            let key = self.node(key, false)?;
            lowered.push((key, self.node(value, false)?));
        }
        let keys = literal_keys(&lowered);
        Ok(GroupNode {
            pairs: lowered,
            token: pairs.token,
            keys,
        })
    }

    fn block(&mut self, body: Vec<Ast>, tail: bool) -> ExprResult<ExprKind> {
        let names = assigned_names(&body);
        let slots = match names.is_empty() {
            true => None,
            false => Some(self.scopes.push_frame(&[], names)),
        };
        let names = slots.and_then(|_| self.names());
        let body = self.sequence(body, tail)?;
        if slots.is_some() {
            self.scopes.pop();
        }
        Ok(ExprKind::Block(Box::new(BlockNode { body, slots, names })))
    }

    fn sequence(&mut self, body: Vec<Ast>, tail: bool) -> ExprResult<Vec<ExprNode>> {
        let last = body.len().saturating_sub(1);
        let mut lowered = Vec::with_capacity(body.len());
        for (at, ast) in body.into_iter().enumerate() {
            lowered.push(self.node(ast, tail && at == last)?);
        }
        Ok(lowered)
    }
}

fn make_node(kind: ExprKind, token: Span, extent: Span) -> ExprNode {
    let peek = is_peekable(&kind);
    let simple = matches!(
        kind,
        ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Path(_) | ExprKind::Variable(_)
    );
    ExprNode {
        kind,
        is_quick: peek && simple,
        token,
        extent,
        peek,
    }
}

fn binary(op: BinaryOp, pair: Box<(ExprNode, ExprNode)>) -> ExprKind {
    match op {
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => ExprKind::Arithmetic(op, pair),
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => ExprKind::Compare(op, pair),
        BinaryOp::Concat => {
            let (left, right) = *pair;
            ExprKind::Concat(match left.kind {
                ExprKind::Concat(operands) => {
                    let mut operands = operands.into_vec();
                    operands.push(right);
                    operands.into()
                }
                _ => [left, right].into(),
            })
        }
        BinaryOp::And => ExprKind::And(pair),
        BinaryOp::Or => ExprKind::Or(pair),
        BinaryOp::In => ExprKind::In(pair),
        BinaryOp::Range => ExprKind::Range(pair),
        BinaryOp::Apply => ExprKind::Apply(pair),
        BinaryOp::Elvis => ExprKind::Elvis(pair),
        BinaryOp::Coalesce => ExprKind::Coalesce(pair),
    }
}
