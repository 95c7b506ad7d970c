//! The table of who may answer what, as it appears in docs/security.md.

use super::{AgentAnswers, AnswerChannel, PauseReason, may_answer};
use std::fmt::Write;

/// The table for one setting of `approvals.agents`, in Markdown.
pub fn markdown(agents: AgentAnswers) -> String {
    let mut text = String::from("| the run asks because of |");
    for channel in AnswerChannel::ALL {
        let _ = write!(text, " {} |", heading(channel));
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(AnswerChannel::ALL.len()));
    text.push('\n');
    for reason in PauseReason::ALL {
        let _ = write!(text, "| {} |", label(reason));
        for channel in AnswerChannel::ALL {
            let _ = write!(text, " {} |", cell(reason, channel, agents));
        }
        text.push('\n');
    }
    text
}

fn cell(reason: PauseReason, channel: AnswerChannel, agents: AgentAnswers) -> &'static str {
    let without_form = may_answer(reason, channel, agents, false).is_ok();
    // Only an MCP client can show a form.
    let with_form = match channel {
        AnswerChannel::Agent => may_answer(reason, channel, agents, true).is_ok(),
        AnswerChannel::Http
        | AnswerChannel::Approver
        | AnswerChannel::Form
        | AnswerChannel::CommandLine
        | AnswerChannel::Studio
        | AnswerChannel::Program => without_form,
    };
    match (without_form, with_form, channel.is_relayed()) {
        (false, _, _) => "no",
        (true, false, _) => "without forms",
        (true, true, true) => "relayed",
        (true, true, false) => "yes",
    }
}

fn heading(channel: AnswerChannel) -> &'static str {
    match channel {
        AnswerChannel::Agent => "agent's tools",
        AnswerChannel::Http => "HTTP, the run's own token",
        AnswerChannel::Approver => "approver token",
        AnswerChannel::Form => "client's form",
        AnswerChannel::CommandLine => "command line",
        AnswerChannel::Studio => "studio",
        AnswerChannel::Program => "Rust program",
    }
}

fn label(reason: PauseReason) -> &'static str {
    match reason {
        PauseReason::Policy => "the operator's policy (`policy.ask`)",
        PauseReason::Confirm => "a procedure's `confirm`",
        PauseReason::OperatorBudget => "the operator's budget",
        PauseReason::Destructive => "a destructive annotation",
        PauseReason::Document => "`approval` in a document",
        PauseReason::Form => "`ask` in a document",
        PauseReason::PersonForm => "`ask` with `answered-by: people`",
        PauseReason::CallerBudget => "the caller's own budget",
        PauseReason::InDoubt => "a call in doubt",
        PauseReason::Effect => "a fork that repeats a call",
        PauseReason::Layer => "a layer that is done",
        PauseReason::Breakpoint => "a breakpoint",
        PauseReason::Child => "a child run that waits",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::AnswerRefusal;

    /// Every cell of the default table: reason, agent without and with a form, HTTP. The other
    /// channels are people or the embedding program, and may answer everything.
    #[test]
    fn every_cell_of_the_default_table() {
        let person = Some(AnswerRefusal::PersonOnly);
        let form = Some(AnswerRefusal::UseForm);
        for (reason, agent, agent_with_form, http) in [
            (PauseReason::Policy, person, person, person),
            (PauseReason::Confirm, person, person, person),
            (PauseReason::OperatorBudget, person, person, person),
            (PauseReason::Destructive, None, form, None),
            (PauseReason::Document, None, form, None),
            (PauseReason::Form, None, form, None),
            (PauseReason::PersonForm, person, person, person),
            (PauseReason::CallerBudget, None, None, None),
            (PauseReason::InDoubt, None, None, None),
            (PauseReason::Effect, None, None, None),
            (PauseReason::Layer, None, None, None),
            (PauseReason::Breakpoint, None, None, None),
            (PauseReason::Child, None, None, None),
        ] {
            let rule = |channel, form| may_answer(reason, channel, AgentAnswers::Relay, form).err();
            assert_eq!(rule(AnswerChannel::Agent, false), agent, "{reason:?}");
            assert_eq!(
                rule(AnswerChannel::Agent, true),
                agent_with_form,
                "{reason:?}"
            );
            assert_eq!(rule(AnswerChannel::Http, false), http, "{reason:?}");
            for channel in AnswerChannel::ALL.into_iter().skip(2) {
                assert_eq!(rule(channel, false), None, "{reason:?} {channel:?}");
                assert_eq!(rule(channel, true), None, "{reason:?} {channel:?}");
            }
        }
    }

    #[test]
    fn every_cell_of_the_other_tables() {
        for reason in PauseReason::ALL {
            for channel in AnswerChannel::ALL {
                for form in [false, true] {
                    let all = may_answer(reason, channel, AgentAnswers::All, form);
                    assert_eq!(all, Ok(()), "{reason:?} {channel:?}");
                    let none = may_answer(reason, channel, AgentAnswers::None, form);
                    let expected = match (channel.is_relayed(), reason) {
                        (false, _) => Ok(()),
                        (
                            true,
                            PauseReason::Policy
                            | PauseReason::Confirm
                            | PauseReason::OperatorBudget
                            | PauseReason::PersonForm,
                        ) => Err(AnswerRefusal::PersonOnly),
                        (
                            true,
                            PauseReason::Destructive
                            | PauseReason::Document
                            | PauseReason::Form
                            | PauseReason::InDoubt
                            | PauseReason::Effect,
                        ) => Err(AnswerRefusal::AgentsOff),
                        (
                            true,
                            PauseReason::Layer
                            | PauseReason::Breakpoint
                            | PauseReason::Child
                            | PauseReason::CallerBudget,
                        ) => Ok(()),
                    };
                    assert_eq!(none, expected, "{reason:?} {channel:?}");
                }
            }
        }
    }

    #[test]
    fn the_documentation_has_the_same_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (_, section) = text.split_once("## Who may answer\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        for agents in AgentAnswers::ALL {
            let table = markdown(agents);
            assert!(
                section.contains(&table),
                "docs/security.md lacks this table for `approvals.agents: {}`:\n{table}",
                agents.as_str()
            );
        }
    }
}
