//! What one step does, as far as that can be said without doing it.

use crate::failure::{Failure, FailureKind};
use crate::graph::{Compiled, Filler};
use crate::ids::ToolName;
use crate::run::{Run, Token};
use crate::scope::{Moment, View};
use crate::workflow::Action;
use std::cell::Cell;
use tramline_expr::{ExprError, Limits, Map, Str, Value};

/// What there is to do about a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Nothing more: it is done.
    Done {
        /// The label it picked, if not the default one.
        label: Option<Str>,
        /// What it gave.
        output: Value,
    },
    /// Nothing more: it failed.
    Failed(Failure),
    /// A call.
    Call {
        /// Of what.
        tool: ToolName,
        /// With what.
        arguments: Value,
    },
}

/// Works out what a token's visit does. Pure: time, chance and the bounds come with the call.
pub fn work(run: &Run, token: &Token, moment: Moment, limits: &Limits) -> Work {
    let view = View {
        run,
        from: token.from,
        moment,
        draws: Cell::new(0),
    };
    let node = run.graph.node(token.node);
    match (&node.action, run.graph.compiled(token.node)) {
        (Action::Entry, _) => done(run.started.input.clone()),
        (Action::Exit, _) => done(run.history.before(token.from, 1).unwrap_or_default()),
        (Action::Compute { .. }, Compiled::Expression(expression)) => {
            match expression.evaluate(&run.scope, &view, limits) {
                // JSONata's "nothing" is JSON's null.
                Ok(output) => done(output.unwrap_or_default()),
                Err(error) => {
                    Work::Failed(expression_failure(&node.id, expression.source(), &error))
                }
            }
        }
        (Action::Call { tool, .. }, Compiled::Arguments(filler)) => {
            match fill(filler, &view, limits) {
                Ok(arguments) => Work::Call {
                    tool: tool.clone(),
                    arguments: arguments.unwrap_or_default(),
                },
                Err((source, error)) => Work::Failed(expression_failure(&node.id, &source, &error)),
            }
        }
        (Action::Choose { otherwise, .. }, Compiled::Rules(rules)) => {
            choose(&view, &node.id, rules, otherwise.as_ref(), limits)
        }
        // A graph is only built when all its nodes were compiled.
        (Action::Compute { .. } | Action::Call { .. } | Action::Choose { .. }, _) => {
            Work::Failed(Failure::new(
                FailureKind::Expression,
                format!("`{}` was not compiled", node.id),
            ))
        }
    }
}

fn done(output: Value) -> Work {
    Work::Done {
        label: None,
        output,
    }
}

fn choose(
    view: &View<'_>,
    id: &str,
    rules: &[(tramline_expr::Rule, Str)],
    otherwise: Option<&Str>,
    limits: &Limits,
) -> Work {
    let mut picked = otherwise;
    for (at, (rule, label)) in rules.iter().enumerate() {
        match rule.holds(&view.run.scope, view, limits) {
            Ok(false) => {}
            Ok(true) => {
                picked = Some(label);
                break;
            }
            Err(error) => {
                let message = format!("rule {} of `{id}`: {error}", at + 1);
                return Work::Failed(Failure::new(FailureKind::Expression, message));
            }
        }
    }
    match picked {
        Some(label) => Work::Done {
            label: Some(label.clone()),
            output: label.clone().into(),
        },
        None => Work::Failed(Failure::new(
            FailureKind::Expression,
            format!("no rule of `{id}` holds and it has no default: give it a `next`"),
        )),
    }
}

/// Fills a template. An expression that gives nothing leaves its field or item out.
fn fill(
    filler: &Filler,
    view: &View<'_>,
    limits: &Limits,
) -> Result<Option<Value>, (String, ExprError)> {
    Ok(match filler {
        Filler::Literal(value) => Some(value.clone()),
        Filler::Expr(expression) => expression
            .evaluate(&view.run.scope, view, limits)
            .map_err(|error| (expression.source().to_owned(), error))?,
        Filler::Object(fields) => {
            let mut map = Map::with_capacity(fields.len());
            for (key, field) in fields {
                if let Some(value) = fill(field, view, limits)? {
                    map.insert(key.clone(), value);
                }
            }
            Some(map.into())
        }
        Filler::Array(items) => {
            let filled = items
                .iter()
                .filter_map(|item| fill(item, view, limits).transpose());
            Some(filled.collect::<Result<Vec<_>, _>>()?.into())
        }
    })
}

fn expression_failure(id: &str, source: &str, error: &ExprError) -> Failure {
    let mut data = Map::new();
    data.insert("expression", source.into());
    data.insert("code", error.code.clone().into());
    if let Some(position) = error.position {
        data.insert("position", position.into());
    }
    Failure::new(FailureKind::Expression, format!("`{id}`: {error}")).with_data(data.into())
}
