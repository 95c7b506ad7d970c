//! Tries one tool: a run of a graph that contains only this call.

use super::find::UnknownName;
use crate::catalog::Catalog;
use std::sync::Arc;
use tramline_engine::long_work;
use tramline_engine::policy::{PolicyVerdict, ToolPolicy};
use tramline_engine::ports::{Tool, Workflows as _};
use tramline_expr::Value;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::schema::{Checker, SchemaErrors};
use tramline_workflow::workflow::{
    Action, Edge, Node, Template, WORKFLOW_SERVER, Workflow, WorkflowLimits,
};

/// A prepared trial.
#[derive(Debug)]
pub struct ToolTrial {
    /// The tool to try.
    pub tool: Arc<Tool>,
    /// The graph to run: the tool's only call, or the workflow.
    pub graph: Arc<Graph>,
    /// The input of the run, checked against the tool's schema.
    pub input: Value,
}

/// Why something cannot be tried. Nothing was called.
#[derive(Debug)]
pub enum TrialError {
    /// There is no such tool.
    Unknown(UnknownName),
    /// The policy or the tool's annotations forbid it.
    Forbidden {
        /// The tool's name.
        tool: ToolName,
        /// Why it is forbidden, as text.
        message: String,
        /// Whether a person's approval would allow it.
        approval: bool,
    },
    /// The parameters are invalid.
    Parameters {
        /// The tool.
        tool: Arc<Tool>,
        /// What is wrong with the parameters.
        faults: SchemaErrors,
    },
}

impl Catalog {
    /// Prepares a trial of a tool, under any of its names. Tools that need approval in a run cannot be tried, because a
    /// trial has nobody to ask.
    pub async fn prepare_trial(
        &self,
        name: &str,
        parameters: Value,
        policy: &ToolPolicy,
    ) -> Result<ToolTrial, TrialError> {
        let tool = self
            .registry()
            .find(name)
            .await
            .map_err(TrialError::Unknown)?;
        check_permitted(&tool, policy)?;
        let checker = Checker::new(&tool.input_schema).ok();
        let checked = checker.map_or(Ok(()), |checker| checker.check_with(&parameters, long_work));
        if let Err(faults) = checked {
            return Err(TrialError::Parameters { tool, faults });
        }
        let graph = match tool.name.server == WORKFLOW_SERVER {
            true => self
                .library()
                .find(&tool.name.tool)
                .map(|found| found.graph),
            false => single_call_graph(&tool.name),
        };
        let Some(graph) = graph else {
            let message = format!("{} no longer exists", tool.name);
            let near = Vec::new();
            return Err(TrialError::Unknown(UnknownName {
                message,
                suggestions: near,
            }));
        };
        Ok(ToolTrial {
            tool,
            graph,
            input: parameters,
        })
    }
}

fn check_permitted(tool: &Tool, policy: &ToolPolicy) -> Result<(), TrialError> {
    let name = &tool.name;
    let (message, approval) = match policy.verdict(name) {
        PolicyVerdict::Deny(pattern) => {
            let pattern = pattern.as_str();
            (
                format!("{name} may not be called: the policy denies `{pattern}`"),
                false,
            )
        }
        PolicyVerdict::Ask(pattern) => {
            let pattern = pattern.as_str();
            (
                format!("{name} needs approval: the policy asks before `{pattern}`"),
                true,
            )
        }
        PolicyVerdict::Allow if tool.hints.destructive == Some(true) => (
            format!("{name} is annotated as destructive and cannot be tried alone"),
            true,
        ),
        PolicyVerdict::Allow => return Ok(()),
    };
    Err(TrialError::Forbidden {
        tool: name.clone(),
        message,
        approval,
    })
}

/// A graph that calls one tool with the run's input.
fn single_call_graph(tool: &ToolName) -> Option<Arc<Graph>> {
    let call = Action::Call {
        tool: tool.clone(),
        arguments: Template::Expr("$.entry".into()),
    };
    let workflow = Workflow {
        name: tool.to_string().into(),
        nodes: vec![
            Node::new("entry", Action::Entry),
            Node::new("node", call),
            Node::new("exit", Action::Exit),
        ],
        edges: vec![Edge::new("entry", "node"), Edge::new("node", "exit")],
        limits: WorkflowLimits::default(),
        cautious: true,
        ..Workflow::default()
    };
    let built = Graph::build(Arc::new(workflow)).ok()?;
    Some(Arc::new(built.0))
}
