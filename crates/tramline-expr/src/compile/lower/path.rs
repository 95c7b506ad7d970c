//! Paths: steps with their stages and bindings.

use super::{Lowering, make};
use crate::compile::node::*;
use crate::compile::recognise::walkable;
use crate::error::Outcome;
use crate::syntax::ast::{self, Ast, AstKind, StageAst, StepAst};
use crate::value::Value;

impl Lowering<'_> {
    pub(super) fn filter(&mut self, ast: Ast) -> Outcome<Filter> {
        let node = self.node(ast, false)?;
        Ok(match node.kind {
            Kind::Literal(Value::Number(number)) => Filter::At(number.as_f64().floor()),
            _ => Filter::Test(node),
        })
    }

    #[inline(never)]
    pub(super) fn path(&mut self, ast: Ast) -> Outcome<Node> {
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
