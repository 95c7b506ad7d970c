//! Parent references: resolves which step of which path provides the value of each `%`.

use crate::error::{ExprResult, Flaw};
use crate::syntax::ast::{Ast, AstKind, StepAst, StepKind};

/// All parent references of a source, by number.
pub(super) struct ParentSlots {
    /// How many levels up each reference still has to go.
    levels: Vec<u32>,
    /// The binding that each reference reads.
    labels: Vec<u32>,
}

impl ParentSlots {
    pub(super) fn new(parents: usize) -> Self {
        Self {
            levels: vec![1; parents],
            labels: (0..parents as u32).collect(),
        }
    }

    pub(super) fn labels(self) -> Vec<u32> {
        self.labels
    }

    /// Whether any of these is still unresolved.
    pub(super) fn any_unresolved(&self, slots: &[usize]) -> bool {
        slots.iter().any(|slot| self.levels[*slot] > 0)
    }

    pub(super) fn no_parent_error(ast: &Ast) -> Box<Flaw> {
        let message = "% has no parent here";
        let flaw = Flaw::new("S0217", message).token(ast.kind_name());
        match ast.kind {
            AstKind::Parent(_) | AstKind::Path(_) => flaw,
            _ => flaw.at(ast.token),
        }
    }

    /// The whole seeks every parent that a part seeks.
    pub(super) fn collect_parents(seeking: &mut Vec<usize>, part: &Ast) {
        seeking.extend(&part.unresolved_parents);
        if let AstKind::Parent(slot) = part.kind {
            seeking.push(slot);
        }
    }

    /// Resolves what the last step of a path seeks against the steps before it.
    pub(super) fn resolve(&mut self, path: &mut Ast) -> ExprResult<()> {
        let AstKind::Path(steps) = &mut path.kind else {
            return Ok(());
        };
        let Some((last, before)) = steps.split_last_mut() else {
            return Ok(());
        };
        let mut slots = last.unresolved_parents.clone();
        if let StepKind::Expr(Ast {
            kind: AstKind::Parent(slot),
            ..
        }) = last.kind
        {
            slots.push(slot);
        }
        for slot in slots {
            let mut at = before.len();
            while self.levels[slot] > 0 {
                if at == 0 {
                    path.unresolved_parents.push(slot);
                    break;
                }
                at -= 1;
                // Steps that bind a focus do not move the context, so skip back to the first of
                // them.
                while at > 0 && before[at].focus.is_some() && before[at - 1].focus.is_some() {
                    at -= 1;
                }
                self.resolve_in_step(&mut before[at], slot)?;
            }
        }
        Ok(())
    }

    /// A parent reference in a filter resolves against the step that the filter is on.
    pub(super) fn resolve_in_filter(
        &mut self,
        step: &mut StepAst,
        slots: &[usize],
    ) -> ExprResult<()> {
        for &slot in slots {
            if self.levels[slot] == 1 {
                self.resolve_in_step(step, slot)?;
            } else {
                self.levels[slot] = self.levels[slot].saturating_sub(1);
            }
        }
        step.unresolved_parents.extend(slots);
        Ok(())
    }

    pub(super) fn resolve_in_filter_of(&mut self, ast: &mut Ast, test: &Ast) -> ExprResult<()> {
        let mut slots = Vec::new();
        Self::collect_parents(&mut slots, test);
        for &slot in &slots {
            if self.levels[slot] == 1 {
                self.resolve_in_ast(ast, slot)?;
            } else {
                self.levels[slot] = self.levels[slot].saturating_sub(1);
            }
        }
        ast.unresolved_parents.extend(slots);
        Ok(())
    }

    fn resolve_in_step(&mut self, step: &mut StepAst, slot: usize) -> ExprResult<()> {
        let StepKind::Expr(ast) = &mut step.kind else {
            let message = "% has no parent here";
            return Err(Flaw::new("S0217", message).at(step.token).token("sort"));
        };
        match &ast.kind {
            AstKind::Name(_) | AstKind::Wildcard => {
                self.levels[slot] -= 1;
                if self.levels[slot] == 0 {
                    if let Some(known) = step.ancestor {
                        self.labels[slot] = self.labels[known];
                    }
                    step.ancestor = Some(slot);
                    step.tuple = true;
                }
                Ok(())
            }
            AstKind::Block(_) | AstKind::Path(_) => {
                step.tuple = true;
                self.resolve_in_ast(ast, slot)
            }
            _ => self.resolve_in_ast(ast, slot),
        }
    }

    fn resolve_in_ast(&mut self, ast: &mut Ast, slot: usize) -> ExprResult<()> {
        match &mut ast.kind {
            AstKind::Parent(_) => {
                self.levels[slot] += 1;
                Ok(())
            }
            AstKind::Block(body) => match body.last_mut() {
                Some(last) => {
                    ast.tuple = true;
                    self.resolve_in_ast(last, slot)
                }
                None => Ok(()),
            },
            AstKind::Path(steps) => {
                ast.tuple = true;
                for step in steps.iter_mut().rev() {
                    self.resolve_in_step(step, slot)?;
                    if self.levels[slot] == 0 {
                        break;
                    }
                }
                Ok(())
            }
            _ => Err(Self::no_parent_error(ast)),
        }
    }
}
