//! The words of the debugger: what can be typed, and what it means.

use super::super::breaks;
use tramline_core::Value;
use tramline_core::journal::{Answer, Break};
use tramline_core::text::nearest;

/// What somebody wants.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Command {
    /// Let it go on: to the next step, or to the next breakpoint.
    Go { stepping: bool },
    /// Evaluate an expression.
    Print(String),
    /// Show every node's output.
    State,
    /// Show where it stands.
    Where,
    /// Halt here too.
    Break(Break),
    /// Do not halt here any more.
    Delete(String),
    /// Show where it halts.
    Breaks,
    /// Answer what it asks, about this node if one is named.
    Answer {
        node: Option<String>,
        answer: Answer,
    },
    /// Show every step so far.
    Trace,
    /// End the run.
    Stop,
    /// Leave the run as it is.
    Detach,
    /// Show what can be typed.
    Help,
    /// Nothing was typed.
    Nothing,
}

/// A word with its short form, what follows it, and what it does.
pub(super) struct Word {
    pub(super) name: &'static str,
    short: &'static str,
    takes: &'static str,
    does: &'static str,
}

const fn word(
    name: &'static str,
    short: &'static str,
    takes: &'static str,
    does: &'static str,
) -> Word {
    Word {
        name,
        short,
        takes,
        does,
    }
}

/// All words, in the order they are explained.
pub(super) const WORDS: [Word; 16] = [
    word("step", "s", "", "take one step"),
    word("continue", "c", "", "go on to the next breakpoint"),
    word(
        "print",
        "p",
        "EXPR",
        "evaluate JSONata over the run's scope and history",
    ),
    word("state", "", "", "what every node gave last"),
    word("where", "w", "", "where it has halted, what is under way"),
    word("break", "b", "NODE [if CONDITION]", "halt before this node"),
    word("delete", "d", "NODE", "do not halt there any more"),
    word("breaks", "", "", "where it halts"),
    word(
        "set",
        "",
        "[NODE] JSON",
        "take this for the node's output instead of running it",
    ),
    word("yes", "", "[NODE]", "agree to what it asks"),
    word("no", "", "[NODE]", "refuse it: the run ends as rejected"),
    word(
        "retry",
        "",
        "[NODE]",
        "make the call again that is in doubt",
    ),
    word("trace", "t", "", "every step so far"),
    word("stop", "", "", "end the run"),
    word("detach", "q", "", "leave the run as it is"),
    word("help", "h", "", "this list"),
];

/// What can be typed, a line each.
pub(super) fn help() -> Vec<String> {
    let line = |word: &Word| {
        let name = match word.short {
            "" => word.name.to_owned(),
            short => format!("{}, {short}", word.name),
        };
        format!("{:<32} {}", format!("{name} {}", word.takes), word.does)
    };
    WORDS.iter().map(line).collect()
}

/// Reads a line.
pub(super) fn read(line: &str) -> Result<Command, String> {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if first.is_empty() {
        return Ok(Command::Nothing);
    }
    let mut known = WORDS.iter();
    let Some(word) = known.find(|word| word.name == first || word.short == first) else {
        let near = nearest(first, WORDS.iter().map(|word| word.name))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(format!(
            "there is no command `{first}`{near} (`help` lists them)"
        ));
    };
    let needs = |what: &str| format!("`{}` takes {what}", word.name);
    if word.takes.is_empty() && !rest.is_empty() {
        return Err(format!("`{}` takes nothing", word.name));
    }
    if rest.is_empty() && !word.takes.is_empty() && !word.takes.starts_with("[NODE]") {
        return Err(needs(word.takes));
    }
    let about = (!rest.is_empty()).then(|| rest.to_owned());
    let answer = |answer| Command::Answer {
        node: about.clone(),
        answer,
    };
    Ok(match word.name {
        "step" => Command::Go { stepping: true },
        "continue" => Command::Go { stepping: false },
        "print" => Command::Print(rest.to_owned()),
        "state" => Command::State,
        "where" => Command::Where,
        "break" => Command::Break(spot(rest)),
        "delete" => Command::Delete(rest.to_owned()),
        "breaks" => Command::Breaks,
        "set" => set(rest).ok_or_else(|| needs("[NODE] JSON, as in: set {\"count\": 2}"))?,
        "yes" => answer(Answer::Proceed),
        "no" => answer(Answer::Reject),
        "retry" => answer(Answer::Retry),
        "trace" => Command::Trace,
        "stop" => Command::Stop,
        "detach" => Command::Detach,
        _ => Command::Help,
    })
}

fn spot(text: &str) -> Break {
    let (node, condition) = text.split_once(" if ").unwrap_or((text, ""));
    Break {
        node: node.trim().into(),
        condition: breaks::condition(condition),
    }
}

/// The output alone, or the node before it.
fn set(text: &str) -> Option<Command> {
    if let Ok(output) = Value::from_json(text) {
        let answer = Answer::Skip { output };
        return Some(Command::Answer { node: None, answer });
    }
    let (node, text) = text.split_once(char::is_whitespace)?;
    let output = Value::from_json(text).ok()?;
    Some(Command::Answer {
        node: Some(node.to_owned()),
        answer: Answer::Skip { output },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_by_both_its_names() {
        for word in &WORDS {
            let rest = match word.takes {
                "" | "[NODE]" => "",
                "[NODE] JSON" => " a [1]",
                _ => " a",
            };
            let long = read(&format!("{}{rest}", word.name)).unwrap();
            assert_eq!(long == Command::Help, word.name == "help", "{}", word.name);
            if !word.short.is_empty() {
                assert_eq!(long, read(&format!("{}{rest}", word.short)).unwrap());
            }
        }
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        for (line, says) in [
            ("stpe", "did you mean `step`?"),
            ("break", "takes NODE [if CONDITION]"),
            ("step 3", "takes nothing"),
            ("set", "[NODE] JSON"),
            ("set work {", "[NODE] JSON"),
        ] {
            assert!(read(line).unwrap_err().contains(says), "{line}");
        }
        let Ok(Command::Break(spot)) = read("b work if look.did = 'a'") else {
            panic!("it is a breakpoint")
        };
        assert_eq!(spot.condition, Some("look.did = 'a'".into()));
    }
}
