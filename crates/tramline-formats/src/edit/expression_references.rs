//! Renames a node in expressions, only where its id refers to the node.

/// The functions whose argument is a quoted node id.
const ID_FUNCTIONS: [&str; 3] = ["$executionCount(", "$nodeExecution(", "$nodeExecutions("];

/// The expression with a node's id renamed.
pub(super) fn rename_in_expression(source: &str, id: &str, to: &str) -> String {
    let mut made = String::with_capacity(source.len());
    let mut rest = source;
    // Inside a filter or a mapping step, names are fields of the context value.
    let mut inside: Vec<bool> = Vec::new();
    while let Some(first) = rest.chars().next() {
        let end = token_length(rest, first);
        let (part, more) = rest.split_at(end);
        match first {
            '[' => inside.push(
                made.trim_end()
                    .ends_with(|c| is_word(c) || ")]`".contains(c)),
            ),
            '(' | '{' => inside.push(made.trim_end().ends_with('.')),
            ']' | ')' | '}' => drop(inside.pop()),
            _ => {}
        }
        let outside = !inside.contains(&true) || made.trim_end().ends_with("$$.");
        made.push_str(&match first {
            '"' | '\'' => rename_literal(part, first, &made, id, to),
            '`' if outside && starts_path(&made) && part.trim_matches('`') == id => quote_name(to),
            c if is_word(c) && outside && starts_path(&made) && part == id => quote_name(to),
            _ => part.to_owned(),
        });
        rest = more;
    }
    made
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the literal, name or symbol at the start of a text.
fn token_length(text: &str, first: char) -> usize {
    let rest = &text[first.len_utf8()..];
    let found = match first {
        '"' | '\'' | '`' => {
            let mut escaped = false;
            rest.char_indices().find_map(|(at, c)| {
                let ends = c == first && !escaped;
                escaped = c == '\\' && !escaped;
                ends.then(|| at + c.len_utf8())
            })
        }
        c if is_word(c) => rest.find(|c: char| !is_word(c)),
        _ => Some(0),
    };
    first.len_utf8() + found.unwrap_or(rest.len())
}

/// Whether the next token starts a path, as opposed to a field or a variable.
fn starts_path(before: &str) -> bool {
    let before = before.trim_end();
    if before.ends_with("$.") || before.ends_with("$$.") {
        return true;
    }
    !before.ends_with(['.', '$'])
}

fn rename_literal(part: &str, quote: char, before: &str, id: &str, to: &str) -> String {
    let is_id = part.trim_matches(quote) == id;
    match is_id
        && ID_FUNCTIONS
            .iter()
            .any(|call| before.trim_end().ends_with(call))
    {
        true => format!("{quote}{to}{quote}"),
        false => part.to_owned(),
    }
}

/// A name in an expression, in backticks if it is not a plain identifier.
fn quote_name(name: &str) -> String {
    let plain = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
    match plain {
        true => name.to_owned(),
        false => format!("`{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_the_node_is_exchanged() {
        let to = |source: &str| rename_in_expression(source, "price", "cost");
        assert_eq!(to("$.price.net + price * 2"), "$.cost.net + cost * 2");
        assert_eq!(to("order.price + $price"), "order.price + $price");
        assert_eq!(to(r#"{"price": price}"#), r#"{"price": cost}"#);
        assert_eq!(
            to("$executionCount('price') > 1"),
            "$executionCount('cost') > 1"
        );
        assert_eq!(to("prices.price_net"), "prices.price_net");
        assert_eq!(rename_in_expression("`a-b`.x", "a-b", "c"), "c.x");
        assert_eq!(rename_in_expression("a.x", "a", "b-c"), "`b-c`.x");
        assert_eq!(
            to("entry.items[price > 3].(price * $$.price)"),
            "entry.items[price > 3].(price * $$.cost)"
        );
        assert_eq!(to("[price, (price)]"), "[cost, (cost)]");
        assert_eq!(to("'price'"), "'price'");
    }
}
