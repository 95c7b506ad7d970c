//! Parent references: which step of which path gives each `%` its value.

use crate::error::{Flaw, Outcome};
use crate::syntax::ast::{Ast, AstKind, StepAst, StepKind};

/// All parent references of a source, by number.
pub(super) struct Slots {
    /// How many levels up each still has to go.
    levels: Vec<u32>,
    /// The binding that each reads.
    labels: Vec<u32>,
}

impl Slots {
    pub(super) fn new(parents: usize) -> Self {
        Self {
            levels: vec![1; parents],
            labels: (0..parents as u32).collect(),
        }
    }

    pub(super) fn labels(self) -> Vec<u32> {
        self.labels
    }

    /// Whether any of these still has to go up.
    pub(super) fn any_open(&self, slots: &[usize]) -> bool {
        slots.iter().any(|slot| self.levels[*slot] > 0)
    }

    pub(super) fn no_parent(ast: &Ast) -> Box<Flaw> {
        let message = "there is no parent here to go up to";
        let flaw = Flaw::new("S0217", message).token(ast.kind_name());
        match ast.kind {
            AstKind::Parent(_) | AstKind::Path(_) => flaw,
            _ => flaw.at(ast.token),
        }
    }

    /// What a part seeks, the whole seeks.
    pub(super) fn inherit(seeking: &mut Vec<usize>, part: &Ast) {
        seeking.extend(&part.seeking);
        if let AstKind::Parent(slot) = part.kind {
            seeking.push(slot);
        }
    }

    /// Answers what the last step of a path seeks from the steps before it.
    pub(super) fn resolve(&mut self, path: &mut Ast) -> Outcome<()> {
        let AstKind::Path(steps) = &mut path.kind else {
            return Ok(());
        };
        let Some((last, before)) = steps.split_last_mut() else {
            return Ok(());
        };
        let mut slots = last.seeking.clone();
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
                    path.seeking.push(slot);
                    break;
                }
                at -= 1;
                // Of steps that each bind a focus the context does not move: skip to the first.
                while at > 0 && before[at].focus.is_some() && before[at - 1].focus.is_some() {
                    at -= 1;
                }
                self.seek_step(&mut before[at], slot)?;
            }
        }
        Ok(())
    }

    /// A filter on a step goes up to where the step's values came from.
    pub(super) fn through_filter(&mut self, step: &mut StepAst, slots: &[usize]) -> Outcome<()> {
        for &slot in slots {
            if self.levels[slot] == 1 {
                self.seek_step(step, slot)?;
            } else {
                self.levels[slot] = self.levels[slot].saturating_sub(1);
            }
        }
        step.seeking.extend(slots);
        Ok(())
    }

    pub(super) fn through_filter_of(&mut self, ast: &mut Ast, test: &Ast) -> Outcome<()> {
        let mut slots = Vec::new();
        Self::inherit(&mut slots, test);
        for &slot in &slots {
            if self.levels[slot] == 1 {
                self.seek_ast(ast, slot)?;
            } else {
                self.levels[slot] = self.levels[slot].saturating_sub(1);
            }
        }
        ast.seeking.extend(slots);
        Ok(())
    }

    fn seek_step(&mut self, step: &mut StepAst, slot: usize) -> Outcome<()> {
        let StepKind::Expr(ast) = &mut step.kind else {
            let message = "there is no parent here to go up to";
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
                self.seek_ast(ast, slot)
            }
            _ => self.seek_ast(ast, slot),
        }
    }

    fn seek_ast(&mut self, ast: &mut Ast, slot: usize) -> Outcome<()> {
        match &mut ast.kind {
            AstKind::Parent(_) => {
                self.levels[slot] += 1;
                Ok(())
            }
            AstKind::Block(body) => match body.last_mut() {
                Some(last) => {
                    ast.tuple = true;
                    self.seek_ast(last, slot)
                }
                None => Ok(()),
            },
            AstKind::Path(steps) => {
                ast.tuple = true;
                for step in steps.iter_mut().rev() {
                    self.seek_step(step, slot)?;
                    if self.levels[slot] == 0 {
                        break;
                    }
                }
                Ok(())
            }
            _ => Err(Self::no_parent(ast)),
        }
    }
}
