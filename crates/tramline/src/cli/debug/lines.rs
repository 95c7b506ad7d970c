//! Where the debugger's commands come from: a prompt on a terminal, or lines that are piped in.

use super::super::{Stopped, ending, output};
use super::command::WORDS;
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

/// A longer command is cut: it is no command.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// A source of commands.
pub(super) enum Lines {
    /// A person types. The editor is away while it waits for them.
    Prompt {
        editor: Option<Box<Editor<Words, DefaultHistory>>>,
        history: PathBuf,
    },
    /// Another program, or a file.
    Piped,
}

/// What came.
pub(super) enum Line {
    /// A command.
    Text(String),
    /// There are no more.
    End,
    /// Somebody pressed ctrl-c.
    Interrupt,
}

impl Lines {
    /// Standard input, completed with these nodes.
    pub(super) fn open(nodes: Vec<String>, history: PathBuf) -> Result<Self, Stopped> {
        if !std::io::stdin().is_terminal() {
            return Ok(Self::Piped);
        }
        let mut editor = Editor::new().map_err(no_prompt)?;
        editor.set_helper(Some(Words { nodes }));
        // There is none before the first time.
        let _ = editor.load_history(&history);
        let editor = Some(Box::new(editor));
        Ok(Self::Prompt { editor, history })
    }

    /// Whether a person types.
    pub(super) fn is_prompt(&self) -> bool {
        matches!(self, Self::Prompt { .. })
    }

    /// The next command. Runs and servers go on meanwhile.
    pub(super) async fn next(&mut self, prompt: String) -> Result<Line, Stopped> {
        match self {
            Self::Piped => tokio::select! {
                line = tokio::task::spawn_blocking(piped) => line.map_err(no_prompt)?,
                request = ending::interrupted() => Ok(match request {
                    EndRequest::Interrupt => Line::Interrupt,
                    EndRequest::Terminate | EndRequest::HangUp => Line::End,
                }),
            },
            Self::Prompt { editor, .. } => {
                let Some(mut away) = editor.take() else {
                    return Ok(Line::End);
                };
                let typed = tokio::task::spawn_blocking(move || {
                    let line = away.readline(&*output::field(&prompt));
                    if let Ok(line) = &line {
                        let _ = away.add_history_entry(line.trim());
                    }
                    (away, line)
                });
                let (back, line) = typed.await.map_err(no_prompt)?;
                *editor = Some(back);
                match line {
                    Ok(line) => Ok(Line::Text(line)),
                    Err(ReadlineError::Interrupted) => Ok(Line::Interrupt),
                    Err(ReadlineError::Eof) => Ok(Line::End),
                    Err(error) => Err(no_prompt(error)),
                }
            }
        }
    }

    /// Keeps what was typed for the next time.
    pub(super) fn close(self) {
        if let Self::Prompt {
            editor: Some(mut editor),
            history,
        } = self
        {
            // A history that cannot be kept is no reason to fail.
            let _ = editor.save_history(&history);
        }
    }
}

fn piped() -> Result<Line, Stopped> {
    let mut line = String::new();
    let mut input = std::io::stdin().lock().take(LINE_BYTES_MAX);
    match input.read_line(&mut line) {
        Ok(0) => Ok(Line::End),
        Ok(_) => Ok(Line::Text(line)),
        Err(error) => Err(Stopped::bad(format!(
            "standard input cannot be read: {error}"
        ))),
    }
}

fn no_prompt(error: impl std::fmt::Display) -> Stopped {
    Stopped::bad(format!("no prompt can be shown: {error}"))
}

/// Completes commands and nodes.
pub(super) struct Words {
    nodes: Vec<String>,
}

impl Words {
    fn fitting(&self, line: &str) -> (usize, Vec<String>) {
        let part = |sign: char| sign.is_alphanumeric() || "_-.".contains(sign);
        let start = line
            .char_indices()
            .rev()
            .find(|(_, sign)| !part(*sign))
            .map_or(0, |(at, sign)| at + sign.len_utf8());
        let (before, begun) = line.split_at(start);
        let fits = |name: &&str| name.starts_with(begun);
        let found: Vec<_> = if before.trim().is_empty() {
            let names = WORDS.iter().map(|word| word.name);
            names.filter(fits).map(str::to_owned).collect()
        } else {
            // The editor prints what it offers as it is.
            let names = self.nodes.iter().map(String::as_str);
            let names = names.filter(|name| *output::field(name) == **name);
            names.filter(fits).map(str::to_owned).collect()
        };
        (start, found)
    }
}

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.fitting(line.get(..pos).unwrap_or(line)))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_completed_first_and_nodes_after_them() {
        let words = Words {
            nodes: vec!["look".into(), "list_left".into(), "work".into()],
        };
        assert_eq!(words.fitting("st").1, ["step", "state", "stop"]);
        assert_eq!(words.fitting("break lo"), (6, vec!["look".to_owned()]));
        let (start, found) = words.fitting("p $count(l");
        assert_eq!((start, found.len()), (9, 2));
    }
}
