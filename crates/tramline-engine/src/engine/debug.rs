//! Debugging: breakpoints, single steps, and a run as it stood at any moment.

use super::{Engine, Loaded, Respondent};
use crate::audit::CommandNote;
use crate::fault::Fault;
use tramline_core::Str;
use tramline_core::ids::{Checkpoint, RunId, Seq, StepNo};
use tramline_core::journal::{Answer, Entry, Event, Pause, Watch};
use tramline_core::run::Run;

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// After this event.
    Event(Seq),
    /// After this step has ended.
    Step(StepNo),
}

impl Engine {
    /// Says where a run is to halt, in place of what was said before.
    pub async fn watch(&self, id: &RunId, watch: Watch, by: Str) -> Result<(), Fault> {
        let said = self.say(id, |_| {
            Ok(Event::Watched {
                watch: watch.clone(),
                by: by.clone(),
            })
        });
        let came = said.await;
        let note = CommandNote {
            command: "watch",
            run: id,
            by: &by,
            why: None,
            arguments: None,
        };
        self.commanded(note, &came).await?;
        came
    }

    /// Lets a run that has halted go on to the next place where it is to halt. Gives how many of
    /// its tokens were let go.
    ///
    /// Who calls this and does not drive the run resumes it afterwards.
    pub async fn go_on(&self, id: &RunId, by: Respondent) -> Result<usize, Fault> {
        let halted = self.halted(id).await?;
        for seq in &halted {
            let asked = Checkpoint {
                run: id.clone(),
                seq: *seq,
            };
            self.answer(&asked, Answer::Proceed, by.clone(), None)
                .await?;
        }
        Ok(halted.len())
    }

    /// The places of the halts that a run waits at.
    async fn halted(&self, id: &RunId) -> Result<Vec<Seq>, Fault> {
        let Loaded { run, .. } = self.load(id).await?;
        let halts = run
            .pauses
            .iter()
            .filter(|(_, pause)| matches!(pause, Pause::Break { .. }));
        Ok(halts.map(|(seq, _)| *seq).collect())
    }

    /// A run as it stood at a moment, with its journal up to it.
    pub async fn load_at(&self, id: &RunId, at: At) -> Result<Loaded, Fault> {
        let Loaded { mut entries, .. } = self.load(id).await?;
        let seq = place(id, &entries, at)?;
        entries.truncate(seq as usize);
        let mut bytes = Vec::new();
        for entry in &entries {
            self.0.encode(entry, &mut bytes)?;
        }
        let run = self.fold(id, &entries)?;
        Ok(Loaded {
            run,
            entries,
            bytes: bytes.len() as u64,
        })
    }

    /// Folds events that need not be in the store.
    pub(crate) fn fold(&self, id: &RunId, entries: &[Entry]) -> Result<Run, Fault> {
        Run::fold(id.clone(), entries.iter().cloned(), |started| {
            self.0.graph(started)
        })
        .map_err(|illegal| Fault::Damaged {
            run: id.clone(),
            message: illegal.to_string(),
        })
    }
}

/// The event of a journal that a moment means.
pub(super) fn place(id: &RunId, entries: &[Entry], at: At) -> Result<Seq, Fault> {
    let last = entries.last().map_or(0, |entry| entry.seq);
    match at {
        At::Event(seq) if (1..=last).contains(&seq) => Ok(seq),
        At::Event(seq) => Err(Fault::Refused(format!(
            "{id} has no event {seq}; its journal has {last}"
        ))),
        At::Step(step) => entries
            .iter()
            .find(|entry| ended_step(&entry.event) == Some(step))
            .map(|entry| entry.seq)
            .ok_or_else(|| {
                Fault::Refused(format!(
                    "step {step} of {id} has not ended; `tramline runs show {id}` lists the steps"
                ))
            }),
    }
}

/// The step that an event ends.
pub(super) fn ended_step(event: &Event) -> Option<StepNo> {
    match event {
        Event::StepFinished { step, .. }
        | Event::StepFailed { step, .. }
        | Event::Gathered { step, .. } => Some(*step),
        Event::Started(_)
        | Event::Resumed { .. }
        | Event::StepStarted { .. }
        | Event::Spread { .. }
        | Event::Waiting { .. }
        | Event::AttemptFailed { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Watched { .. }
        | Event::Amended { .. }
        | Event::Guided(_)
        | Event::Moved(_)
        | Event::Noted(_)
        | Event::ToolCalled(_)
        | Event::ToolAnswered(_)
        | Event::Refused(_)
        | Event::Finished { .. } => None,
    }
}
