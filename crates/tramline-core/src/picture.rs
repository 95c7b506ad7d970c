//! Pictures of workflows: what is drawn is worked out once, then written as Mermaid, DOT or SVG.
//!
//! Pure, so that the command line and a web page draw the same.

use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, Join, Node, Template, Time, Workflow};
use std::collections::HashMap;
use tramline_expr::Value;

mod dot;
mod drawing;
mod layout;
mod mermaid;
mod rules;
mod svg;

pub use dot::dot;
pub use drawing::{Drawing, Drawn, Line};
pub use layout::{Layout, Placed, Point, Routed, TooLarge, layout};
pub use mermaid::mermaid;
pub use svg::svg;

/// Longer text is cut in a picture, in characters.
const TEXT_CHARS_MAX: usize = 40;

/// What is drawn of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The workflow's name.
    pub name: String,
    /// Its nodes, in its own order.
    pub shapes: Vec<Shape>,
    /// Its edges; those between the same two nodes that say the same are one.
    pub links: Vec<Link>,
}

/// A node as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The node's id.
    pub id: String,
    /// Which form it has.
    pub kind: Kind,
    /// What it does, in a few words.
    pub detail: Option<String>,
    /// What is special about it: approval, retries, joins.
    pub notes: Vec<String>,
}

/// The kinds of node, each of which has its own form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Where a run begins.
    Entry,
    /// A call.
    Call,
    /// A computation.
    Compute,
    /// A choice.
    Choose,
    /// A wait.
    Wait,
    /// Where a run ends.
    Exit,
}

impl Kind {
    /// Its name, as styles use it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Call => "call",
            Self::Compute => "compute",
            Self::Choose => "choose",
            Self::Wait => "wait",
            Self::Exit => "exit",
        }
    }
}

/// An edge as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The place of the node it leaves.
    pub from: usize,
    /// The place of the node it enters.
    pub to: usize,
    /// What stands on it.
    pub label: Option<String>,
    /// Whether it is the way of a failure.
    pub failure: bool,
}

impl Picture {
    /// What is drawn of a workflow. Edges that lead nowhere are left out.
    pub fn of(workflow: &Workflow) -> Self {
        let shapes = workflow.nodes.iter().map(shape).collect();
        let places: HashMap<&str, usize> = workflow
            .nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.id.as_str(), at))
            .collect();
        let mut links: Vec<Link> = Vec::new();
        let mut known: HashMap<(usize, usize, Option<String>), ()> = HashMap::new();
        for edge in &workflow.edges {
            let (Some(&from), Some(&to)) =
                (places.get(edge.from.as_str()), places.get(edge.to.as_str()))
            else {
                continue;
            };
            let label = label(&workflow.nodes[from], &edge.label);
            if known.insert((from, to, label.clone()), ()).is_none() {
                let failure = edge.label == ERROR_LABEL;
                links.push(Link {
                    from,
                    to,
                    label,
                    failure,
                });
            }
        }
        Self {
            name: workflow.name.to_string(),
            shapes,
            links,
        }
    }
}

fn shape(node: &Node) -> Shape {
    let (kind, detail) = match &node.action {
        Action::Entry => (Kind::Entry, None),
        Action::Exit => (Kind::Exit, None),
        Action::Call { tool, .. } => (Kind::Call, Some(brief(&tool.to_string()))),
        Action::Compute { expression } => (Kind::Compute, Some(brief(expression))),
        Action::Choose { .. } => (Kind::Choose, None),
        Action::Wait(time) => (Kind::Wait, Some(brief(&lasting(time)))),
    };
    let mut notes = Vec::new();
    match node.join {
        Join::All => notes.push("waits for all".to_owned()),
        Join::Any => {}
    }
    if node.each.is_some() {
        notes.push("for each item".to_owned());
    }
    if node.approval.is_some() {
        notes.push("asks first".to_owned());
    }
    if let Some(retry) = node.retry.filter(|retry| retry.max > 0) {
        notes.push(format!("retries {}", retry.max));
    }
    Shape {
        id: node.id.to_string(),
        kind,
        detail,
        notes,
    }
}

/// How long a wait is.
fn lasting(time: &Time) -> String {
    let (word, template) = match time {
        Time::For(template) => ("for", template),
        Time::Until(template) => ("until", template),
    };
    match template {
        Template::Literal(Value::String(text)) => format!("{word} {text}"),
        Template::Literal(value @ Value::Number(_)) if word == "for" => format!("for {value} ms"),
        Template::Literal(value) => format!("{word} {value}"),
        Template::Expr(source) => format!("{word} {source}"),
        Template::Object(_) | Template::Array(_) => word.to_owned(),
    }
}

/// What stands on an edge: nothing where it is the only way, the rule where it is chosen.
fn label(node: &Node, label: &str) -> Option<String> {
    if let Action::Choose { rules, otherwise } = &node.action {
        let mut said: Vec<String> = rules
            .iter()
            .filter(|choice| choice.label == label)
            .map(|choice| rules::said(&choice.rule))
            .collect();
        if otherwise.as_deref() == Some(label) {
            said.push("otherwise".to_owned());
        }
        if !said.is_empty() {
            return Some(brief(&said.join(" or ")));
        }
    }
    (label != DEFAULT_LABEL).then(|| brief(label))
}

/// Text as a picture shows it: on one line, and cut.
fn brief(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // What comes later would be cut: a long text must not be walked to its end.
        if line.len() > TEXT_CHARS_MAX * 4 {
            break;
        }
    }
    cut(&line, TEXT_CHARS_MAX)
}

/// Text cut after so many characters.
fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests;
