//! Reads the command line, and reports one that is invalid.

use super::{Cli, CliError, Exit, command_hints, help, output, run_names};
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::process::ExitCode;

/// The command line of this process, with every name of a run resolved to its id. The error is the
/// exit code of a command line that was already answered.
pub(super) fn parse() -> Result<Cli, ExitCode> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = parse_words(&words)?;
    match run_names::resolve(&cli.common) {
        Ok(false) => Ok(cli),
        // The second time every name has its id.
        Ok(true) => parse_words(&words),
        Err(unknown) => {
            unknown.print(cli.common.json);
            Err(unknown.exit.into())
        }
    }
}

fn parse_words(words: &[OsString]) -> Result<Cli, ExitCode> {
    let parsed = help::command().try_get_matches_from(words);
    let read = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    read.map_err(|refused| report(refused, words))
}

/// Reports an invalid command line, which may contain file names. Help text is our own.
fn report(refused: clap::Error, words: &[OsString]) -> ExitCode {
    if !refused.use_stderr() {
        refused.exit();
    }
    // The text is embedded in several lines, so it is cleaned first.
    let clean: Vec<_> = words
        .iter()
        .map(|word| output::field(&word.to_string_lossy()).into_owned())
        .collect();
    let hint = hint(&refused, &clean);
    // Usage lines list options with a value from the environment as if they were given.
    let again = help::command_without_environment().try_get_matches_from(&clean);
    let refused = again.err().unwrap_or(refused);
    let told = message(&refused, hint);
    match is_json(&clean) {
        true => CliError::bad_input(told.trim_start_matches("error: ")).print(true),
        false => output::status_lines(&told),
    }
    Exit::BadInput.into()
}

/// The text of an error, with our hint in place of a suggestion by spelling.
fn message(refused: &clap::Error, hint: Option<String>) -> String {
    let text = refused.render().to_string();
    let text = text.trim_end();
    let Some(hint) = hint else {
        return text.to_owned();
    };
    let is_tip = |line: &&str| line.trim_start().starts_with("tip:");
    let lines: Vec<_> = text.lines().filter(|line| !is_tip(line)).collect();
    let (head, rest) = lines
        .split_first()
        .map_or(("", &lines[..]), |(a, b)| (*a, b));
    let rest = rest.join("\n");
    format!(
        "{head}\n\n  tip: {hint}\n\n{}",
        rest.trim_start_matches('\n')
    )
}

/// The hint for a word that this program does not know.
fn hint(refused: &clap::Error, words: &[String]) -> Option<String> {
    let context = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match refused.kind() {
        ErrorKind::InvalidSubcommand => {
            let unknown = context(ContextKind::InvalidSubcommand)?;
            let at = words.iter().position(|word| word == unknown)?;
            let before = words[1..at].iter().find(|word| !word.starts_with('-'));
            command_hints::for_command(before.map(String::as_str), unknown)
        }
        ErrorKind::UnknownArgument => {
            let unknown = context(ContextKind::InvalidArg)?;
            let verb = words[1..].iter().find(|word| !word.starts_with('-'))?;
            command_hints::for_option(verb, unknown)
        }
        _ => None,
    }
}

fn is_json(words: &[String]) -> bool {
    let options = words.iter().take_while(|word| *word != "--");
    options.into_iter().any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let refused = help::command().try_get_matches_from(&words).unwrap_err();
        let hint = hint(&refused, &words);
        message(&refused, hint)
    }

    #[test]
    fn a_word_that_means_a_command_is_answered_by_meaning() {
        for (word, says) in [
            ("dev", "tramline studio"),
            ("test", "tramline replay"),
            ("list", "tramline runs"),
            ("ps", "tramline runs"),
            ("logs", "tramline runs show latest"),
            ("start", "tramline run FILE"),
            ("approve", "tramline runs approve"),
            ("Cargo.toml", "tramline run Cargo.toml"),
        ] {
            let text = told(&["tramline", word]);
            assert!(text.contains(says), "{word}: {text}");
            assert_eq!(text.matches("tip:").count(), 1, "{text}");
        }
        let text = told(&["tramline", "runs", "tail"]);
        assert!(text.contains("tramline runs show"), "{text}");
        // Spelling still counts where no meaning is known.
        let text = told(&["tramline", "stduio"]);
        assert!(text.contains("'studio'"), "{text}");
        let text = told(&["tramline", "run", "x.yaml", "--name", "Ada"]);
        assert!(text.contains("name=VALUE"), "{text}");
    }
}
