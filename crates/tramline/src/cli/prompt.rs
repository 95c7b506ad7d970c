//! The prompt of `tramline run` on a terminal: a run's questions are shown and answered in place.

use super::runs::respondent;
use super::{CliError, output};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::IsTerminal;
use tramline_engine::{Engine, Fault, PauseAnswer, QuestionReader, RunHandle};
use tramline_expr::{Map, Value};
use tramline_views::pause_view::{self, Extent};
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Answer, Pause};

mod form_prompt;

/// A terminal with a person.
pub(super) trait PromptTerminal: Send {
    /// Shows lines.
    fn show(&mut self, lines: &[String]);

    /// Reads a line with initial text; `None` if the person cancels.
    fn read(&mut self, prompt: &str, initial: &str) -> Option<String>;
}

/// The terminal that this process was started from. One editor for the whole conversation: it may have read ahead.
struct Console(Option<DefaultEditor>);

impl PromptTerminal for Console {
    fn show(&mut self, lines: &[String]) {
        for line in lines {
            output::status_line(line);
        }
    }

    fn read(&mut self, prompt: &str, initial: &str) -> Option<String> {
        match self
            .0
            .as_mut()?
            .readline_with_initial(&*output::field(prompt), (initial, ""))
        {
            Ok(line) => Some(line),
            Err(ReadlineError::Interrupted | ReadlineError::Eof) | Err(_) => None,
        }
    }
}

/// Whether a person at a terminal can be asked.
pub(super) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && output::is_status_terminal()
}

/// Asks about the first call or form that waits, and resumes the run with the answer. `None` if the person
/// leaves it open, or if the question is not about a call.
pub(super) async fn ask(engine: &Engine, run: &RunId) -> Result<Option<RunHandle>, CliError> {
    let mut typed = Vec::new();
    loop {
        let loaded = engine.load(run).await?;
        let mut pauses = loaded.run.pauses.iter();
        let Some((seq, pause)) = pauses.find(|(_, pause)| is_asked_here(pause)) else {
            return Ok(None);
        };
        let asked = engine
            .pause_detail(
                &loaded,
                *seq,
                pause,
                Extent::Bounded,
                QuestionReader::Person,
            )
            .await;
        let whole = engine
            .pause_detail(&loaded, *seq, pause, Extent::Whole, QuestionReader::Person)
            .await;
        let (seq, pause) = (*seq, pause.clone());
        let heading = format!("? {}", pause_view::message(&loaded.run.graph, &pause));
        let asking = {
            let pause = pause.clone();
            let mut before = std::mem::take(&mut typed);
            move || {
                let mut console = Console(DefaultEditor::new().ok());
                let answer = match pause.form() {
                    Some(form) => {
                        form_prompt::read_form(&mut console, &heading, &asked, form, &mut before)
                    }
                    None => read_decision(&mut console, &heading, [&asked, &whole], &pause),
                };
                (answer, before)
            }
        };
        let decided = tokio::task::spawn_blocking(asking).await;
        let Ok((Some(answer), kept)) = decided else {
            return Ok(None);
        };
        typed = kept;
        match answer_and_resume(engine, run, seq, answer).await {
            Ok(handle) => return Ok(handle),
            // The edited arguments or the fields are invalid: ask again.
            Err(Fault::Rejected(says)) => output::print_error(&says),
            Err(fault) => return Err(fault.into()),
        }
    }
}

async fn answer_and_resume(
    engine: &Engine,
    run: &RunId,
    pause: Seq,
    answer: Answer,
) -> Result<Option<RunHandle>, Fault> {
    let said = PauseAnswer {
        pause,
        answer,
        by: respondent(),
        why: None,
    };
    engine.answer_and_resume(run, vec![said]).await
}

