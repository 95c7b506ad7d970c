//! Lays out paths: dots, filters, sorts and bindings become steps with stages.

mod step;

use super::ancestry::Slots;
use crate::error::{Flaw, Outcome, Span};
use crate::limits::{stack_mark, too_deep};
use crate::syntax::ast::{Ast, AstKind, BinaryOp, Pairs, StageAst, StepKind};
use crate::syntax::parser::STACK_BYTES_MAX;
use crate::value::{Number, Value};
use step::{check_step, into_path, into_step, is_array, keep_base, last, plain_step};

/// Lays out the whole tree; also gives the binding of each parent reference.
pub(super) fn shape(ast: Ast, parents: usize) -> Outcome<(Ast, Vec<u32>)> {
    let mut shaper = Shaper {
        stack: stack_mark(),
        slots: Slots::new(parents),
    };
    let ast = shaper.ast(ast)?;
    if matches!(ast.kind, AstKind::Parent(_)) || shaper.slots.any_open(&ast.seeking) {
        return Err(Slots::no_parent(&ast));
    }
    Ok((ast, shaper.slots.labels()))
}

struct Shaper {
    stack: usize,
    slots: Slots,
}

/// What follows an operand on its right, taken off so that long chains need no deep stack.
enum Suffix {
    Dot(Box<Ast>),
    Filter(Box<Ast>),
    Group(Pairs),
    Sort(Vec<(bool, Ast)>),
    Focus(crate::value::Str),
    Index(crate::value::Str),
    Binary(BinaryOp, Box<Ast>),
}

impl Shaper {
    #[allow(clippy::boxed_local)] // what comes in boxed goes out boxed
    fn boxed(&mut self, ast: Box<Ast>) -> Outcome<Box<Ast>> {
        Ok(Box::new(self.ast(*ast)?))
    }

    fn ast(&mut self, mut ast: Ast) -> Outcome<Ast> {
        if self.stack.abs_diff(stack_mark()) > STACK_BYTES_MAX {
            return Err(too_deep().at(ast.token));
        }
        let mut suffixes = Vec::new();
        loop {
            let (token, extent, keep) = (ast.token, ast.extent, ast.keep);
            let (inner, suffix) = match ast.kind {
                AstKind::Dot(left, right) => (left, Suffix::Dot(right)),
                AstKind::Filter(left, test) => (left, Suffix::Filter(test)),
                AstKind::Grouped(left, pairs) => (left, Suffix::Group(pairs)),
                AstKind::Sorted(left, terms) => (left, Suffix::Sort(terms)),
                AstKind::Focus(left, name) => (left, Suffix::Focus(name)),
                AstKind::Index(left, name) => (left, Suffix::Index(name)),
                AstKind::Binary(op, left, right) => (left, Suffix::Binary(op, right)),
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
                    Some((Suffix::Dot(_) | Suffix::Sort(_), ..))
                );
            if matches!(suffix, Suffix::Focus(_)) && !in_path {
                // A binding that no step follows binds nothing.
                continue;
            }
            ast = self.suffix(ast, suffix, token, keep)?;
            ast.extent = extent;
        }
        Ok(ast)
    }

