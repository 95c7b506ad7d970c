//! The golden directories hold every kind of event, pause, answer and end. A new kind breaks the
//! build here, and then needs a golden directory of the version that first writes it.

use super::shown::engine;
use super::{GoldenCopy, manifest, versions};
use std::collections::BTreeSet;
use tramline_core::journal::{Answer, Asked, Event, Note, Outcome, Pause, Policy, Spent, Way};

/// Kinds that no golden directory holds yet: the version that first writes them is not released.
/// The next directory empties this list.
const NOT_YET: [&str; 2] = [
    "answer:proceed-with",
    // Tokens are counted only where a model is asked.
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
    Event::Started(_) => "event:started",
    Event::Resumed { .. } => "event:resumed",
    Event::StepStarted { .. } => "event:step-started",
    Event::Spread { .. } => "event:spread",
    Event::Gathered { .. } => "event:gathered",
    Event::Waiting { .. } => "event:waiting",
    Event::AttemptFailed { .. } => "event:attempt-failed",
    Event::StepFinished { .. } => "event:step-finished",
    Event::StepFailed { .. } => "event:step-failed",
    Event::Paused { .. } => "event:paused",
    Event::Answered { .. } => "event:answered",
    Event::Watched { .. } => "event:watched",
    Event::Amended { .. } => "event:amended",
    Event::Guided(_) => "event:guided",
    Event::Moved(_) => "event:moved",
    Event::Noted(_) => "event:noted",
    Event::ToolCalled(_) => "event:tool-called",
    Event::ToolAnswered(_) => "event:tool-answered",
    Event::Refused(_) => "event:refused",
    Event::Finished { .. } => "event:finished",
);
kinds!(PAUSES, pause, Pause,
    Pause::Layer { .. } => "pause:layer",
    Pause::Approval { .. } => "pause:approval",
    Pause::InDoubt { .. } => "pause:in-doubt",
    Pause::Break { .. } => "pause:break",
    Pause::Effect { .. } => "pause:effect",
    Pause::Child { .. } => "pause:child",
    Pause::Budget { .. } => "pause:budget",
);
kinds!(SPENT, spent, Spent,
    Spent::Calls => "spent:calls",
    Spent::Time => "spent:time",
    Spent::Bytes => "spent:bytes",
    Spent::Tokens => "spent:tokens",
);
kinds!(ANSWERS, answer, Answer,
    Answer::Proceed => "answer:proceed",
    Answer::ProceedWith { .. } => "answer:proceed-with",
    Answer::Reject => "answer:reject",
    Answer::Retry => "answer:retry",
    Answer::Skip { .. } => "answer:skip",
    Answer::Extend { .. } => "answer:extend",
);
kinds!(OUTCOMES, outcome, Outcome,
    Outcome::Completed { .. } => "outcome:completed",
    Outcome::Failed { .. } => "outcome:failed",
    Outcome::Rejected { .. } => "outcome:rejected",
    Outcome::Aborted { .. } => "outcome:aborted",
);
kinds!(NOTES, note, Note,
    Note::Todos(_) => "note:todos",
    Note::Slots(_) => "note:slots",
);
kinds!(WAYS, way, Way,
    Way::Entry => "way:entry",
    Way::Edge => "way:edge",
    Way::Again => "way:again",
    Way::Hub => "way:hub",
    Way::Into => "way:into",
    Way::Back => "way:back",
    Way::Off => "way:off",
);
kinds!(ASKED, asked, Asked,
    Asked::Move => "asked:move",
    Asked::Call => "asked:call",
);
kinds!(POLICIES, policy, Policy,
    Policy::Eager => "policy:eager",
    Policy::Layered => "policy:layered",
);

/// What an event says beside its own kind.
fn within(it: &Event, seen: &mut BTreeSet<&'static str>) {
    seen.insert(event(it));
    if let Event::Paused { pause: why } = it {
        seen.insert(pause(why));
        if let Pause::Budget { what, .. } = why {
            seen.insert(spent(what));
        }
    }
    if let Event::Answered { answer: said, .. } = it {
        seen.insert(answer(said));
    }
    if let Event::Finished { outcome: end } = it {
        seen.insert(outcome(end));
    }
    if let Event::Noted(noted) = it {
        seen.insert(note(noted));
    }
    if let Event::Moved(moved) = it {
        seen.insert(way(&moved.way));
    }
    if let Event::Refused(refused) = it {
        seen.insert(asked(&refused.what));
    }
    if let Event::Started(started) = it {
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
