//! A workflow in the making, for formats that hold one workflow whose nodes stand in a list.
//!
//! It remembers where everything stands, so that what the graph's checks find gets its place.

use super::document::At;
use super::yaml_graph::calls::{self, CallSite};
use super::yaml_graph::{Document, ServerInfo, fields};
use super::{Elsewhere, Flaws};
use crate::flaw::{Code, Flaw};
use crate::graph::{Graph, Part, Problem, Spot};
use crate::workflow::{Action, Edge, Node, Workflow};
use std::sync::Arc;
use tramline_expr::{Str, Value};

/// Where the parts of a node stand.
#[derive(Clone, Copy)]
pub(super) struct Sources<'t> {
    /// Its id, or itself where it has none.
    pub(super) id: At<'t>,
    /// The name of what it calls.
    pub(super) tool: Option<At<'t>>,
    /// The arguments of its call.
    pub(super) arguments: Option<At<'t>>,
    /// The items that its call is spread over.
    pub(super) items: Option<At<'t>>,
    /// Its expression.
    pub(super) expression: Option<At<'t>>,
    /// How many bytes were put before the expression that the document has.
    pub(super) before: usize,
    /// The list of its rules.
    pub(super) rules: Option<At<'t>>,
}

impl<'t> Sources<'t> {
    /// A node of which only the place is known.
    pub(super) fn at(id: At<'t>) -> Self {
        Self {
            id,
            tool: None,
            arguments: None,
            items: None,
            expression: None,
            before: 0,
            rules: None,
        }
    }
}

/// A workflow with the places of its parts.
pub(super) struct Sketch<'t> {
    pub(super) workflow: Workflow,
    pub(super) whole: At<'t>,
    pub(super) sources: Vec<Sources<'t>>,
    /// Where each edge is written.
    pub(super) edges: Vec<At<'t>>,
    /// Whether something could not be read, so that the graph's shape tells nothing.
    pub(super) broken: bool,
}

impl<'t> Sketch<'t> {
    pub(super) fn new(workflow: Workflow, whole: At<'t>) -> Self {
        Self {
            workflow,
            whole,
            sources: Vec::new(),
            edges: Vec::new(),
            broken: false,
        }
    }

    /// Adds a node.
    pub(super) fn add(&mut self, node: Node, sources: Sources<'t>) {
        self.workflow.nodes.push(node);
        self.sources.push(sources);
    }

    /// Adds an edge.
    pub(super) fn lead(&mut self, edge: Edge, at: At<'t>) {
        self.workflow.edges.push(edge);
        self.edges.push(at);
    }

    fn calls(&self) -> Vec<CallSite> {
        let mut calls = Vec::new();
        for (node, sources) in self.workflow.nodes.iter().zip(&self.sources) {
            if let (Action::Call { tool, .. }, Some(at)) = (&node.action, sources.tool) {
                let place = at.place();
                calls.push(CallSite {
                    name: tool.clone(),
                    server: place.clone(),
                    tool: place,
                });
            }
        }
        calls
    }

    /// Builds the graph; with all that is wrong, in one go.
    pub(super) fn finish(
        mut self,
        servers: Value,
        elsewhere: Elsewhere<'_>,
        mut flaws: Flaws,
    ) -> Result<Document, Vec<Flaw>> {
        let calls = self.calls();
        calls::check_servers(&calls, &servers, elsewhere, &mut flaws);
        let workflow = Arc::new(std::mem::take(&mut self.workflow));
        let (graph, problems) = match Graph::build(Arc::clone(&workflow)) {
            Ok((graph, problems)) => (Some(graph), problems),
            Err(problems) => (None, problems),
        };
        for problem in problems {
            if !(self.broken && (problem.code.may_follow() || problem.code == Code::JoinOnCycle)) {
                flaws.push(self.flaw(problem));
            }
        }
        match graph {
            Some(graph) if !flaws.fatal() => Ok(Document {
                server: info(&workflow),
                servers,
                workflows: vec![Arc::new(graph)],
                warnings: flaws.sorted(),
                calls,
                companions: Vec::new(),
            }),
            Some(_) | None => Err(flaws.sorted()),
        }
    }

    fn flaw(&self, problem: Problem) -> Flaw {
        let place = match &problem.spot {
            Spot::Workflow => self.whole.place(),
            Spot::Node(node) => self.sources[node.at()].id.place(),
            Spot::Edge(edge) => self.edges[*edge].place(),
            Spot::Inside {
                node,
                part,
                pointer,
                span,
            } => {
                let sources = &self.sources[node.at()];
                let at = self.inside(sources, *part, pointer);
                let before = match part {
                    Part::Expression => sources.before,
                    Part::Arguments
                    | Part::Items
                    | Part::Rule(_)
                    | Part::Schema(_)
                    | Part::Time => 0,
                };
                let own = |at: usize| at.saturating_sub(before);
                match span {
                    Some(span) => at.inside(&(own(span.start)..own(span.end))),
                    None => at.place(),
                }
            }
        };
        Flaw {
            code: problem.code,
            place,
            message: problem.message,
            suggestion: problem.suggestion.or_else(|| advice(problem.code)),
        }
    }

    fn inside(&self, sources: &Sources<'t>, part: Part, pointer: &str) -> At<'t> {
        match part {
            Part::Arguments => {
                let at = sources.arguments.unwrap_or(sources.id).find(pointer);
                at.get("expr").unwrap_or(at)
            }
            Part::Items => sources.items.unwrap_or(sources.id).find(pointer),
            Part::Expression => sources.expression.unwrap_or(sources.id),
            Part::Rule(rule) => {
                let list = sources.rules.unwrap_or(sources.id);
                let rule = list.items().nth(rule).and_then(|rule| rule.get("rule"));
                rule.map_or(sources.id, |rule| rule.find(pointer))
            }
            Part::Schema(_) | Part::Time => sources.id,
        }
    }
}

/// What to do about a flaw whose finder has nothing to say to that.
fn advice(code: Code) -> Option<String> {
    const ADVICE: [(Code, &str); 2] = [
        (
            Code::BadExpression,
            "see docs.jsonata.org for what an expression may say",
        ),
        (Code::BadRule, "see jsonlogic.com for what a rule may say"),
    ];
    let advice = ADVICE.iter().find(|(of, _)| *of == code);
    advice.map(|(_, advice)| (*advice).to_owned())
}

/// A document of one workflow speaks for itself by that workflow's name.
fn info(workflow: &Workflow) -> ServerInfo {
    ServerInfo {
        name: workflow.name.clone(),
        version: "1.0.0".into(),
        title: workflow
            .title
            .clone()
            .unwrap_or_else(|| workflow.name.clone()),
        instructions: workflow.description.clone(),
    }
}

/// The name of a workflow: its own, or one made of the hint that fits the rules of tool names.
pub(super) fn name(at: At<'_>, hint: &str, flaws: &mut Flaws) -> Str {
    /// The longest name of a tool, in characters.
    const NAME_CHARS_MAX: usize = 128;
    let own = fields::text(at, "name", flaws).map(|(name, _)| name.as_str());
    let given = own.filter(|name| !name.trim().is_empty()).unwrap_or(hint);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
            c
        } else {
            '_'
        }
    };
    let name: String = given.chars().take(NAME_CHARS_MAX).map(plain).collect();
    if name.is_empty() {
        "workflow".into()
    } else {
        name.into()
    }
}

/// A text field as the workflow keeps it.
pub(super) fn text(at: At<'_>, key: &str, flaws: &mut Flaws) -> Option<Str> {
    fields::text(at, key, flaws).map(|(text, _)| text.clone())
}
