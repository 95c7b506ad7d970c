//! Tests of the fold: what each event changes.

use super::*;
use tramline_workflow::failure::FailureKind;

const NODE: NodeIx = NodeIx(3);

fn follow(tracker: &mut StepTracker, at_ms: i64, event: RunEvent) -> String {
    let entry = Entry {
        seq: tracker.seq() + 1,
        at_ms,
        event: event.into(),
    };
    match tracker.follow(&entry).unwrap() {
        Update::StepStarted { step, is_first, .. } => {
            format!("started {} {is_first} {}", step.attempt, step.since_ms)
        }
        Update::AttemptFailed { step, .. } => format!("failed {:?}", step.unwrap().calling_ms),
        Update::StepEnded {
            step,
            is_announced,
            end,
        } => format!("{} {is_announced} {}", end.status(), step.since_ms),
        Update::Answered(answered) => {
            let kind = answered.pause.map(|pause| pause.kind);
            let step = answered.skipped.map(|(step, _)| step.step);
            format!("answered {kind:?} {step:?}")
        }
        Update::Finished { steps, pauses, .. } => {
            let unconfirmed = steps.iter().filter(|step| step.is_unconfirmed).count();
            format!("open {} {unconfirmed} {}", steps.len(), pauses.len())
        }
        Update::Changed(change) => change.to_string(),
        Update::Started(_) | Update::Paused(_) => String::new(),
    }
}

fn started(step: StepNo, attempt: u32, repeatable: bool) -> RunEvent {
    RunEvent::StepStarted {
        step,
        node: NODE,
        attempt,
        arguments: Value::Null,
        repeatable,
        of: None,
    }
}

fn finished(step: StepNo) -> RunEvent {
    RunEvent::StepFinished {
        step,
        node: NODE,
        label: None,
        output: Value::Null,
    }
}

fn attempt_failed(step: StepNo, in_doubt: bool) -> RunEvent {
    RunEvent::AttemptFailed {
        step,
        failure: Failure::new(FailureKind::Timeout, "late"),
        wait_ms: 5,
        in_doubt,
    }
}

fn ended() -> RunEvent {
    RunEvent::Finished {
        outcome: Outcome::Completed {
            result: Value::Null,
        },
    }
}

#[test]
fn a_step_keeps_its_start_over_attempts() {
    let mut tracker = StepTracker::default();
    assert_eq!(
        follow(&mut tracker, 10, started(1, 1, true)),
        "started 1 true 10"
    );
    assert_eq!(
        follow(&mut tracker, 20, attempt_failed(1, false)),
        "failed Some(10)"
    );
    assert_eq!(
        follow(&mut tracker, 25, started(1, 2, true)),
        "started 2 false 10"
    );
    assert_eq!(follow(&mut tracker, 30, finished(1)), "succeeded true 10");
}

#[test]
fn a_computing_step_starts_at_the_event_before_it() {
    let mut tracker = StepTracker::default();
    follow(&mut tracker, 10, started(1, 1, true));
    follow(&mut tracker, 17, finished(1));
    assert_eq!(follow(&mut tracker, 19, finished(2)), "succeeded false 17");
}

#[test]
fn a_take_over_ends_the_flight_of_calls_but_not_their_doubt() {
    let mut tracker = StepTracker::default();
    follow(&mut tracker, 10, started(1, 1, false));
    follow(&mut tracker, 10, started(2, 1, true));
    let by = Str::from("ann");
    assert_eq!(
        follow(&mut tracker, 12, RunEvent::Resumed { by }),
        "ann resumed the run"
    );
    assert_eq!(
        follow(&mut tracker, 13, attempt_failed(2, false)),
        "failed None"
    );
    assert_eq!(follow(&mut tracker, 14, ended()), "open 2 1 0");
}

#[test]
fn skipping_a_call_in_doubt_ends_its_step() {
    let mut tracker = StepTracker::default();
    follow(&mut tracker, 10, started(1, 1, false));
    follow(&mut tracker, 11, attempt_failed(1, true));
    let pause = Pause::InDoubt {
        step: 1,
        node: NODE,
        call: None,
    };
    follow(&mut tracker, 12, RunEvent::Paused { pause });
    let answer = RunEvent::Answered {
        pause: 3,
        answer: Answer::Skip {
            output: Value::Null,
        },
        by: "ann".into(),
        why: None,
        via: None,
    };
    assert_eq!(
        follow(&mut tracker, 20, answer),
        "answered Some(\"in-doubt\") Some(1)"
    );
    assert_eq!(follow(&mut tracker, 21, ended()), "open 0 0 0");
}
