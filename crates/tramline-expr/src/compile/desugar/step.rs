//! Builds the steps of a path from the operands between the dots, and checks them.

use crate::error::{ExprResult, Flaw, Span};
use crate::syntax::ast::{Ast, AstKind, StageAst, StepAst, StepKind};
use crate::value::Value;

/// `[]` marks the operand before the filters.
pub(super) fn keep_base(ast: &mut Ast) {
    let mut base = ast;
    loop {
        match &mut base.kind {
            AstKind::Filter(left, _) => base = left,
            AstKind::Keep(left) => base = left,
            _ => break,
        }
    }
    base.keep = true;
}

pub(super) fn plain_step(kind: StepKind, token: Span) -> StepAst {
    StepAst {
        kind,
        stages: Vec::new(),
        focus: None,
        index: None,
        ancestor: None,
        tuple: false,
        keep: false,
        no_flatten: false,
        unresolved_parents: Vec::new(),
        token,
    }
}

pub(super) fn into_step(mut ast: Ast) -> StepAst {
    let token = ast.token;
    let stages = std::mem::take(&mut ast.predicates)
        .into_iter()
        .map(StageAst::Filter)
        .collect();
    let (keep, seeking) = (ast.keep, std::mem::take(&mut ast.unresolved_parents));
    StepAst {
        stages,
        keep,
        unresolved_parents: seeking,
        tuple: ast.tuple,
        ..plain_step(StepKind::Expr(ast), token)
    }
}

pub(super) fn into_path(ast: Ast) -> Ast {
    if matches!(ast.kind, AstKind::Path(_)) {
        return ast;
    }
    let (token, extent, keep) = (ast.token, ast.extent, ast.keep);
    let seeking = match ast.kind {
        AstKind::Parent(slot) => vec![slot],
        _ => ast.unresolved_parents.clone(),
    };
    let mut path = Ast::new(AstKind::Path(vec![into_step(ast)]), token, extent);
    path.keep = keep;
    path.unresolved_parents = seeking;
    path
}

pub(super) fn last(path: &mut Ast) -> Option<&mut StepAst> {
    match &mut path.kind {
        AstKind::Path(steps) => steps.last_mut(),
        _ => None,
    }
}

pub(super) fn is_array(step: &StepAst) -> bool {
    matches!(
        &step.kind,
        StepKind::Expr(Ast {
            kind: AstKind::Array(_),
            ..
        })
    )
}

/// Quoted text names a field; other literals cannot be steps.
pub(super) fn check_step(step: &mut StepAst) -> ExprResult<()> {
    let StepKind::Expr(ast) = &mut step.kind else {
        return Ok(());
    };
    match &ast.kind {
        AstKind::Literal(Value::String(name)) => {
            ast.kind = AstKind::Name(name.clone());
            Ok(())
        }
        AstKind::Literal(value) => {
            let message = format!("the literal {value} cannot be a step of a path");
            Err(Flaw::new("S0213", message)
                .at(ast.token)
                .value(value.clone()))
        }
        _ => Ok(()),
    }
}
