//! Supervises a program that answers case by case: a case that takes too long or crashes the
//! program costs only that case.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The outcome of one case.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CaseAnswer {
    /// The line that the program printed.
    Line(String),
    /// No answer came in time, and the program was killed.
    TimedOut,
    /// The program exited before it answered.
    Exited,
}

/// How long to wait.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    /// For one answer.
    pub(super) per_case: Duration,
    /// For all of them.
    pub(super) until: Instant,
}

/// Collects an answer to each of the `count` lines of `asked`. `program` builds the command; it
/// gets the number of lines to skip, which are those already answered or given up.
pub(super) fn answers(
    program: impl Fn(usize) -> Command,
    asked: &Path,
    count: usize,
    patience: Timeouts,
) -> Result<Vec<CaseAnswer>> {
    let mut answers = Vec::with_capacity(count);
    while answers.len() < count {
        let mut command = program(answers.len());
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(File::open(asked)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        let heard = child
            .stdout
            .take()
            .map(lines)
            .context("the child has no standard output")?;
        let went = collect_answers(&heard, &mut answers, count, patience);
        kill_child(&mut child)?;
        if Instant::now() >= patience.until && answers.len() < count {
            bail!(
                "{name}: out of time after {} of {count} cases",
                answers.len()
            );
        }
        if let Some(answer) = went {
            // A program that cannot start would otherwise be started for every case.
            if answers.is_empty() && answer == CaseAnswer::Exited {
                bail!("{name} exited without an answer to the first case");
            }
            answers.push(answer);
        }
    }
    Ok(answers)
}

/// Collects answers until all are there or one is missing; then returns why.
fn collect_answers(
    heard: &Receiver<String>,
    answers: &mut Vec<CaseAnswer>,
    count: usize,
    patience: Timeouts,
) -> Option<CaseAnswer> {
    while answers.len() < count {
        let left = patience.until.saturating_duration_since(Instant::now());
        match heard.recv_timeout(left.min(patience.per_case)) {
            Ok(line) => answers.push(CaseAnswer::Line(line)),
            Err(RecvTimeoutError::Timeout) => return Some(CaseAnswer::TimedOut),
            Err(RecvTimeoutError::Disconnected) => return Some(CaseAnswer::Exited),
        }
    }
    None
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    heard
}

/// Kills a child that may already have exited.
fn kill_child(child: &mut Child) -> Result<()> {
    child.kill().context("killing a child")?;
    child.wait().context("waiting for a child")?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Answers each line with itself; `late` makes it wait, `die` makes it exit.
    const SCRIPT: &str = "skip=$0; while read -r line; do \
        if [ $skip -gt 0 ]; then skip=$((skip - 1)); continue; fi; case $line in \
        late) exec sleep 60;; die) exit 3;; *) echo \"$line\";; esac; done";

    fn asked(name: &str, cases: &[&str], seconds: u64) -> Result<Vec<CaseAnswer>> {
        let path = std::env::temp_dir().join(format!("watch-{name}-{}", std::process::id()));
        std::fs::write(&path, cases.join("\n") + "\n")?;
        let program = |skip: usize| {
            let mut command = Command::new("sh");
            command.args(["-c", SCRIPT, &skip.to_string()]);
            command
        };
        let patience = Timeouts {
            per_case: Duration::from_secs(1),
            until: Instant::now() + Duration::from_secs(seconds),
        };
        let given = answers(program, &path, cases.len(), patience);
        std::fs::remove_file(&path)?;
        given
    }

    #[test]
    fn a_case_without_an_answer_costs_only_itself() {
        let given = asked("each", &["a", "late", "b", "die", "c"], 60).unwrap();
        let line = |text: &str| CaseAnswer::Line(text.to_owned());
        let wanted = [
            line("a"),
            CaseAnswer::TimedOut,
            line("b"),
            CaseAnswer::Exited,
            line("c"),
        ];
        assert_eq!(given, wanted);
    }

    #[test]
    fn a_program_that_cannot_start_and_time_that_is_up_are_errors() {
        let error = asked("start", &["die", "a"], 60).unwrap_err();
        assert!(error.to_string().contains("first case"), "{error}");
        let error = asked("up", &["a", "b"], 0).unwrap_err();
        assert!(error.to_string().contains("out of time"), "{error}");
    }
}
