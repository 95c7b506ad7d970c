//! Desugars paths: dots, filters, sorts and bindings become steps with stages.

mod step;

use super::parents::ParentSlots;
use crate::error::{ExprResult, Flaw, Span};
use crate::limits::{stack_position, too_deep};
use crate::syntax::ast::{Ast, AstKind, AstPairs, BinaryOp, StageAst, StepKind};
use crate::syntax::parser::STACK_BYTES_MAX;
use crate::value::{Number, Value};
use step::{check_step, into_path, into_step, is_array, keep_base, last, plain_step};

/// Desugars the whole tree, and returns the binding of each parent reference.
pub(super) fn desugar(ast: Ast, parents: usize) -> ExprResult<(Ast, Vec<u32>)> {
    let mut shaper = Desugarer {
        stack: stack_position(),
        slots: ParentSlots::new(parents),
    };
    let ast = shaper.ast(ast)?;
    if matches!(ast.kind, AstKind::Parent(_))
        || shaper.slots.any_unresolved(&ast.unresolved_parents)
    {
        return Err(ParentSlots::no_parent_error(&ast));
    }
    Ok((ast, shaper.slots.labels()))
}

struct Desugarer {
    stack: usize,
    slots: ParentSlots,
}

/// A suffix of an operand. Suffixes are taken off in a loop so that long chains need no deep stack.
enum OperandSuffix {
    Dot(Box<Ast>),
    Filter(Box<Ast>),
    Group(AstPairs),
    Sort(Vec<(bool, Ast)>),
    Focus(crate::value::Str),
    Index(crate::value::Str),
    Binary(BinaryOp, Box<Ast>),
}

impl Desugarer {
    #[allow(clippy::boxed_local)] // callers hold boxes and get boxes back
    fn boxed(&mut self, ast: Box<Ast>) -> ExprResult<Box<Ast>> {
        Ok(Box::new(self.ast(*ast)?))
    }

    fn ast(&mut self, mut ast: Ast) -> ExprResult<Ast> {
        if self.stack.abs_diff(stack_position()) > STACK_BYTES_MAX {
            return Err(too_deep().at(ast.token));
        }
        let mut suffixes = Vec::new();
        loop {
            let (token, extent, keep) = (ast.token, ast.extent, ast.keep);
            let (inner, suffix) = match ast.kind {
                AstKind::Dot(left, right) => (left, OperandSuffix::Dot(right)),
                AstKind::Filter(left, test) => (left, OperandSuffix::Filter(test)),
                AstKind::Grouped(left, pairs) => (left, OperandSuffix::Group(pairs)),
                AstKind::Sorted(left, terms) => (left, OperandSuffix::Sort(terms)),
                AstKind::Focus(left, name) => (left, OperandSuffix::Focus(name)),
                AstKind::Index(left, name) => (left, OperandSuffix::Index(name)),
                AstKind::Binary(op, left, right) => (left, OperandSuffix::Binary(op, right)),
                AstKind::Keep(mut left) => {
                    keep_base(&mut left);
                    ast = *left;
                    continue;
                }
                kind => {
                    ast.kind = kind;
                    break;
                }
            };
            suffixes.push((suffix, token, extent, keep));
            ast = *inner;
        }
        let mut ast = self.operand(ast)?;
        while let Some((suffix, token, extent, keep)) = suffixes.pop() {
            let in_path = matches!(ast.kind, AstKind::Path(_))
                || matches!(
                    suffixes.last(),
                    Some((OperandSuffix::Dot(_) | OperandSuffix::Sort(_), ..))
                );
            if matches!(suffix, OperandSuffix::Focus(_)) && !in_path {
                // A binding with no step after it binds nothing.
                continue;
            }
            ast = self.suffix(ast, suffix, token, keep)?;
            ast.extent = extent;
        }
        Ok(ast)
    }

