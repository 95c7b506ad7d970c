//! Reads and writes Mermaid flowcharts; a written chart reads back the same.
//!
//! A hand-written scanner passes over the text once and keeps byte positions of the containing file,
//! so that a flaw in a diagram inside a Markdown file is reported at its own line and column. It accepts
//! what Mermaid accepts, and also some input that Mermaid rejects although its meaning is clear
//! (an id `end`, quotes inside a text).

use super::FlawCollector;
use std::ops::Range;
use tramline_expr::{Str, Value};
use tramline_workflow::flaw::{Flaw, FlawCode};

mod attributes;
mod labels;
mod line_index;
mod links;
mod mask;
mod nodes;
mod parse;
mod print;
mod scanner;
mod shapes;
mod styles;
mod subgraphs;

pub use labels::plain_text;
pub use line_index::LineIndex;
pub use print::print;
pub use shapes::NodeShape;

/// Largest accepted diagram, in bytes: the largest hand-written ones have about ten thousand.
pub const BYTES_MAX: usize = 4 << 20;
/// Most vertices in a diagram: larger diagrams are unreadable.
pub const VERTICES_MAX: usize = 50_000;
/// Most links in a diagram: a statement like `a & b --> c & d` makes one for each pair.
pub const LINKS_MAX: usize = 100_000;
/// Longest id, in bytes: each link is written with two ids.
pub const ID_BYTES_MAX: usize = 256;
/// Deepest nesting of subgraphs, in levels: keeps recursion bounded.
pub const DEPTH_MAX: usize = 64;
/// Most style statements, subgraphs and directives, each: keeps memory bounded.
pub const STATEMENTS_MAX: usize = 50_000;

/// A parsed diagram. Only flowcharts are supported.
#[derive(Clone, Debug, PartialEq)]
pub enum Diagram {
    /// A flowchart.
    Flowchart(Flowchart),
}

/// A flowchart: everything except comments and spacing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flowchart {
    /// The frontmatter between the `---` lines, verbatim.
    pub front_matter: Option<Str>,
    /// The directives `%%{…}%%`, without their delimiters.
    pub directives: Vec<Str>,
    /// The layout direction.
    pub direction: Option<Direction>,
    /// The vertices in order of first mention.
    pub vertices: Vec<Vertex>,
    /// The links in document order.
    pub links: Vec<ChartLink>,
    /// The subgraphs in document order.
    pub subgraphs: Vec<Subgraph>,
    /// All style, click and accessibility statements, in order.
    pub styles: Vec<StyleStatement>,
}

/// A layout direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Downwards: `TD`, `TB`, `v`.
    Down,
    /// Upwards: `BT`, `^`.
    Up,
    /// To the right: `LR`, `>`.
    Right,
    /// To the left: `RL`, `<`.
    Left,
}

/// A byte range in the text. All are equal, because charts are compared by content, not by location.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteSpan {
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
}

impl PartialEq for ByteSpan {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl From<Range<usize>> for ByteSpan {
    fn from(range: Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// A node of a flowchart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertex {
    /// Its id.
    pub id: Str,
    /// Its label, unless it only shows its id.
    pub label: Option<ChartLabel>,
    /// Its shape, if one is given.
    pub shape: Option<NodeShape>,
    /// Its classes.
    pub classes: Vec<Str>,
    /// Further attributes from `@{…}`.
    pub attributes: Vec<(Str, Value)>,
    /// The subgraph that contains it.
    pub subgraph: Option<usize>,
    /// The location of its id's first mention.
    pub span: ByteSpan,
    /// The location of a second, different label, if there is one.
    pub second_label: SecondLabel,
}

/// The location of a vertex's second, different label. Not compared: the last label counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SecondLabel(pub Option<ByteSpan>);

impl PartialEq for SecondLabel {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The label of a vertex or a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChartLabel {
    /// The text, entities decoded.
    pub text: Str,
    /// Whether it is Markdown.
    pub markdown: bool,
}

/// An edge between two vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartLink {
    /// Its id, if it has one.
    pub id: Option<Str>,
    /// The index of its source vertex.
    pub from: usize,
    /// The index of its target vertex.
    pub to: usize,
    /// Its line style.
    pub stroke: Stroke,
    /// Its length in ranks, from 1.
    pub length: u32,
    /// The arrow head at its start.
    pub tail: ArrowHead,
    /// The arrow head at its end.
    pub head: ArrowHead,
    /// Its label.
    pub label: Option<ChartLabel>,
    /// The location of its arrow.
    pub span: ByteSpan,
}

/// The line style of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stroke {
    /// `-->`
    Solid,
    /// `==>`
    Thick,
    /// `-.->`
    Dotted,
    /// `~~~`
    Invisible,
}

/// The arrow head of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrowHead {
    /// `---`
    None,
    /// `-->`
    Arrow,
    /// `--x`
    Cross,
    /// `--o`
    Circle,
}

