//! A text of any format checked as a whole: every flaw with the node it is about, and drawings.
//!
//! For pages that show text and graph side by side: what is told names nodes, so that it can be
//! shown on the line and in the drawing.

use super::whereabouts::Whereabouts;
use super::{Format, Hint, pflow_markdown, read, sop_markdown};
use crate::flaw::{Flaw, Severity};
use crate::picture::Drawing;
use crate::sop::Sop;
use serde::Serialize;
use tramline_expr::{Str, Value};

/// What a text may hold: workflows in one of the formats, or a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Workflows.
    Workflows(Format),
    /// A procedure.
    Procedure,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 5] = [
        Self::Workflows(Format::Yaml),
        Self::Workflows(Format::Dag),
        Self::Workflows(Format::Ir),
        Self::Workflows(Format::Markdown),
        Self::Procedure,
    ];

    /// The form in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Workflows(Format::Yaml) => "yaml",
            Self::Workflows(Format::Dag) => "dag",
            Self::Workflows(Format::Ir) => "ir",
            Self::Workflows(Format::Markdown) => "markdown",
            Self::Procedure => "sop",
        }
    }

    /// Reads what [`Form::word`] wrote.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.word() == word)
    }

    /// The form that a file has by its name and its text; nothing where only its fields tell.
    pub fn of(name: &str, text: &str) -> Option<Self> {
        if let (Some(format), _) = Format::of_file(name) {
            return Some(Self::Workflows(format));
        }
        if pflow_markdown::is_one(text.as_bytes()) {
            return Some(Self::Workflows(Format::Markdown));
        }
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        let chart = first.is_some_and(|it| it.starts_with("flowchart") || it.starts_with("graph "));
        let drawn = || {
            text.lines()
                .any(|line| line.trim_start().starts_with("```mermaid"))
        };
        (chart || name.ends_with(".md") || drawn()).then_some(Self::Procedure)
    }
}

/// The form of a file in one word, by its name, its text or its fields.
pub fn word_of(name: &str, text: &str) -> Option<&'static str> {
    let by_fields = || Whereabouts::of(text, None).format().map(Form::Workflows);
    Form::of(name, text).or_else(by_fields).map(Form::word)
}

/// What a text came to.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// In which form it is; nothing where that cannot be told.
    pub format: Option<&'static str>,
    /// What is wrong or odd, by place.
    pub flaws: Vec<Remark>,
    /// Its workflows; none while it has errors.
    pub workflows: Vec<Seen>,
    /// Its procedure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure: Option<Drawing>,
}

/// A flaw with the node it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Whether the document can be used in spite of it.
    pub severity: Severity,
    /// Which kind.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The line, from 1; 0 where it has none.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The line of its last character.
    pub end_line: usize,
    /// The column after its last character.
    pub end_column: usize,
    /// The node it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Str>,
    /// The workflow of that node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Str>,
}

/// A workflow of a text.
#[derive(Debug, Serialize)]
pub struct Seen {
    /// What it is called.
    pub name: Str,
    /// What it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// How it is drawn.
    pub graph: Drawing,
}

/// Checks a text; `hint.format` is left aside for `form`.
pub fn check(text: &str, form: Option<Form>, hint: Hint<'_>) -> Checked {
    match form {
        Some(Form::Procedure) => procedure(text, hint.name),
        Some(Form::Workflows(format)) => workflows(
            text,
            Hint {
                format: Some(format),
                ..hint
            },
        ),
        None => workflows(
            text,
            Hint {
                format: None,
                ..hint
            },
        ),
    }
}

fn workflows(text: &str, hint: Hint<'_>) -> Checked {
    let places = Whereabouts::of(text, hint.format);
    let (format, flaws, graphs) = match read(text.as_bytes(), hint) {
        Ok(read) => (
            Some(read.format),
            read.document.warnings,
            read.document.workflows,
        ),
        Err(flaws) => (places.format(), flaws, Vec::new()),
    };
    let seen = graphs.iter().map(|graph| {
        let workflow = &graph.workflow;
        let mut drawing = Drawing::of(graph);
        drawing.place(|id| places.find(&workflow.name, id));
        Seen {
            name: workflow.name.clone(),
            input_schema: workflow.input_schema.clone(),
            graph: drawing,
        }
    });
    Checked {
        format: format.map(|format| Form::Workflows(format).word()),
        workflows: seen.collect(),
        flaws: flaws.iter().map(|flaw| remark(flaw, &places)).collect(),
        procedure: None,
    }
}

fn procedure(text: &str, name: &str) -> Checked {
    let (flaws, drawing) = match sop_markdown::read(text.as_bytes(), name) {
        Ok(read) => {
            let mut drawing = Drawing::of_sop(&read.sop);
            place(&mut drawing, &read.lines);
            let told = |flaw: &Flaw| sop_remark(flaw, &read.sop, &read.lines);
            (read.warnings.iter().map(told).collect(), Some(drawing))
        }
        Err(flaws) => {
            let told = |flaw: &Flaw| sop_remark(flaw, &Sop::default(), &[]);
            (flaws.iter().map(told).collect(), None)
        }
    };
    Checked {
        format: Some(Form::Procedure.word()),
        flaws,
        workflows: Vec::new(),
        procedure: drawing,
    }
}

fn place(drawing: &mut Drawing, lines: &[usize]) {
    for (node, line) in drawing.nodes.iter_mut().zip(lines) {
        node.line = Some(*line);
        node.column = Some(1);
    }
}

fn remark(flaw: &Flaw, places: &Whereabouts) -> Remark {
    let (workflow, node) = places.about(&flaw.place.pointer).unwrap_or_default();
    Remark {
        severity: flaw.code.severity(),
        code: flaw.code.as_str(),
        message: flaw.message.clone(),
        suggestion: flaw.suggestion.clone(),
        line: flaw.place.line,
        column: flaw.place.column,
        end_line: flaw.place.end_line,
        end_column: flaw.place.end_column,
        node,
        workflow,
    }
}

/// A flaw of a procedure is about the node that is drawn on its line, or that it names.
fn sop_remark(flaw: &Flaw, sop: &Sop, lines: &[usize]) -> Remark {
    let named = |id: &str| flaw.message.contains(&format!("`{id}`"));
    let by_name = sop.nodes.iter().find(|node| named(&node.id));
    let on_line = || {
        let at = lines.iter().position(|line| *line == flaw.place.line)?;
        sop.nodes.get(at)
    };
    let node = by_name.or_else(on_line).map(|node| node.id.clone());
    Remark {
        node,
        ..remark(flaw, &Whereabouts::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Elsewhere;

    fn checked(name: &str, text: &str) -> Checked {
        let hint = Hint {
            name,
            elsewhere: Elsewhere::Any,
            ..Hint::default()
        };
        check(text, Form::of(name, text), hint)
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
