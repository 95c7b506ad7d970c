//! Breakpoints, resolved against the graph and compiled.

use crate::graph::Graph;
use crate::ids::NodeIx;
use crate::journal::BreakpointSet;
use crate::scope;
use crate::text::nearest;
use std::sync::Arc;
use tramline_expr::{Expression, Rule, Value};

/// Breakpoints per run; more than a person can keep track of.
const BREAKS_MAX: usize = 1_000;

/// The breakpoints of a run.
#[derive(Clone, Debug)]
pub(crate) struct CompiledBreakpoints {
    pub(crate) stepping: bool,
    /// Whether a condition looks back, so that every output must be kept from now on.
    pub(crate) looks_back: bool,
    pub(crate) breaks: Vec<CompiledBreak>,
}

/// One breakpoint.
#[derive(Clone, Debug)]
pub(crate) struct CompiledBreak {
    pub(crate) node: NodeIx,
    pub(crate) condition: BreakCondition,
    /// The pinned output that replaces the halt.
    pub(crate) output: Option<Value>,
}

/// When a breakpoint applies.
#[derive(Clone, Debug)]
pub(crate) enum BreakCondition {
    Always,
    Expression(Expression),
    Rule(Arc<Rule>),
}

impl CompiledBreakpoints {
    /// Resolves the breakpoints; `None` if there are none.
    pub(super) fn compile(
        graph: &Graph,
        watch: &BreakpointSet,
    ) -> Result<Option<Box<Self>>, String> {
        if watch.breaks.len() > BREAKS_MAX {
            return Err(format!("more than {BREAKS_MAX} breakpoints, the limit"));
        }
        let mut breaks = Vec::with_capacity(watch.breaks.len());
        for spot in &watch.breaks {
            let Some(node) = graph.find(&spot.node) else {
                let ids = graph.workflow.nodes.iter().map(|node| node.id.as_str());
                let near = nearest(&spot.node, ids)
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                return Err(format!("there is no node `{}`{near}", spot.node));
            };
            let condition = compile_condition(spot.condition.as_ref())
                .map_err(|error| format!("the condition at `{}`: {error}", spot.node))?;
            breaks.push(CompiledBreak {
                node,
                condition,
                output: spot.output.clone(),
            });
        }
        let stepping = watch.stepping;
        let looks_back = breaks.iter().any(|spot| spot.condition.looks_back());
        Ok((stepping || !breaks.is_empty()).then(|| {
            Box::new(Self {
                stepping,
                looks_back,
                breaks,
            })
        }))
    }
}

impl BreakCondition {
    fn looks_back(&self) -> bool {
        match self {
            Self::Always => false,
            Self::Expression(expression) => !expression.host_calls().is_empty(),
            Self::Rule(rule) => !rule.host_calls().is_empty(),
        }
    }
}

fn compile_condition(value: Option<&Value>) -> Result<BreakCondition, String> {
    match value {
        None | Some(Value::Null) => Ok(BreakCondition::Always),
        Some(Value::String(source)) => Expression::compile(source, scope::functions())
            .map(BreakCondition::Expression)
            .map_err(|error| error.to_string()),
        Some(rule) => Rule::compile(rule, scope::functions())
            .map(|rule| BreakCondition::Rule(Arc::new(rule)))
            .map_err(|bad| bad.error.to_string()),
    }
}
