//! A node's id where IRs, workflows as markdown and DAGs refer to what it gave.

/// A text of an IR with a node's id exchanged inside `${…}`.
pub(super) fn in_templates(text: &str, id: &str, to: &str) -> String {
    between(text, "${", "}", |inside| {
        let operands = inside.split("??");
        let made: Vec<_> = operands.map(|it| headed(it, id, to)).collect();
        made.join("??")
    })
}

/// A text of a DAG with a task's id exchanged inside `$OUTPUT[…]`.
pub(super) fn in_outputs(text: &str, id: &str, to: &str) -> String {
    between(text, "$OUTPUT[", "]", |inside| match inside.trim() == id {
        true => to.to_owned(),
        false => inside.to_owned(),
    })
}

/// A text with what stands between two marks changed.
fn between(text: &str, open: &str, close: &str, change: impl Fn(&str) -> String) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((inside, behind)) = after.split_once(close) else {
            break;
        };
        made.push_str(before);
        made.push_str(open);
        made.push_str(&change(inside));
        made.push_str(close);
        rest = behind;
    }
    made + rest
}

/// A path with its first name exchanged, the blanks around it kept.
fn headed(path: &str, id: &str, to: &str) -> String {
    let lead = &path[..path.len() - path.trim_start().len()];
    match path.trim_start().strip_prefix(id) {
        Some(rest) if rest.trim().is_empty() || rest.starts_with(['.', '[']) => {
            format!("{lead}{to}{rest}")
        }
        Some(_) | None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_name_of_a_path_is_exchanged() {
        let to = |text: &str| in_templates(text, "a-b", "c");
        assert_eq!(to("${a-b.x} and ${ a-b } a-b"), "${c.x} and ${ c } a-b");
        assert_eq!(to("${x.a-b ?? a-b[0]}"), "${x.a-b ?? c[0]}");
        assert_eq!(to("${a-bc} ${a-b"), "${a-bc} ${a-b");
        assert_eq!(in_outputs("$OUTPUT[a].a", "a", "b"), "$OUTPUT[b].a");
    }
}
