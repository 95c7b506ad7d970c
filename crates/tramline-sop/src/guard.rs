//! Guards on edges: evaluated over slots and recorded results, and reported with their operands.

use super::SopSession;
use super::redacted::{expression_reads_mask, has_mask, rule_reads_mask};
use tramline_expr::{Expression, NoHost, Rule, Str, Value};
use tramline_workflow::explanation::ExplanationNode;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::GuardEvaluation;
use tramline_workflow::scope;

/// Operands recorded per guard, to keep journal events small.
const OPERANDS_MAX: usize = 16;
/// Bytes of an operand's value that are recorded; larger ones are recorded by kind, to keep journal
/// events small.
const OPERAND_BYTES_MAX: usize = 300;

/// A compiled guard.
#[derive(Debug)]
pub enum Guard {
    /// A JSONata expression.
    Expression(Expression),
    /// A JSON Logic rule.
    Rule(Rule),
}

/// Whether the guards of a node select one edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardResult {
    /// The node has no guards.
    Unguarded,
    /// The guards select this target.
    Selected(NodeIx),
    /// No guard holds yet, or operands are missing.
    Undecided,
}

/// The result of evaluating the guards of a node.
pub(super) struct GuardDecision {
    pub(super) result: GuardResult,
    /// The targets that may be taken.
    pub(super) allowed: Vec<NodeIx>,
    pub(super) evaluated: Vec<GuardEvaluation>,
}

impl Guard {
    /// Compiles a guard: text is an expression, anything else a rule.
    pub fn compile(source: &Value) -> Result<Self, String> {
        match source {
            Value::String(text) => Expression::compile(text, scope::functions())
                .map(Self::Expression)
                .map_err(|error| error.to_string()),
            rule => Rule::compile(rule, scope::functions())
                .map(Self::Rule)
                .map_err(|error| error.to_string()),
        }
    }

    /// Whether it holds. `None` while an operand is missing.
    pub fn holds(&self, data: &Value) -> Option<bool> {
        self.evaluate(data).0
    }

    /// Whether it holds, with its operands. `None` while an operand is missing.
    fn evaluate(&self, data: &Value) -> (Option<bool>, Vec<(Str, Value)>) {
        let limits = super::RULE_LIMITS;
        let mut found = OperandCollector::default();
        let is_masked = has_mask(data);
        let holds = match self {
            Self::Expression(expression) => {
                let (result, told) = expression.explain(data, &NoHost, &limits);
                if let Some(told) = told {
                    let tree = ExplanationNode::expression(expression.source(), &told);
                    found.operands_of(&tree, false);
                    found.missing |= is_masked && expression_reads_mask(&tree);
                }
                result.ok().flatten().map(|value| is_truthy(&value))
            }
            Self::Rule(rule) => {
                let told = rule.explain(data, &NoHost, &limits);
                found.vars_of(&told);
                found.missing |= is_masked && rule_reads_mask(&told);
                rule.holds(data, &NoHost, &limits).ok()
            }
        };
        (holds.filter(|_| !found.missing), found.operands)
    }
}

/// The truth value of a value in JSONata.
pub(super) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(is_truthy),
        Value::Object(map) => !map.is_empty(),
    }
}

#[derive(Default)]
struct OperandCollector {
    operands: Vec<(Str, Value)>,
    missing: bool,
}

impl OperandCollector {
    fn add(&mut self, what: &str, value: Option<&Value>) {
        if self.operands.len() < OPERANDS_MAX && !self.operands.iter().any(|(it, _)| it == what) {
            let value = value.cloned().unwrap_or_default();
            let small = value.to_string().len() <= OPERAND_BYTES_MAX;
            let value = if small { value } else { value.kind().into() };
            self.operands.push((what.into(), value));
        }
    }

    /// Collects the paths in an expression with their values. A path inside `$exists` may be
    /// absent.
    fn operands_of(&mut self, tree: &ExplanationNode, excused: bool) {
        let excused = excused || tree.what.starts_with("$exists");
        let is_path = tree
            .what
            .starts_with(|c: char| c.is_alphabetic() || c == '`')
            && tree
                .what
                .chars()
                .all(|c| c.is_alphanumeric() || "._`-[]$".contains(c))
            && !["true", "false", "null"].contains(&tree.what.as_str());
        if is_path {
            self.add(&tree.what, tree.value.as_ref());
            self.missing |= tree.value.is_none() && !excused;
            return;
        }
        tree.children
            .iter()
            .for_each(|it| self.operands_of(it, excused));
    }

    /// Collects the `var`s of a rule with their values.
    fn vars_of(&mut self, told: &tramline_expr::RuleExplanation) {
        if told.operator == "var" {
            let value = told.value.as_ref().filter(|it| !it.is_null());
            self.add(&format!("var at {}", told.path), value);
            self.missing |= value.is_none();
            return;
        }
        told.children.iter().for_each(|it| self.vars_of(it));
    }
}

/// Evaluates the guards of a node. The first one that holds wins; an edge without a guard is taken
/// when all others are known not to hold.
pub(super) fn evaluate_guards(walk: &SopSession, at: NodeIx) -> GuardDecision {
    let here = walk.current_procedure();
    let mut weighed = Vec::new();
    let (mut held, mut plain, mut unknown) = (Vec::new(), Vec::new(), false);
    let data = walk.scope();
    for (edge, guard) in here.guarded_edges(at) {
        let Some(guard) = guard else {
            plain.push(edge.to);
            continue;
        };
        let (holds, operands) = guard.evaluate(&data);
        match holds {
            Some(true) => held.push(edge.to),
            Some(false) => {}
            None => unknown = true,
        }
        weighed.push(GuardEvaluation {
            to: here.node(edge.to).id.clone(),
            holds,
            operands,
        });
    }
    let (verdict, open) = match (weighed.is_empty(), held.first(), unknown) {
        (true, _, _) => (GuardResult::Unguarded, plain),
        (false, Some(first), _) => (GuardResult::Selected(*first), held),
        (false, None, true) => (GuardResult::Undecided, Vec::new()),
        (false, None, false) => match plain.as_slice() {
            [only] => (GuardResult::Selected(*only), plain),
            _ => (GuardResult::Unguarded, plain),
        },
    };
    GuardDecision {
        result: verdict,
        allowed: open,
        evaluated: weighed,
    }
}
