//! How a value came about, drawn as a tree.

use super::super::output::{brief, text_line};
use tramline_core::explained::Explained;

/// Longer values and sources are cut on their line.
const LINE_CHARS_MAX: usize = 60;

/// Prints the tree.
pub(super) fn draw(tree: &Explained) {
    branch(tree, "", "");
}

fn branch(tree: &Explained, first: &str, rest: &str) {
    let value = tree
        .value
        .as_ref()
        .map_or("undefined".to_owned(), |value| brief(value, LINE_CHARS_MAX));
    let what: String = tree.what.chars().take(LINE_CHARS_MAX).collect();
    text_line(&format!("{first}{what}  =>  {value}"));
    for (at, child) in tree.below.iter().enumerate() {
        let last = at + 1 == tree.below.len();
        let (here, under) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        branch(child, &format!("{rest}{here}"), &format!("{rest}{under}"));
    }
}
