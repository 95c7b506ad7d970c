//! The prompt of `tramline run` on a terminal: what a run asks is shown and answered in place.

use super::runs::respondent;
use super::{Stopped, output};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::IsTerminal;
use tramline_core::ids::{Checkpoint, RunId, Seq};
use tramline_core::journal::{Answer, Pause};
use tramline_core::question::{self, Extent};
use tramline_core::{Map, Value};
use tramline_engine::{Engine, Fault, Handle, Said};

/// Somebody at a terminal.
pub(super) trait Terminal: Send {
    /// Shows lines.
    fn show(&mut self, lines: &[String]);

    /// Reads a line that begins with a text; nothing if they want to stop.
    fn read(&mut self, prompt: &str, initial: &str) -> Option<String>;
}

/// The terminal that this process was started from.
struct Console;

impl Terminal for Console {
    fn show(&mut self, lines: &[String]) {
        for line in lines {
            output::say(line);
        }
    }

    fn read(&mut self, prompt: &str, initial: &str) -> Option<String> {
        let mut editor = DefaultEditor::new().ok()?;
        match editor.readline_with_initial(&*output::field(prompt), (initial, "")) {
            Ok(line) => Some(line),
            Err(ReadlineError::Interrupted | ReadlineError::Eof) | Err(_) => None,
        }
    }
}

/// Whether there is a person at a terminal who can be asked.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && output::is_said_to_terminal()
}

/// Asks about the first call that waits, and goes on with the answer. Nothing if the person leaves
/// it open, or if the run asks something that is not about a call.
pub(super) async fn ask(engine: &Engine, run: &RunId) -> Result<Option<Handle>, Stopped> {
    loop {
        let loaded = engine.load(run).await?;
        let mut pauses = loaded.run.pauses.iter();
        let Some((seq, pause)) = pauses.find(|(_, pause)| is_asked_here(pause)) else {
            return Ok(None);
        };
        let asked = engine.question(&loaded, *seq, pause, Extent::Bounded).await;
        let (seq, pause) = (*seq, pause.clone());
        let heading = format!("? {}", question::says(&loaded.run.graph, &pause));
        let asking = {
            let pause = pause.clone();
            move || decide(&mut Console, &heading, &asked, &pause)
        };
        let decided = tokio::task::spawn_blocking(asking).await;
        let Ok(Some(answer)) = decided else {
            return Ok(None);
        };
        match go_on(engine, run, seq, answer).await {
            Ok(handle) => return Ok(handle),
            // Edited arguments that cannot be used: the person is asked again.
            Err(Fault::Refused(says)) => output::complain(&says),
            Err(fault) => return Err(fault.into()),
        }
    }
}

async fn go_on(
    engine: &Engine,
    run: &RunId,
    pause: Seq,
    answer: Answer,
) -> Result<Option<Handle>, Fault> {
    let said = Said {
        pause,
        answer,
        by: respondent(),
        why: None,
    };
    engine.go_on_with(run, vec![said]).await
}

