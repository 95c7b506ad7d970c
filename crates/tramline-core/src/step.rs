//! What one step does, as far as that can be said without doing it.

use crate::failure::{Failure, FailureKind};
use crate::graph::{Compiled, Filler};
use crate::ids::ToolName;
use crate::journal::{Item, ProposedCall};
use crate::run::{Run, Token};
use crate::scope::{Moment, View};
use crate::workflow::{Action, Each};
use std::cell::Cell;
use tramline_expr::{ExprError, Limits, Map, Str, Value};

mod halt;
mod propose;
mod wait;

pub use halt::{halts, repeats};
pub use propose::propose;
use wait::wait;

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
    /// A call for each of these items.
    Spread {
        /// Of what.
        tool: ToolName,
        /// The items, an array.
        items: Value,
    },
    /// Nothing until then, in milliseconds since 1970.
    Wait(i64),
}

/// More items are refused: each of them is a step with a call of its own.
const ITEMS_MAX: usize = 100_000;
/// Works out what a token's visit does. Pure: time, chance and the bounds come with the call.
pub fn work(run: &Run, token: &Token, moment: Moment, limits: &Limits) -> Work {
    let view = View {
        run,
        from: token.from,
        moment,
        draws: Cell::new(0),
    };
    let node = run.graph.node(token.node);
    if token.leave.given
        && let Some((_, output)) = run.given.iter().find(|(at, _)| *at == token.node)
    {
        return done(output.clone());
    }
    if let Some(call) = run.agreed.get(&token.leave.agreed) {
        return agreed(call);
    }
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
            match fill(filler, &view, None, limits) {
                Ok(arguments) => Work::Call {
                    tool: tool.clone(),
                    arguments: arguments.unwrap_or_default(),
                },
                Err((source, error)) => Work::Failed(expression_failure(&node.id, &source, &error)),
            }
        }
        (Action::Call { tool, .. }, Compiled::Each(items, _)) => {
            match fill(items, &view, None, limits) {
                Ok(items) => spread(&node.id, tool, items),
                Err((source, error)) => Work::Failed(expression_failure(&node.id, &source, &error)),
            }
        }
        (Action::Wait(time), Compiled::Time(filler)) => match fill(filler, &view, None, limits) {
            Ok(value) => wait(&node.id, time, &value.unwrap_or_default(), moment.now_ms),
            Err((source, error)) => Work::Failed(expression_failure(&node.id, &source, &error)),
        },
        (Action::Choose { otherwise, .. }, Compiled::Rules(rules)) => {
            choose(&view, &node.id, rules, otherwise.as_ref(), limits)
        }
        // A graph is only built when all its nodes were compiled.
        (
            Action::Compute { .. } | Action::Call { .. } | Action::Choose { .. } | Action::Wait(_),
            _,
        ) => Work::Failed(Failure::new(
            FailureKind::Expression,
            format!("`{}` was not compiled", node.id),
        )),
    }
}

/// What somebody agreed to is done as it was shown, whatever has changed since.
fn agreed(call: &ProposedCall) -> Work {
    let tool = call.tool.clone();
    match &call.batch {
        None => Work::Call {
            tool,
            arguments: call.arguments.clone(),
        },
        Some(batch) => Work::Spread {
            tool,
            items: batch.items.clone(),
        },
    }
}

/// The arguments of the call for one item of a step that is spread.
pub fn item(run: &Run, item: Item, moment: Moment, limits: &Limits) -> Result<Value, Failure> {
    let gone = || Failure::new(FailureKind::Expression, "the step is not spread any more");
    let spread = run.spreads.get(&item.step).ok_or_else(gone)?;
    if let Some(agreed) = spread.agreed.get(item.index as usize) {
        return Ok(agreed.clone());
    }
    let node = run.graph.node(spread.node);
    let (Compiled::Each(_, filler), Some(each)) = (run.graph.compiled(spread.node), &node.each)
    else {
        return Err(gone());
    };
    let view = View {
        run,
        from: spread.from,
        moment,
        draws: Cell::new(0),
    };
    let one = spread
        .items
        .as_array()
        .and_then(|all| all.get(item.index as usize));
    let one = one.cloned().unwrap_or_default();
    fill(
        filler,
        &view,
        Some(&variables(each, one, item.index)),
        limits,
    )
    .map(Option::unwrap_or_default)
    .map_err(|(source, error)| expression_failure(&node.id, &source, &error))
}

/// What the arguments of one item's call can name.
fn variables(each: &Each, item: Value, index: u32) -> Map {
    let mut variables = Map::with_capacity(2);
    variables.insert(each.name.clone(), item);
    variables.insert("index", index.into());
    variables
}

fn spread(id: &str, tool: &ToolName, items: Option<Value>) -> Work {
    let items = match items {
        None | Some(Value::Null) => Value::array([]),
        Some(Value::Array(items)) => Value::Array(items),
        // JSONata does not tell a list of one from the one.
        Some(one) => Value::array([one]),
    };
    let count = items.as_array().map_or(0, <[Value]>::len);
    if count > ITEMS_MAX {
        let message = format!("`{id}` has {count} items, more than the {ITEMS_MAX} allowed");
        return Work::Failed(Failure::new(FailureKind::Limit, message));
    }
    let tool = tool.clone();
    Work::Spread { tool, items }
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
    variables: Option<&Map>,
    limits: &Limits,
) -> Result<Option<Value>, (String, ExprError)> {
    Ok(match filler {
        Filler::Literal(value) => Some(value.clone()),
        Filler::Expr(expression) => expression
            .evaluate_with(Some(&view.run.scope), variables, view, limits)
            .map_err(|error| (expression.source().to_owned(), error))?,
        Filler::Object(fields) => {
            let mut map = Map::with_capacity(fields.len());
            for (key, field) in fields {
                if let Some(value) = fill(field, view, variables, limits)? {
                    map.insert(key.clone(), value);
                }
            }
            Some(map.into())
        }
        Filler::Array(items) => {
            let filled = items
                .iter()
                .filter_map(|item| fill(item, view, variables, limits).transpose());
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
