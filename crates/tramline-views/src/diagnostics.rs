//! Checks a document in any format and returns its flaws, with the node each belongs to, and its diagrams.
//!
//! Used by editors that show text and graph side by side: each flaw names its node, so that it can
//! be shown on the line and in the diagram.

use crate::diagram::DiagramJson;
use serde::Serialize;
use tramline_expr::{Str, Value};
use tramline_formats::node_spans::NodeSpans;
use tramline_formats::{ReadOptions, SourceKind, read, sop_markdown};
use tramline_workflow::flaw::{Flaw, Severity};
use tramline_workflow::sop::Sop;
use tramline_workflow::tool_schema::StructureOnly;

/// The result of checking a document.
#[derive(Debug, Serialize)]
pub struct DocumentReport {
    /// Its kind; `None` if it cannot be detected.
    pub format: Option<&'static str>,
    /// Errors and warnings, ordered by location.
    pub flaws: Vec<Diagnostic>,
    /// Its workflows; empty if there are errors.
    pub workflows: Vec<CheckedWorkflow>,
    /// Its procedure, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure: Option<DiagramJson>,
}

/// A flaw with the node it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Whether it is an error or a warning.
    pub severity: Severity,
    /// The error code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The line, from 1; 0 if unknown.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The line of its last character.
    pub end_line: usize,
    /// The column after its last character.
    pub end_column: usize,
    /// The node it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Str>,
    /// The workflow of that node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Str>,
}

/// A workflow of a checked document.
#[derive(Debug, Serialize)]
pub struct CheckedWorkflow {
    /// Its name.
    pub name: Str,
    /// Its input schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Its diagram.
    pub graph: DiagramJson,
}

/// Checks a document; `form` takes precedence over `hint.format`.
pub fn check(text: &str, form: Option<SourceKind>, hint: ReadOptions<'_>) -> DocumentReport {
    match form {
        Some(SourceKind::Procedure) => check_procedure(text, hint.name),
        Some(SourceKind::Workflows(format)) => check_workflows(
            text,
            ReadOptions {
                format: Some(format),
                ..hint
            },
        ),
        None => check_workflows(
            text,
            ReadOptions {
                format: None,
                ..hint
            },
        ),
    }
}

fn check_workflows(text: &str, hint: ReadOptions<'_>) -> DocumentReport {
    let places = NodeSpans::of(text, hint.format);
    let (format, flaws, graphs) = match read(text.as_bytes(), hint) {
        Ok(read) => (
            Some(read.format),
            read.document.warnings,
            read.document.workflows,
        ),
        Err(flaws) => {
            // A node that was just added has no arguments yet, and must be shown all the same.
            let structure = ReadOptions {
                tools: &StructureOnly,
                ..hint
            };
            let drawn = read(text.as_bytes(), structure);
            let graphs = drawn.map(|read| read.document.workflows);
            (places.format(), flaws, graphs.unwrap_or_default())
        }
    };
    let seen = graphs.iter().map(|graph| {
        let workflow = &graph.workflow;
        let mut drawing = DiagramJson::of(graph);
        drawing.set_locations(|id| places.find(&workflow.name, id));
        CheckedWorkflow {
            name: workflow.name.clone(),
            input_schema: workflow.input_schema.clone(),
            graph: drawing,
        }
    });
    DocumentReport {
        format: format.map(|format| SourceKind::Workflows(format).as_str()),
        workflows: seen.collect(),
        flaws: flaws.iter().map(|flaw| diagnostic(flaw, &places)).collect(),
        procedure: None,
    }
}

fn check_procedure(text: &str, name: &str) -> DocumentReport {
    let (flaws, drawing) = match sop_markdown::read(text.as_bytes(), name) {
        Ok(read) => {
            let mut drawing = DiagramJson::of_sop(&read.sop);
            set_node_lines(&mut drawing, &read.lines);
            let told = |flaw: &Flaw| sop_diagnostic(flaw, &read.sop, &read.lines);
            (read.warnings.iter().map(told).collect(), Some(drawing))
        }
        Err(flaws) => {
            let told = |flaw: &Flaw| sop_diagnostic(flaw, &Sop::default(), &[]);
            (flaws.iter().map(told).collect(), None)
        }
    };
    DocumentReport {
        format: Some(SourceKind::Procedure.as_str()),
        flaws,
        workflows: Vec::new(),
        procedure: drawing,
    }
}

