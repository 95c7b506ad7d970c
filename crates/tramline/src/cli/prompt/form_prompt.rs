//! A form on a terminal: one line for each field.

use super::PromptTerminal;
use tramline_expr::Value;
use tramline_views::pause_view;
use tramline_workflow::form::{
    FormField, FormQuestion, check_field, content_from_pairs, form_fields,
};
use tramline_workflow::journal::Answer;

/// Shows a form and reads its fields; `None` if it is left open. `typed` holds what was typed before,
/// if the form is asked again.
pub(super) fn read_form(
    terminal: &mut dyn PromptTerminal,
    heading: &str,
    asked: &Value,
    form: &FormQuestion,
    typed: &mut Vec<(String, String)>,
) -> Option<Answer> {
    let mut lines = vec![heading.to_owned()];
    let details = pause_view::detail_lines(asked).into_iter();
    lines.extend(details.map(|line| format!("  {line}")));
    terminal.show(&lines);
    loop {
        let line = terminal.read("Fill in the form? [y]es, [d]ecline, [l]ater: ", "")?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => break,
            "d" | "decline" => return Some(Answer::Decline),
            "l" | "later" => return None,
            _ => terminal.show(&["type y, d or l; nothing happens until you do".to_owned()]),
        }
    }
    let mut pairs = Vec::new();
    for field in form_fields(form) {
        let initial = typed.iter().find(|(name, _)| *name == *field.name);
        let initial = initial.map_or_else(|| initial_text(&field), |(_, text)| text.clone());
        if let Some(text) = read_field(terminal, form, &field, initial)? {
            pairs.push((field.name.to_string(), text));
        }
    }
    *typed = pairs;
    match content_from_pairs(form, typed) {
        Ok(content) => Some(Answer::Submit { content }),
        Err(says) => {
            terminal.show(&[says]);
            None
        }
    }
}

/// Reads a field until it fits its schema. `Some(None)` if it is left out.
fn read_field(
    terminal: &mut dyn PromptTerminal,
    form: &FormQuestion,
    field: &FormField,
    mut initial: String,
) -> Option<Option<String>> {
    let title = field.schema.get("title").and_then(Value::as_str);
    let title = title.unwrap_or(&field.name);
    loop {
        let line = terminal.read(&format!("{title}: "), &initial)?;
        if line.trim().is_empty() && !field.is_required {
            return Some(None);
        }
        let pair = [(field.name.to_string(), line.clone())];
        let content = content_from_pairs(form, &pair);
        let checked = content.and_then(|content| {
            let value = content.get(&field.name).cloned().unwrap_or_default();
            check_field(form, &field.name, &value)
        });
        match checked {
            Ok(()) => return Some(Some(line)),
            Err(says) => terminal.show(&[says]),
        }
        initial = line;
    }
}

/// The value with which a field begins, as it is typed.
fn initial_text(field: &FormField) -> String {
    match field.schema.get("default") {
        None => String::new(),
        Some(Value::String(text)) => text.to_string(),
        Some(other) => other.to_json(),
    }
}
