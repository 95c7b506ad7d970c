//! Invariants of a journal and of the sent calls, whatever happened.

use super::simulation::{Replies, Simulation};
use std::collections::{BTreeMap, BTreeSet};
use tramline_engine::Fault;
use tramline_expr::Str;
use tramline_workflow::ids::Seq;
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, RunEvent};
use tramline_workflow::run::Run;

/// Checks a history against the invariants.
pub(super) async fn check_invariants(world: &Simulation) {
    let loaded = match world.reader.load(&world.run).await {
        Ok(loaded) => loaded,
        Err(Fault::NotFound(_)) => {
            assert!(
                world.left().iter().all(|left| !left.once),
                "calls without a journal"
            );
            return;
        }
        Err(fault) => panic!("the journal does not fold: {fault}"),
    };
    let mut announced: BTreeMap<(u32, u32), Str> = BTreeMap::new();
    let mut steps_of: BTreeMap<Str, BTreeSet<u32>> = BTreeMap::new();
    let mut ended = BTreeSet::new();
    let mut doubted = BTreeSet::new();
    let mut asked = BTreeMap::new();
    let mut answered = BTreeMap::new();
    let mut again: BTreeSet<u32> = BTreeSet::new();
    let mut stood: Option<Run> = None;
    for entry in &loaded.entries {
        if let Some(run) = &mut stood {
            let Event::Run(event) = &entry.event else {
                panic!("event {} belongs to an SOP session", entry.seq);
            };
            let exact = run.check_exact(event);
            exact.unwrap_or_else(|why| panic!("event {}: {why}", entry.seq));
            run.apply(entry).unwrap();
        } else if let Event::Run(RunEvent::Started(started)) = &entry.event {
            let (graph, _) =
                tramline_workflow::graph::Graph::build(started.workflow.clone()).unwrap();
            let begun = Run::start(
                world.run.clone(),
                graph.into(),
                *started.clone(),
                entry.at_ms,
            );
            stood = Some(begun.unwrap());
        }
        match &entry.event {
            Event::Run(RunEvent::StepStarted {
                step,
                node,
                attempt,
                repeatable: false,
                ..
            }) => {
                let id = loaded.run.graph.node(*node).id.clone();
                let before = announced.insert((*step, *attempt), id.clone());
                assert_eq!(before, None, "step {step} is recorded twice");
                steps_of.entry(id).or_default().insert(*step);
                let is_asked = again.remove(step);
                assert!(
                    *attempt == 1 || is_asked,
                    "step {step} is repeated without confirmation"
                );
            }
            Event::Run(RunEvent::StepFinished { step, .. }) => {
                ended.insert(*step);
            }
            // Calls fail here only after they were sent.
            Event::Run(RunEvent::StepFailed { step, .. }) => {
                let once = announced.keys().any(|(it, _)| it == step);
                assert!(
                    !once,
                    "step {step} may have happened, but the run did not pause"
                );
            }
            Event::Run(RunEvent::Paused {
                pause: Pause::InDoubt { step, .. },
            }) => {
                doubted.insert(*step);
                asked.insert(entry.seq, *step);
            }
            Event::Run(RunEvent::Answered {
                pause, answer, by, ..
            }) => {
                answered.insert(by.to_string(), *pause);
                if let (Some(step), Answer::Retry) = (asked.get(pause), answer) {
                    again.insert(*step);
                }
            }
            _ => {}
        }
    }
    replies_were_true(&world.replies(), &answered);
    for (task, steps) in &steps_of {
        assert_eq!(steps.len(), 1, "{task} is called in several steps");
    }
    let aborted = matches!(loaded.run.outcome, Some(Outcome::Aborted { .. }));
    let completed = matches!(loaded.run.outcome, Some(Outcome::Completed { .. }));
    assert!(aborted || completed, "{:?}", loaded.run.outcome);
    // Only a process that has lost a run abandons its calls.
    let given_up = world.given_up();
    assert!(
        aborted || world.claims_are_lost || given_up.is_empty(),
        "the run was taken from a live process with calls in flight: {given_up:?}"
    );
    let mut times: BTreeMap<Str, usize> = BTreeMap::new();
    for left in world.left().into_iter().filter(|left| left.once) {
        *times.entry(left.task.clone()).or_default() += 1;
        let step: u32 = left.key.rsplit('/').next().unwrap().parse().unwrap();
        let told = announced.iter().find(|((it, _), _)| *it == step);
        let (_, id) = told.unwrap_or_else(|| panic!("{left:?} was never recorded"));
        assert_eq!(*id, left.task, "step {step} was called for another task");
        let known = ended.contains(&step) || doubted.contains(&step);
        assert!(
            known || aborted,
            "{left:?} has no result and the run did not pause"
        );
    }
    assert!(times.values().all(|&count| count == 1), "{times:?}");
}

/// An accepted answer is in the journal, a rejected one is not, and every process could continue
/// with its journal.
fn replies_were_true(replies: &Replies, answered: &BTreeMap<String, Seq>) {
    assert!(replies.wrong.is_empty(), "{:?}", replies.wrong);
    for (pause, by) in &replies.taken {
        let found = answered.get(by);
        assert_eq!(
            found,
            Some(pause),
            "the answer by {by} was accepted and lost"
        );
    }
    for (by, why) in &replies.refused {
        let found = answered.get(by);
        assert_eq!(
            found, None,
            "the answer by {by} counts, although it was rejected: {why}"
        );
    }
}
