//! Who may answer: the one place where the table of the core is applied to an answer.
//!
//! Every door (tools, HTTP, forms, command line, studio, Rust programs) answers through
//! [`Engine::answer`] or [`Engine::go_on_with`], and both come here before anything is journaled.

use super::start::Admission;
use super::{Engine, Inner};
use crate::fault::Fault;
use crate::policy::Verdict;
use std::fmt;
use tramline_core::Str;
use tramline_core::authority::{AgentAnswers, AnswerChannel, Reason, Refusal, may_answer};
use tramline_core::ids::{Checkpoint, Seq};
use tramline_core::journal::{Answer, Pause};
use tramline_core::run::Run;
use tramline_core::workflow::Action;

/// Under what rules about answers are kept with the runs.
const RULES: &str = "approvals";
/// The rule that the command line needs a terminal.
const TERMINAL: &str = "terminal";

/// Who answers a question, and by which channel. There is no default: a front end has to say what it
/// is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Respondent {
    /// The name that the journal keeps.
    pub name: Str,
    /// The channel.
    pub channel: AnswerChannel,
    /// Whether the client that the answer comes from can show its user a form.
    pub shows_forms: bool,
    /// How the request was let in that brings the answer.
    pub admission: Admission,
}

impl Respondent {
    /// Somebody who answers by this channel.
    pub fn new(name: impl Into<Str>, channel: AnswerChannel) -> Self {
        Self {
            name: name.into(),
            channel,
            shows_forms: false,
            admission: Admission::Token,
        }
    }

    /// The table of the core. Over HTTP without a token it may be anybody on this machine, who answers
    /// nothing that a person should decide, whatever agents may relay.
    fn may_answer(&self, reason: Reason, agents: AgentAnswers) -> Result<(), Refusal> {
        may_answer(reason, self.channel, agents, self.shows_forms)?;
        let is_nameless = self.admission == Admission::Open && self.channel == AnswerChannel::Http;
        let least = may_answer(reason, self.channel, AgentAnswers::None, false);
        match is_nameless && least.is_err() {
            true => Err(Refusal::TokenNeeded),
            false => Ok(()),
        }
    }

    /// The program that the engine is a part of, which asks people itself.
    pub fn program(name: impl Into<Str>) -> Self {
        Self::new(name, AnswerChannel::Program)
    }
}

/// Tests answer as the embedding program; nothing else gets a channel without naming it.
#[cfg(feature = "testing")]
impl From<&str> for Respondent {
    fn from(name: &str) -> Self {
        Self::program(name)
    }
}

/// What the operator says about answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    /// What agents may answer.
    pub agents: AgentAnswers,
    /// What the command line needs to find the same runs, such as `--data-dir DIR`; empty where it
    /// finds them by itself.
    pub command_options: String,
}

/// A question that this respondent may not answer, and where a person can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonNeeded {
    /// Which question.
    pub asked: Checkpoint,
    /// Why it is asked.
    pub reason: Reason,
    /// Why the answer was refused.
    pub refusal: Refusal,
    /// The command by which a person answers.
    pub command: String,
    /// Where the studio is, if it is served.
    pub studio: Option<String>,
}

impl fmt::Display for PersonNeeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            asked,
            refusal,
            command,
            studio,
            ..
        } = self;
        write!(f, "{asked} was not answered: {}; ", refusal.says())?;
        match refusal {
            Refusal::UseForm => write!(f, "a person can also answer with `{command}`")?,
            Refusal::PersonOnly
            | Refusal::AgentsOff
            | Refusal::PersonEdits
            | Refusal::TokenNeeded => {
                write!(f, "a person answers with `{command}`")?;
            }
        }
        if let Some(studio) = studio {
            write!(f, " or in the studio at {studio}")?;
        }
        Ok(())
    }
}

