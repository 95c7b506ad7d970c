//! Who may answer: the one place where the core's table of rights is applied to an answer.
//!
//! Every entry point (tools, HTTP, forms, command line, studio, Rust API) answers through
//! [`Engine::answer`] or [`Engine::go_on_with`], and both check here before anything is journaled.

use super::start::Admission;
use super::{Engine, EngineInner};
use crate::audit::AuditNote;
use crate::fault::Fault;
use crate::policy::PolicyVerdict;
use std::fmt;
use tramline_expr::Str;
use tramline_workflow::authority::{
    AgentAnswers, AnswerChannel, AnswerRefusal, PauseReason, may_answer,
};
use tramline_workflow::ids::{Checkpoint, Seq};
use tramline_workflow::journal::{Answer, Pause};
use tramline_workflow::run::Run;
use tramline_workflow::workflow::Action;

/// The document kind under which the store keeps rules about answers.
const APPROVAL_RULES_KIND: &str = "approvals";
/// The rule that the command line needs a terminal.
const TERMINAL_RULE_KEY: &str = "terminal";

/// Who answers a pause, and through which channel. There is no default: a front end must state what
/// it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Respondent {
    /// The name recorded in the journal.
    pub name: Str,
    /// The channel.
    pub channel: AnswerChannel,
    /// Whether the client that sends the answer can show its user a form.
    pub shows_forms: bool,
    /// How the request with the answer was admitted.
    pub admission: Admission,
}

impl Respondent {
    /// A respondent that answers through this channel.
    pub fn new(name: impl Into<Str>, channel: AnswerChannel) -> Self {
        Self {
            name: name.into(),
            channel,
            shows_forms: false,
            admission: Admission::Token,
        }
    }

    /// Applies the core's table. An HTTP request without a token may come from anyone on this
    /// machine, so it cannot answer what a person should decide, even where agents may relay
    /// answers.
    fn may_answer(&self, reason: PauseReason, agents: AgentAnswers) -> Result<(), AnswerRefusal> {
        may_answer(reason, self.channel, agents, self.shows_forms)?;
        let is_nameless = self.admission == Admission::Open && self.channel == AnswerChannel::Http;
        let least = may_answer(reason, self.channel, AgentAnswers::None, false);
        match is_nameless && least.is_err() {
            true => Err(AnswerRefusal::TokenNeeded),
            false => Ok(()),
        }
    }

    /// The program that embeds the engine and asks people itself.
    pub fn program(name: impl Into<Str>) -> Self {
        Self::new(name, AnswerChannel::Program)
    }
}

/// Tests answer as the embedding program; everything else must name its channel.
#[cfg(feature = "testing")]
impl From<&str> for Respondent {
    fn from(name: &str) -> Self {
        Self::program(name)
    }
}

/// The operator's rules about answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    /// What agents may answer.
    pub agents: AgentAnswers,
    /// The options that the command line needs to find the same runs, such as `--data-dir DIR`;
    /// empty if it needs none.
    pub command_options: String,
}

/// A pause that this respondent may not answer, and where a person can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonNeeded {
    /// The checkpoint of the pause.
    pub checkpoint: Checkpoint,
    /// Why the run pauses.
    pub reason: PauseReason,
    /// Why the answer was rejected.
    pub refusal: AnswerRefusal,
    /// The command with which a person answers.
    pub command: String,
    /// The URL of the studio, if it is served.
    pub studio: Option<String>,
}

impl fmt::Display for PersonNeeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            checkpoint: asked,
            refusal,
            command,
            studio,
            ..
        } = self;
        write!(f, "{asked} was not answered: {}; ", refusal.message())?;
        match refusal {
            AnswerRefusal::UseForm => write!(f, "a person can also answer with `{command}`")?,
            AnswerRefusal::PersonOnly
            | AnswerRefusal::AgentsOff
            | AnswerRefusal::PersonEdits
            | AnswerRefusal::TokenNeeded => {
                write!(f, "a person answers with `{command}`")?;
            }
        }
        if let Some(studio) = studio {
            write!(f, " or in the studio at {studio}")?;
        }
        Ok(())
    }
}

