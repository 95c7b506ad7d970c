//! From what is wrong with a workflow to where that stands in the file.

use super::arguments;
use super::nodes::{Draft, Kind};
use super::tools::{self, Tool};
use crate::flaw::{Code, Flaw, Place};
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::graph::{Graph, Part, Problem, Spot};
use crate::workflow::Workflow;

/// Builds the graph of a tool and adds what is wrong with it. When something about the tool could
/// not be read, problems that only follow from that are left out.
pub(super) fn build(
    workflow: Workflow,
    tool: &Tool<'_>,
    broken: bool,
    flaws: &mut Flaws,
) -> Option<Graph> {
    let edges: Vec<At<'_>> = tools::edges(tool).map(|(_, at)| *at).collect();
    let (graph, problems) = match Graph::build(workflow) {
        Ok((graph, problems)) => (Some(graph), problems),
        Err(problems) => (None, problems),
    };
    let told = |code| problems.iter().any(|problem| problem.code == code);
    if !broken && !tool.nodes.is_empty() {
        ends(tool, told(Code::NoEntry), told(Code::NoExit), flaws);
    }
    for problem in problems {
        if !(broken && problem.code.may_follow()) {
            flaws.push(flaw(problem, tool, &edges));
        }
    }
    graph
}

/// A graph of tasks needs no ends, so the graph does not ask for them; a tool does.
fn ends(tool: &Tool<'_>, no_entry: bool, no_exit: bool, flaws: &mut Flaws) {
    let name = &tool.name;
    if !no_entry && !tools::has(&tool.nodes, Kind::Entry) {
        flaws.add(
            Code::NoEntry,
            tool.at.place(),
            format!("`{name}` has no entry"),
            "add a node with `type: entry` that leads to the first node",
        );
    }
    if !no_exit && !tools::has(&tool.nodes, Kind::Exit) {
        flaws.add(
            Code::NoExit,
            tool.at.place(),
            format!("`{name}` has no exit"),
            "add a node with `type: exit`",
        );
    }
}

fn flaw(problem: Problem, tool: &Tool<'_>, edges: &[At<'_>]) -> Flaw {
    let (place, hint) = match &problem.spot {
        Spot::Workflow => (tool.at.place(), None),
        Spot::Node(node) => (tool.nodes[node.at()].id.place(), None),
        Spot::Edge(edge) => (edges[*edge].place(), None),
        Spot::Inside {
            node,
            part,
            pointer,
            span,
        } => inside(&tool.nodes[node.at()], *part, pointer, span.as_ref()),
    };
    Flaw {
        code: problem.code,
        place,
        message: problem.message,
        suggestion: problem.suggestion.or(hint),
    }
}

/// The place of a source text inside a node, and what else could be meant there.
fn inside(
    draft: &Draft<'_>,
    part: Part,
    pointer: &str,
    span: Option<&std::ops::Range<usize>>,
) -> (Place, Option<String>) {
    let mut hint = match part {
        Part::Rule(_) => Some("see jsonlogic.com for what a rule may say".to_owned()),
        Part::Expression | Part::Arguments | Part::Items | Part::Time => {
            Some("see docs.jsonata.org for what an expression may say".to_owned())
        }
        Part::Schema(_) => None,
    };
    let at = match part {
        Part::Expression => draft.sources.expression.unwrap_or(draft.id),
        Part::Rule(rule) => {
            let rule = draft.sources.rules.get(rule).copied();
            rule.unwrap_or(draft.id).find(pointer)
        }
        Part::Arguments => {
            let whole = draft.sources.arguments.unwrap_or(draft.id);
            let at = whole.find(pointer);
            if at.value.as_str().is_some() {
                let text = "text that starts with `$` is an expression";
                hint = Some(format!(
                    "{text}; write `{{value: \"$…\"}}` if it is just text"
                ));
            }
            arguments::source(at)
        }
        Part::Items => arguments::source(draft.sources.items.unwrap_or(draft.id).find(pointer)),
        Part::Time => arguments::source(draft.sources.time.unwrap_or(draft.id).find(pointer)),
        Part::Schema(_) => draft.id,
    };
    let place = match span {
        Some(span) => at.inside(span),
        // A rule's operator is a key, and it is the operator that is wrong.
        None if matches!(part, Part::Rule(_)) && !pointer.is_empty() => {
            at.under().unwrap_or_else(|| at.place())
        }
        None => at.place(),
    };
    (place, hint)
}
