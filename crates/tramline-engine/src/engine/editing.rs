//! Arguments that a person changes before they agree to a call: checked like those of the document.

use super::{Engine, Said};
use crate::audit::Decision;
use crate::fault::Fault;
use crate::long_work::long_work;
use crate::policy::Verdict;
use crate::settings::{SecretStrength, Settings};
use tramline_core::ids::{Checkpoint, RunId, ToolName};
use tramline_core::journal::{Answer, Pause, ProposedCall};
use tramline_core::navigate::{self, Pass, Walk};
use tramline_core::question;
use tramline_core::run::Run;
use tramline_core::schema::Checker;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Map, Value};

impl Engine {
    /// Checks the edited arguments among some answers. Arguments that are the same as before are a
    /// plain yes.
    pub(super) async fn checked_said(
        &self,
        id: &RunId,
        mut said: Vec<Said>,
    ) -> Result<Vec<Said>, Fault> {
        for one in &mut said {
            let Answer::ProceedWith { arguments } = &one.answer else {
                continue;
            };
            // Who may not edit at all is refused where answers are recorded.
            if one.by.channel.is_relayed() {
                continue;
            }
            let run = self.load(id).await?.run;
            // So is an answer to a question that is not there any more.
            let Some(pause) = run.pauses.get(&one.pause) else {
                continue;
            };
            match self.edit(&run, pause, arguments).await {
                Ok(answer) => one.answer = answer,
                Err(fault) => {
                    self.refused_edit(&run, one, &fault).await?;
                    return Err(fault);
                }
            }
        }
        Ok(said)
    }

    /// Puts a refused edit into the audit.
    async fn refused_edit(&self, run: &Run, said: &Said, fault: &Fault) -> Result<(), Fault> {
        let asked = Checkpoint {
            run: run.id.clone(),
            seq: said.pause,
        };
        let Some(decision) = Decision::about(run, &asked, &said.answer) else {
            return Ok(());
        };
        let by = (said.by.name.as_str(), said.by.channel);
        let decision = decision.said(by, said.why.as_deref(), Some(fault));
        self.decided(decision).await
    }

    /// The answer that edited arguments are, or why they cannot be used.
    async fn edit(&self, run: &Run, pause: &Pause, arguments: &Value) -> Result<Answer, Fault> {
        let Some(call) = pause.call().filter(|_| question::is_editable(pause)) else {
            return Err(Fault::Refused(not_editable(pause)));
        };
        let before = match &call.arguments {
            Value::Null => Map::new().into(),
            other => other.clone(),
        };
        if *arguments == before {
            return Ok(Answer::Proceed);
        }
        if arguments.as_object().is_none() {
            let message = "edited arguments must be a JSON object with all of the arguments";
            return Err(Fault::Refused(message.to_owned()));
        }
        self.keeps_secrets(&before, arguments)?;
        if let Verdict::Deny(pattern) = self.0.options.policy.verdict(&call.tool) {
            let tool = &call.tool;
            let message = format!("policy denies {tool} (`{pattern}`); the operator sets it");
            return Err(Fault::Refused(message));
        }
        self.fits_schema(&call.tool, &before, arguments).await?;
        self.fits_procedure(run, call, arguments).await?;
        Ok(Answer::ProceedWith {
            arguments: arguments.clone(),
        })
    }

    /// Refuses arguments that change what holds a secret, or bring one.
    fn keeps_secrets(&self, before: &Value, arguments: &Value) -> Result<(), Fault> {
        let fixed = question::fixed_fields(before);
        let changed = fixed
            .iter()
            .find(|place| question::at(before, place) != question::at(arguments, place));
        if let Some(place) = changed {
            return Err(Fault::Refused(format!(
                "`{place}` holds a secret and cannot be edited; leave it as it is shown"
            )));
        }
        let brought = question::fixed_fields(arguments);
        if let Some(place) = brought.iter().find(|place| !fixed.contains(place)) {
            return Err(Fault::Refused(format!(
                "`{place}` names a secret: edited arguments cannot ask for one"
            )));
        }
        let held =
            |settings: &Settings| settings.held(SecretStrength::Sure, || arguments.to_json());
        match self.settings().and_then(held) {
            None => Ok(()),
            Some(key) => Err(Fault::Refused(format!(
                "the edited arguments hold the value of a secret (`{key}`), and they are written \
                 down; leave it out"
            ))),
        }
    }

    async fn fits_schema(
        &self,
        tool: &ToolName,
        before: &Value,
        arguments: &Value,
    ) -> Result<(), Fault> {
        if tool.server == WORKFLOW_SERVER && self.0.runs_workflows() {
            let Some(found) = self.0.workflows.find(&tool.tool) else {
                let message = format!("there is no workflow `{}` any more", tool.tool);
                return Err(Fault::Refused(message));
            };
            let checked = found.graph.check_input(arguments, long_work);
            return checked.map_err(|flaws| Fault::Refused(wrong(tool, &flaws.join("; "))));
        }
        let found = self.0.tools.find(tool).await.map_err(|failure| {
            Fault::Refused(format!(
                "the edited arguments cannot be checked, since {tool} cannot be reached: {failure}"
            ))
        })?;
        let checker = Checker::new(&found.input_schema).map_err(|bad| {
            Fault::Refused(format!("{tool} has a schema that cannot be used: {bad}"))
        })?;
        let Err(faults) = checker.check_by(arguments, long_work) else {
            return Ok(());
        };
        // What stands for a secret need not look like one.
        let fixed = question::fixed_fields(before);
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
            false => Err(Fault::Refused(wrong(tool, &faults.join("; ")))),
        }
    }

    /// Refuses what the procedure would not allow, where the call belongs to a conversation.
    async fn fits_procedure(
        &self,
        run: &Run,
        call: &ProposedCall,
        arguments: &Value,
    ) -> Result<(), Fault> {
        let Some(parent) = &run.started.parent else {
            return Ok(());
        };
        if !self.begun(&parent.run).await?.guided {
            return Ok(());
        }
        let decide = |walk: &Walk| {
            let open = walk.open.get(&parent.step);
            let pass = Pass {
                tool: call.tool.clone(),
                arguments: arguments.clone(),
                confirmed: open.and_then(|open| open.confirmed.clone()),
                asked_in: Some(run.id.clone()),
                asks: true,
                is_other: open.is_some_and(|open| open.is_other),
                step: None,
                upstream: None,
            };
            navigate::call(&walk.without_call(parent.step), pass).refusal
        };
        match self.walk(&parent.run, decide).await? {
            None => Ok(()),
            Some(refusal) => Err(Fault::Refused(format!(
                "the procedure refuses the edited arguments: {}",
                refusal.says()
            ))),
        }
    }
}

fn wrong(tool: &ToolName, faults: &str) -> String {
    format!("the edited arguments do not fit {tool}: {faults}")
}

/// Why the arguments of a question's call cannot be edited.
fn not_editable(pause: &Pause) -> String {
    let why = match pause {
        Pause::Approval { call, .. } | Pause::Effect { call, .. } => match call {
            Some(_) => "it is a batch of calls, one for each item; approve or reject all of them",
            None => "it proposes no call, or was asked by an earlier version",
        },
        Pause::InDoubt { .. } => {
            "the call may have been made already; a retry repeats it as it was"
        }
        Pause::Layer { .. } | Pause::Break { .. } | Pause::Child { .. } | Pause::Budget { .. } => {
            "the question is not about a call"
        }
    };
    format!("arguments cannot be edited here: {why}")
}
