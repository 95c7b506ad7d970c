//! Mermaid flowcharts: read as people write them, and written so that reading gives the same again.
//!
//! A hand-written scanner goes over the text once and keeps byte positions of the file it came
//! from, so that a flaw in a diagram inside a Markdown file is told at its own line and column.
//! What Mermaid itself takes is taken; where it stumbles over something whose meaning is plain
//! (an id `end`, quotes inside a text), that is taken too.

use super::Flaws;
use crate::flaw::{Code, Flaw};
use std::ops::Range;
use tramline_expr::{Str, Value};

mod captions;
mod data;
mod decorations;
mod groups;
mod lines;
mod links;
mod mask;
mod parse;
mod print;
mod scan;
mod shapes;
mod vertices;

pub use captions::plain;
pub(crate) use lines::Lines;
pub use print::print;
pub use shapes::Shape;

/// Larger diagrams are refused, in bytes: the largest drawn by hand have some ten thousand.
pub const BYTES_MAX: usize = 4 << 20;
/// More vertices than this are refused: nobody could read the drawing.
pub const VERTICES_MAX: usize = 50_000;
/// More links than this are refused: a line of `a & b --> c & d` makes one for each pair.
pub const LINKS_MAX: usize = 100_000;
/// Longer ids are refused, in bytes: each link is written with two of them.
pub const ID_BYTES_MAX: usize = 256;
/// Deeper groups are refused.
pub const DEPTH_MAX: usize = 64;
/// More decorations, groups and directives than this are refused, each.
pub const LINES_MAX: usize = 50_000;

/// A diagram read. One kind is known; others of the language would stand beside it.
#[derive(Clone, Debug, PartialEq)]
pub enum Diagram {
    /// A flowchart.
    Flowchart(Flowchart),
}

/// A flowchart as drawn: everything but comments and spacing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flowchart {
    /// The lines between `---` at its beginning, as they stand.
    pub front: Option<Str>,
    /// The directives `%%{…}%%`, without their marks.
    pub directives: Vec<Str>,
    /// Which way it goes.
    pub direction: Option<Direction>,
    /// The vertices in the order in which they are first named.
    pub vertices: Vec<Vertex>,
    /// The links in the order in which they are drawn.
    pub links: Vec<Link>,
    /// The subgraphs in the order in which they begin.
    pub groups: Vec<Group>,
    /// Everything about looks and clicks, in order.
    pub decorations: Vec<Decoration>,
}

/// Which way a drawing goes.
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

/// Where something stands in the text, in bytes. Two are always equal: what is compared is what
/// was drawn, not where.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spot {
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
}

impl PartialEq for Spot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl From<Range<usize>> for Spot {
    fn from(range: Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// A box of a flowchart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertex {
    /// Its id.
    pub id: Str,
    /// What is written in it, if anything but its id.
    pub caption: Option<Caption>,
    /// Its shape, if one was drawn.
    pub shape: Option<Shape>,
    /// Its classes.
    pub classes: Vec<Str>,
    /// What else `@{…}` says of it.
    pub attributes: Vec<(Str, Value)>,
    /// The group it is in.
    pub group: Option<usize>,
    /// Where its id first stands.
    pub spot: Spot,
    /// Another caption that it was given before, and where this one stands.
    pub redrawn: Redrawn,
}

/// Where a vertex was given a second, other caption. Not compared: the last one is what is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redrawn(pub Option<Spot>);

impl PartialEq for Redrawn {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What is written in a box or on a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caption {
    /// The text, entities decoded.
    pub text: Str,
    /// Whether it is Markdown.
    pub markdown: bool,
}

/// A line between two vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its id, if it has one.
    pub id: Option<Str>,
    /// The vertex it leaves, by its place.
    pub from: usize,
    /// The vertex it enters.
    pub to: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// How many ranks it is long, from 1.
    pub length: u32,
    /// What it begins with.
    pub tail: Head,
    /// What it ends with.
    pub head: Head,
    /// What is written on it.
    pub caption: Option<Caption>,
    /// Where its arrow stands.
    pub spot: Spot,
}

/// How a link is drawn.
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

/// The end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Head {
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
pub struct Group {
    /// Its id, if it has one.
    pub id: Option<Str>,
    /// Its title, if that is not its id.
    pub title: Option<Caption>,
    /// Which way its inside goes.
    pub direction: Option<Direction>,
    /// The group it is in.
    pub parent: Option<usize>,
    /// Where it begins.
    pub spot: Spot,
}

/// A statement about looks, clicks or readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoration {
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
        /// What is said of it, as JSON.
        attributes: Str,
    },
    /// `accTitle: …`
    Title(Str),
    /// `accDescr: …`
    Description(Str),
}

/// Reads a file that holds one diagram.
pub fn read(bytes: &[u8]) -> Result<Diagram, Vec<Flaw>> {
    let text = super::document::decode(bytes).map_err(|flaw| vec![*flaw])?;
    let mut flaws = Flaws::default();
    let lines = Lines::of(text);
    let chart = read_part(text, 0..text.len(), &lines, &mut flaws);
    match chart {
        Some(chart) if !flaws.fatal() => Ok(Diagram::Flowchart(chart)),
        _ => Err(flaws.sorted()),
    }
}

/// Reads the diagram that stands in a part of a text; flaws are told at their places in the whole.
pub(crate) fn read_part(
    text: &str,
    part: Range<usize>,
    lines: &Lines<'_>,
    flaws: &mut Flaws,
) -> Option<Flowchart> {
    if part.len() > BYTES_MAX {
        let message = format!("{} bytes are more than the {BYTES_MAX} allowed", part.len());
        let place = lines.place(part.start..part.start);
        flaws.add(Code::Unreadable, place, message, "split the diagram");
        return None;
    }
    drawn(text, part, lines, flaws).map(|(chart, _)| chart)
}

/// A statement of vertices and arrows as it stands in the text. For whoever changes a drawing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// The vertices, those with `&` between them together.
    pub(crate) ends: Vec<Vec<Mention>>,
    /// The bytes of each arrow, with the blanks around it.
    pub(crate) arrows: Vec<Range<usize>>,
}

/// One place that names a vertex, with all that is said of it there.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    /// The vertex, by its place.
    pub(crate) vertex: usize,
    /// Its bytes.
    pub(crate) bytes: Range<usize>,
}

/// The diagram of a part of a text, and how its statements are written.
pub(crate) fn drawn(
    text: &str,
    part: Range<usize>,
    lines: &Lines<'_>,
    flaws: &mut Flaws,
) -> Option<(Flowchart, Vec<Chain>)> {
    let masked = mask::mask(text, part.clone());
    parse::Parser::new(&masked, lines, flaws).chart(part)
}

/// A text as it stands between brackets: as it is where nothing in it means something else.
pub(crate) fn written(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | ',' | '.' | '?' | '!' | '\'');
    let is_plain = !text.is_empty() && text.trim() == text && text.chars().all(plain);
    match is_plain {
        true => text.to_owned(),
        false => format!("\"{}\"", captions::encode(text)),
    }
}

/// The brackets that draw a shape, if some do.
pub(crate) fn brackets(shape: Shape) -> Option<(&'static str, &'static str)> {
    shape.brackets()
}
