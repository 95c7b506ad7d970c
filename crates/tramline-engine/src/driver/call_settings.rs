//! The settings that a call uses: filled in at one place, and checked against what was approved.

use super::{Completion, Driver};
use crate::fault::Fault;
use crate::policy::PolicyVerdict;
use crate::settings::{FilledArguments, Settings};
use std::sync::Arc;
use tramline_expr::Value;
use tramline_workflow::authority::ApprovalSource;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::{Pause, ProposedCall, SettingVersions};
use tramline_workflow::run::Token;
use tramline_workflow::setting_references;
use tramline_workflow::workflow::{Action, Template};

/// The settings that the call of a node refers to.
pub(super) struct CallSettings {
    settings: Settings,
    graph: Arc<Graph>,
    node: NodeIx,
}

impl CallSettings {
    fn template(&self) -> Option<&Template> {
        let Action::Call { arguments, .. } = &self.graph.node(self.node).action else {
            return None;
        };
        Some(arguments)
    }

    /// The final arguments of a call. If it was approved, its settings must be those that were
    /// approved.
    pub(super) async fn fill_in(
        &self,
        arguments: &Value,
        approved: Option<&SettingVersions>,
    ) -> Result<FilledArguments, Failure> {
        let Some(template) = self.template() else {
            return Ok(FilledArguments::plain(arguments.clone()));
        };
        let filled = self.settings.fill_in(template, arguments).await?;
        if let Some(key) = approved.and_then(|it| self.settings.changed_since(it)) {
            let message = format!(
                "the setting `{key}` has changed since the call was approved; start a new run"
            );
            let data = Value::object([("sent", false.into())]);
            return Err(Failure::new(FailureKind::Forbidden, message).with_data(data));
        }
        Ok(filled)
    }

    /// A proposed call with the values that a person can see, and the arguments it would send.
    pub(super) async fn resolve(&self, call: &mut ProposedCall) -> Result<Vec<Value>, Failure> {
        let Some(template) = self.template() else {
            return Ok(sent_arguments(call));
        };
        let mut sent = Vec::new();
        let keys = match &mut call.batch {
            None => {
                let filled = self.settings.fill_in(template, &call.arguments).await?;
                call.arguments = filled.written;
                sent.push(filled.sent);
                setting_references::open_keys(template, &call.arguments)
            }
            Some(batch) => {
                for arguments in &mut batch.arguments {
                    let filled = self.settings.fill_in(template, arguments).await?;
                    *arguments = filled.written;
                    sent.push(filled.sent);
                }
                // Not all calls of a batch are recorded.
                setting_references::keys_in(template)
            }
        };
        call.settings = self.settings.versions(&keys);
        Ok(sent)
    }

    /// A setting that is not as it was when the call was approved.
    fn changed_since_approval(&self, call: &ProposedCall) -> Option<String> {
        let template = self.template()?;
        let keys = match call.batch {
            None => setting_references::open_keys(template, &call.arguments),
            Some(_) => setting_references::keys_in(template),
        };
        // Journals of earlier versions do not record versions.
        let unknown = keys.iter().find(|key| !call.settings.contains_key(*key));
        let changed = unknown.or_else(|| self.settings.changed_since(&call.settings));
        changed.map(ToString::to_string)
    }
}

/// The arguments of a proposed call without settings.
pub(super) fn sent_arguments(call: &ProposedCall) -> Vec<Value> {
    match &call.batch {
        None => vec![call.arguments.clone()],
        Some(batch) => batch.arguments.clone(),
    }
}

impl Driver {
    /// The settings that a node's call refers to, if any. The call of an SOP session that a person
    /// is asked about is no template: it is sent as the agent made it.
    pub(super) fn settings_of(&self, node: NodeIx) -> Option<CallSettings> {
        let settings = self.inner.options.settings.as_ref()?;
        let agent = self.run.started.agent.as_ref();
        let Action::Call { arguments, tool } = &self.run.graph.node(node).action else {
            return None;
        };
        let is_template = !agent.is_some_and(|agent| agent.asks) && !self.is_workflow(tool);
        let used = is_template && setting_references::uses_settings(arguments);
        used.then(|| CallSettings {
            settings: settings.clone(),
            graph: Arc::clone(&self.run.graph),
            node,
        })
    }

    /// Asks again about an approved call if one of its settings has changed since. Returns whether
    /// the visit must wait.
    pub(super) fn awaits_new_approval(&mut self, token: &Token) -> Result<bool, Fault> {
        let node = token.node;
        let Some(call) = self.run.approved_call(token).cloned() else {
            return Ok(false);
        };
        let Some(settings) = self.settings_of(node) else {
            return Ok(false);
        };
        if !self.settings_read.remove(&node) {
            let read = settings.settings.clone();
            self.preparing.push(node);
            self.in_flight.push(Box::pin(async move {
                // If they cannot be read, the call fails with a message.
                let _ = read.refresh().await;
                Completion::SettingsRead(node)
            }));
            return Ok(true);
        }
        let Some(key) = settings.changed_since_approval(&call) else {
            return Ok(false);
        };
        let policy = self.inner.options.policy.verdict(&call.tool);
        let at = self.run.graph.node(node);
        let source = match (policy, &at.approval) {
            (PolicyVerdict::Ask(_), _) => ApprovalSource::Policy,
            (PolicyVerdict::Allow | PolicyVerdict::Deny(_), Some(_)) => {
                at.approval_source.unwrap_or(ApprovalSource::Document)
            }
            (PolicyVerdict::Allow | PolicyVerdict::Deny(_), None) => ApprovalSource::Destructive,
        };
        let pause = Pause::Approval {
            node,
            reason: format!(
                "the setting `{key}` has changed since {} was approved",
                call.tool
            )
            .into(),
            source: Some(source),
            call: None,
        };
        self.propose(pause, token)?;
        Ok(true)
    }
}
