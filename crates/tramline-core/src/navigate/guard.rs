//! Guards on edges: evaluated over slots and recorded results, and told with their operands.

use super::Walk;
use crate::explained::Explained;
use crate::ids::NodeIx;
use crate::journal::Weighed;
use crate::scope;
use tramline_expr::{Expression, NoHost, Rule, Str, Value};

/// So many operands of a guard are written down: a journal is no debugger.
const OPERANDS_MAX: usize = 16;
/// Larger operands are written down by their kind, in bytes.
const OPERAND_BYTES_MAX: usize = 300;

/// A compiled guard.
#[derive(Debug)]
pub(crate) enum Guard {
    Expression(Expression),
    Rule(Rule),
}

/// Whether guards leave one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The node has no guards.
    Free,
    /// This way is the one.
    By(NodeIx),
    /// No guard holds yet, or what they need is missing.
    Not,
}

/// What the guards of a node come to.
pub(super) struct Verdict {
    pub(super) verdict: Settled,
    /// The nodes that may be gone to.
    pub(super) open: Vec<NodeIx>,
    pub(super) weighed: Vec<Weighed>,
}

impl Guard {
    pub(crate) fn compile(source: &Value) -> Result<Self, String> {
        match source {
            Value::String(text) => Expression::compile(text, scope::functions())
                .map(Self::Expression)
                .map_err(|error| error.to_string()),
            rule => Rule::compile(rule, scope::functions())
                .map(Self::Rule)
                .map_err(|error| error.to_string()),
        }
    }

    /// Whether it holds. Nothing while an operand is missing.
    pub(crate) fn holds(&self, data: &Value) -> Option<bool> {
        self.weigh(data).0
    }

    /// Whether it holds, and what it was made of. Nothing while an operand is missing.
    fn weigh(&self, data: &Value) -> (Option<bool>, Vec<(Str, Value)>) {
        let limits = super::LIMITS;
        let mut found = Found::default();
        let holds = match self {
            Self::Expression(expression) => {
                let (result, told) = expression.explain(data, &NoHost, &limits);
                if let Some(told) = told {
                    let tree = Explained::expression(expression.source(), &told);
                    found.operands_of(&tree, false);
                }
                result.ok().flatten().map(|value| truth(&value))
            }
            Self::Rule(rule) => {
                let told = rule.explain(data, &NoHost, &limits);
                found.vars_of(&told);
                rule.holds(data, &NoHost, &limits).ok()
            }
        };
        (holds.filter(|_| !found.missing), found.operands)
    }
}

/// What JSONata takes for true.
pub(super) fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(truth),
        Value::Object(map) => !map.is_empty(),
    }
}

#[derive(Default)]
struct Found {
    operands: Vec<(Str, Value)>,
    missing: bool,
}

impl Found {
    fn add(&mut self, what: &str, value: Option<&Value>) {
        if self.operands.len() < OPERANDS_MAX && !self.operands.iter().any(|(it, _)| it == what) {
            let value = value.cloned().unwrap_or_default();
            let small = value.to_string().len() <= OPERAND_BYTES_MAX;
            let value = if small { value } else { value.kind().into() };
            self.operands.push((what.into(), value));
        }
    }

    /// The paths in an expression with what they led to. Whoever asks whether something exists does
    /// not miss it.
    fn operands_of(&mut self, tree: &Explained, excused: bool) {
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
        tree.below
            .iter()
            .for_each(|it| self.operands_of(it, excused));
    }

    /// The `var`s of a rule with what they led to.
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

/// Weighs the guards of a node. The first that holds wins; a way without a guard is taken when all
/// others are known not to hold.
pub(super) fn settle(walk: &Walk, at: NodeIx) -> Verdict {
    let here = walk.here();
    let mut weighed = Vec::new();
    let (mut held, mut plain, mut unknown) = (Vec::new(), Vec::new(), false);
    let data = walk.scope();
    for (edge, guard) in here.guarded(at) {
        let Some(guard) = guard else {
            plain.push(edge.to);
            continue;
        };
        let (holds, operands) = guard.weigh(&data);
        match holds {
            Some(true) => held.push(edge.to),
            Some(false) => {}
            None => unknown = true,
        }
        weighed.push(Weighed {
            to: here.node(edge.to).id.clone(),
            holds,
            operands,
        });
    }
    let (verdict, open) = match (weighed.is_empty(), held.first(), unknown) {
        (true, _, _) => (Settled::Free, plain),
        (false, Some(first), _) => (Settled::By(*first), held),
        (false, None, true) => (Settled::Not, Vec::new()),
        (false, None, false) => match plain.as_slice() {
            [only] => (Settled::By(*only), plain),
            _ => (Settled::Free, plain),
        },
    };
    Verdict {
        verdict,
        open,
        weighed,
    }
}
