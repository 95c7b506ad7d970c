//! Where a run is to halt: breakpoints, resolved and compiled.

use crate::graph::Graph;
use crate::ids::NodeIx;
use crate::journal::Watch;
use crate::scope;
use crate::text::nearest;
use std::sync::Arc;
use tramline_expr::{Expression, Rule, Value};

/// More breakpoints are refused: nobody can keep them in mind.
const BREAKS_MAX: usize = 1_000;

/// Where a run is to halt.
#[derive(Clone, Debug)]
pub(crate) struct Watching {
    pub(crate) stepping: bool,
    /// Whether a condition looks back, so that every output must be kept from now on.
    pub(crate) looks_back: bool,
    pub(crate) breaks: Vec<(NodeIx, Condition)>,
}

/// When a breakpoint counts.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Always,
    Expression(Expression),
    Rule(Arc<Rule>),
}

impl Watching {
    /// What somebody said, resolved; nothing if there is nothing to halt for.
    pub(super) fn over(graph: &Graph, watch: &Watch) -> Result<Option<Box<Self>>, String> {
        if watch.breaks.len() > BREAKS_MAX {
            return Err(format!("more than {BREAKS_MAX} breakpoints"));
        }
        let mut breaks = Vec::with_capacity(watch.breaks.len());
        for spot in &watch.breaks {
            let Some(node) = graph.find(&spot.node) else {
                let ids = graph.workflow.nodes.iter().map(|node| node.id.as_str());
                let near = nearest(&spot.node, ids)
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                return Err(format!("there is no node `{}`{near}", spot.node));
            };
            let condition = condition(spot.condition.as_ref())
                .map_err(|error| format!("the condition at `{}`: {error}", spot.node))?;
            breaks.push((node, condition));
        }
        let stepping = watch.stepping;
        let looks_back = breaks.iter().any(|(_, condition)| condition.looks_back());
        Ok((stepping || !breaks.is_empty()).then(|| {
            Box::new(Self {
                stepping,
                looks_back,
                breaks,
            })
        }))
    }
}

impl Condition {
    fn looks_back(&self) -> bool {
        match self {
            Self::Always => false,
            Self::Expression(expression) => !expression.host_calls().is_empty(),
            Self::Rule(rule) => !rule.host_calls().is_empty(),
        }
    }
}

fn condition(value: Option<&Value>) -> Result<Condition, String> {
    match value {
        None | Some(Value::Null) => Ok(Condition::Always),
        Some(Value::String(source)) => Expression::compile(source, scope::functions())
            .map(Condition::Expression)
            .map_err(|error| error.to_string()),
        Some(rule) => Rule::compile(rule, scope::functions())
            .map(|rule| Condition::Rule(Arc::new(rule)))
            .map_err(|bad| bad.error.to_string()),
    }
}
