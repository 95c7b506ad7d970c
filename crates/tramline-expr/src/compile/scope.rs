//! Scopes: which variables are visible at a point in the source, and where evaluation finds them.

use super::node::{OuterVariable, Variable};
use crate::functions::Builtin;
use crate::host::HostFunctions;
use crate::syntax::ast::{Ast, AstKind, AstPairs, StageAst, StepAst, StepKind};
use crate::value::Str;
use std::sync::Arc;

/// Scopes from the outermost in.
pub(super) struct Scopes<'h> {
    scopes: Vec<VariableScope>,
    functions: &'h HostFunctions,
    bindings: u32,
}

enum VariableScope {
    /// A frame with a slot for each name. The first `params` are parameters, which are always set.
    Frame { names: Vec<Str>, params: usize },
    /// A path's bindings, by number.
    Bindings(Vec<(Str, u32)>),
}

/// What a name refers to at one point in the source.
pub(super) enum ResolvedName {
    Variable(Variable),
    Bound(u32),
}

impl<'h> Scopes<'h> {
    /// Numbers below `bindings` are taken by parent references.
    pub(super) fn new(functions: &'h HostFunctions, bindings: u32) -> Self {
        Self {
            scopes: Vec::new(),
            functions,
            bindings,
        }
    }

    pub(super) fn push_frame(&mut self, params: &[Str], assigned: Vec<Str>) -> usize {
        let mut names = params.to_vec();
        for name in assigned {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let slots = names.len();
        self.scopes.push(VariableScope::Frame {
            names,
            params: params.len(),
        });
        slots
    }

    /// Adds the scopes of existing frames, from the outermost in.
    pub(super) fn with_frames(mut self, frames: &[Option<Arc<[Str]>>]) -> Self {
        for frame in frames {
            self.scopes.push(match frame {
                Some(names) => VariableScope::Frame {
                    names: names.to_vec(),
                    params: 0,
                },
                None => VariableScope::Bindings(Vec::new()),
            });
        }
        self
    }

    /// The names of the innermost frame.
    pub(super) fn frame_names(&self) -> Arc<[Str]> {
        match self.scopes.last() {
            Some(VariableScope::Frame { names, .. }) => names.as_slice().into(),
            _ => Arc::default(),
        }
    }

    pub(super) fn push_bindings(&mut self) {
        self.scopes.push(VariableScope::Bindings(Vec::new()));
    }

    pub(super) fn pop(&mut self) {
        self.scopes.pop();
    }

    /// Adds a binding to the innermost path.
    pub(super) fn bind(&mut self, name: &Str) -> u32 {
        let number = self.bindings;
        self.bindings += 1;
        if let Some(VariableScope::Bindings(bindings)) = self.scopes.last_mut() {
            bindings.push((name.clone(), number));
        }
        number
    }

    /// Where an assignment to `name` goes: frames out, and slot.
    pub(super) fn assign(&self, name: &str) -> (u32, u32) {
        for (hops, scope) in self.scopes.iter().rev().enumerate() {
            if let VariableScope::Frame { names, .. } = scope {
                let slot = names.iter().rposition(|known| known == name).unwrap_or(0);
                return (hops as u32, slot as u32);
            }
        }
        (0, 0)
    }

    pub(super) fn outer(&self, name: &Str) -> OuterVariable {
        if let Some(function) = self.functions.find(name) {
            return OuterVariable::Host(function, name.clone());
        }
        match Builtin::find(name) {
            Some(builtin) => OuterVariable::Builtin(builtin),
            None => OuterVariable::PassedIn(name.clone()),
        }
    }

    pub(super) fn find(&self, name: &Str) -> ResolvedName {
        let mut places = Vec::new();
        for (hops, scope) in self.scopes.iter().rev().enumerate() {
            match scope {
                VariableScope::Frame { names, params } => {
                    // If two parameters share a name, the last one counts.
                    if let Some(slot) = names.iter().rposition(|known| known == name) {
                        places.push((hops as u32, slot as u32));
                        if slot < *params {
                            break;
                        }
                    }
                }
                VariableScope::Bindings(bindings) => {
                    let bound = bindings.iter().rfind(|(known, _)| known == name);
                    if let (Some((_, number)), true) = (bound, places.is_empty()) {
                        return ResolvedName::Bound(*number);
                    }
                }
            }
        }
        let outer = self.outer(name);
        ResolvedName::Variable(match places.is_empty() {
            true => Variable::Outer(outer),
            false => Variable::Slots(places.into(), outer),
        })
    }
}

/// The names assigned in a frame: in these nodes, but not in the blocks and functions inside them.
pub(super) fn assigned_names<'a>(nodes: impl IntoIterator<Item = &'a Ast>) -> Vec<Str> {
    let mut names = Vec::new();
    for node in nodes {
        visit(node, &mut names);
    }
    names
}

fn visit(ast: &Ast, names: &mut Vec<Str>) {
    for predicate in &ast.predicates {
        visit(predicate, names);
    }
    if let Some(group) = &ast.group {
        visit_pairs(group, names);
    }
    match &ast.kind {
        AstKind::Bind(name, value) => {
            visit(value, names);
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        AstKind::Negate(inner) | AstKind::Keep(inner) => visit(inner, names),
        AstKind::Focus(inner, _) | AstKind::Index(inner, _) => visit(inner, names),
        AstKind::Binary(_, left, right) | AstKind::Dot(left, right) => {
            visit(left, names);
            visit(right, names);
        }
        AstKind::Filter(left, right) => {
            visit(left, names);
            visit(right, names);
        }
        AstKind::Array(items) => items.iter().for_each(|item| visit(item, names)),
        AstKind::Object(pairs) => visit_pairs(pairs, names),
        AstKind::Grouped(inner, pairs) => {
            visit(inner, names);
            visit_pairs(pairs, names);
        }
        AstKind::Sorted(inner, terms) => {
            visit(inner, names);
            terms.iter().for_each(|(_, term)| visit(term, names));
        }
        AstKind::Call(procedure, arguments) => {
            visit(procedure, names);
            arguments.iter().for_each(|argument| visit(argument, names));
        }
        AstKind::Conditional(test, then, otherwise) => {
            visit(test, names);
            visit(then, names);
            if let Some(otherwise) = otherwise {
                visit(otherwise, names);
            }
        }
        AstKind::Transform(pattern, update, delete) => {
            visit(pattern, names);
            visit(update, names);
            if let Some(delete) = delete {
                visit(delete, names);
            }
        }
        AstKind::Path(steps) => steps.iter().for_each(|step| visit_step(step, names)),
        // A block and a function have frames of their own.
        AstKind::Block(_) | AstKind::Lambda(_) => {}
        AstKind::Literal(_)
        | AstKind::Name(_)
        | AstKind::Variable(_)
        | AstKind::Regex(..)
        | AstKind::Wildcard
        | AstKind::Descendants
        | AstKind::Parent(_)
        | AstKind::Placeholder
        | AstKind::End => {}
    }
}

fn visit_pairs(pairs: &AstPairs, names: &mut Vec<Str>) {
    for (key, value) in &pairs.pairs {
        visit(key, names);
        visit(value, names);
    }
}

fn visit_step(step: &StepAst, names: &mut Vec<Str>) {
    match &step.kind {
        StepKind::Expr(ast) => visit(ast, names),
        StepKind::Sort(terms) => terms.iter().for_each(|(_, term)| visit(term, names)),
    }
    for stage in &step.stages {
        match stage {
            StageAst::Filter(test) => visit(test, names),
            StageAst::Index(_) => {}
        }
    }
}
