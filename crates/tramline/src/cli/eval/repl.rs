//! The prompt of `tramline eval`: one expression after another over the same value.

use super::super::{Common, Done, Exit, Stopped, input, output};
use super::{Eval, Over, Task, evaluate};
use crate::config::default_data_dir;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

const HELP: &str = ".input JSON|@FILE sets the value, .explain shows how results come about, .logic takes rules, ctrl-d ends";

/// Asks until there is nothing more.
pub(super) fn main(common: &Common, verb: &Eval, mut over: Over) -> Done {
    let no_terminal =
        |error: ReadlineError| Stopped::bad(format!("no prompt can be shown: {error}"));
    let mut editor = DefaultEditor::new().map_err(no_terminal)?;
    let history = common
        .data_dir
        .clone()
        .unwrap_or_else(default_data_dir)
        .join("eval-history");
    // There is none before the first time.
    let _ = editor.load_history(&history);
    output::say_lines(HELP);
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
            (".help", _) => output::say_lines(HELP),
            (".input", given) => match input::whole(given) {
                Ok(given) => over = Over::Value(given),
                Err(stopped) => output::complain(&stopped.message),
            },
            _ => {
                evaluate(&Task {
                    source: line,
                    over: &over,
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
        // A history that cannot be kept is no reason to fail.
        let _ = editor.save_history(&history);
    }
    Ok(Exit::Done)
}
