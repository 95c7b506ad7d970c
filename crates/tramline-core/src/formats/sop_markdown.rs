//! Procedures as Markdown: frontmatter, a flowchart in Mermaid, and instructions for its nodes.
//!
//! Three layouts of the instructions are read (`prompts`), and files that are only a flowchart. Every
//! flaw is told at its line of the file, those of the flowchart and of the YAML inside it included.

use super::document::decode;
use super::mermaid::{self, Flowchart, Lines};
use super::{Flaws, document};
use crate::flaw::{Code, Flaw};
use crate::sop::{Section, Sop};
use std::ops::Range;

mod check;
mod drawing;
mod front;
mod guards;
mod names;
mod nodes;
mod outline;
mod prompts;
mod rules;

use names::Formulas;
use outline::Outline;

/// More nodes than this are refused: the whole of it is kept with each conversation.
pub const NODES_MAX: usize = 10_000;

/// A procedure read and checked.
#[derive(Debug)]
pub struct Document {
    /// The procedure.
    pub sop: Sop,
    /// Flaws that do not keep it from being used, by place.
    pub warnings: Vec<Flaw>,
    /// The lines of its nodes, in their order.
    pub lines: Vec<usize>,
}

/// Reads a procedure; `name` is what it is called where the file says nothing.
pub fn read(bytes: &[u8], name: &str) -> Result<Document, Vec<Flaw>> {
    let text = decode(bytes).map_err(|flaw| vec![*flaw])?;
    let lines = Lines::of(text);
    let mut flaws = Flaws::default();
    let document = Reader {
        text,
        lines: &lines,
        flaws: &mut flaws,
    }
    .document(name);
    match document {
        Some((sop, lines)) if !flaws.fatal() => Ok(Document {
            sop,
            warnings: flaws.sorted(),
            lines,
        }),
        _ => Err(flaws.sorted()),
    }
}

/// Where the flowchart of a procedure stands, in bytes.
pub(super) fn chart_of(text: &str) -> Option<Range<usize>> {
    Outline::of(text).chart(text)
}

/// The headings that instructions for nodes stand under, each with all that belongs to it.
pub(super) fn instructions(text: &str) -> Vec<(String, Range<usize>, Range<usize>)> {
    let outline = Outline::of(text);
    let parts = outline.sections.iter().filter(|it| it.holds_prompts());
    let below = parts.flat_map(|part| part.below(&outline));
    let told = below.map(|it| {
        let title = it.title.replace('`', "");
        let id = title.split([' ', ':', '\t']).next().unwrap_or_default();
        let whole = it.heading.start..it.whole(&outline).end;
        (id.to_owned(), it.heading.clone(), whole)
    });
    told.collect()
}

/// The parts of a procedure that name nodes outside of its drawing: its frontmatter, and what
/// instructions stand in.
pub(super) fn naming(text: &str) -> Vec<Range<usize>> {
    let outline = Outline::of(text);
    let parts = outline.sections.iter().filter(|it| it.holds_prompts());
    let parts = parts.map(|it| it.heading.end..it.whole(&outline).end);
    outline.front.clone().into_iter().chain(parts).collect()
}

/// What all parts of the reader share.
struct Reader<'t> {
    text: &'t str,
    lines: &'t Lines<'t>,
    flaws: &'t mut Flaws,
}

impl Reader<'_> {
    fn document(mut self, name: &str) -> Option<(Sop, Vec<usize>)> {
        let outline = Outline::of(self.text);
        let mut sop = Sop {
            name: name.into(),
            gated: true,
            ..Sop::default()
        };
        let mut front = front::Front::default();
        if let Some(range) = &outline.front {
            front = self.front(range.clone(), &mut sop);
        }
        let part = self.chart_part(&outline)?;
        let chart = mermaid::read_part(self.text, part.clone(), self.lines, self.flaws)?;
        sop.chart = self.text[part].trim().into();
        sop.sections = sections(self.text, &outline);
        let drawn = self.draw(&chart, &mut sop)?;
        let given = self.prompts(&outline, &sop);
        let mut formulas = vec![Formulas::of_front(&front)];
        formulas.extend(given.iter().map(Formulas::of_node));
        self.give(given, &drawn, &mut sop);
        self.settle(&front, &drawn, &mut sop);
        // What could not be read may be why something else seems to be missing.
        if !self.flaws.fatal_but(Code::Mistyped) {
            self.names(&front, &formulas, &sop);
        }
        if !self.flaws.fatal() {
            self.check(&chart, &drawn, &sop);
            self.guards(&drawn, &sop);
        }
        let places = drawn.spots.iter();
        let places = places.map(|spot| self.lines.at(spot.start).0).collect();
        Some((sop, places))
    }

    /// Where the flowchart stands: a fenced block, or the whole file.
    fn chart_part(&mut self, outline: &Outline) -> Option<Range<usize>> {
        if let Some(part) = outline.chart(self.text) {
            return Some(part);
        }
        let place = self.lines.place(0..0);
        self.flaws.add(
            Code::Missing,
            place,
            "there is no flowchart",
            "add a block that begins with ```mermaid and `flowchart TD`",
        );
        None
    }

    /// Reads YAML that stands in a part of the file, whose flaws are moved to their lines.
    fn yaml(&mut self, part: Range<usize>) -> Option<(document::Tree, usize)> {
        let before = self.lines.at(part.start).0 - 1;
        match document::read(&self.text.as_bytes()[part]) {
            Ok(tree) => Some((tree, before)),
            Err(flaws) => {
                self.absorb(flaws, before);
                None
            }
        }
    }

    /// Takes over flaws of a part that begins after so many lines.
    fn absorb(&mut self, flaws: Vec<Flaw>, before: usize) {
        for mut flaw in flaws {
            flaw.place.line += before;
            flaw.place.end_line += before;
            self.flaws.push(flaw);
        }
    }
}

/// The text that an agent is given at the beginning, by its sections.
fn sections(text: &str, outline: &Outline) -> Vec<Section> {
    let top = outline.sections.iter().filter(|it| it.level == 2);
    top.filter(|it| !it.holds_prompts())
        .map(|it| Section {
            title: it.title.as_str().into(),
            text: text[it.whole(outline)].trim().into(),
        })
        .collect()
}

/// Where each node of the procedure stands in the drawing and in the file.
struct Drawn {
    /// The places of nodes by their vertices.
    node_of: Vec<Option<usize>>,
    /// Where each node is first named.
    spots: Vec<mermaid::Spot>,
    /// The links that edges come from, in the order of the edges.
    links: Vec<usize>,
}

impl Drawn {
    fn link<'c>(&self, chart: &'c Flowchart, edge: usize) -> &'c mermaid::Link {
        &chart.links[self.links[edge]]
    }
}
