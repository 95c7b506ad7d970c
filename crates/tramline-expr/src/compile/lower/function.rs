//! Lowers lambdas and calls.

use super::{Lowerer, make_node};
use crate::compile::node::*;
use crate::compile::scope::{ResolvedName, assigned_names};
use crate::error::ExprResult;
use crate::host::HostCall;
use crate::syntax::ast::{self, Ast, AstKind, StepAst};
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn lambda(&mut self, lambda: ast::LambdaAst) -> ExprResult<ExprKind> {
        let ast::LambdaAst {
            params,
            signature,
            mut body,
        } = lambda;
        let plain = body.predicates.is_empty() && body.group.is_none() && !body.keep;
        // A function whose body is a block needs one frame, not two.
        let (body, slots) = match body.kind {
            AstKind::Block(inner) if plain => {
                let slots = self.scopes.push_frame(&params, assigned_names(&inner));
                let (token, extent) = (body.token, body.extent);
                let inner = self.sequence(inner, true)?;
                let block = BlockNode {
                    body: inner,
                    slots: None,
                    names: None,
                };
                (
                    make_node(ExprKind::Block(Box::new(block)), token, extent),
                    slots,
                )
            }
            kind => {
                body.kind = kind;
                let slots = self.scopes.push_frame(&params, assigned_names([&body]));
                (self.node(body, true)?, slots)
            }
        };
        let names = self.names();
        self.scopes.pop();
        Ok(ExprKind::Lambda(Arc::new(Lambda {
            params,
            signature,
            body,
            slots,
            names,
        })))
    }

    pub(super) fn call(
        &mut self,
        procedure: Ast,
        arguments: Vec<Ast>,
        tail: bool,
    ) -> ExprResult<ExprKind> {
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
                        ResolvedName::Variable(Variable::Outer(outer)) => Some(outer),
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
                make_node(kind, procedure.token, procedure.extent)
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
        Ok(ExprKind::Call(Box::new(CallNode {
            procedure,
            arguments: lowered,
            partial,
            tail: tail && !partial,
            name,
            hint,
        })))
    }

    fn note_host_call(&mut self, procedure: &ExprNode, arguments: &[Option<ExprNode>]) {
        let ExprKind::Variable(Variable::Slots(_, outer) | Variable::Outer(outer)) =
            &procedure.kind
        else {
            return;
        };
        let OuterVariable::Host(function, _) = outer else {
            return;
        };
        let literals = arguments.iter().map(|argument| match argument {
            Some(ExprNode {
                kind: ExprKind::Literal(value),
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
}
