//! Builds a workflow, for formats with one workflow whose nodes are in a list.
//!
//! It keeps source locations, so that problems found in the graph can be reported there.

use super::yaml_graph::call_checks::{self, CallSite};
use super::yaml_graph::{GraphDocument, ServerInfo, fields};
use super::{ReadOptions, reference_places};
use std::ops::Range;
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{Flaw, FlawCode, SourceSpan};
use tramline_workflow::graph::problem::ReferencedName;
use tramline_workflow::graph::{Graph, MeantPart, NodePart, Problem, ProblemLocation};
use tramline_workflow::ids::NodeIx;
use tramline_workflow::workflow::{Action, Edge, Node, Workflow};

/// The source locations of a node's parts.
#[derive(Clone, Copy)]
pub(super) struct NodeSources<'t> {
    /// Its id, or the node if it has none.
    pub(super) id: Spanned<'t>,
    /// The name of its tool.
    pub(super) tool: Option<Spanned<'t>>,
    /// The arguments of its call.
    pub(super) arguments: Option<Spanned<'t>>,
    /// The items of its fan-out.
    pub(super) items: Option<Spanned<'t>>,
    /// Its expression.
    pub(super) expression: Option<Spanned<'t>>,
    /// The length in bytes of the prefix added before the document's expression.
    pub(super) prefix_bytes: usize,
    /// The list of its rules.
    pub(super) rules: Option<Spanned<'t>>,
    /// The branch that is taken if no rule holds.
    pub(super) otherwise: Option<Spanned<'t>>,
}

impl<'t> NodeSources<'t> {
    /// A node of which only the location is known.
    pub(super) fn at(id: Spanned<'t>) -> Self {
        Self {
            id,
            tool: None,
            arguments: None,
            items: None,
            expression: None,
            prefix_bytes: 0,
            rules: None,
            otherwise: None,
        }
    }
}

/// A workflow with the source locations of its parts.
pub(super) struct WorkflowBuilder<'t> {
    pub(super) workflow: Workflow,
    pub(super) root: Spanned<'t>,
    pub(super) sources: Vec<NodeSources<'t>>,
    /// The location of each edge.
    pub(super) edge_sources: Vec<Spanned<'t>>,
    /// Whether parts could not be read, so that the shape of the graph is not meaningful.
    pub(super) is_incomplete: bool,
    /// How its format writes references.
    pub(super) syntax: ReferenceSyntax,
}

/// How a format writes references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceSyntax {
    /// `$OUTPUT[task].key`.
    Dag,
    /// `${node.key}`.
    Ir,
}

impl<'t> WorkflowBuilder<'t> {
    pub(super) fn new(workflow: Workflow, root: Spanned<'t>, syntax: ReferenceSyntax) -> Self {
        Self {
            syntax,
            workflow,
            root,
            sources: Vec::new(),
            edge_sources: Vec::new(),
            is_incomplete: false,
        }
    }

    /// Adds a node.
    pub(super) fn add_node(&mut self, node: Node, sources: NodeSources<'t>) {
        self.workflow.nodes.push(node);
        self.sources.push(sources);
    }

    /// Adds an edge.
    pub(super) fn add_edge(&mut self, edge: Edge, at: Spanned<'t>) {
        self.workflow.edges.push(edge);
        self.edge_sources.push(at);
    }

    fn call_sites(&self) -> Vec<CallSite> {
        let mut calls = Vec::new();
        for (node, sources) in self.workflow.nodes.iter().zip(&self.sources) {
            if let (Action::Call { tool, .. }, Some(at)) = (&node.action, sources.tool) {
                let place = at.source_span();
                calls.push(CallSite {
                    name: tool.clone(),
                    server: place.clone(),
                    tool: place,
                });
            }
        }
        calls
    }

