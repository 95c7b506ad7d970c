//! The last pass: a tree laid out becomes the program that is evaluated.

use super::node::*;
use super::scope::{Meaning, Scopes, assigned};
use crate::error::{Outcome, Span};
use crate::functions::pattern::Pattern;
use crate::host::HostCall;
use crate::limits::{stack_mark, too_deep};
use crate::syntax::ast::{self, Ast, AstKind, BinaryOp, Pairs, StageAst, StepAst};
use crate::syntax::parser::STACK_BYTES_MAX;
use crate::value::{Map, Str, Value};
use std::sync::Arc;

/// Literal arrays and objects nested deeper than this are made anew each time, where limits hold.
const FOLD_DEPTH_MAX: u32 = 8;

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

    fn lambda(&mut self, lambda: ast::LambdaAst) -> Outcome<Kind> {
        let ast::LambdaAst {
            params,
            signature,
            mut body,
        } = lambda;
        let plain = body.predicates.is_empty() && body.group.is_none() && !body.keep;
        // A function whose body is a block needs one frame, not two.
        let (body, slots) = match body.kind {
            AstKind::Block(inner) if plain => {
                let slots = self.scopes.push_frame(&params, assigned(&inner));
                let (token, extent) = (body.token, body.extent);
                let inner = self.sequence(inner, true)?;
                let block = Block {
                    body: inner,
                    slots: None,
                    names: None,
                };
                (make(Kind::Block(Box::new(block)), token, extent), slots)
            }
            kind => {
                body.kind = kind;
                let slots = self.scopes.push_frame(&params, assigned([&body]));
                (self.node(body, true)?, slots)
            }
        };
        let names = self.names();
        self.scopes.pop();
        Ok(Kind::Lambda(Arc::new(Lambda {
            params,
            signature,
            body,
            slots,
            names,
        })))
    }

    fn call(&mut self, procedure: Ast, arguments: Vec<Ast>, tail: bool) -> Outcome<Kind> {
        let (name, hint) = match &procedure.kind {
            AstKind::Variable(name) => (Some(name.clone()), None),
            AstKind::Path(steps) => match &steps[..] {
                [
                    StepAst {
                        kind:
                            ast::StepKind::Expr(Ast {
                                kind: AstKind::Name(name),
                                ..
                            }),
                        ..
                    },
                    ..,
                ] => {
                    let hint = match self.scopes.find(name) {
                        Meaning::Variable(Variable::Outer(outer)) => Some(outer),
                        _ => None,
                    };
                    (Some(name.clone()), hint)
                }
                _ => (None, None),
            },
            _ => (None, None),
        };
        let plain = procedure.predicates.is_empty() && procedure.group.is_none() && !procedure.keep;
        let procedure = match &procedure.kind {
            AstKind::Variable(name) if plain => {
                let kind = self.variable(&name.clone(), true);
                make(kind, procedure.token, procedure.extent)
            }
            _ => self.node(procedure, false)?,
        };
        let mut lowered = Vec::with_capacity(arguments.len());
        let mut partial = false;
        for argument in arguments {
            if matches!(argument.kind, AstKind::Placeholder) {
                partial = true;
                lowered.push(None);
            } else {
                lowered.push(Some(self.node(argument, false)?));
            }
        }
        self.note_host_call(&procedure, &lowered);
        Ok(Kind::Call(Box::new(Call {
            procedure,
            arguments: lowered,
            partial,
            tail: tail && !partial,
            name,
            hint,
        })))
    }

    fn note_host_call(&mut self, procedure: &Node, arguments: &[Option<Node>]) {
        let Kind::Variable(Variable::Slots(_, outer) | Variable::Outer(outer)) = &procedure.kind
        else {
            return;
        };
        let Outer::Host(function, _) = outer else {
            return;
        };
        let literals = arguments.iter().map(|argument| match argument {
            Some(Node {
                kind: Kind::Literal(value),
                ..
            }) => Some(value.clone()),
            _ => None,
        });
        self.calls.push(HostCall {
            function: *function,
            arguments: literals.collect(),
            called: true,
        });
    }

    fn filter(&mut self, ast: Ast) -> Outcome<Filter> {
        let node = self.node(ast, false)?;
        Ok(match node.kind {
            Kind::Literal(Value::Number(number)) => Filter::At(number.as_f64().floor()),
            _ => Filter::Test(node),
        })
    }

    #[inline(never)]
    fn path(&mut self, ast: Ast) -> Outcome<Node> {
        let Ast {
            kind,
            token,
            extent,
            keep,
            group,
            tuple,
            ..
        } = ast;
        let steps = match kind {
            AstKind::Path(steps) => steps,
            _ => Vec::new(),
        };
        let tuple_from = steps.iter().position(|step| step.tuple);
        let mut lowered = Vec::with_capacity(steps.len());
        for (at, step) in steps.into_iter().enumerate() {
            if tuple_from == Some(at) {
                self.scopes.push_bindings();
            }
            lowered.push(self.step(step)?);
        }
        let group = match group {
            Some(group) => Some(self.pairs(*group)?),
            None => None,
        };
        if tuple_from.is_some() {
            self.scopes.pop();
        }
        let walk = tuple_from.is_none() && walkable(&lowered);
        let path = Path {
            steps: lowered,
            keep,
            group,
            tuple_from,
            tuple_out: tuple && tuple_from.is_some(),
            walk,
        };
        Ok(make(Kind::Path(Box::new(path)), token, extent))
    }

    fn step(&mut self, step: StepAst) -> Outcome<Step> {
        let kind = match step.kind {
            ast::StepKind::Expr(ast) => StepKind::Expr(self.bare_step(ast)?),
            ast::StepKind::Sort(terms) => {
                let mut lowered = Vec::with_capacity(terms.len());
                for (descending, term) in terms {
                    let node = self.node(term, false)?;
                    lowered.push(Term { descending, node });
                }
                StepKind::Sort(lowered, step.token)
            }
        };
        let focus = step.focus.map(|name| self.scopes.bind(&name));
        let index = step.index.map(|name| self.scopes.bind(&name));
        let mut stages = Vec::with_capacity(step.stages.len());
        for stage in step.stages {
            stages.push(match stage {
                StageAst::Filter(test) => Stage::Filter(self.filter(test)?),
                StageAst::Index(name) => Stage::Index(self.scopes.bind(&name)),
            });
        }
        Ok(Step {
            kind,
            stages,
            focus,
            index,
            ancestor: step.ancestor.map(|slot| self.labels[slot]),
            whole: step.whole,
        })
    }

    fn bare_step(&mut self, mut ast: Ast) -> Outcome<Node> {
        // Filters have moved to the stages of the step; a step's `[]` has moved to the path.
        ast.keep = false;
        self.node(ast, false)
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

fn shallow(value: &Value, depth: u32) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| shallow(item, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|value| shallow(value, depth - 1)),
        _ => true,
    }
}