    #[inline(never)]
    fn suffix(&mut self, ast: Ast, suffix: Suffix, token: Span, keep: bool) -> Outcome<Ast> {
        match suffix {
            Suffix::Dot(right) => self.dot(ast, *right, token),
            Suffix::Filter(test) => self.filter(ast, *test, token),
            Suffix::Group(pairs) => self.group(ast, pairs, token),
            Suffix::Sort(terms) => self.sort(ast, terms, token, keep),
            Suffix::Binary(op, right) => self.binary(op, ast, right, token),
            Suffix::Focus(name) => {
                let mut path = into_path(ast);
                path.keep |= keep;
                let Some(step) = last(&mut path) else {
                    return Ok(path);
                };
                if !step.stages.is_empty() {
                    let message = "a @ binding comes before the filters of its step";
                    return Err(Flaw::new("S0215", message).at(token));
                }
                if matches!(step.kind, StepKind::Sort(_)) {
                    let message = "a @ binding comes before the order-by of its step";
                    return Err(Flaw::new("S0216", message).at(token));
                }
                step.keep |= keep;
                step.focus = Some(name);
                step.tuple = true;
                Ok(path)
            }
            Suffix::Index(name) => {
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

    fn binary(&mut self, op: BinaryOp, left: Ast, right: Box<Ast>, token: Span) -> Outcome<Ast> {
        let mut seeking = Vec::new();
        Slots::inherit(&mut seeking, &left);
        let mut right = self.child(right, &mut seeking)?;
        let mut keep = false;
        if op == BinaryOp::Apply {
            // As in the reference: parents are not sought from within `~>`.
            seeking.clear();
            let keeps = |ast: &Ast| ast.keep && !matches!(ast.kind, AstKind::Path(_));
            keep = keeps(&left) || keeps(&right);
            if matches!(right.kind, AstKind::Call(..)) {
                // The call takes the left side as an argument; nothing else follows it.
                right.keep = false;
                right.predicates.clear();
            }
        }
        let extent = left.extent;
        let mut ast = Ast::new(AstKind::Binary(op, Box::new(left), right), token, extent);
        ast.keep = keep;
        ast.seeking = seeking;
        Ok(ast)
    }

    fn dot(&mut self, left: Ast, right: Ast, token: Span) -> Outcome<Ast> {
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
                first.whole |= is_array(first);
            }
            if let Some(last) = steps.last_mut() {
                last.whole |= is_array(last);
            }
        }
        path.token = token;
        self.slots.resolve(&mut path)?;
        Ok(path)
    }

    fn filter(&mut self, mut ast: Ast, test: Ast, token: Span) -> Outcome<Ast> {
        let test = self.ast(test)?;
        if let AstKind::Path(steps) = &mut ast.kind {
            if let Some(step) = steps.last_mut() {
                self.slots.through_filter(step, &test.seeking)?;
                if let AstKind::Parent(slot) = test.kind {
                    self.slots.through_filter(step, &[slot])?;
                }
                step.stages.push(StageAst::Filter(test));
            }
            return Ok(ast);
        }
        if ast.group.is_some() {
            let message = "a filter cannot follow a group-by";
            return Err(Flaw::new("S0209", message).at(token));
        }
        self.slots.through_filter_of(&mut ast, &test)?;
        ast.predicates.push(test);
        Ok(ast)
    }

    fn group(&mut self, mut ast: Ast, pairs: Pairs, token: Span) -> Outcome<Ast> {
        if ast.group.is_some() {
            let message = "a step can have only one group-by";
            return Err(Flaw::new("S0210", message).at(token));
        }
        let mut unused = Vec::new();
        ast.group = Some(Box::new(self.pairs(pairs, &mut unused)?));
        Ok(ast)
    }

    fn sort(&mut self, ast: Ast, terms: Vec<(bool, Ast)>, token: Span, keep: bool) -> Outcome<Ast> {
        let mut path = into_path(ast);
        path.keep |= keep;
        let mut seeking = Vec::new();
        let mut shaped = Vec::with_capacity(terms.len());
        for (descending, term) in terms {
            let term = self.ast(term)?;
            Slots::inherit(&mut seeking, &term);
            shaped.push((descending, term));
        }
        if let AstKind::Path(steps) = &mut path.kind {
            let mut step = plain_step(StepKind::Sort(shaped), token);
            step.seeking = seeking;
            steps.push(step);
        }
        self.slots.resolve(&mut path)?;
        Ok(path)
    }

    fn pairs(&mut self, pairs: Pairs, seeking: &mut Vec<usize>) -> Outcome<Pairs> {
        let mut shaped = Vec::with_capacity(pairs.pairs.len());
        for (key, value) in pairs.pairs {
            let key = self.ast(key)?;
            Slots::inherit(seeking, &key);
            let value = self.ast(value)?;
            Slots::inherit(seeking, &value);
            shaped.push((key, value));
        }
        Ok(Pairs {
            pairs: shaped,
            token: pairs.token,
        })
    }

    fn list(&mut self, list: Vec<Ast>, seeking: &mut Vec<usize>) -> Outcome<Vec<Ast>> {
        let mut shaped = Vec::with_capacity(list.len());
        for item in list {
            let item = self.ast(item)?;
            Slots::inherit(seeking, &item);
            shaped.push(item);
        }
        Ok(shaped)
    }

    fn child(&mut self, ast: Box<Ast>, seeking: &mut Vec<usize>) -> Outcome<Box<Ast>> {
        let ast = self.boxed(ast)?;
        Slots::inherit(seeking, &ast);
        Ok(ast)
    }

    #[inline(never)]
    fn operand(&mut self, mut ast: Ast) -> Outcome<Ast> {
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
        ast.seeking = seeking;
        Ok(ast)
    }
}

fn negate(number: Number) -> Number {
    match number {
        Number::Int(int) if int != 0 => Number::Int(-int),
        other => Number::Float(-other.as_f64()),
    }
}