/// Whether a question is a form, or can be answered with yes or no about a call that is shown.
fn is_asked_here(pause: &Pause) -> bool {
    match pause {
        Pause::Approval { .. } | Pause::Effect { .. } | Pause::Form { .. } => true,
        Pause::Layer { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Child { .. }
        | Pause::Budget { .. } => false,
    }
}

/// Shows a question and reads the answer; `None` if it is left open. Long values are cut until the person wants to see
/// the whole.
fn read_decision(
    terminal: &mut dyn PromptTerminal,
    heading: &str,
    [asked, whole]: [&Value; 2],
    pause: &Pause,
) -> Option<Answer> {
    let indented = |asked: &Value| {
        let lines = pause_view::detail_lines(asked).into_iter();
        lines.map(|line| format!("  {line}")).collect::<Vec<_>>()
    };
    terminal.show(&[vec![heading.to_owned()], indented(asked)].concat());
    let edits = pause_view::is_editable(pause);
    let ways = match edits {
        true => "Approve? [y]es, [n]o, [e]dit the arguments, [v]iew all, [l]ater: ",
        false => "Approve? [y]es, [n]o, [v]iew all, [l]ater: ",
    };
    loop {
        let line = terminal.read(ways, "")?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" | "approve" => return Some(Answer::Proceed),
            "n" | "no" | "reject" => return Some(Answer::Reject),
            "l" | "later" => return None,
            "v" | "view" => terminal.show(&indented(whole)),
            "e" | "edit" if edits => {
                if let Some(answer) = read_edited_arguments(terminal, pause) {
                    return Some(answer);
                }
            }
            _ => terminal.show(&["type y, n, v or l; nothing happens until you do".to_owned()]),
        }
    }
}

/// Lets the person edit the arguments on one line.
fn read_edited_arguments(terminal: &mut dyn PromptTerminal, pause: &Pause) -> Option<Answer> {
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

/// How to answer a question later, with all its details.
pub(super) fn answer_instructions(run: &RunId, seq: Seq, asked: &Value) -> Vec<String> {
    let point = Checkpoint {
        run: run.clone(),
        seq,
    };
    let mut lines = pause_view::detail_lines(asked);
    if asked.get("form").is_some() {
        lines.push(format!(
            "to answer: tramline runs answer {point} --set FIELD=VALUE"
        ));
    }
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
    use tramline_workflow::ids::{NodeIx, ToolName};
    use tramline_workflow::journal::ProposedCall;

    /// Types these lines.
    struct ScriptedTerminal {
        lines: Vec<&'static str>,
        shown: Vec<String>,
        initial: Vec<String>,
    }

    impl PromptTerminal for ScriptedTerminal {
        fn show(&mut self, lines: &[String]) {
            self.shown.extend_from_slice(lines);
        }

        fn read(&mut self, _: &str, initial: &str) -> Option<String> {
            self.initial.push(initial.to_owned());
            (!self.lines.is_empty()).then(|| self.lines.remove(0).to_owned())
        }
    }

    fn typed(lines: &[&'static str]) -> (Option<Answer>, ScriptedTerminal) {
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
        let asked =
            |extent| Value::object([("call", pause_view::call_value(&pause, extent).unwrap())]);
        let shown = [&asked(Extent::Bounded), &asked(Extent::Whole)];
        let mut terminal = ScriptedTerminal {
            lines: lines.to_vec(),
            shown: Vec::new(),
            initial: Vec::new(),
        };
        let answer = read_decision(&mut terminal, "? refund", shown, &pause);
        (answer, terminal)
    }

    #[test]
    fn the_prompt_shows_the_call_and_takes_yes_no_later_and_edits() {
        let (answer, terminal) = typed(&["what", "YES"]);
        assert_eq!(answer, Some(Answer::Proceed));
        let shown = terminal.shown.join("\n");
        assert!(shown.contains("tool: shop:refund (server shop)"), "{shown}");
        assert!(shown.contains("amount: 5"), "{shown}");
        assert!(shown.contains("nothing happens until you do"), "{shown}");
        let (answer, terminal) = typed(&["v", "n"]);
        assert_eq!(answer, Some(Answer::Reject));
        let shown = terminal.shown.join("\n");
        assert_eq!(shown.matches("amount: 5").count(), 2, "{shown}");
        assert_eq!(typed(&["l"]).0, None);
        assert_eq!(typed(&[]).0, None);
        let (answer, terminal) = typed(&["e", "{oops", "e", r#"{"amount": 6}"#]);
        let arguments = Value::object([("amount", 6.into())]);
        assert_eq!(answer, Some(Answer::ProceedWith { arguments }));
        assert_eq!(terminal.initial[1], r#"{"amount":5}"#);
    }
}
