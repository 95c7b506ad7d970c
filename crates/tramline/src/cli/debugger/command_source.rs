//! Where the debugger's commands come from: a prompt on a terminal, or piped lines.

use super::super::{CliError, output, shutdown};
use super::command::COMMANDS;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use std::io::{BufRead, IsTerminal, Read};
use std::path::PathBuf;
use tramline_process::EndRequest;

/// The longest command line, in bytes; the rest is dropped.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// A source of commands.
pub(super) enum CommandSource {
    /// A person types. `editor` is `None` while a read is in progress.
    Prompt {
        editor: Option<Box<Editor<CommandCompleter, DefaultHistory>>>,
        history: PathBuf,
    },
    /// Another program, or a file.
    Piped,
}

/// One read.
pub(super) enum CommandLine {
    /// A command.
    Text(String),
    /// The end of the input.
    End,
    /// Ctrl-C was pressed.
    Interrupt,
}

impl CommandSource {
    /// Opens standard input, with completion for these nodes.
    pub(super) fn open(nodes: Vec<String>, history: PathBuf) -> Result<Self, CliError> {
        if !std::io::stdin().is_terminal() {
            return Ok(Self::Piped);
        }
        let mut editor = Editor::new().map_err(prompt_error)?;
        editor.set_helper(Some(CommandCompleter { nodes }));
        // The file does not exist before the first use.
        let _ = editor.load_history(&history);
        let editor = Some(Box::new(editor));
        Ok(Self::Prompt { editor, history })
    }

    /// Whether a person types.
    pub(super) fn is_prompt(&self) -> bool {
        matches!(self, Self::Prompt { .. })
    }

    /// The next command. Runs and servers continue meanwhile.
    pub(super) async fn next(&mut self, prompt: String) -> Result<CommandLine, CliError> {
        match self {
            Self::Piped => tokio::select! {
                line = tokio::task::spawn_blocking(read_piped_line) => line.map_err(prompt_error)?,
                request = shutdown::wait_for_interrupt() => Ok(match request {
                    EndRequest::Interrupt => CommandLine::Interrupt,
                    EndRequest::Terminate | EndRequest::HangUp => CommandLine::End,
                }),
            },
            Self::Prompt { editor, .. } => {
                let Some(mut away) = editor.take() else {
                    return Ok(CommandLine::End);
                };
                let typed = tokio::task::spawn_blocking(move || {
                    let line = away.readline(&*output::field(&prompt));
                    if let Ok(line) = &line {
                        let _ = away.add_history_entry(line.trim());
                    }
                    (away, line)
                });
                let (back, line) = typed.await.map_err(prompt_error)?;
                *editor = Some(back);
                match line {
                    Ok(line) => Ok(CommandLine::Text(line)),
                    Err(ReadlineError::Interrupted) => Ok(CommandLine::Interrupt),
                    Err(ReadlineError::Eof) => Ok(CommandLine::End),
                    Err(error) => Err(prompt_error(error)),
                }
            }
        }
    }

    /// Saves the history.
    pub(super) fn close(self) {
        if let Self::Prompt {
            editor: Some(mut editor),
            history,
        } = self
        {
            // Failing to save the history is not an error.
            let _ = editor.save_history(&history);
        }
    }
}

fn read_piped_line() -> Result<CommandLine, CliError> {
    let mut line = String::new();
    let mut input = std::io::stdin().lock().take(LINE_BYTES_MAX);
    match input.read_line(&mut line) {
        Ok(0) => Ok(CommandLine::End),
        Ok(_) => Ok(CommandLine::Text(line)),
        Err(error) => Err(CliError::bad_input(format!(
            "cannot read standard input: {error}"
        ))),
    }
}

fn prompt_error(error: impl std::fmt::Display) -> CliError {
    CliError::bad_input(format!("cannot open a prompt: {error}"))
}

/// Completes commands and nodes.
pub(super) struct CommandCompleter {
    nodes: Vec<String>,
}

impl CommandCompleter {
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        let part = |sign: char| sign.is_alphanumeric() || "_-.".contains(sign);
        let start = line
            .char_indices()
            .rev()
            .find(|(_, sign)| !part(*sign))
            .map_or(0, |(at, sign)| at + sign.len_utf8());
        let (before, begun) = line.split_at(start);
        let fits = |name: &&str| name.starts_with(begun);
        let found: Vec<_> = if before.trim().is_empty() {
            let names = COMMANDS.iter().map(|word| word.name);
            names.filter(fits).map(str::to_owned).collect()
        } else {
            // The editor prints candidates unescaped.
            let names = self.nodes.iter().map(String::as_str);
            let names = names.filter(|name| *output::field(name) == **name);
            names.filter(fits).map(str::to_owned).collect()
        };
        (start, found)
    }
}

impl Completer for CommandCompleter {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..pos).unwrap_or(line)))
    }
}

impl Hinter for CommandCompleter {
    type Hint = String;
}

impl Highlighter for CommandCompleter {}
impl Validator for CommandCompleter {}
impl Helper for CommandCompleter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_completed_first_and_nodes_after_them() {
        let words = CommandCompleter {
            nodes: vec!["look".into(), "list_left".into(), "work".into()],
        };
        assert_eq!(words.candidates("st").1, ["step", "state", "stop"]);
        assert_eq!(words.candidates("break lo"), (6, vec!["look".to_owned()]));
        let (start, found) = words.candidates("p $count(l");
        assert_eq!((start, found.len()), (9, 2));
    }
}