impl EngineInner {
    /// Rejects an answer that its respondent may not give.
    pub(super) fn authorize(
        &self,
        run: &Run,
        (seq, pause): (Seq, &Pause),
        answer: &Answer,
        by: &Respondent,
    ) -> Result<(), Fault> {
        let reason = self.pause_reason(run, pause, answer);
        let agents = self.options.approvals.agents;
        let edits = matches!(answer, Answer::ProceedWith { .. });
        let ruled = match edits && by.channel.is_relayed() {
            true => Err(AnswerRefusal::PersonEdits),
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

    /// Why a run pauses. Repeating a call that needs approval by the operator's policy is again a
    /// question of the policy: the approval was for one call.
    fn pause_reason(&self, run: &Run, pause: &Pause, answer: &Answer) -> PauseReason {
        if let (Pause::InDoubt { node, .. }, Answer::Retry) = (pause, answer)
            && let Action::Call { tool, .. } = &run.graph.node(*node).action
            && matches!(self.options.policy.verdict(tool), PolicyVerdict::Ask(_))
        {
            return PauseReason::Policy;
        }
        PauseReason::of(&run.graph, pause)
    }

    fn person_needed(
        &self,
        asked: Checkpoint,
        pause: &Pause,
        reason: PauseReason,
        refusal: AnswerRefusal,
    ) -> PersonNeeded {
        PersonNeeded {
            command: self.answer_command(&asked, pause),
            studio: self.studio_url.get().cloned(),
            checkpoint: asked,
            reason,
            refusal,
        }
    }

    /// The command with which a person answers a pause.
    pub(super) fn answer_command(&self, asked: &Checkpoint, pause: &Pause) -> String {
        let options = match self.options.approvals.command_options.as_str() {
            "" => String::new(),
            options => format!("{options} "),
        };
        match pause {
            Pause::InDoubt { .. } => {
                format!("tramline {options}runs answer {asked} --retry")
            }
            Pause::Form { .. } => {
                format!("tramline {options}runs answer {asked} --set FIELD=VALUE")
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
    /// Sets the URL of the studio, which is shown where a person has to answer. The first call
    /// counts.
    pub fn set_studio_url(&self, url: impl Into<String>) {
        let _ = self.0.studio_url.set(url.into());
    }

    /// Requires a terminal for answers on the command line, from now on and in every process: the
    /// rule is stored with the runs, because a command finds them without the server's
    /// configuration.
    pub async fn require_terminal(&self) -> Result<(), Fault> {
        if self.needs_terminal().await? {
            return Ok(());
        }
        self.store()
            .put(APPROVAL_RULES_KIND, TERMINAL_RULE_KEY, b"required".to_vec())
            .await?;
        self.audit_terminal_rule("required", None).await
    }

    /// Lifts that rule. A person must have confirmed this at a terminal, as for an answer:
    /// otherwise whoever starts processes could lift it. Returns whether the rule still holds.
    pub async fn lift_terminal_rule(&self, confirmed: bool) -> Result<bool, Fault> {
        if !self.needs_terminal().await? {
            return Ok(false);
        }
        if !confirmed {
            let says =
                "a configuration with `approvals.terminal: false` was not started at a terminal";
            self.audit_terminal_rule("refused", Some(says)).await?;
            return Ok(true);
        }
        // First, so that the rule is never lifted without a note.
        self.audit_terminal_rule("lifted", None).await?;
        self.store()
            .delete(APPROVAL_RULES_KIND, &[TERMINAL_RULE_KEY.to_owned()])
            .await?;
        Ok(false)
    }

    async fn audit_terminal_rule(&self, result: &str, error: Option<&str>) -> Result<(), Fault> {
        let mut note = AuditNote::new("approvals.terminal", self.0.options.process_name.as_str());
        note.channel = Some(self.options().audit_channel.to_owned());
        note.result = result.to_owned();
        note.error = error.map(str::to_owned);
        // Whoever was refused may be an agent.
        note.person = error.is_none();
        self.write_audit_note(note).await
    }

    /// Whether answers on the command line need a terminal.
    pub async fn needs_terminal(&self) -> Result<bool, Fault> {
        Ok(self
            .store()
            .get(APPROVAL_RULES_KIND, TERMINAL_RULE_KEY)
            .await?
            .is_some())
    }

    /// Rejects repeating the calls of another run without confirmation, if the respondent could not
    /// answer the omitted question.
    pub fn may_repeat_effects(&self, by: &Respondent) -> Result<(), Fault> {
        let agents = self.0.options.approvals.agents;
        let ruled = by.may_answer(PauseReason::Effect, agents);
        ruled.map_err(|refusal| {
            let says = refusal.message();
            Fault::Rejected(format!(
                "calls are not repeated without confirmation here: {says}"
            ))
        })
    }

    /// Whether a respondent may decide that a call in doubt is repeated.
    pub(super) fn may_repeat_in_doubt(&self, by: &Respondent) -> bool {
        let agents = self.0.options.approvals.agents;
        may_answer(PauseReason::InDoubt, by.channel, agents, by.shows_forms).is_ok()
    }

    /// Checks in advance why this respondent may not answer a pause; `None` if it may.
    pub fn answer_denial(
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
