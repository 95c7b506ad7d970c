//! The debugger's commands and their parser.

use super::super::breakpoints;
use tramline_expr::Value;
use tramline_workflow::journal::{Answer, NodeBreakpoint};
use tramline_workflow::text::nearest;

/// A parsed command.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DebugCommand {
    /// Resume: to the next step, or to the next breakpoint.
    Resume { stepping: bool },
    /// Evaluate an expression.
    Print(String),
    /// Show every node's output.
    State,
    /// Show the current position.
    Where,
    /// Add a breakpoint.
    Break(NodeBreakpoint),
    /// Delete a breakpoint.
    Delete(String),
    /// List the breakpoints.
    Breaks,
    /// Answer the run's question, about this node if one is named.
    Answer {
        node: Option<String>,
        answer: Answer,
    },
    /// Show every step so far.
    Trace,
    /// Abort the run.
    Stop,
    /// Leave the run as it is.
    Detach,
    /// List the commands.
    Help,
    /// An empty line.
    Empty,
}

/// A command with its short form, its arguments, and its description.
pub(super) struct CommandSpec {
    pub(super) name: &'static str,
    short: &'static str,
    arguments: &'static str,
    description: &'static str,
}

const fn command_spec(
    name: &'static str,
    short: &'static str,
    takes: &'static str,
    does: &'static str,
) -> CommandSpec {
    CommandSpec {
        name,
        short,
        arguments: takes,
        description: does,
    }
}

/// All commands, in help order.
pub(super) const COMMANDS: [CommandSpec; 16] = [
    command_spec("step", "s", "", "take one step"),
    command_spec("continue", "c", "", "continue to the next breakpoint"),
    command_spec(
        "print",
        "p",
        "EXPR",
        "evaluate JSONata in the run's scope and history",
    ),
    command_spec("state", "", "", "the last output of every node"),
    command_spec("where", "w", "", "where it has halted, and the open steps"),
    command_spec("break", "b", "NODE [if CONDITION]", "halt before this node"),
    command_spec("delete", "d", "NODE", "delete a breakpoint"),
    command_spec("breaks", "", "", "list the breakpoints"),
    command_spec(
        "set",
        "",
        "[NODE] JSON",
        "use this as the node's output instead of running it",
    ),
    command_spec("yes", "", "[NODE]", "approve"),
    command_spec("no", "", "[NODE]", "reject: the run ends as rejected"),
    command_spec("retry", "", "[NODE]", "repeat the call that is in doubt"),
    command_spec("trace", "t", "", "every step so far"),
    command_spec("stop", "", "", "abort the run"),
    command_spec("detach", "q", "", "leave the run halted"),
    command_spec("help", "h", "", "this list"),
];

/// The help text, one line per command.
pub(super) fn help() -> Vec<String> {
    let line = |word: &CommandSpec| {
        let name = match word.short {
            "" => word.name.to_owned(),
            short => format!("{}, {short}", word.name),
        };
        format!(
            "{:<32} {}",
            format!("{name} {}", word.arguments),
            word.description
        )
    };
    COMMANDS.iter().map(line).collect()
}

/// Parses a line.
pub(super) fn parse(line: &str) -> Result<DebugCommand, String> {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if first.is_empty() {
        return Ok(DebugCommand::Empty);
    }
    let mut known = COMMANDS.iter();
    let Some(word) = known.find(|word| word.name == first || word.short == first) else {
        let near = nearest(first, COMMANDS.iter().map(|word| word.name))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(format!(
            "unknown command `{first}`{near} (`help` lists them)"
        ));
    };
    let needs = |what: &str| format!("`{}` takes {what}", word.name);
    if word.arguments.is_empty() && !rest.is_empty() {
        return Err(format!("`{}` takes no arguments", word.name));
    }
    if rest.is_empty() && !word.arguments.is_empty() && !word.arguments.starts_with("[NODE]") {
        return Err(needs(word.arguments));
    }
    let about = (!rest.is_empty()).then(|| rest.to_owned());
    let answer = |answer| DebugCommand::Answer {
        node: about.clone(),
        answer,
    };
    Ok(match word.name {
        "step" => DebugCommand::Resume { stepping: true },
        "continue" => DebugCommand::Resume { stepping: false },
        "print" => DebugCommand::Print(rest.to_owned()),
        "state" => DebugCommand::State,
        "where" => DebugCommand::Where,
        "break" => DebugCommand::Break(parse_breakpoint(rest)),
        "delete" => DebugCommand::Delete(rest.to_owned()),
        "breaks" => DebugCommand::Breaks,
        "set" => parse_set(rest).ok_or_else(|| needs("[NODE] JSON, as in: set {\"count\": 2}"))?,
        "yes" => answer(Answer::Proceed),
        "no" => answer(Answer::Reject),
        "retry" => answer(Answer::Retry),
        "trace" => DebugCommand::Trace,
        "stop" => DebugCommand::Stop,
        "detach" => DebugCommand::Detach,
        _ => DebugCommand::Help,
    })
}

fn parse_breakpoint(text: &str) -> NodeBreakpoint {
    let (node, condition) = text.split_once(" if ").unwrap_or((text, ""));
    NodeBreakpoint::new(node.trim(), breakpoints::parse_condition(condition))
}

/// The output alone, or preceded by its node.
fn parse_set(text: &str) -> Option<DebugCommand> {
    if let Ok(output) = Value::from_json(text) {
        let answer = Answer::Skip { output };
        return Some(DebugCommand::Answer { node: None, answer });
    }
    let (node, text) = text.split_once(char::is_whitespace)?;
    let output = Value::from_json(text).ok()?;
    Some(DebugCommand::Answer {
        node: Some(node.to_owned()),
        answer: Answer::Skip { output },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_by_both_its_names() {
        for word in &COMMANDS {
            let rest = match word.arguments {
                "" | "[NODE]" => "",
                "[NODE] JSON" => " a [1]",
                _ => " a",
            };
            let long = parse(&format!("{}{rest}", word.name)).unwrap();
            assert_eq!(
                long == DebugCommand::Help,
                word.name == "help",
                "{}",
                word.name
            );
            if !word.short.is_empty() {
                assert_eq!(long, parse(&format!("{}{rest}", word.short)).unwrap());
            }
        }
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        for (line, says) in [
            ("stpe", "did you mean `step`?"),
            ("break", "takes NODE [if CONDITION]"),
            ("step 3", "takes no arguments"),
            ("set", "[NODE] JSON"),
            ("set work {", "[NODE] JSON"),
        ] {
            assert!(parse(line).unwrap_err().contains(says), "{line}");
        }
        let Ok(DebugCommand::Break(spot)) = parse("b work if look.did = 'a'") else {
            panic!("it is a breakpoint")
        };
        assert_eq!(spot.condition, Some("look.did = 'a'".into()));
    }
}