/// Whether a question can be answered with yes or no about a call that is shown.
fn is_asked_here(pause: &Pause) -> bool {
    match pause {
        Pause::Approval { .. } | Pause::Effect { .. } => true,
        Pause::Layer { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Child { .. }
        | Pause::Budget { .. } => false,
    }
}

/// Shows a question and reads the answer; nothing if it is left open.
fn decide(
    terminal: &mut dyn Terminal,
    heading: &str,
    asked: &Value,
    pause: &Pause,
) -> Option<Answer> {
    let mut lines = vec![heading.to_owned()];
    lines.extend(
        question::lines(asked)
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    terminal.show(&lines);
    let edits = question::is_editable(pause);
    let ways = match edits {
        true => "Approve? [y]es, [n]o, [e]dit the arguments, [l]ater: ",
        false => "Approve? [y]es, [n]o, [l]ater: ",
    };
    loop {
        let line = terminal.read(ways, "")?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Some(Answer::Proceed),
            "n" | "no" => return Some(Answer::Reject),
            "l" | "later" => return None,
            "e" | "edit" if edits => {
                if let Some(answer) = edited(terminal, pause) {
                    return Some(answer);
                }
            }
            _ => terminal.show(&["type y, n or l; nothing is done until you do".to_owned()]),
        }
    }
}

/// Lets the person change the arguments, all on one line.
fn edited(terminal: &mut dyn Terminal, pause: &Pause) -> Option<Answer> {
    let before = match &pause.call()?.arguments {
        Value::Null => Map::new().into(),
        other => other.clone(),
    };
    let line = terminal.read("arguments: ", &output::json_field(&before.to_json()))?;
    match Value::from_json(line.trim()) {
        Ok(arguments) => Some(Answer::ProceedWith { arguments }),
        Err(error) => {
            terminal.show(&[format!("that is not JSON: {error}")]);
            None
        }
    }
}

/// What to type to answer a question later, with everything that is known about it.
pub(super) fn described(run: &RunId, seq: Seq, asked: &Value) -> Vec<String> {
    let point = Checkpoint {
        run: run.clone(),
        seq,
    };
    let mut lines = question::lines(asked);
    if lines.is_empty() {
        return lines;
    }
    if let Some(true) = asked
        .get("call")
        .and_then(|call| call.get("editable")?.as_bool())
    {
        lines.push(format!(
            "to change the arguments: tramline runs approve {point} --set KEY=JSON"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_core::ids::{NodeIx, ToolName};
    use tramline_core::journal::ProposedCall;

    /// Somebody who types these lines.
    struct Typist {
        lines: Vec<&'static str>,
        shown: Vec<String>,
        initial: Vec<String>,
    }

    impl Terminal for Typist {
        fn show(&mut self, lines: &[String]) {
            self.shown.extend_from_slice(lines);
        }

        fn read(&mut self, _: &str, initial: &str) -> Option<String> {
            self.initial.push(initial.to_owned());
            (!self.lines.is_empty()).then(|| self.lines.remove(0).to_owned())
        }
    }

    fn typed(lines: &[&'static str]) -> (Option<Answer>, Typist) {
        let call = ProposedCall::new(
            ToolName::new("shop", "refund"),
            Value::object([("amount", 5.into())]),
        );
        let pause = Pause::Approval {
            node: NodeIx(0),
            reason: "it costs money".into(),
            source: None,
            call: Some(Box::new(call)),
        };
        let asked = Value::object([("call", question::call(&pause, Extent::Bounded).unwrap())]);
        let mut terminal = Typist {
            lines: lines.to_vec(),
            shown: Vec::new(),
            initial: Vec::new(),
        };
        let answer = decide(&mut terminal, "? refund", &asked, &pause);
        (answer, terminal)
    }

    #[test]
    fn the_prompt_shows_the_call_and_takes_yes_no_later_and_edits() {
        let (answer, terminal) = typed(&["what", "YES"]);
        assert_eq!(answer, Some(Answer::Proceed));
        let shown = terminal.shown.join("\n");
        assert!(shown.contains("tool: shop:refund (server shop)"), "{shown}");
        assert!(shown.contains("amount: 5"), "{shown}");
        assert!(shown.contains("nothing is done until you do"), "{shown}");
        assert_eq!(typed(&["n"]).0, Some(Answer::Reject));
        assert_eq!(typed(&["l"]).0, None);
        assert_eq!(typed(&[]).0, None);
        let (answer, terminal) = typed(&["e", "{oops", "e", r#"{"amount": 6}"#]);
        let arguments = Value::object([("amount", 6.into())]);
        assert_eq!(answer, Some(Answer::ProceedWith { arguments }));
        assert_eq!(terminal.initial[1], r#"{"amount":5}"#);
    }
}
