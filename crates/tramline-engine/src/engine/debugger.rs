//! Debugging: breakpoints, single steps, and the state of a run at any point in its journal.

use super::{Engine, LoadedRun, Respondent};
use crate::audit::CommandNote;
use crate::fault::Fault;
use tramline_expr::Str;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, StepNo};
use tramline_workflow::journal::{Answer, BreakpointSet, Entry, Event, Pause, RunEvent};
use tramline_workflow::run::Run;

/// A point in the journal of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalPoint {
    /// After this event.
    Event(Seq),
    /// After this step has ended.
    Step(StepNo),
}

impl Engine {
    /// Sets where a run halts, replacing earlier breakpoints.
    pub async fn set_breakpoints(
        &self,
        id: &RunId,
        watch: BreakpointSet,
        by: Str,
    ) -> Result<(), Fault> {
        let watch = self.redact_breakpoints(watch).await;
        let said = self.append_command(id, |_| {
            Ok(Event::Run(RunEvent::BreakpointsSet {
                watch: watch.clone(),
                by: by.clone(),
            }))
        });
        let came = said.await;
        let note = CommandNote {
            command: "watch",
            run: id,
            by: &by,
            why: None,
            arguments: None,
        };
        self.audit_command(note, &came).await?;
        came
    }

    /// Lets a halted run continue to its next breakpoint. Returns how many of its tokens were
    /// released.
    ///
    /// A caller that does not drive the run has to resume it afterwards.
    pub async fn continue_from_halt(&self, id: &RunId, by: Respondent) -> Result<usize, Fault> {
        let halted = self.halted_seqs(id).await?;
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

    /// The sequence numbers of the breakpoints that a run waits at.
    async fn halted_seqs(&self, id: &RunId) -> Result<Vec<Seq>, Fault> {
        let LoadedRun { run, .. } = self.load(id).await?;
        let halts = run
            .pauses
            .iter()
            .filter(|(_, pause)| matches!(pause, Pause::Break { .. }));
        Ok(halts.map(|(seq, _)| *seq).collect())
    }

    /// The state of a run at a point, with its journal up to that point.
    pub async fn load_at(&self, id: &RunId, at: JournalPoint) -> Result<LoadedRun, Fault> {
        let LoadedRun { mut entries, .. } = self.load(id).await?;
        let seq = seq_of_point(id, &entries, at)?;
        entries.truncate(seq as usize);
        let mut bytes = Vec::new();
        for entry in &entries {
            self.0.encode(entry, &mut bytes)?;
        }
        let run = self.fold(id, &entries)?;
        Ok(LoadedRun {
            run,
            entries,
            bytes: bytes.len() as u64,
        })
    }

    /// Folds events, which need not be in the store.
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

/// The sequence number that a point refers to.
pub(super) fn seq_of_point(id: &RunId, entries: &[Entry], at: JournalPoint) -> Result<Seq, Fault> {
    let last = entries.last().map_or(0, |entry| entry.seq);
    match at {
        JournalPoint::Event(seq) if (1..=last).contains(&seq) => Ok(seq),
        JournalPoint::Event(seq) => Err(Fault::Rejected(format!(
            "{id} has no event {seq}; its journal has {last}"
        ))),
        JournalPoint::Step(step) => entries
            .iter()
            .find(|entry| entry.event.ended_step().is_some_and(|(it, _)| it == step))
            .map(|entry| entry.seq)
            .ok_or_else(|| {
                Fault::Rejected(format!(
                    "step {step} of {id} has not ended; `tramline runs show {id}` lists the steps"
                ))
            }),
    }
}
