//! The golden directories contain every kind of event, pause, answer and outcome. A new kind breaks
//! the build here, and then needs a golden directory of the version that first writes it.

use super::listed::engine;
use super::{GoldenCopy, manifest, versions};
use std::collections::BTreeSet;
use tramline_workflow::journal::{
    Answer, BudgetPart, Event, MoveKind, Outcome, Pause, RequestKind, RunEvent, SchedulePolicy,
    SessionNote, SopEvent,
};

/// Kinds that no golden directory contains yet: the version that first writes them is not released.
/// The next directory empties this list.
const NOT_YET: [&str; 7] = [
    "answer:cancel",
    "answer:decline",
    "answer:proceed-with",
    "answer:submit",
    "answer:timeout",
    "pause:form",
    // Tokens are only counted if a model is used.
    "spent:tokens",
];

/// Names every variant of closed enums, in a list and in a match.
macro_rules! kinds {
    ($list:ident, $name:ident, $kind:ty, $($pattern:pat => $word:literal),+ $(,)?) => {
        const $list: &[&str] = &[$($word),+];
        fn $name(it: &$kind) -> &'static str {
            match it {
                $($pattern => $word),+
            }
        }
    };
}

kinds!(EVENTS, event, Event,
    Event::Run(RunEvent::Started(_)) => "event:started",
    Event::Run(RunEvent::Resumed { .. }) => "event:resumed",
    Event::Run(RunEvent::StepStarted { .. }) => "event:step-started",
    Event::Run(RunEvent::FannedOut { .. }) => "event:spread",
    Event::Run(RunEvent::FannedIn { .. }) => "event:gathered",
    Event::Run(RunEvent::Waiting { .. }) => "event:waiting",
    Event::Run(RunEvent::AttemptFailed { .. }) => "event:attempt-failed",
    Event::Run(RunEvent::StepFinished { .. }) => "event:step-finished",
    Event::Run(RunEvent::StepFailed { .. }) => "event:step-failed",
    Event::Run(RunEvent::Paused { .. }) => "event:paused",
    Event::Run(RunEvent::Answered { .. }) => "event:answered",
    Event::Run(RunEvent::BreakpointsSet { .. }) => "event:watched",
    Event::Run(RunEvent::GraphExtended { .. }) => "event:amended",
    Event::Sop(SopEvent::SopStarted(_)) => "event:guided",
    Event::Sop(SopEvent::Moved(_)) => "event:moved",
    Event::Sop(SopEvent::Noted(_)) => "event:noted",
    Event::Sop(SopEvent::ToolCalled(_)) => "event:tool-called",
    Event::Sop(SopEvent::ToolAnswered(_)) => "event:tool-answered",
    Event::Sop(SopEvent::Refused(_)) => "event:refused",
    Event::Run(RunEvent::Finished { .. }) => "event:finished",
);
kinds!(PAUSES, pause, Pause,
    Pause::Layer { .. } => "pause:layer",
    Pause::Approval { .. } => "pause:approval",
    Pause::InDoubt { .. } => "pause:in-doubt",
    Pause::Break { .. } => "pause:break",
    Pause::Effect { .. } => "pause:effect",
    Pause::Child { .. } => "pause:child",
    Pause::Budget { .. } => "pause:budget",
    Pause::Form { .. } => "pause:form",
);
kinds!(SPENT, spent, BudgetPart,
    BudgetPart::Calls => "spent:calls",
    BudgetPart::Time => "spent:time",
    BudgetPart::Bytes => "spent:bytes",
    BudgetPart::Tokens => "spent:tokens",
);
kinds!(ANSWERS, answer, Answer,
    Answer::Proceed => "answer:proceed",
    Answer::ProceedWith { .. } => "answer:proceed-with",
    Answer::Reject => "answer:reject",
    Answer::Retry => "answer:retry",
    Answer::Skip { .. } => "answer:skip",
    Answer::Extend { .. } => "answer:extend",
    Answer::Submit { .. } => "answer:submit",
    Answer::Decline => "answer:decline",
    Answer::Cancel => "answer:cancel",
    Answer::TimeOut => "answer:timeout",
);
kinds!(OUTCOMES, outcome, Outcome,
    Outcome::Completed { .. } => "outcome:completed",
    Outcome::Failed { .. } => "outcome:failed",
    Outcome::Rejected { .. } => "outcome:rejected",
    Outcome::Aborted { .. } => "outcome:aborted",
);
kinds!(NOTES, note, SessionNote,
    SessionNote::Todos(_) => "note:todos",
    SessionNote::Slots(_) => "note:slots",
);
kinds!(WAYS, way, MoveKind,
    MoveKind::Entry => "way:entry",
    MoveKind::Edge => "way:edge",
    MoveKind::Again => "way:again",
    MoveKind::Hub => "way:hub",
    MoveKind::Into => "way:into",
    MoveKind::Back => "way:back",
    MoveKind::Off => "way:off",
);
kinds!(ASKED, asked, RequestKind,
    RequestKind::Move => "asked:move",
    RequestKind::Call => "asked:call",
);
kinds!(POLICIES, policy, SchedulePolicy,
    SchedulePolicy::Eager => "policy:eager",
    SchedulePolicy::Layered => "policy:layered",
);

/// The kinds that an event contains in addition to its own.
fn within(it: &Event, seen: &mut BTreeSet<&'static str>) {
    seen.insert(event(it));
    if let Event::Run(RunEvent::Paused { pause: why }) = it {
        seen.insert(pause(why));
        if let Pause::Budget { what, .. } = why {
            seen.insert(spent(what));
        }
    }
    if let Event::Run(RunEvent::Answered { answer: said, .. }) = it {
        seen.insert(answer(said));
    }
    if let Event::Run(RunEvent::Finished { outcome: end }) = it {
        seen.insert(outcome(end));
    }
    if let Event::Sop(SopEvent::Noted(noted)) = it {
        seen.insert(note(noted));
    }
    if let Event::Sop(SopEvent::Moved(moved)) = it {
        seen.insert(way(&moved.way));
    }
    if let Event::Sop(SopEvent::Refused(refused)) = it {
        seen.insert(asked(&refused.what));
    }
    if let Event::Run(RunEvent::Started(started)) = it {
        seen.insert(policy(&started.policy));
    }
}

#[tokio::test]
async fn every_kind_is_in_a_golden_directory() {
    let mut seen = BTreeSet::new();
    for version in versions() {
        let copy = GoldenCopy::of(&version);
        let engine = engine(&copy);
        for case in manifest(&version).cases {
            let entries = engine.entries(&case.run.parse().unwrap()).await.unwrap();
            for entry in &entries {
                within(&entry.event, &mut seen);
            }
        }
    }
    let lists = [
        EVENTS, PAUSES, SPENT, ANSWERS, OUTCOMES, NOTES, WAYS, ASKED, POLICIES,
    ];
    let all: BTreeSet<&str> = lists.into_iter().flatten().copied().collect();
    let missing: Vec<&str> = all.difference(&seen).copied().collect();
    assert_eq!(missing, NOT_YET);
}
