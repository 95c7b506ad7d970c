//! Help: the commands in groups, examples for each, and what to do next.

use super::{AccessArgs, Cli, CliResult, CommonArgs, Exit, output};
use crate::app;
use clap::{Command, CommandFactory};
use std::fmt::Write;
use tramline_engine::ports::{RunFilter, RunStatus};

pub(super) mod examples;

pub(super) const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 failed, 2 flaws or bad input, 3 rejected, 4 paused, 130 interrupted.
`tramline help COMMAND` describes a command, with examples.";

/// The commands by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Build",
        &[
            "init", "check", "lock", "graph", "convert", "schema", "eval", "lsp",
        ],
    ),
    ("Run", &["run", "debug", "serve", "studio"]),
    ("Inspect", &["runs", "trace", "replay", "audit"]),
    (
        "Agents",
        &[
            "mcp", "library", "registry", "loop", "learn", "sop", "skills",
        ],
    ),
    (
        "Set up",
        &[
            "settings",
            "trust",
            "doctor",
            "backup",
            "self-check",
            "replicas",
            "explain",
            "completions",
        ],
    ),
];

/// Characters of the widest command name, and the space around it.
const NAME_CHARS: usize = 13;

/// At most this many waiting runs are counted for the first screen.
const WAITING_MAX: usize = 100;

/// The command line as clap sees it, with the commands in groups.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let template = template(&command);
    let command = command.help_template(template);
    match output::width() {
        Some(columns) => command.term_width(columns),
        None => command,
    }
}

/// The same without values from the environment, for usage lines.
pub(super) fn command_without_environment() -> Command {
    fn strip(command: Command) -> Command {
        command
            .mut_args(|argument| argument.env(None::<&'static str>))
            .mut_subcommands(strip)
    }
    strip(command())
}

/// The template of the top level's help: everything except the lists of commands comes from clap.
fn template(command: &Command) -> String {
    let style = command.get_styles().get_header();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for (title, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{style}{title}:{style:#}");
        for name in *names {
            let _ = writeln!(text, "{}", command_line(command, name));
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "{style}Examples:{style:#}\n{}\n\n",
        examples::lines(examples::START)
    );
    let _ = write!(
        text,
        "{style}Global options:{style:#}\n{{options}}\n\n{{after-help}}"
    );
    text
}

/// A command with what it does.
fn command_line(command: &Command, name: &str) -> String {
    let found = command.find_subcommand(name);
    let about = found.and_then(Command::get_about);
    let about = about.map(ToString::to_string).unwrap_or_default();
    let literal = command.get_styles().get_literal();
    let padding = " ".repeat(NAME_CHARS.saturating_sub(name.len()));
    format!("  {literal}{name}{literal:#}{padding}{about}")
}

/// What `tramline` alone prints: what it is, what waits, and what to do next.
pub(super) async fn welcome(common: CommonArgs) -> CliResult {
    let waiting = waiting_runs(&common).await.unwrap_or_default();
    if common.json {
        let commands: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        output::line(&serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "commands": commands,
            "count": commands.len(),
            "waiting_runs": waiting,
        }));
        return Ok(Exit::Done);
    }
    output::text_lines(&format!(
        "Tramline {}: durable workflows for AI agents, as MCP tools.\n",
        env!("CARGO_PKG_VERSION")
    ));
    match waiting {
        0 => {}
        1 => output::text_lines(
            "1 run waits for an answer: `tramline runs --status paused` shows it.\n",
        ),
        count => output::text_lines(&format!(
            "{count} runs wait for an answer: `tramline runs --status paused` lists them.\n"
        )),
    }
    output::text_lines(&format!(
        "Start here:\n{}\n",
        examples::lines(examples::START)
    ));
    output::text_lines(
        "`tramline --help` lists all commands, `tramline help COMMAND` describes one.",
    );
    Ok(Exit::Done)
}

/// How many runs wait for an answer. A data directory is not created for this.
async fn waiting_runs(common: &CommonArgs) -> Option<usize> {
    let config = common.config(&AccessArgs::default()).ok()?;
    if !config.data_dir.as_ref()?.is_dir() {
        return Some(0);
    }
    let filter = RunFilter {
        status: vec![RunStatus::Paused],
        limit: WAITING_MAX,
        ..RunFilter::default()
    };
    let engine = app::open(&config, &[]).ok()?.engine;
    Some(engine.runs(filter).await.ok()?.rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group_and_fits_80_columns() {
        let command = Cli::command();
        let all: BTreeSet<_> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(|one| one.get_name().to_owned())
            .collect();
        let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        assert_eq!(grouped.len(), all.len(), "{all:?}");
        for name in grouped {
            assert!(all.contains(*name), "{name}");
            let about = command.find_subcommand(name).unwrap().get_about();
            let length = about.unwrap().to_string().chars().count();
            assert!(2 + NAME_CHARS + length <= 80, "{name}: {length}");
        }
    }

    #[test]
    fn every_command_has_examples_and_global_options_apart() {
        let mut command = command_without_environment();
        command.build();
        let names: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        for name in names {
            let one = command.find_subcommand_mut(name).unwrap();
            let text = one.render_help().to_string();
            assert!(text.contains("Examples:\n"), "{name}: {text}");
            assert!(
                text.contains(&format!("  tramline {name}")),
                "{name}: {text}"
            );
            assert!(text.contains("Global options:"), "{name}: {text}");
            let (own, global) = text.split_once("Global options:").unwrap();
            assert!(!own.contains("--data-dir"), "{name}: {text}");
            assert!(global.contains("--data-dir"), "{name}: {text}");
        }
    }
}