    #[inline(never)]
    fn suffix(
        &mut self,
        ast: Ast,
        suffix: OperandSuffix,
        token: Span,
        keep: bool,
    ) -> ExprResult<Ast> {
        match suffix {
            OperandSuffix::Dot(right) => self.dot(ast, *right, token),
            OperandSuffix::Filter(test) => self.filter(ast, *test, token),
            OperandSuffix::Group(pairs) => self.group(ast, pairs, token),
            OperandSuffix::Sort(terms) => self.sort(ast, terms, token, keep),
            OperandSuffix::Binary(op, right) => self.binary(op, ast, right, token),
            OperandSuffix::Focus(name) => {
                let mut path = into_path(ast);
                path.keep |= keep;
                let Some(step) = last(&mut path) else {
                    return Ok(path);
                };
                if !step.stages.is_empty() {
                    let message = "a @ binding must come before the filters of its step";
                    return Err(Flaw::new("S0215", message).at(token));
                }
                if matches!(step.kind, StepKind::Sort(_)) {
                    let message = "a @ binding must come before the order-by of its step";
                    return Err(Flaw::new("S0216", message).at(token));
                }
                step.keep |= keep;
                step.focus = Some(name);
                step.tuple = true;
                Ok(path)
            }
            OperandSuffix::Index(name) => {
                let mut path = into_path(ast);
                path.keep |= keep;
                let Some(step) = last(&mut path) else {
                    return Ok(path);
                };
                step.keep |= keep;
                step.tuple = true;
                if step.stages.is_empty() {
                    step.index = Some(name);
                } else {
                    step.stages.push(StageAst::Index(name));
                }
                Ok(path)
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: Ast, right: Box<Ast>, token: Span) -> ExprResult<Ast> {
        let mut seeking = Vec::new();
        ParentSlots::collect_parents(&mut seeking, &left);
        let mut right = self.child(right, &mut seeking)?;
        let mut keep = false;
        if op == BinaryOp::Apply {
            // As in the reference, parents are not resolved through `~>`.
            seeking.clear();
            let keeps = |ast: &Ast| ast.keep && !matches!(ast.kind, AstKind::Path(_));
            keep = keeps(&left) || keeps(&right);
            if matches!(right.kind, AstKind::Call(..)) {
                // The call takes the left side as an argument; no suffix may follow it.
                right.keep = false;
                right.predicates.clear();
            }
        }
        let extent = left.extent;
        let mut ast = Ast::new(AstKind::Binary(op, Box::new(left), right), token, extent);
        ast.keep = keep;
        ast.unresolved_parents = seeking;
        Ok(ast)
    }

    fn dot(&mut self, left: Ast, right: Ast, token: Span) -> ExprResult<Ast> {
        let mut path = into_path(left);
        let right = self.ast(right)?;
        if let AstKind::Path(steps) = &mut path.kind {
            match right.kind {
                AstKind::Path(more) => steps.extend(more),
                _ => steps.push(into_step(right)),
            }
            for step in steps.iter_mut() {
                check_step(step)?;
                path.keep |= step.keep;
            }
            if let Some(first) = steps.first_mut() {
                first.no_flatten |= is_array(first);
            }
            if let Some(last) = steps.last_mut() {
                last.no_flatten |= is_array(last);
            }
        }
        path.token = token;
        self.slots.resolve(&mut path)?;
        Ok(path)
    }

    fn filter(&mut self, mut ast: Ast, test: Ast, token: Span) -> ExprResult<Ast> {
        let test = self.ast(test)?;
        if let AstKind::Path(steps) = &mut ast.kind {
            if let Some(step) = steps.last_mut() {
                self.slots
                    .resolve_in_filter(step, &test.unresolved_parents)?;
                if let AstKind::Parent(slot) = test.kind {
                    self.slots.resolve_in_filter(step, &[slot])?;
                }
                step.stages.push(StageAst::Filter(test));
            }
            return Ok(ast);
        }
        if ast.group.is_some() {
            let message = "a filter cannot follow a group-by";
            return Err(Flaw::new("S0209", message).at(token));
        }
        self.slots.resolve_in_filter_of(&mut ast, &test)?;
        ast.predicates.push(test);
        Ok(ast)
    }

    fn group(&mut self, mut ast: Ast, pairs: AstPairs, token: Span) -> ExprResult<Ast> {
        if ast.group.is_some() {
            let message = "a step can have only one group-by";
            return Err(Flaw::new("S0210", message).at(token));
        }
        let mut unused = Vec::new();
        ast.group = Some(Box::new(self.pairs(pairs, &mut unused)?));
        Ok(ast)
    }

    fn sort(
        &mut self,
        ast: Ast,
        terms: Vec<(bool, Ast)>,
        token: Span,
        keep: bool,
    ) -> ExprResult<Ast> {
        let mut path = into_path(ast);
        path.keep |= keep;
        let mut seeking = Vec::new();
        let mut shaped = Vec::with_capacity(terms.len());
        for (descending, term) in terms {
            let term = self.ast(term)?;
            ParentSlots::collect_parents(&mut seeking, &term);
            shaped.push((descending, term));
        }
        if let AstKind::Path(steps) = &mut path.kind {
            let mut step = plain_step(StepKind::Sort(shaped), token);
            step.unresolved_parents = seeking;
            steps.push(step);
        }
        self.slots.resolve(&mut path)?;
        Ok(path)
    }

    fn pairs(&mut self, pairs: AstPairs, seeking: &mut Vec<usize>) -> ExprResult<AstPairs> {
        let mut shaped = Vec::with_capacity(pairs.pairs.len());
        for (key, value) in pairs.pairs {
            let key = self.ast(key)?;
            ParentSlots::collect_parents(seeking, &key);
            let value = self.ast(value)?;
            ParentSlots::collect_parents(seeking, &value);
            shaped.push((key, value));
        }
        Ok(AstPairs {
            pairs: shaped,
            token: pairs.token,
        })
    }

    fn list(&mut self, list: Vec<Ast>, seeking: &mut Vec<usize>) -> ExprResult<Vec<Ast>> {
        let mut shaped = Vec::with_capacity(list.len());
        for item in list {
            let item = self.ast(item)?;
            ParentSlots::collect_parents(seeking, &item);
            shaped.push(item);
        }
        Ok(shaped)
    }

    fn child(&mut self, ast: Box<Ast>, seeking: &mut Vec<usize>) -> ExprResult<Box<Ast>> {
        let ast = self.boxed(ast)?;
        ParentSlots::collect_parents(seeking, &ast);
        Ok(ast)
    }

    #[inline(never)]
    fn operand(&mut self, mut ast: Ast) -> ExprResult<Ast> {
        let mut seeking = Vec::new();
        ast.kind = match ast.kind {
            AstKind::Name(_) => {
                let keep = ast.keep;
                let mut path = into_path(ast);
                path.keep = keep;
                return Ok(path);
            }
            AstKind::Negate(inner) => {
                let inner = self.child(inner, &mut seeking)?;
                match inner.kind {
                    AstKind::Literal(Value::Number(number)) if inner.predicates.is_empty() => {
                        AstKind::Literal(Value::Number(negate(number)))
                    }
                    _ => AstKind::Negate(inner),
                }
            }
            AstKind::Array(items) => AstKind::Array(self.list(items, &mut seeking)?),
            AstKind::Object(pairs) => AstKind::Object(self.pairs(pairs, &mut seeking)?),
            AstKind::Block(body) => AstKind::Block(self.list(body, &mut seeking)?),
            AstKind::Call(procedure, arguments) => {
                let arguments = self.list(arguments, &mut seeking)?;
                AstKind::Call(self.boxed(procedure)?, arguments)
            }
            AstKind::Lambda(mut lambda) => {
                lambda.body = self.ast(lambda.body)?;
                AstKind::Lambda(lambda)
            }
            AstKind::Conditional(test, then, otherwise) => {
                let test = self.child(test, &mut seeking)?;
                let then = self.child(then, &mut seeking)?;
                let otherwise = match otherwise {
                    Some(otherwise) => Some(self.child(otherwise, &mut seeking)?),
                    None => None,
                };
                AstKind::Conditional(test, then, otherwise)
            }
            AstKind::Bind(name, value) => AstKind::Bind(name, self.child(value, &mut seeking)?),
            AstKind::Transform(pattern, update, delete) => {
                let pattern = self.boxed(pattern)?;
                let update = self.boxed(update)?;
                let delete = match delete {
                    Some(delete) => Some(self.boxed(delete)?),
                    None => None,
                };
                AstKind::Transform(pattern, update, delete)
            }
            AstKind::End => {
                let message = "the expression ends where a value is expected";
                return Err(Flaw::new("S0207", message).at(ast.token).token("(end)"));
            }
            kind => kind,
        };
        ast.unresolved_parents = seeking;
        Ok(ast)
    }
}

fn negate(number: Number) -> Number {
    match number {
        Number::Int(int) if int != 0 => Number::Int(-int),
        other => Number::Float(-other.as_f64()),
    }
}