fn set_node_lines(drawing: &mut DiagramJson, lines: &[usize]) {
    for (node, line) in drawing.nodes.iter_mut().zip(lines) {
        node.line = Some(*line);
        node.column = Some(1);
    }
}

fn diagnostic(flaw: &Flaw, places: &NodeSpans) -> Diagnostic {
    let (workflow, node) = places
        .node_at_pointer(&flaw.span.pointer)
        .unwrap_or_default();
    Diagnostic {
        severity: flaw.code.severity(),
        code: flaw.code.as_str(),
        message: flaw.message.clone(),
        suggestion: flaw.suggestion.clone(),
        line: flaw.span.line,
        column: flaw.span.column,
        end_line: flaw.span.end_line,
        end_column: flaw.span.end_column,
        node,
        workflow,
    }
}

/// A flaw in a procedure belongs to the node that its message names, or else to the node on its line.
fn sop_diagnostic(flaw: &Flaw, sop: &Sop, lines: &[usize]) -> Diagnostic {
    let named = |id: &str| flaw.message.contains(&format!("`{id}`"));
    let by_name = sop.nodes.iter().find(|node| named(&node.id));
    let on_line = || {
        let at = lines.iter().position(|line| *line == flaw.span.line)?;
        sop.nodes.get(at)
    };
    let node = by_name.or_else(on_line).map(|node| node.id.clone());
    Diagnostic {
        node,
        ..diagnostic(flaw, &NodeSpans::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_formats::KnownServers;

    fn checked(name: &str, text: &str) -> DocumentReport {
        let hint = ReadOptions {
            name,
            known_servers: KnownServers::Any,
            ..ReadOptions::default()
        };
        check(text, SourceKind::detect(name, text), hint)
    }

    const GRAPH: &str = "version: '1'\nserver: {name: s, version: '1'}\ntools:\n  - name: t\n    \
        description: d\n    inputSchema: {type: object}\n    nodes:\n      \
        - {id: in, type: entry, next: sum}\n      \
        - {id: sum, type: transform, transform: {expr: '1 +'}, next: out}\n      \
        - {id: out, type: exit}\n";

    #[test]
    fn a_flaw_names_its_node_and_its_line() {
        let told = checked("a.yaml", GRAPH);
        assert_eq!((told.format, told.workflows.len()), (Some("yaml"), 0));
        let flaw = &told.flaws[0];
        assert_eq!((flaw.code, flaw.line), ("T0014", 9));
        assert_eq!(flaw.node.as_deref(), Some("sum"));
        assert_eq!(flaw.workflow.as_deref(), Some("t"));
    }

    #[test]
    fn nodes_are_found_on_their_lines() {
        let told = checked("a.yaml", &GRAPH.replace("1 +", "1"));
        let lines: Vec<_> = told.workflows[0]
            .graph
            .nodes
            .iter()
            .map(|it| it.line)
            .collect();
        assert_eq!(lines, [Some(8), Some(9), Some(10)]);
        let dag = "{\"tasks\": [\n {\"id\": \"a\", \"tool\": \"s:t\", \"arguments\": {}}]}";
        let told = checked("a.json", dag);
        let graph = &told.workflows[0].graph;
        let node = graph.nodes.iter().find(|node| node.id == "a").unwrap();
        assert_eq!((told.format, node.line), (Some("dag"), Some(2)));
    }

    #[test]
    fn a_procedure_is_known_by_its_drawing() {
        let text = "# Refund\n\n```mermaid\nflowchart TD\nSTART[Ask] --> END([Done])\n```\n";
        let told = checked("refund.md", text);
        assert_eq!(told.format, Some("sop"));
        assert_eq!(told.procedure.unwrap().nodes[0].line, Some(5));
    }
}
