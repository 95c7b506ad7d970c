//! What a pause is called and how it can be answered, in the terms shared by all toolsets.

use tramline_expr::Value;
use tramline_workflow::journal::Pause;

/// What a run waits for.
pub(crate) fn checkpoint_type(pause: &Pause) -> &'static str {
    match pause {
        Pause::Layer { .. } => "layer_complete",
        Pause::Break { .. } => "halted",
        Pause::Approval { .. } | Pause::Effect { .. } => "approval_required",
        Pause::InDoubt { .. } => "in_doubt",
        Pause::Child { .. } => "child_waiting",
        Pause::Form { .. } => "form",
        Pause::Budget { .. } => "budget_exceeded",
    }
}

/// The answers to a pause that `approval_response` and `run_answer` accept.
pub(crate) fn answer_options(pause: &Pause) -> Value {
    let answers = pause.options().iter().map(|option| match *option {
        "proceed" => "approve",
        other => other,
    });
    Value::array(answers.map(Value::from))
}
