//! The prompt of `tramline eval`: one expression after another on the same value.

use super::super::{CliError, CliResult, CommonArgs, Exit, input, output};
use super::{Eval, EvalInput, Evaluation, evaluate};
use crate::config::default_data_dir;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

const HELP: &str = ".input JSON|@FILE sets the value, .explain shows how results are computed, .logic switches to rules, ctrl-d ends";

/// Reads expressions until the input ends.
pub(super) fn main(common: &CommonArgs, verb: &Eval, mut over: EvalInput) -> CliResult {
    let no_terminal =
        |error: ReadlineError| CliError::bad_input(format!("cannot open a prompt: {error}"));
    let mut editor = DefaultEditor::new().map_err(no_terminal)?;
    let history = common
        .data_dir
        .clone()
        .unwrap_or_else(default_data_dir)
        .join("eval-history");
    // The file does not exist before the first use.
    let _ = editor.load_history(&history);
    output::status_lines(HELP);
    let (mut logic, mut explain) = (verb.logic, verb.explain);
    loop {
        let line = match editor.readline(if logic { "rule> " } else { "jsonata> " }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(no_terminal(error)),
        };
        let line = line.trim();
        let _ = editor.add_history_entry(line);
        match line.split_once(' ').unwrap_or((line, "")) {
            ("", _) => {}
            (".explain", _) => explain = !explain,
            (".logic", _) => logic = !logic,
            (".help", _) => output::status_lines(HELP),
            (".input", given) => match input::read_input(given) {
                Ok(given) => over = EvalInput::Value(given),
                Err(stopped) => output::print_error(&stopped.message),
            },
            _ => {
                evaluate(&Evaluation {
                    source: line,
                    input: &over,
                    logic,
                    explain,
                    json: common.json,
                });
            }
        }
    }
    if history
        .parent()
        .is_some_and(|folder| std::fs::create_dir_all(folder).is_ok())
    {
        // Failing to save the history is not an error.
        let _ = editor.save_history(&history);
    }
    Ok(Exit::Done)
}
