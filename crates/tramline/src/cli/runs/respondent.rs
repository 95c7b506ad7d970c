//! The person at this terminal, as the one who answers.

use super::super::{CliError, output};
use super::user_name;
use std::io::IsTerminal;
use tramline_engine::{Engine, Respondent};
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::text::io_reason;

/// The word to type where the operator requires a person at a terminal.
const WORD: &str = "yes";

/// The command-line user, for layers and breakpoints, which need no confirmation.
pub(in crate::cli) fn respondent() -> Respondent {
    Respondent::new(user_name(), AnswerChannel::CommandLine)
}

/// The person who answers this question. With `approvals.terminal: true`, that needs a terminal and
/// a word typed there.
pub(in crate::cli) async fn confirmed_respondent(
    engine: &Engine,
    question: &str,
) -> Result<Respondent, CliError> {
    if engine.needs_terminal().await? {
        confirm(question)?;
    }
    Ok(respondent())
}

fn confirm(question: &str) -> Result<(), CliError> {
    let mut input = std::io::stdin().lock();
    if !input.is_terminal() || !output::is_terminal() {
        return Err(CliError::bad_input(
            "the operator requires answers from a person at a terminal (`approvals.terminal: true`); \
             run this command in a terminal, without pipes",
        ));
    }
    output::text_line(question);
    let cannot = |error: std::io::Error| {
        CliError::bad_input(format!("cannot use the terminal: {}", io_reason(&error)))
    };
    output::print_question(&format!("Type `{WORD}` to give your answer: ")).map_err(cannot)?;
    let mut typed = String::new();
    std::io::BufRead::read_line(&mut input, &mut typed).map_err(cannot)?;
    match typed.trim() == WORD {
        true => Ok(()),
        false => Err(CliError::bad_input("not answered")),
    }
}
