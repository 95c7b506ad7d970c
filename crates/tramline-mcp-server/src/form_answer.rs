//! The answer to a form in the arguments of a tool.

use tramline_expr::Value;
use tramline_workflow::journal::Answer;

/// The answer to a form: `content`, or `answer` with `decline`, `cancel` or `reject`.
pub(crate) fn read(arguments: &Value) -> Result<Answer, String> {
    let word = arguments.get("answer").and_then(Value::as_str);
    let content = arguments.get("content");
    let approved = arguments.get("approved").and_then(Value::as_bool);
    match (word, content) {
        (Some("decline"), _) => Ok(Answer::Decline),
        (Some("cancel"), _) => Ok(Answer::Cancel),
        (Some("reject"), _) => Ok(Answer::Reject),
        (None, _) if approved == Some(false) => Ok(Answer::Decline),
        (Some("submit" | "approve" | "proceed") | None, Some(content)) => Ok(Answer::Submit {
            content: content.clone(),
        }),
        (Some("submit" | "approve" | "proceed") | None, None) => Err(
            "`content` is required: an object with the fields of the form; or answer `decline`"
                .to_owned(),
        ),
        (Some(other), _) => Err(format!(
            "`{other}` does not answer a form; answer submit (with `content`), decline, cancel or reject"
        )),
    }
}
