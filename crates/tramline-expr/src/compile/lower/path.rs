//! Lowers paths: steps with their stages and bindings.

use super::{Lowerer, make_node};
use crate::compile::node::*;
use crate::compile::optimize::is_field_path;
use crate::error::ExprResult;
use crate::syntax::ast::{self, Ast, AstKind, StageAst, StepAst};
use crate::value::Value;

impl Lowerer<'_> {
    pub(super) fn filter(&mut self, ast: Ast) -> ExprResult<StepFilter> {
        let node = self.node(ast, false)?;
        Ok(match node.kind {
            ExprKind::Literal(Value::Number(number)) => StepFilter::At(number.as_f64().floor()),
            _ => StepFilter::Test(node),
        })
    }

    #[inline(never)]
    pub(super) fn path(&mut self, ast: Ast) -> ExprResult<ExprNode> {
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
        let walk = tuple_from.is_none() && is_field_path(&lowered);
        let path = PathNode {
            steps: lowered,
            keep,
            group,
            tuple_from,
            tuple_out: tuple && tuple_from.is_some(),
            is_field_path: walk,
        };
        Ok(make_node(ExprKind::Path(Box::new(path)), token, extent))
    }

    fn step(&mut self, step: StepAst) -> ExprResult<PathStep> {
        let kind = match step.kind {
            ast::StepKind::Expr(ast) => StepKind::Expr(self.bare_step(ast)?),
            ast::StepKind::Sort(terms) => {
                let mut lowered = Vec::with_capacity(terms.len());
                for (descending, term) in terms {
                    let node = self.node(term, false)?;
                    lowered.push(SortTerm { descending, node });
                }
                StepKind::Sort(lowered, step.token)
            }
        };
        let focus = step.focus.map(|name| self.scopes.bind(&name));
        let index = step.index.map(|name| self.scopes.bind(&name));
        let mut stages = Vec::with_capacity(step.stages.len());
        for stage in step.stages {
            stages.push(match stage {
                StageAst::Filter(test) => PathStage::Filter(self.filter(test)?),
                StageAst::Index(name) => PathStage::Index(self.scopes.bind(&name)),
            });
        }
        Ok(PathStep {
            kind,
            stages,
            focus,
            index,
            ancestor: step.ancestor.map(|slot| self.labels[slot]),
            no_flatten: step.no_flatten,
        })
    }

    fn bare_step(&mut self, mut ast: Ast) -> ExprResult<ExprNode> {
        // Filters have moved to the stages of the step, and a step's `[]` to the path.
        ast.keep = false;
        self.node(ast, false)
    }
}