    /// Builds the graph and reports all flaws at once.
    pub(super) fn finish(
        mut self,
        servers: Value,
        hint: ReadOptions<'_>,
        mut flaws: FlawCollector,
    ) -> Result<GraphDocument, Vec<Flaw>> {
        let calls = self.call_sites();
        call_checks::check_servers(&calls, &servers, hint.known_servers, &mut flaws);
        let workflow = Arc::new(std::mem::take(&mut self.workflow));
        let (graph, problems) = match Graph::build_checked(Arc::clone(&workflow), hint.tools) {
            Ok((graph, problems)) => (Some(graph), problems),
            Err(problems) => (None, problems),
        };
        for problem in problems {
            if !(self.is_incomplete
                && (problem.code.may_be_consequence() || problem.code == FlawCode::JoinOnCycle))
            {
                let is_text = self.is_marked_as_text(&problem);
                let mut flaw = self.to_flaw(problem, &workflow);
                if flaw.code == FlawCode::Duplicate
                    && let Some(missing) = only_missing_name(&flaws)
                {
                    flaw.suggestion = Some(format!("did you mean `{missing}`?"));
                }
                if is_text {
                    continue;
                }
                // The reader may have reported the same name.
                if !(flaw.code == FlawCode::UnknownNode && flaws.has_at(flaw.code, &flaw.span)) {
                    flaws.push(flaw);
                }
            }
        }
        match graph {
            Some(graph) if !flaws.has_errors() => Ok(GraphDocument {
                server: server_info(&workflow),
                servers,
                content: Default::default(),
                workflows: vec![Arc::new(graph)],
                warnings: flaws.into_sorted(),
                calls,
                linked_workflows: Vec::new(),
            }),
            Some(_) | None => Err(flaws.into_sorted()),
        }
    }

    /// Whether a text that looks like a reference was marked as text by its author.
    fn is_marked_as_text(&self, problem: &Problem) -> bool {
        let ProblemLocation::Inside {
            node,
            part: NodePart::Arguments,
            pointer,
            ..
        } = &problem.location
        else {
            return false;
        };
        let arguments = self.sources[node.index()].arguments;
        let at = arguments.map(|at| at.at_pointer(pointer));
        // `$${` is text in an IR, and `{type: "literal"}` in a DAG.
        let is_marked = at.is_some_and(|at| at.value.as_str().is_none_or(|it| it.contains("$${")));
        problem.code == FlawCode::LooksLikeReference && is_marked
    }

    /// Text with references, as this format writes it.
    fn meant_text(&self, parts: &[MeantPart], workflow: &Workflow) -> String {
        let mut nodes = workflow.nodes.iter();
        let entry = nodes
            .find(|node| node.action == Action::Entry)
            .map(|node| &node.id);
        let is_entry = |root: &Str| Some(root) == entry;
        let expression = || {
            let source = MeantPart::expression(parts);
            Value::object([("expr", source.into())]).to_json()
        };
        let mut text = String::new();
        for part in parts {
            match (part, self.syntax) {
                (MeantPart::Text(plain), _) => text.push_str(plain),
                (MeantPart::Path { root, rest }, ReferenceSyntax::Ir) => {
                    let path = match is_entry(root) {
                        true => rest.trim_start_matches('.').to_owned(),
                        false => format!("{}{rest}", root.trim_start_matches('$')),
                    };
                    text.push_str(&format!("${{{path}}}"));
                }
                (MeantPart::Path { root, .. }, ReferenceSyntax::Dag)
                    if is_entry(root) || root.starts_with('$') =>
                {
                    return expression();
                }
                (MeantPart::Path { root, rest }, ReferenceSyntax::Dag) => {
                    text.push_str(&format!("$OUTPUT[{}]{rest}", root.trim_matches('`')));
                }
            }
        }
        Value::from(text).to_json()
    }

    fn to_flaw(&self, problem: Problem, workflow: &Workflow) -> Flaw {
        let place = match &problem.location {
            ProblemLocation::Workflow => self.root.source_span(),
            ProblemLocation::Node(node) => self.sources[node.index()].id.source_span(),
            ProblemLocation::Edge(edge) => self.edge_sources[*edge].source_span(),
            ProblemLocation::Inside {
                node,
                part,
                pointer,
                span,
                name,
            } => self.span_in_node(*node, *part, pointer, span.clone(), name.as_ref()),
        };
        let meant = problem.meant.as_ref();
        let meant = meant.map(|parts| format!("write `{}`", self.meant_text(parts, workflow)));
        Flaw {
            code: problem.code,
            span: place,
            message: problem.message,
            suggestion: meant
                .or(problem.suggestion)
                .or_else(|| default_suggestion(problem.code)),
        }
    }

