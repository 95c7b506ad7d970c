//! Parses calls and lambdas.

use super::{Parser, checked_node};
use crate::error::{ExprResult, Flaw, Span};
use crate::syntax::ast::{Ast, AstKind, LambdaAst};
use crate::syntax::signature::Signature;
use crate::value::{Str, Value};
use std::sync::Arc;

impl Parser<'_> {
    pub(super) fn call(&mut self, token: Span, left: Ast) -> ExprResult<Ast> {
        let mut arguments = Vec::new();
        if !self.at(")") {
            loop {
                arguments.push(self.argument()?);
                if !self.at(",") {
                    break;
                }
                self.advance(false)?;
            }
        }
        let start = left.extent.start;
        self.expect(")", true)?;
        let kind = match &left.kind {
            AstKind::Name(name) if matches!(name.as_str(), "function" | "λ") => {
                self.lambda(arguments)?
            }
            _ => AstKind::Call(Box::new(left), arguments),
        };
        let extent = self.extent(start);
        checked_node(kind, token, extent)
    }

    fn argument(&mut self) -> ExprResult<Ast> {
        if self.at("?") {
            let span = self.token.span;
            self.advance(false)?;
            return Ok(Ast::new(AstKind::Placeholder, span, span));
        }
        self.expression(0)
    }

    fn lambda(&mut self, arguments: Vec<Ast>) -> ExprResult<AstKind> {
        let source = self.lexer.source();
        let mut params = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.into_iter().enumerate() {
            match argument.kind {
                AstKind::Variable(name) => params.push(name),
                _ => {
                    let message =
                        format!("parameter {} of this function is not a variable", at + 1);
                    let flaw = Flaw::new("S0208", message).at(argument.token);
                    return Err(flaw
                        .token(text_of(&argument, source))
                        .value(Value::from(at + 1)));
                }
            }
        }
        let mut signature = None;
        if self.at("<") {
            let open = self.token.span;
            let text = self.lexer.signature(open).unwrap_or("<");
            signature = Some(Arc::new(Signature::parse(text, open.start)?));
            self.advance(true)?;
        }
        self.expect("{", false)?;
        let body = self.expression(0)?;
        self.expect("}", true)?;
        Ok(AstKind::Lambda(Box::new(LambdaAst {
            params,
            signature,
            body,
        })))
    }
}

pub(super) fn text_of(ast: &Ast, source: &str) -> Str {
    match &ast.kind {
        AstKind::Name(name) => name.clone(),
        AstKind::Literal(Value::String(text)) => text.clone(),
        _ => source
            .get(ast.token.start as usize..ast.token.end as usize)
            .unwrap_or("")
            .into(),
    }
}
