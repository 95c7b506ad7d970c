//! Maps problems of a workflow to source locations.

use super::arguments;
use super::nodes::{NodeDraft, NodeType};
use super::tools::{self, ToolDraft};
use tramline_expr::Value;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{Flaw, FlawCode, SourceSpan};
use tramline_workflow::graph::{Graph, MeantPart, NodePart, Problem, ProblemLocation};
use tramline_workflow::tool_schema::ToolSchemas;
use tramline_workflow::workflow::Workflow;

/// Builds the graph of a tool and adds its flaws. If parts of the tool could not be read, problems that
/// may result from that are left out.
pub(super) fn build(
    workflow: Workflow,
    tool: &ToolDraft<'_>,
    broken: bool,
    tools: &dyn ToolSchemas,
    flaws: &mut FlawCollector,
) -> Option<Graph> {
    let edges: Vec<Spanned<'_>> = tools::tool_edges(tool).map(|(_, at)| *at).collect();
    let (graph, problems) = match Graph::build_checked(workflow, tools) {
        Ok((graph, problems)) => (Some(graph), problems),
        Err(problems) => (None, problems),
    };
    let told = |code| problems.iter().any(|problem| problem.code == code);
    if !broken && !tool.nodes.is_empty() {
        report_missing_ends(tool, told(FlawCode::NoEntry), told(FlawCode::NoExit), flaws);
    }
    for problem in problems {
        let is_consequence = broken && problem.code.may_be_consequence();
        if !(is_consequence || is_marked_as_text(&problem, tool)) {
            flaws.push(to_flaw(problem, tool, &edges));
        }
    }
    graph
}

/// Reports a missing entry or exit: the graph of a tool needs both, a graph of tasks does not.
fn report_missing_ends(
    tool: &ToolDraft<'_>,
    no_entry: bool,
    no_exit: bool,
    flaws: &mut FlawCollector,
) {
    let name = &tool.name;
    if !no_entry && !tools::has_type(&tool.nodes, NodeType::Entry) {
        flaws.add(
            FlawCode::NoEntry,
            tool.at.source_span(),
            format!("`{name}` has no entry"),
            "add a node with `type: entry` whose `next` is the first node",
        );
    }
    if !no_exit && !tools::has_type(&tool.nodes, NodeType::Exit) {
        flaws.add(
            FlawCode::NoExit,
            tool.at.source_span(),
            format!("`{name}` has no exit"),
            "add a node with `type: exit`",
        );
    }
}

fn to_flaw(problem: Problem, tool: &ToolDraft<'_>, edges: &[Spanned<'_>]) -> Flaw {
    let (place, hint) = match &problem.location {
        ProblemLocation::Workflow => (tool.at.source_span(), None),
        ProblemLocation::Node(node) => (tool.nodes[node.index()].id.source_span(), None),
        ProblemLocation::Edge(edge) => (edges[*edge].source_span(), None),
        ProblemLocation::Inside {
            node,
            part,
            pointer,
            span,
            name: _,
        } => span_in_node(&tool.nodes[node.index()], *part, pointer, span.as_ref()),
    };
    let meant = problem
        .meant
        .map(|parts| format!("write `{}`", meant_text(&parts)));
    Flaw {
        code: problem.code,
        span: place,
        message: problem.message,
        suggestion: meant.or(problem.suggestion).or(hint),
    }
}

/// Text with references, as a YAML graph writes it.
fn meant_text(parts: &[MeantPart]) -> String {
    match parts {
        [MeantPart::Path { root, rest }] if root.starts_with('$') => format!("{root}{rest}"),
        [MeantPart::Path { root, rest }] => format!("$.{root}{rest}"),
        parts => {
            let source = MeantPart::expression(parts);
            Value::object([("expr", source.into())]).to_json()
        }
    }
}

/// Whether a text that looks like a reference was marked as text by its author.
fn is_marked_as_text(problem: &Problem, tool: &ToolDraft<'_>) -> bool {
    let ProblemLocation::Inside {
        node,
        part: NodePart::Arguments,
        pointer,
        ..
    } = &problem.location
    else {
        return false;
    };
    let arguments = tool.nodes[node.index()].sources.arguments;
    let at = arguments.map(|at| at.at_pointer(pointer));
    problem.code == FlawCode::LooksLikeReference && at.is_some_and(|at| at.value.as_str().is_none())
}

/// The location of a source inside a node, and a hint.
fn span_in_node(
    draft: &NodeDraft<'_>,
    part: NodePart,
    pointer: &str,
    span: Option<&std::ops::Range<usize>>,
) -> (SourceSpan, Option<String>) {
    let mut hint = match part {
        NodePart::Rule(_) => Some("see jsonlogic.com for the syntax".to_owned()),
        NodePart::Expression | NodePart::Arguments | NodePart::Items | NodePart::Time => {
            Some("see docs.jsonata.org for the syntax".to_owned())
        }
        NodePart::ArgumentName | NodePart::ToolName | NodePart::Branch(_) | NodePart::Schema(_) => {
            None
        }
    };
    let at = match part {
        NodePart::Expression => draft.sources.expression.unwrap_or(draft.id),
        NodePart::Rule(rule) => {
            let rule = draft.sources.rules.get(rule).copied();
            let at = rule.unwrap_or(draft.id).at_pointer(pointer);
            // The path of a `var` with a default is the first of a list.
            let first = at.items().next().filter(|_| span.is_some());
            first.unwrap_or(at)
        }
        NodePart::ArgumentName => {
            let whole = draft.sources.arguments.unwrap_or(draft.id);
            let at = whole.at_pointer(pointer);
            let place = at.own_key_span().unwrap_or_else(|| at.source_span());
            return (place, hint);
        }
        NodePart::Arguments => {
            let whole = draft.sources.arguments.or(draft.sources.tool);
            let at = whole.unwrap_or(draft.id).at_pointer(pointer);
            if at.value.as_str().is_some() {
                let text = "text that starts with `$` is an expression";
                hint = Some(format!(
                    "{text}; write `{{value: \"$…\"}}` if it is just text"
                ));
            }
            arguments::expression_source(at)
        }
        NodePart::Items => arguments::expression_source(
            draft.sources.items.unwrap_or(draft.id).at_pointer(pointer),
        ),
        NodePart::Time => {
            arguments::expression_source(draft.sources.time.unwrap_or(draft.id).at_pointer(pointer))
        }
        NodePart::ToolName => draft.sources.tool.unwrap_or(draft.id),
        NodePart::Branch(_) | NodePart::Schema(_) => draft.id,
    };
    let place = match span {
        Some(span) => at.span_inside(span),
        // A rule's operator is a key, and the operator is the culprit.
        None if matches!(part, NodePart::Rule(_)) && !pointer.is_empty() => {
            at.own_key_span().unwrap_or_else(|| at.source_span())
        }
        None => at.source_span(),
    };
    (place, hint)
}
