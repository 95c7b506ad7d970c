//! Computes what a step has to do, without doing it.

use crate::failure::{Failure, FailureKind};
use crate::form::{FormQuestion, TIMEOUT_LABEL};
use crate::graph::{CompiledAction, CompiledTemplate};
use crate::ids::ToolName;
use crate::journal::{FanOutItem, ProposedCall};
use crate::run::{Run, Token};
use crate::scope::{EvalMoment, RunView};
use crate::workflow::{Action, FanOutSpec};
use std::cell::Cell;
use tramline_expr::{ExprError, Limits, Map, Str, Value, missing_paths};

mod ask;
mod breakpoints;
mod proposal;
mod wait;

pub use breakpoints::{BreakpointHit, breakpoint_hit, repeats_effect};
pub use proposal::proposed_call;
use wait::wait;

/// What a step has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum StepWork {
    /// The step is finished.
    Done {
        /// The label it picked, if not the default one.
        label: Option<Str>,
        /// The output.
        output: Value,
    },
    /// The step failed.
    Failed(Failure),
    /// A call to make.
    Call {
        /// The tool.
        tool: ToolName,
        /// The arguments.
        arguments: Value,
    },
    /// A call to make for each of these items.
    Spread {
        /// The tool.
        tool: ToolName,
        /// The items, an array.
        items: Value,
    },
    /// A wait until this time, in milliseconds since 1970.
    Wait(i64),
    /// A form that a person fills in.
    Ask(Box<FormQuestion>),
}

/// Items per fan-out step; each of them is a step with a call.
const ITEMS_MAX: usize = 100_000;
/// Computes what a token's visit does. Pure: the time, the random seed and the limits are
/// parameters.
pub fn evaluate(run: &Run, token: &Token, moment: EvalMoment, limits: &Limits) -> StepWork {
    let view = RunView {
        run,
        from: token.from,
        moment,
        draws: Cell::new(0),
    };
    let node = run.graph.node(token.node);
    if let Some(given) = run.given_outputs.get(&token.clearance.given_at) {
        let is_late = given.label.as_deref() == Some(TIMEOUT_LABEL);
        return match is_late && !run.graph.has_label(token.node, TIMEOUT_LABEL) {
            true => StepWork::Failed(ask::timeout_failure(&node.id)),
            false => StepWork::Done {
                label: given.label.clone(),
                output: given.output.clone(),
            },
        };
    }
    if let Some(call) = run.approved_calls.get(&token.clearance.approved_pause) {
        return approved_work(call);
    }
    match (&node.action, run.graph.compiled(token.node)) {
        (Action::Entry, _) => done(run.started.input.clone()),
        (Action::Exit, _) => done(run.history.before(token.from, 1).unwrap_or_default()),
        (Action::Compute { .. }, CompiledAction::Expression(expression)) => {
            match expression.evaluate(&run.scope, &view, limits) {
                // JSONata's "nothing" is JSON's null.
                Ok(output) => done(output.unwrap_or_default()),
                Err(error) => StepWork::Failed(expression_failure(
                    &node.id,
                    expression.source(),
                    &error,
                    (&run.scope, None),
                )),
            }
        }
        (Action::Call { tool, .. }, CompiledAction::Arguments(filler)) => {
            match fill_template(filler, &view, None, limits) {
                Ok(arguments) => StepWork::Call {
                    tool: tool.clone(),
                    arguments: arguments.unwrap_or_default(),
                },
                Err((source, error)) => StepWork::Failed(expression_failure(
                    &node.id,
                    &source,
                    &error,
                    (&run.scope, None),
                )),
            }
        }
        (Action::Call { tool, .. }, CompiledAction::FanOut(items, _)) => {
            match fill_template(items, &view, None, limits) {
                Ok(items) => fan_out(&node.id, tool, items),
                Err((source, error)) => StepWork::Failed(expression_failure(
                    &node.id,
                    &source,
                    &error,
                    (&run.scope, None),
                )),
            }
        }
        (Action::Wait(time), CompiledAction::Time(filler)) => {
            match fill_template(filler, &view, None, limits) {
                Ok(value) => wait(&node.id, time, &value.unwrap_or_default(), moment.now_ms),
                Err((source, error)) => StepWork::Failed(expression_failure(
                    &node.id,
                    &source,
                    &error,
                    (&run.scope, None),
                )),
            }
        }
        (Action::Ask(form), CompiledAction::Form(message, defaults)) => {
            let parts = (message, defaults.as_ref());
            ask::ask(&view, (&node.id, form), node.timeout_ms, parts, limits)
        }
        (Action::Choose { otherwise, .. }, CompiledAction::Rules(rules)) => {
            evaluate_switch(&view, &node.id, rules, otherwise.as_ref(), limits)
        }
        // A graph is only built once all its nodes are compiled.
        (
            Action::Compute { .. }
            | Action::Call { .. }
            | Action::Choose { .. }
            | Action::Wait(_)
            | Action::Ask(_),
            _,
        ) => StepWork::Failed(Failure::new(
            FailureKind::Expression,
            format!("`{}` was not compiled", node.id),
        )),
    }
}

