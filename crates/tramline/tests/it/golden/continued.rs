//! Every run of a golden directory continues as it would have in the version that wrote it.

use super::{GoldenCase, GoldenCopy, GoldenStep, holds, manifest, versions};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// How many runs are continued concurrently.
const AT_ONCE: usize = 4;

fn fill(text: &str, copy: &GoldenCopy, case: &GoldenCase) -> String {
    let mut text = text.replace("{run}", &case.run);
    let question = |run: &str| {
        let asked = copy.pauses(run);
        let first = asked.first();
        first
            .unwrap_or_else(|| panic!("{}: {run} asks nothing", case.name))
            .0
            .clone()
    };
    if text.contains("{checkpoint}") {
        text = text.replace("{checkpoint}", &question(&case.run));
    }
    if let Some(below) = &case.below {
        text = text.replace("{run_below}", below);
        if text.contains("{below}") {
            text = text.replace("{below}", &question(below));
        }
    }
    text
}

fn filled(value: &Value, copy: &GoldenCopy, case: &GoldenCase) -> Value {
    match value {
        Value::String(text) => fill(text, copy, case).into(),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| (key.clone(), filled(value, copy, case)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Whether a command was rejected because the run to resume has ended.
fn has_ended(message: &str) -> bool {
    message.contains("has ended")
}

fn take(step: &GoldenStep, copy: &GoldenCopy, case: &GoldenCase) {
    match step {
        GoldenStep::Command {
            command,
            exit,
            or_ended,
        } => {
            let words: Vec<String> = command.iter().map(|it| fill(it, copy, case)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let (code, told) = copy.say(&words);
            if *or_ended && told["error"]["message"].as_str().is_some_and(has_ended) {
                return;
            }
            assert_eq!(code, *exit, "{}: {words:?} {told}", case.name);
        }
        GoldenStep::Tool {
            tool,
            arguments,
            says,
        } => {
            let mut talk = copy.serve();
            let told = talk.call(tool, &filled(arguments, copy, case));
            let told = &told["structuredContent"];
            assert!(holds(told, says), "{}: {tool} says {told}", case.name);
            talk.close();
        }
    }
}

fn continue_one(version: &Path, case: &GoldenCase) {
    let copy = GoldenCopy::of(version);
    for (name, text) in &case.files {
        fs::write(copy.file(name), text).unwrap();
    }
    for step in &case.then {
        take(step, &copy, case);
    }
    if let Some(status) = &case.finally {
        assert_eq!(&copy.status(&case.run), status, "{}", case.name);
    }
    let came = copy.calls();
    let served = case
        .then
        .iter()
        .any(|step| matches!(step, GoldenStep::Tool { .. }));
    if served {
        // The server resumes other runs too: only the calls of this one are counted.
        for node in &case.calls {
            let times = came.iter().filter(|it| *it == node).count();
            assert_eq!(times, 1, "{}: {node} in {came:?}", case.name);
        }
    } else {
        let mut came = came;
        came.sort();
        let mut wanted = case.calls.clone();
        wanted.sort();
        assert_eq!(came, wanted, "{}", case.name);
    }
}

/// Continues the runs that a part of the tests is about.
fn continue_all(is_ours: impl Fn(&GoldenCase) -> bool) {
    let mut count = 0;
    for version in versions() {
        let manifest = manifest(&version);
        let ours: Vec<&GoldenCase> = manifest.cases.iter().filter(|it| is_ours(it)).collect();
        count += ours.len();
        for some in ours.chunks(AT_ONCE) {
            std::thread::scope(|scope| {
                let threads: Vec<_> = some
                    .iter()
                    .map(|case| scope.spawn(|| continue_one(&version, case)))
                    .collect();
                for thread in threads {
                    thread.join().unwrap();
                }
            });
        }
    }
    assert!(count > 5, "{count}");
}

fn is_interrupted(case: &GoldenCase) -> bool {
    ["interrupted", "in-doubt", "wait", "retry"]
        .iter()
        .any(|word| case.name.starts_with(word))
}

#[test]
fn conversations_go_on() {
    continue_all(GoldenCase::is_guided);
}

#[test]
fn interrupted_runs_go_on() {
    continue_all(is_interrupted);
}

#[test]
fn runs_that_wait_for_an_answer_go_on() {
    continue_all(|case| !case.is_guided() && !is_interrupted(case));
}
