//! How a value came about, as a tree for people and scripts.

use super::super::output::{brief, text_line};
use tramline_core::Value;
use tramline_core::expr::{Explanation, RuleExplanation};

/// Longer values and sources are cut on their line.
const LINE_CHARS_MAX: usize = 60;

/// A part of an evaluation with what it came to.
pub(super) struct Tree {
    what: String,
    value: Option<Value>,
    below: Vec<Tree>,
}

/// The tree of an expression.
pub(super) fn of_expression(source: &str, told: &Explanation) -> Tree {
    let text = source.get(told.span.clone()).unwrap_or_default();
    let what = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let below = told
        .children
        .iter()
        .map(|child| of_expression(source, child))
        .collect();
    Tree {
        what,
        value: told.value.clone(),
        below,
    }
}

/// The tree of a rule.
pub(super) fn of_rule(told: &RuleExplanation) -> Tree {
    let what = match told.operator.as_str() {
        "" => "value".to_owned(),
        operator => operator.to_owned(),
    };
    let below = told.children.iter().map(of_rule).collect();
    Tree {
        what,
        value: told.value.clone(),
        below,
    }
}

impl Tree {
    /// Prints the tree.
    pub(super) fn draw(&self) {
        self.branch("", "");
    }

    fn branch(&self, first: &str, rest: &str) {
        let value = self
            .value
            .as_ref()
            .map_or("undefined".to_owned(), |value| brief(value, LINE_CHARS_MAX));
        let what: String = self.what.chars().take(LINE_CHARS_MAX).collect();
        text_line(&format!("{first}{what}  =>  {value}"));
        for (at, child) in self.below.iter().enumerate() {
            let last = at + 1 == self.below.len();
            let (here, under) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            child.branch(&format!("{rest}{here}"), &format!("{rest}{under}"));
        }
    }

    /// The tree for scripts.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let below: Vec<_> = self.below.iter().map(Self::to_json).collect();
        serde_json::json!({ "what": self.what, "value": self.value, "children": below })
    }
}