/// An approved call is made as it was shown, whatever has changed since.
fn approved_work(call: &ProposedCall) -> StepWork {
    let tool = call.tool.clone();
    match &call.batch {
        None => StepWork::Call {
            tool,
            arguments: call.arguments.clone(),
        },
        Some(batch) => StepWork::Spread {
            tool,
            items: batch.items.clone(),
        },
    }
}

/// The arguments of the call for one item of a fan-out step.
pub fn item_arguments(
    run: &Run,
    item: FanOutItem,
    moment: EvalMoment,
    limits: &Limits,
) -> Result<Value, Failure> {
    let gone = || Failure::new(FailureKind::Expression, "the fan-out step has ended");
    let spread = run.fan_outs.get(&item.step).ok_or_else(gone)?;
    if let Some(agreed) = spread.approved_arguments.get(item.index as usize) {
        return Ok(agreed.clone());
    }
    let node = run.graph.node(spread.node);
    let (CompiledAction::FanOut(_, filler), Some(each)) =
        (run.graph.compiled(spread.node), &node.each)
    else {
        return Err(gone());
    };
    let view = RunView {
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
    let variables = variables(each, one, item.index);
    fill_template(filler, &view, Some(&variables), limits)
        .map(Option::unwrap_or_default)
        .map_err(|(source, error)| {
            expression_failure(&node.id, &source, &error, (&run.scope, Some(&variables)))
        })
}

/// The variables for the arguments of one item's call.
fn variables(each: &FanOutSpec, item: Value, index: u32) -> Map {
    let mut variables = Map::with_capacity(2);
    variables.insert(each.name.clone(), item);
    variables.insert("index", index.into());
    variables
}

fn fan_out(id: &str, tool: &ToolName, items: Option<Value>) -> StepWork {
    let items = match items {
        None | Some(Value::Null) => Value::array([]),
        Some(Value::Array(items)) => Value::Array(items),
        // JSONata does not distinguish a list of one item from the item.
        Some(one) => Value::array([one]),
    };
    let count = items.as_array().map_or(0, <[Value]>::len);
    if count > ITEMS_MAX {
        let message = format!("`{id}` has {count} items, more than the limit of {ITEMS_MAX}");
        return StepWork::Failed(Failure::new(FailureKind::Limit, message));
    }
    let tool = tool.clone();
    StepWork::Spread { tool, items }
}

fn done(output: Value) -> StepWork {
    StepWork::Done {
        label: None,
        output,
    }
}

fn evaluate_switch(
    view: &RunView<'_>,
    id: &str,
    rules: &[(tramline_expr::Rule, Str)],
    otherwise: Option<&Str>,
    limits: &Limits,
) -> StepWork {
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
                return StepWork::Failed(Failure::new(FailureKind::Expression, message));
            }
        }
    }
    match picked {
        Some(label) => StepWork::Done {
            label: Some(label.clone()),
            output: label.clone().into(),
        },
        None => StepWork::Failed(Failure::new(
            FailureKind::Expression,
            format!("no rule of `{id}` matches and it has no default: give it a `next`"),
        )),
    }
}

/// Fills a template. An expression without a value omits its field or item.
fn fill_template(
    filler: &CompiledTemplate,
    view: &RunView<'_>,
    variables: Option<&Map>,
    limits: &Limits,
) -> Result<Option<Value>, (String, ExprError)> {
    Ok(match filler {
        CompiledTemplate::Literal(value) => Some(value.clone()),
        CompiledTemplate::Expr(expression) => expression
            .evaluate_with(Some(&view.run.scope), variables, view, limits)
            .map_err(|error| (expression.source().to_owned(), error))?,
        CompiledTemplate::Object(fields) => {
            let mut map = Map::with_capacity(fields.len());
            for (key, field) in fields {
                if let Some(value) = fill_template(field, view, variables, limits)? {
                    map.insert(key.clone(), value);
                }
            }
            Some(map.into())
        }
        CompiledTemplate::Array(items) => {
            let filled = items
                .iter()
                .filter_map(|item| fill_template(item, view, variables, limits).transpose());
            Some(filled.collect::<Result<Vec<_>, _>>()?.into())
        }
    })
}

/// The start of the message of a reference without a value, as readers write it.
const MISSING_REFERENCE: &str = "there is no ";

/// The failure of an expression. A reference without a value names the last part that exists and what it has.
fn expression_failure(
    id: &str,
    source: &str,
    error: &ExprError,
    (scope, variables): (&Value, Option<&Map>),
) -> Failure {
    let mut data = Map::new();
    data.insert("expression", source.into());
    data.insert("code", error.code.clone().into());
    if let Some(position) = error.position {
        data.insert("position", position.into());
    }
    let is_missing = error.message.starts_with(MISSING_REFERENCE);
    let missing = is_missing.then(|| missing_paths(source, scope, variables));
    let message = match missing.flatten() {
        Some(missing) => format!("`{id}`: {missing}"),
        None => format!("`{id}`: {error}"),
    };
    Failure::new(FailureKind::Expression, message).with_data(data.into())
}