/// A subgraph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subgraph {
    /// Its id, if it has one.
    pub id: Option<Str>,
    /// Its title, if that is not its id.
    pub title: Option<ChartLabel>,
    /// The layout direction inside it.
    pub direction: Option<Direction>,
    /// The subgraph that contains it.
    pub parent: Option<usize>,
    /// The location of its start.
    pub span: ByteSpan,
}

/// A style, click or accessibility statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StyleStatement {
    /// `classDef name styles`, as written.
    ClassDef(Str),
    /// `class ids name`, as written.
    Class(Str),
    /// `style id styles`, as written.
    Style(Str),
    /// `linkStyle which styles`, as written.
    LinkStyle(Str),
    /// `click id action`, as written.
    Click(Str),
    /// `e1@{…}` for a link.
    Link {
        /// The link's id.
        id: Str,
        /// The attributes, as JSON.
        attributes: Str,
    },
    /// `accTitle: …`
    Title(Str),
    /// `accDescr: …`
    Description(Str),
}

/// Reads a file that contains one diagram.
pub fn read(bytes: &[u8]) -> Result<Diagram, Vec<Flaw>> {
    let text = super::document::decode(bytes).map_err(|flaw| vec![*flaw])?;
    let mut flaws = FlawCollector::default();
    let lines = LineIndex::of(text);
    let chart = read_part(text, 0..text.len(), &lines, &mut flaws);
    match chart {
        Some(chart) if !flaws.has_errors() => Ok(Diagram::Flowchart(chart)),
        _ => Err(flaws.into_sorted()),
    }
}

/// Reads the diagram in a part of a text; flaws have locations in the whole text.
pub fn read_part(
    text: &str,
    part: Range<usize>,
    lines: &LineIndex<'_>,
    flaws: &mut FlawCollector,
) -> Option<Flowchart> {
    if part.len() > BYTES_MAX {
        let message = format!("{} bytes exceed the limit of {BYTES_MAX}", part.len());
        let place = lines.source_span(part.start..part.start);
        flaws.add(FlawCode::Unreadable, place, message, "split the diagram");
        return None;
    }
    parse_with_statements(text, part, lines, flaws).map(|(chart, _)| chart)
}

/// A statement of vertices and arrows with its source ranges, used by edits.
#[derive(Clone, Debug, Default)]
pub struct LinkStatement {
    /// The vertices; those joined by `&` are grouped.
    pub ends: Vec<Vec<VertexMention>>,
    /// The byte range of each arrow, with the surrounding whitespace.
    pub arrows: Vec<Range<usize>>,
}

/// A mention of a vertex, with the label and attributes given there.
#[derive(Clone, Debug)]
pub struct VertexMention {
    /// The index of the vertex.
    pub vertex: usize,
    /// Its byte range.
    pub bytes: Range<usize>,
}

/// Parses the diagram in a part of a text, with the source ranges of its statements.
pub fn parse_with_statements(
    text: &str,
    part: Range<usize>,
    lines: &LineIndex<'_>,
    flaws: &mut FlawCollector,
) -> Option<(Flowchart, Vec<LinkStatement>)> {
    let masked = mask::mask(text, part.clone());
    parse::FlowchartParser::new(&masked, lines, flaws).chart(part)
}

/// A label as written between brackets, quoted if necessary.
pub fn write_label(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | ',' | '.' | '?' | '!' | '\'');
    let is_plain = !text.is_empty() && text.trim() == text && text.chars().all(plain);
    match is_plain {
        true => text.to_owned(),
        false => format!("\"{}\"", labels::encode(text)),
    }
}

/// The brackets of a shape, if it has any.
pub fn brackets(shape: NodeShape) -> Option<(&'static str, &'static str)> {
    shape.brackets()
}
