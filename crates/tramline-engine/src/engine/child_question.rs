//! The questions of called workflows: how a run that waits for a child shows them, and what happens
//! to a child that its caller no longer waits for.

use super::{Engine, LoadedRun, PauseAnswer, QuestionReader};
use crate::fault::Fault;
use futures_util::future::BoxFuture;
use tramline_expr::{Map, Value};
use tramline_views::pause_view::{self, Extent};
use tramline_workflow::authority::{AnswerChannel, PauseReason, may_answer};
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Answer, Outcome, Pause};
use tramline_workflow::run::Run;

impl Engine {
    /// A pause as data for agents, including the questions of the child that it waits for. Redacted like a
    /// journal.
    pub async fn pause_summary(&self, run: &Run, seq: Seq, pause: &Pause) -> Value {
        let told = pause_view::pause_value(&run.graph, &run.id, seq, pause);
        match (pause, &told) {
            (Pause::Child { run: child, .. }, Value::Object(map)) => {
                let mut map = Map::clone(map);
                if let Some(questions) = self.child_questions(child, QuestionReader::Agent).await {
                    map.insert("child", questions);
                }
                map.into()
            }
            _ => told,
        }
    }

    /// What a child run waits for: its questions with their calls, who may answer each, and with
    /// which command. `None` if the child cannot be read. Redacted like a journal.
    pub fn child_questions<'a>(
        &'a self,
        child: &'a RunId,
        reader: QuestionReader,
    ) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let loaded = self.load(child).await.ok()?;
            let mut waiting = Vec::new();
            for (seq, pause) in &loaded.run.pauses {
                waiting.push(self.child_question(&loaded, *seq, pause, reader).await);
            }
            let run = &loaded.run;
            let mut told = Map::new();
            told.insert("run_id", run.id.as_str().into());
            told.insert("workflow", run.graph.workflow.name.clone().into());
            told.insert("status", super::run_status(run).as_str().into());
            told.insert("waiting", Value::array(waiting));
            Some(told.into())
        })
    }

    async fn child_question(
        &self,
        loaded: &LoadedRun,
        seq: Seq,
        pause: &Pause,
        reader: QuestionReader,
    ) -> Value {
        let shown = self.pause_detail(loaded, seq, pause, Extent::Bounded, reader);
        let shown = shown.await;
        let Value::Object(map) = &shown else {
            return shown;
        };
        let mut map = Map::clone(map);
        // The parent shows these for itself.
        map.remove("requested");
        map.remove("done");
        // A pause for a child of the child is answered there.
        if !matches!(pause, Pause::Child { .. }) {
            let asked = Checkpoint {
                run: loaded.run.id.clone(),
                seq,
            };
            let reason = PauseReason::of(&loaded.run.graph, pause);
            let agents = self.options().approvals.agents;
            let may = may_answer(reason, AnswerChannel::Agent, agents, false);
            let who = if may.is_ok() { "agent" } else { "person" };
            map.insert("answered_by", who.into());
            map.insert("command", self.0.answer_command(&asked, pause).into());
        }
        map.into()
    }

    /// Ends the children that answers give up: the caller takes another result, or ends. Their
    /// questions must not stay open, or a later approval would make a call that nobody waits for.
    pub(super) async fn end_abandoned_children(
        &self,
        id: &RunId,
        said: &[PauseAnswer],
    ) -> Result<(), Fault> {
        let gives_up = |said: &&PauseAnswer| match said.answer {
            Answer::Skip { .. } | Answer::Reject => true,
            Answer::Proceed
            | Answer::ProceedWith { .. }
            | Answer::Retry
            | Answer::Submit { .. }
            | Answer::Decline
            | Answer::Cancel
            | Answer::TimeOut
            | Answer::Extend { .. } => false,
        };
        let said: Vec<_> = said.iter().filter(gives_up).collect();
        if said.is_empty() {
            return Ok(());
        }
        let run = self.load(id).await?.run;
        for said in said {
            let Some(pause @ Pause::Child { run: child, .. }) = run.pauses.get(&said.pause) else {
                continue;
            };
            // An answer that is not allowed is rejected where it is recorded.
            let ruled = self
                .0
                .authorize(&run, (said.pause, pause), &said.answer, &said.by);
            if ruled.is_err() {
                continue;
            }
            let why = Some("the run that called it no longer needs it".to_owned());
            match Box::pin(self.abort_by(child, said.by.name.clone(), why)).await {
                Ok(()) | Err(Fault::NotFound(_) | Fault::Expired { .. }) => {}
                Err(Fault::Ended { .. }) => self.check_child_result(child, &said.answer).await?,
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Rejects replacing the result of a child that has completed in the meantime.
    async fn check_child_result(&self, child: &RunId, answer: &Answer) -> Result<(), Fault> {
        let is_skip = matches!(answer, Answer::Skip { .. });
        match self.load(child).await {
            Ok(loaded) => match loaded.run.outcome {
                Some(Outcome::Completed { .. }) if is_skip => Err(Fault::Rejected(format!(
                    "{child} has completed in the meantime; answer `retry` to use its result"
                ))),
                _ => Ok(()),
            },
            Err(Fault::NotFound(_) | Fault::Expired { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }
}
