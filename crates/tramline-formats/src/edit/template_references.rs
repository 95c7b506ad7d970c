//! Renames references to a node's output in IRs, markdown workflows and DAGs.

/// Renames a node inside each `${…}` of an IR string.
pub(super) fn rename_in_templates(text: &str, id: &str, to: &str) -> String {
    replace_between(text, "${", "}", |inside| {
        let operands = inside.split("??");
        let made: Vec<_> = operands.map(|it| rename_head(it, id, to)).collect();
        made.join("??")
    })
}

/// Renames a task inside each `$OUTPUT[…]` of a DAG string.
pub(super) fn rename_in_output_references(text: &str, id: &str, to: &str) -> String {
    replace_between(text, "$OUTPUT[", "]", |inside| match inside.trim() == id {
        true => to.to_owned(),
        false => inside.to_owned(),
    })
}

/// Changes each part of a text between an opening and a closing delimiter.
fn replace_between(text: &str, open: &str, close: &str, change: impl Fn(&str) -> String) -> String {
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

/// Renames the first name of a path and keeps the whitespace around it.
fn rename_head(path: &str, id: &str, to: &str) -> String {
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
        let to = |text: &str| rename_in_templates(text, "a-b", "c");
        assert_eq!(to("${a-b.x} and ${ a-b } a-b"), "${c.x} and ${ c } a-b");
        assert_eq!(to("${x.a-b ?? a-b[0]}"), "${x.a-b ?? c[0]}");
        assert_eq!(to("${a-bc} ${a-b"), "${a-bc} ${a-b");
        assert_eq!(
            rename_in_output_references("$OUTPUT[a].a", "a", "b"),
            "$OUTPUT[b].a"
        );
    }
}