impl Inner {
    /// Refuses an answer that its respondent may not give.
    pub(super) fn authorize(
        &self,
        run: &Run,
        (seq, pause): (Seq, &Pause),
        answer: &Answer,
        by: &Respondent,
    ) -> Result<(), Fault> {
        let reason = self.reason(run, pause, answer);
        let agents = self.options.approvals.agents;
        let edits = matches!(answer, Answer::ProceedWith { .. });
        let ruled = match edits && by.channel.is_relayed() {
            true => Err(Refusal::PersonEdits),
            false => by.may_answer(reason, agents),
        };
        ruled.map_err(|refusal| {
            let asked = Checkpoint {
                run: run.id.clone(),
                seq,
            };
            Fault::PersonNeeded(Box::new(self.person_needed(asked, pause, reason, refusal)))
        })
    }

    /// Why a question is asked. To repeat a call that the operator's policy asks about is a question
    /// of the policy: the agreement was to one call.
    fn reason(&self, run: &Run, pause: &Pause, answer: &Answer) -> Reason {
        if let (Pause::InDoubt { node, .. }, Answer::Retry) = (pause, answer)
            && let Action::Call { tool, .. } = &run.graph.node(*node).action
            && matches!(self.options.policy.verdict(tool), Verdict::Ask(_))
        {
            return Reason::Policy;
        }
        Reason::of(&run.graph, pause)
    }

    fn person_needed(
        &self,
        asked: Checkpoint,
        pause: &Pause,
        reason: Reason,
        refusal: Refusal,
    ) -> PersonNeeded {
        PersonNeeded {
            command: self.answer_command(&asked, pause),
            studio: self.studio.get().cloned(),
            asked,
            reason,
            refusal,
        }
    }

    /// The command by which a person answers a question.
    fn answer_command(&self, asked: &Checkpoint, pause: &Pause) -> String {
        let options = match self.options.approvals.command_options.as_str() {
            "" => String::new(),
            options => format!("{options} "),
        };
        match pause {
            Pause::InDoubt { .. } => {
                format!("tramline {options}runs answer {asked} --retry")
            }
            Pause::Approval { .. }
            | Pause::Layer { .. }
            | Pause::Break { .. }
            | Pause::Effect { .. }
            | Pause::Child { .. }
            | Pause::Budget { .. } => format!("tramline {options}runs approve {asked}"),
        }
    }
}

impl Engine {
    /// Says where the studio is served, for those who are told where a person can answer. The first
    /// place counts.
    pub fn studio_at(&self, url: impl Into<String>) {
        let _ = self.0.studio.set(url.into());
    }

    /// Keeps with the runs whether answers on the command line need a terminal: a command finds the
    /// runs without finding the server's configuration.
    pub async fn keep_terminal_rule(&self, required: bool) -> Result<(), Fault> {
        let store = self.store();
        let kept = store.get(RULES, TERMINAL).await?.is_some();
        match (required, kept) {
            (true, false) => store.put(RULES, TERMINAL, b"required".to_vec()).await?,
            (false, true) => store.forget(RULES, &[TERMINAL.to_owned()]).await?,
            (true, true) | (false, false) => {}
        }
        Ok(())
    }

    /// Whether answers on the command line need a terminal.
    pub async fn needs_terminal(&self) -> Result<bool, Fault> {
        Ok(self.store().get(RULES, TERMINAL).await?.is_some())
    }

    /// Refuses to repeat the calls of another run unasked to those who could not answer the question
    /// that is left out.
    pub fn may_repeat_effects(&self, by: &Respondent) -> Result<(), Fault> {
        let agents = self.0.options.approvals.agents;
        let ruled = by.may_answer(Reason::Effect, agents);
        ruled.map_err(|refusal| {
            let says = refusal.says();
            Fault::Refused(format!("calls are not repeated unasked here: {says}"))
        })
    }

    /// Whether a respondent may decide that a call is made again which may have happened.
    pub(super) fn may_repeat_doubtful(&self, by: &Respondent) -> bool {
        let agents = self.0.options.approvals.agents;
        may_answer(Reason::InDoubt, by.channel, agents, by.shows_forms).is_ok()
    }

    /// Why a question may not be answered by this respondent, before it is answered; nothing if it
    /// may.
    pub fn may_not_answer(
        &self,
        run: &Run,
        seq: Seq,
        answer: &Answer,
        by: &Respondent,
    ) -> Option<Fault> {
        let pause = run.pauses.get(&seq)?;
        self.0.authorize(run, (seq, pause), answer, by).err()
    }
}