fn literal_keys(pairs: &[(Node, Node)]) -> Option<Vec<Str>> {
    let mut keys: Vec<Str> = Vec::with_capacity(pairs.len());
    for (key, _) in pairs {
        match &key.kind {
            Kind::Literal(Value::String(key)) if !keys.contains(key) => keys.push(key.clone()),
            _ => return None,
        }
    }
    Some(keys)
}

fn fold_object(group: &Group) -> Option<Value> {
    let keys = group.keys.as_ref()?;
    let mut map = Map::with_capacity(keys.len());
    for (key, (_, value)) in keys.iter().zip(&group.pairs) {
        match &value.kind {
            Kind::Literal(value) if shallow(value, FOLD_DEPTH_MAX) => {
                map.insert(key.clone(), value.clone());
            }
            _ => return None,
        }
    }
    Some(map.into())
}

/// Whether every step is a field, perhaps filtered, or a value to start from.
fn walkable(steps: &[Step]) -> bool {
    steps.iter().enumerate().all(|(at, step)| {
        let fits = match &step.kind {
            StepKind::Expr(node) => match &node.kind {
                Kind::Name(_) => true,
                Kind::Context | Kind::Root | Kind::Variable(_) => {
                    at == 0 && step.stages.is_empty() && steps.len() > 1
                }
                _ => false,
            },
            StepKind::Sort(..) => false,
        };
        fits && step
            .stages
            .iter()
            .all(|stage| matches!(stage, Stage::Filter(_)))
    })
}

fn peekable(kind: &Kind) -> bool {
    match kind {
        Kind::Literal(_) | Kind::Name(_) | Kind::Context => true,
        Kind::Variable(variable) => matches!(variable, Variable::Slots(..)),
        Kind::Negate(inner) => inner.peek,
        Kind::Conditional(parts) => {
            let otherwise = parts.2.as_ref().is_none_or(|otherwise| otherwise.peek);
            parts.0.peek && parts.1.peek && otherwise
        }
        Kind::Arithmetic(_, pair)
        | Kind::Compare(_, pair)
        | Kind::And(pair)
        | Kind::Or(pair)
        | Kind::Elvis(pair)
        | Kind::Coalesce(pair) => pair.0.peek && pair.1.peek,
        Kind::Path(path) => {
            path.walk
                && !path.keep
                && path.group.is_none()
                && path.steps.iter().all(|step| {
                    step.stages.is_empty()
                        && matches!(&step.kind, StepKind::Expr(node) if node.peek)
                })
        }
        Kind::Block(block) => {
            block.slots.is_none() && matches!(&block.body[..], [node] if node.peek)
        }
        _ => false,
    }
}
