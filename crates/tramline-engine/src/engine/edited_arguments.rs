//! Arguments that a person edits before approving a call, checked like those of the document.

use super::{Engine, PauseAnswer};
use crate::audit::AuditDecision;
use crate::fault::Fault;
use crate::long_work::long_work;
use crate::policy::PolicyVerdict;
use crate::settings::{SecretStrength, Settings};
use tramline_expr::{Map, Value};
use tramline_sop::{CallRequest, SopSession};
use tramline_views::pause_view;
use tramline_workflow::ids::{Checkpoint, RunId, ToolName};
use tramline_workflow::journal::{Answer, Pause, ProposedCall};
use tramline_workflow::run::Run;
use tramline_workflow::schema::Checker;
use tramline_workflow::workflow::WORKFLOW_SERVER;

impl Engine {
    /// Checks the edited arguments in some answers. Unchanged arguments are a plain approval.
    pub(super) async fn check_edited_answers(
        &self,
        id: &RunId,
        mut said: Vec<PauseAnswer>,
    ) -> Result<Vec<PauseAnswer>, Fault> {
        for one in &mut said {
            let Answer::ProceedWith { arguments } = &one.answer else {
                continue;
            };
            // A respondent that may not edit is rejected where the answer is recorded.
            if one.by.channel.is_relayed() {
                continue;
            }
            let run = self.load(id).await?.run;
            // So is an answer to a pause that is no longer pending.
            let Some(pause) = run.pauses.get(&one.pause) else {
                continue;
            };
            match self.check_edit(&run, pause, arguments).await {
                Ok(answer) => one.answer = answer,
                Err(fault) => {
                    self.audit_rejected_answer(&run, one, &fault).await?;
                    return Err(fault);
                }
            }
        }
        Ok(said)
    }

    /// Records an answer that cannot be used in the audit.
    pub(super) async fn audit_rejected_answer(
        &self,
        run: &Run,
        said: &PauseAnswer,
        fault: &Fault,
    ) -> Result<(), Fault> {
        let asked = Checkpoint {
            run: run.id.clone(),
            seq: said.pause,
        };
        let Some(decision) = AuditDecision::about_pause(run, &asked, &said.answer) else {
            return Ok(());
        };
        let by = (said.by.name.as_str(), said.by.channel);
        let decision = decision.with_result(by, said.why.as_deref(), Some(fault));
        self.audit_decision(decision).await
    }

    /// The answer for edited arguments, or why they cannot be used.
    async fn check_edit(
        &self,
        run: &Run,
        pause: &Pause,
        arguments: &Value,
    ) -> Result<Answer, Fault> {
        let Some(call) = pause.call().filter(|_| pause_view::is_editable(pause)) else {
            return Err(Fault::Rejected(not_editable(pause)));
        };
        let before = match &call.arguments {
            Value::Null => Map::new().into(),
            other => other.clone(),
        };
        if *arguments == before {
            return Ok(Answer::Proceed);
        }
        if arguments.as_object().is_none() {
            let message = "edited arguments must be a JSON object with all arguments";
            return Err(Fault::Rejected(message.to_owned()));
        }
        self.check_edited_secrets(&before, arguments)?;
        if let PolicyVerdict::Deny(pattern) = self.0.options.policy.verdict(&call.tool) {
            let tool = &call.tool;
            let message =
                format!("policy denies {tool} (`{pattern}`); ask the operator to change it");
            return Err(Fault::Rejected(message));
        }
        self.check_edit_schema(&call.tool, &before, arguments)
            .await?;
        self.check_edit_procedure(run, call, arguments).await?;
        Ok(Answer::ProceedWith {
            arguments: arguments.clone(),
        })
    }

