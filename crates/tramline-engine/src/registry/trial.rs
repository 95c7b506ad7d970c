//! One thing tried by itself: a run of a graph with nothing else in it.

use super::find::Unknown;
use crate::engine::{Engine, Start};
use crate::long_work::long_work;
use crate::policy::Verdict;
use crate::seams::Tool;
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::graph::Graph;
use tramline_core::ids::ToolName;
use tramline_core::schema::{Checker, Faults};
use tramline_core::workflow::{Action, Edge, Limits, Node, Template, WORKFLOW_SERVER, Workflow};

/// What is to be tried.
#[derive(Debug)]
pub struct Trial {
    /// What it is.
    pub tool: Arc<Tool>,
    /// The run to be started.
    pub start: Start,
}

/// Why something is not tried. Nothing was called.
#[derive(Debug)]
pub enum Untried {
    /// There is no such thing.
    Unknown(Unknown),
    /// The operator, or the tool's own word, stands before it.
    Forbidden {
        /// What it is.
        tool: ToolName,
        /// What stands before it, in words.
        message: String,
        /// Whether a person could agree to it.
        approval: bool,
    },
    /// The parameters do not fit.
    Parameters {
        /// What it is.
        tool: Arc<Tool>,
        /// What is wrong with them.
        faults: Faults,
    },
}

impl Engine {
    /// Makes ready to try something that can be called, by any of its names. What asks a person
    /// first in a run is not tried: a trial is no run that somebody follows.
    pub async fn trial(&self, name: &str, parameters: Value) -> Result<Trial, Untried> {
        let tool = self.registry().find(name).await.map_err(Untried::Unknown)?;
        self.permit(&tool)?;
        let checker = Checker::new(&tool.input_schema).ok();
        let checked = checker.map_or(Ok(()), |checker| checker.check_by(&parameters, long_work));
        if let Err(faults) = checked {
            return Err(Untried::Parameters { tool, faults });
        }
        let graph = match tool.name.server == WORKFLOW_SERVER {
            true => self
                .workflows()
                .find(&tool.name.tool)
                .map(|found| found.graph),
            false => around(&tool.name),
        };
        let Some(graph) = graph else {
            let message = format!("{} is gone", tool.name);
            let near = Vec::new();
            return Err(Untried::Unknown(Unknown { message, near }));
        };
        let start = Start::new(graph, parameters);
        Ok(Trial { tool, start })
    }

    fn permit(&self, tool: &Tool) -> Result<(), Untried> {
        let name = &tool.name;
        let (message, approval) = match self.policy().verdict(name) {
            Verdict::Deny(pattern) => {
                let pattern = pattern.as_str();
                (
                    format!("{name} may not be called: the policy denies `{pattern}`"),
                    false,
                )
            }
            Verdict::Ask(pattern) => {
                let pattern = pattern.as_str();
                (
                    format!("{name} needs a person's approval: the policy asks before `{pattern}`"),
                    true,
                )
            }
            Verdict::Free if tool.hints.destructive == Some(true) => (
                format!("{name} says that it may destroy something: it is not tried"),
                true,
            ),
            Verdict::Free => return Ok(()),
        };
        Err(Untried::Forbidden {
            tool: name.clone(),
            message,
            approval,
        })
    }
}

/// A graph that calls one tool with the run's input.
fn around(tool: &ToolName) -> Option<Arc<Graph>> {
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
        limits: Limits::default(),
        cautious: true,
        ..Workflow::default()
    };
    let built = Graph::build(Arc::new(workflow)).ok()?;
    Some(Arc::new(built.0))
}
