//! The person at this terminal, as somebody who answers.

use super::super::{Stopped, output};
use super::myself;
use std::io::IsTerminal;
use tramline_core::authority::AnswerChannel;
use tramline_engine::{Engine, Respondent};

/// What is typed where the operator wants a person at a terminal.
const WORD: &str = "yes";

/// Somebody at the command line, for layers and breakpoints, which nobody needs to confirm.
pub(in crate::cli) fn respondent() -> Respondent {
    Respondent::new(myself(), AnswerChannel::CommandLine)
}

/// The person who answers this question. Where the operator says `approvals.terminal: true`, that
/// needs a terminal and a word typed there.
pub(in crate::cli) async fn person(engine: &Engine, question: &str) -> Result<Respondent, Stopped> {
    if engine.needs_terminal().await? {
        confirm(question)?;
    }
    Ok(respondent())
}

fn confirm(question: &str) -> Result<(), Stopped> {
    let mut input = std::io::stdin().lock();
    if !input.is_terminal() || !output::is_terminal() {
        return Err(Stopped::bad(
            "the operator wants answers from a person at a terminal (`approvals.terminal: true`); \
             run this command in a terminal, without pipes",
        ));
    }
    output::text_line(question);
    let cannot = |error: std::io::Error| Stopped::bad(format!("the terminal fails: {error}"));
    output::ask(&format!("Type `{WORD}` to give your answer: ")).map_err(cannot)?;
    let mut typed = String::new();
    std::io::BufRead::read_line(&mut input, &mut typed).map_err(cannot)?;
    match typed.trim() == WORD {
        true => Ok(()),
        false => Err(Stopped::bad("nothing was answered")),
    }
}