    /// Rejects arguments that change a field with a secret, or add one.
    fn check_edited_secrets(&self, before: &Value, arguments: &Value) -> Result<(), Fault> {
        let fixed = pause_view::fixed_fields(before);
        let changed = fixed.iter().find(|place| {
            pause_view::value_at(before, place) != pause_view::value_at(arguments, place)
        });
        if let Some(place) = changed {
            return Err(Fault::Rejected(format!(
                "`{place}` contains a secret and cannot be edited; leave it as shown"
            )));
        }
        let brought = pause_view::fixed_fields(arguments);
        if let Some(place) = brought.iter().find(|place| !fixed.contains(place)) {
            return Err(Fault::Rejected(format!(
                "`{place}` refers to a secret, which edited arguments cannot do; remove it"
            )));
        }
        let held = |settings: &Settings| {
            settings.find_secret(SecretStrength::Long, || arguments.to_json())
        };
        match self.settings().and_then(held) {
            None => Ok(()),
            Some(key) => Err(Fault::Rejected(format!(
                "the edited arguments contain the value of a secret (`{key}`), and they are stored; \
                 leave it out"
            ))),
        }
    }

    async fn check_edit_schema(
        &self,
        tool: &ToolName,
        before: &Value,
        arguments: &Value,
    ) -> Result<(), Fault> {
        if tool.server == WORKFLOW_SERVER && self.0.runs_workflows() {
            let Some(found) = self.0.workflows.find(&tool.tool) else {
                let message = format!("there is no longer a workflow `{}`", tool.tool);
                return Err(Fault::Rejected(message));
            };
            let checked = found.graph.check_input(arguments, long_work);
            return checked
                .map_err(|flaws| Fault::Rejected(schema_mismatch(tool, &flaws.join("; "))));
        }
        let found = self.0.tools.find(tool).await.map_err(|failure| {
            Fault::Rejected(format!(
                "cannot check the edited arguments: {tool} cannot be reached: {failure}"
            ))
        })?;
        let checker = Checker::new(&found.input_schema)
            .map_err(|bad| Fault::Rejected(format!("the schema of {tool} is invalid: {bad}")))?;
        let Err(faults) = checker.check_with(arguments, long_work) else {
            return Ok(());
        };
        // A placeholder for a secret need not match the schema.
        let fixed = pause_view::fixed_fields(before);
        let faults: Vec<String> = faults
            .into_iter()
            .filter(|(place, _)| !fixed.contains(place))
            .map(|(place, message)| match place.as_str() {
                "" => message,
                place => format!("{place}: {message}"),
            })
            .collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Fault::Rejected(schema_mismatch(tool, &faults.join("; ")))),
        }
    }

    /// Rejects arguments that the procedure does not allow, if the call belongs to an SOP session.
    async fn check_edit_procedure(
        &self,
        run: &Run,
        call: &ProposedCall,
        arguments: &Value,
    ) -> Result<(), Fault> {
        let Some(parent) = &run.started.parent else {
            return Ok(());
        };
        if !self.run_header(&parent.run).await?.is_sop_session {
            return Ok(());
        }
        let decide = |walk: &SopSession| {
            let open = walk.open_calls.get(&parent.step);
            let pass = CallRequest {
                tool: call.tool.clone(),
                arguments: arguments.clone(),
                written: None,
                repeats: None,
                confirmed: open.and_then(|open| open.confirmed.clone()),
                approval_run: Some(run.id.clone()),
                requires_approval: true,
                bare_name_differs: open.is_some_and(|open| open.is_other),
                step: None,
                upstream: None,
            };
            tramline_sop::check_call(&walk.without_call(parent.step), pass).refusal
        };
        match self.read_sop_session(&parent.run, decide).await? {
            None => Ok(()),
            Some(refusal) => Err(Fault::Rejected(format!(
                "the procedure rejects the edited arguments: {}",
                refusal.message()
            ))),
        }
    }
}

fn schema_mismatch(tool: &ToolName, faults: &str) -> String {
    format!("the edited arguments do not fit {tool}: {faults}")
}

/// Why the arguments of a pause's call cannot be edited.
fn not_editable(pause: &Pause) -> String {
    let why = match pause {
        Pause::Approval { call, .. } | Pause::Effect { call, .. } => match call {
            Some(_) => "it is a batch of calls, one for each item; approve or reject all of them",
            None => "it has no proposed call, or was written by an earlier version",
        },
        Pause::InDoubt { .. } => {
            "the call may have been made already; a retry repeats it unchanged"
        }
        Pause::Layer { .. }
        | Pause::Break { .. }
        | Pause::Child { .. }
        | Pause::Form { .. }
        | Pause::Budget { .. } => "the pause is not about a call",
    };
    format!("arguments cannot be edited here: {why}")
}
