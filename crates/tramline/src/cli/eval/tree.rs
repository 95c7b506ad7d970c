//! Prints an explanation as a tree.

use super::super::output::{shorten, text_line};
use tramline_workflow::explanation::ExplanationNode;

/// Longer values and expressions are truncated, in characters per line.
const LINE_CHARS_MAX: usize = 60;

/// Prints the tree.
pub(super) fn print_tree(tree: &ExplanationNode) {
    print_branch(tree, "", "");
}

fn print_branch(tree: &ExplanationNode, first: &str, rest: &str) {
    let value = tree.value.as_ref().map_or("undefined".to_owned(), |value| {
        shorten(value, LINE_CHARS_MAX)
    });
    let what: String = tree.what.chars().take(LINE_CHARS_MAX).collect();
    text_line(&format!("{first}{what}  =>  {value}"));
    for (at, child) in tree.children.iter().enumerate() {
        let last = at + 1 == tree.children.len();
        let (here, under) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        print_branch(child, &format!("{rest}{here}"), &format!("{rest}{under}"));
    }
}
