//! Answers to forms: checked against the schema before they are journaled, and ended in time.
//!
//! A question with a time-out is in a list of the store before it is asked. The process that asks
//! sets a timer; a server looks through the list, so that a question also times out if the process
//! that asked is gone.

use super::{Engine, PauseAnswer, Respondent};
use crate::clock;
use crate::fault::Fault;
use crate::long_work::long_work;
use std::time::Duration;
use tramline_workflow::form::{CANCEL_LABEL, check_content, complete_content};
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Answer, Pause};
use tramline_workflow::run::Run;

/// The kind of document that lists the questions with a time-out.
const FORM_TIMEOUTS_KIND: &str = "form-timeouts";
/// Who answers a form that nobody answered in time.
const TIMEOUT_NAME: &str = "timeout";
/// How long a time-out stays listed after it was due: its question may be about to be recorded.
const DUE_GRACE_MS: i64 = 60_000;
/// The longest sleep of a timer: after a clock was set back, it must not sleep for days.
const TIMER_SLEEP_MAX: Duration = Duration::from_secs(60);

impl Engine {
    /// Checks the answers to forms. Their content is completed with the form's initial values.
    pub(super) async fn check_form_answers(
        &self,
        id: &RunId,
        mut said: Vec<PauseAnswer>,
    ) -> Result<Vec<PauseAnswer>, Fault> {
        for one in &mut said {
            match &one.answer {
                Answer::Submit { .. } | Answer::Decline | Answer::Cancel | Answer::TimeOut => {}
                Answer::Proceed
                | Answer::ProceedWith { .. }
                | Answer::Reject
                | Answer::Retry
                | Answer::Skip { .. }
                | Answer::Extend { .. } => continue,
            }
            let run = self.load(id).await?.run;
            // An answer to a pause that is no longer open, or that is not allowed, is rejected
            // where it is recorded.
            let Some(pause) = run.pauses.get(&one.pause) else {
                continue;
            };
            let ruled = self
                .0
                .authorize(&run, (one.pause, pause), &one.answer, &one.by);
            if ruled.is_err() {
                continue;
            }
            match checked_answer(&run, pause, &one.answer) {
                Ok(answer) => one.answer = answer,
                Err(fault) => {
                    self.audit_rejected_answer(&run, one, &fault).await?;
                    if is_late(pause) {
                        Box::pin(self.time_out_run(id, AfterTimeout::Leave)).await?;
                    }
                    return Err(fault);
                }
            }
        }
        Ok(said)
    }

    /// Lists a question with a time-out, before it is asked.
    pub(crate) async fn record_form_timeout(&self, id: &RunId, until_ms: i64) -> Result<(), Fault> {
        let key = format!("{until_ms}-{id}");
        let put = self.0.store.put(FORM_TIMEOUTS_KIND, &key, Vec::new());
        Ok(put.await?)
    }

    /// Times out the forms of a run when they are due, while this process lives.
    pub(crate) fn start_form_timer(&self, id: RunId, until_ms: i64) {
        let engine = self.clone();
        let stop = self.0.stop.clone();
        tokio::spawn(async move {
            loop {
                let left = until_ms.saturating_sub(clock::now_ms());
                let Ok(left) = u64::try_from(left) else { break };
                if left == 0 {
                    break;
                }
                let sleep = Duration::from_millis(left).min(TIMER_SLEEP_MAX);
                tokio::select! {
                    () = tokio::time::sleep(sleep) => {}
                    () = stop.cancelled() => return,
                }
            }
            // A failing store is reported to callers that use it; the list has the question.
            let _ = engine.time_out_run(&id, AfterTimeout::Resume).await;
        });
    }

    /// Times out the questions that are due, whichever process asked them. Returns how many runs
    /// had one.
    pub async fn time_out_forms(&self) -> Result<usize, Fault> {
        let now_ms = clock::now_ms();
        let mut done = Vec::new();
        let mut count = 0;
        for key in self.0.store.list(FORM_TIMEOUTS_KIND).await? {
            let Some((due, id)) = key.split_once('-') else {
                continue;
            };
            let due: i64 = due.parse().unwrap_or(0);
            if due > now_ms {
                continue;
            }
            let Ok(id) = id.parse::<RunId>() else {
                done.push(key);
                continue;
            };
            let timed_out = Box::pin(self.time_out_run(&id, AfterTimeout::Resume)).await;
            count += usize::from(matches!(timed_out, Ok(true)));
            if due.saturating_add(DUE_GRACE_MS) <= now_ms {
                done.push(key);
            }
        }
        if !done.is_empty() {
            self.0.store.delete(FORM_TIMEOUTS_KIND, &done).await?;
        }
        Ok(count)
    }

    /// Times out the due questions of a run. Returns whether there were any.
    async fn time_out_run(&self, id: &RunId, after: AfterTimeout) -> Result<bool, Fault> {
        let run = self.load(id).await?.run;
        let due = run.pauses.iter().filter(|(_, pause)| is_late(pause));
        let due: Vec<Seq> = due.map(|(seq, _)| *seq).collect();
        if due.is_empty() || run.outcome.is_some() {
            return Ok(false);
        }
        let by = || Respondent::program(TIMEOUT_NAME);
        if after == AfterTimeout::Resume || self.0.paused_runs.contains(id) || self.drives(id) {
            let answers = due.into_iter().map(|pause| PauseAnswer {
                pause,
                answer: Answer::TimeOut,
                by: by(),
                why: None,
            });
            // Nobody waits for this handle: the run continues in the background.
            if let Some(driven) = self.answer_and_resume(id, answers.collect()).await? {
                driven.answers_recorded().await?;
            }
            return Ok(true);
        }
        for seq in due {
            let asked = Checkpoint {
                run: id.clone(),
                seq,
            };
            self.answer(&asked, Answer::TimeOut, by(), None).await?;
        }
        Ok(true)
    }
}

/// What happens to a run after its question has timed out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterTimeout {
    /// It continues here, unless its servers are elsewhere.
    Resume,
    /// It continues here only if it was asked here.
    Leave,
}

/// Whether nobody can answer a question any more.
fn is_late(pause: &Pause) -> bool {
    let until_ms = pause.form().and_then(|form| form.until_ms);
    until_ms.is_some_and(|until_ms| until_ms <= clock::now_ms())
}

/// The answer to record, or why it cannot be used.
fn checked_answer(run: &Run, pause: &Pause, answer: &Answer) -> Result<Answer, Fault> {
    let rejected = |says: String| Err(Fault::Rejected(says));
    let (Some(form), Some(node)) = (pause.form(), pause.node()) else {
        return rejected(format!(
            "this pause is not a form; it accepts {}",
            pause.options().join(", ")
        ));
    };
    let id = &run.graph.node(node).id;
    match answer {
        Answer::TimeOut if is_late(pause) => Ok(Answer::TimeOut),
        Answer::TimeOut => rejected(format!("the form of `{id}` has not timed out")),
        _ if is_late(pause) => rejected(format!("the form of `{id}` has timed out")),
        Answer::Cancel if !run.graph.has_label(node, CANCEL_LABEL) => rejected(format!(
            "dismissing the form of `{id}` decides nothing: it has no `on-cancel`; submit or decline it"
        )),
        Answer::Submit { content } => {
            let content = complete_content(form, content.clone());
            match check_content(form, &content, long_work) {
                Ok(()) => Ok(Answer::Submit { content }),
                Err(says) => rejected(says),
            }
        }
        other => Ok(other.clone()),
    }
}