    /// The location of a source inside a node.
    fn span_in_node(
        &self,
        node: NodeIx,
        part: NodePart,
        pointer: &str,
        span: Option<Range<usize>>,
        name: Option<&ReferencedName>,
    ) -> SourceSpan {
        let sources = &self.sources[node.index()];
        let (at, before) = match part {
            NodePart::Arguments => {
                let whole = sources.arguments.or(sources.tool).unwrap_or(sources.id);
                let at = whole.at_pointer(pointer);
                (at.get("expr").unwrap_or(at), 0)
            }
            NodePart::ArgumentName => {
                let whole = sources.arguments.unwrap_or(sources.id);
                let at = whole.at_pointer(pointer);
                return at.own_key_span().unwrap_or_else(|| at.source_span());
            }
            NodePart::Items => {
                let items = sources.items.unwrap_or(sources.id);
                (items.at_pointer(pointer), 0)
            }
            NodePart::Expression => {
                let at = sources.expression.unwrap_or(sources.id);
                (at, sources.prefix_bytes)
            }
            NodePart::Rule(rule) => {
                let list = sources.rules.unwrap_or(sources.id);
                let rule = list.items().nth(rule).and_then(|rule| rule.get("rule"));
                let at = rule.map_or(sources.id, |rule| rule.at_pointer(pointer));
                // The path of a `var` with a default is the first of a list.
                let first = at.items().next().filter(|_| span.is_some());
                (first.unwrap_or(at), 0)
            }
            NodePart::ToolName => {
                let at = sources.tool.unwrap_or(sources.id);
                let text = at.value.as_str().unwrap_or_default();
                // The server is right, the tool is not.
                let start = text.find(':').map_or(0, |colon| colon + 1);
                return at.span_inside(&(start..text.len()));
            }
            NodePart::Branch(branch) => {
                let rule = sources.rules.and_then(|list| list.items().nth(branch));
                let at = match rule {
                    Some(rule) => rule.get("action"),
                    None => sources.otherwise,
                };
                (at.unwrap_or(sources.id), 0)
            }
            NodePart::Schema(_) | NodePart::Time => (sources.id, 0),
        };
        let is_source = match part {
            NodePart::Expression => sources.expression.is_some(),
            NodePart::Rule(_) => at.value.as_str().is_some(),
            // A string without an expression of its own is translated.
            NodePart::Arguments | NodePart::Items => {
                at.own_key_is("expr") || !at.value.as_str().is_some_and(|it| it.contains('$'))
            }
            NodePart::ArgumentName
            | NodePart::ToolName
            | NodePart::Branch(_)
            | NodePart::Schema(_)
            | NodePart::Time => false,
        };
        if let Some(name) = name.filter(|_| !is_source)
            && let Some(place) = reference_places::find(at, name)
        {
            return place;
        }
        match span.filter(|_| is_source || name.is_none()) {
            Some(span) => {
                let own = |at: usize| at.saturating_sub(before);
                at.span_inside(&(own(span.start)..own(span.end)))
            }
            None => at.source_span(),
        }
    }
}

/// The only name that other flaws say does not exist.
fn only_missing_name(flaws: &FlawCollector) -> Option<String> {
    let unknown = flaws
        .iter()
        .filter(|flaw| flaw.code == FlawCode::UnknownNode);
    let mut names = unknown.filter_map(|flaw| flaw.message.split('`').nth(1));
    let first = names.next()?;
    names.all(|other| other == first).then(|| first.to_owned())
}

/// The default suggestion for a flaw without one.
fn default_suggestion(code: FlawCode) -> Option<String> {
    const ADVICE: [(FlawCode, &str); 2] = [
        (
            FlawCode::BadExpression,
            "see docs.jsonata.org for the syntax",
        ),
        (FlawCode::BadRule, "see jsonlogic.com for the syntax"),
    ];
    let advice = ADVICE.iter().find(|(of, _)| *of == code);
    advice.map(|(_, advice)| (*advice).to_owned())
}

/// Server info for a document with one workflow: the workflow's name and description.
fn server_info(workflow: &Workflow) -> ServerInfo {
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

/// The name of a workflow: its own, or the hint; characters not allowed in tool names are replaced.
pub(super) fn workflow_name(at: Spanned<'_>, hint: &str, flaws: &mut FlawCollector) -> Str {
    /// Longest name of a tool, in characters.
    const NAME_CHARS_MAX: usize = 128;
    let own = fields::optional_string(at, "name", flaws).map(|(name, _)| name.as_str());
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

/// A text field, as an owned string.
pub(super) fn text_field(at: Spanned<'_>, key: &str, flaws: &mut FlawCollector) -> Option<Str> {
    fields::optional_string(at, key, flaws).map(|(text, _)| text.clone())
}
