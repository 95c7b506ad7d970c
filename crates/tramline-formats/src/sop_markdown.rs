//! Procedures in Markdown: frontmatter, a Mermaid flowchart, and instructions for its nodes.
//!
//! Three layouts of instructions are supported (`prompts`), and files that contain only a flowchart.
//! All flaws have locations in the file, including those in the flowchart and in embedded YAML.

use std::ops::Range;
use tramline_syntax::document::decode;
use tramline_syntax::mermaid::{self, Flowchart, LineIndex};
use tramline_syntax::{FlawCollector, document};
use tramline_workflow::flaw::{Flaw, FlawCode};
use tramline_workflow::sop::{Sop, SopSection};

mod call_rules;
mod chart_nodes;
mod chart_warnings;
mod frontmatter;
mod group_ends;
mod guard_coverage;
mod instructions;
mod name_checks;
mod node_settings;
mod outline;

use name_checks::ExpressionSet;
use outline::SopOutline;

/// Most nodes in a procedure: all of it is kept with each SOP session.
pub const NODES_MAX: usize = 10_000;

/// A parsed and checked procedure.
#[derive(Debug)]
pub struct SopDocument {
    /// The procedure.
    pub sop: Sop,
    /// Warnings, ordered by location.
    pub warnings: Vec<Flaw>,
    /// The line of each node.
    pub lines: Vec<usize>,
}

/// Reads a procedure; `name` is the default name.
pub fn read(bytes: &[u8], name: &str) -> Result<SopDocument, Vec<Flaw>> {
    let text = decode(bytes).map_err(|flaw| vec![*flaw])?;
    let lines = LineIndex::of(text);
    let mut flaws = FlawCollector::default();
    let document = SopReader {
        text,
        lines: &lines,
        flaws: &mut flaws,
    }
    .read_document(name);
    match document {
        Some((sop, lines)) if !flaws.has_errors() => Ok(SopDocument {
            sop,
            warnings: flaws.into_sorted(),
            lines,
        }),
        _ => Err(flaws.into_sorted()),
    }
}

/// The byte range of a procedure's flowchart.
pub(super) fn chart_range(text: &str) -> Option<Range<usize>> {
    SopOutline::of(text).chart_range(text)
}

/// The headings of node instructions: node id, heading range, and range of the whole section.
pub(super) fn instruction_headings(text: &str) -> Vec<(String, Range<usize>, Range<usize>)> {
    let outline = SopOutline::of(text);
    let parts = outline
        .sections
        .iter()
        .filter(|it| it.contains_instructions());
    let below = parts.flat_map(|part| part.subsections(&outline));
    let told = below.map(|it| {
        let title = it.title.replace('`', "");
        let id = title.split([' ', ':', '\t']).next().unwrap_or_default();
        let whole = it.heading.start..it.full_range(&outline).end;
        (id.to_owned(), it.heading.clone(), whole)
    });
    told.collect()
}

/// The parts outside of the flowchart that refer to nodes: the frontmatter and the instruction
/// sections.
pub(super) fn reference_ranges(text: &str) -> Vec<Range<usize>> {
    let outline = SopOutline::of(text);
    let parts = outline
        .sections
        .iter()
        .filter(|it| it.contains_instructions());
    let parts = parts.map(|it| it.heading.end..it.full_range(&outline).end);
    outline
        .frontmatter
        .clone()
        .into_iter()
        .chain(parts)
        .collect()
}

/// The state shared by all parts of the reader.
struct SopReader<'t> {
    text: &'t str,
    lines: &'t LineIndex<'t>,
    flaws: &'t mut FlawCollector,
}

impl SopReader<'_> {
    fn read_document(mut self, name: &str) -> Option<(Sop, Vec<usize>)> {
        let outline = SopOutline::of(self.text);
        let mut sop = Sop {
            name: name.into(),
            gated: true,
            ..Sop::default()
        };
        let mut front = frontmatter::Frontmatter::default();
        if let Some(range) = &outline.frontmatter {
            front = self.read_frontmatter(range.clone(), &mut sop);
        }
        let part = self.find_chart(&outline)?;
        let chart = mermaid::read_part(self.text, part.clone(), self.lines, self.flaws)?;
        sop.chart = self.text[part].trim().into();
        sop.sections = sections(self.text, &outline);
        let drawn = self.read_chart(&chart, &mut sop)?;
        let given = self.read_instructions(&outline, &sop);
        let mut formulas = vec![ExpressionSet::of_front(&front)];
        formulas.extend(given.iter().map(ExpressionSet::of_node));
        self.apply_settings(given, &drawn, &mut sop);
        self.resolve_globals(&front, &drawn, &mut sop);
        // Unreadable parts may be the reason why something else seems to be missing.
        if !self.flaws.has_errors_except(FlawCode::MistypedField) {
            self.check_names(&front, &formulas, &sop);
        }
        if !self.flaws.has_errors() {
            self.warn_about_chart(&chart, &drawn, &sop);
            self.warn_about_guards(&drawn, &sop);
        }
        let places = drawn.spans.iter();
        let places = places
            .map(|spot| self.lines.line_and_column(spot.start).0)
            .collect();
        Some((sop, places))
    }

    /// The byte range of the flowchart: a fenced block, or the whole file.
    fn find_chart(&mut self, outline: &SopOutline) -> Option<Range<usize>> {
        if let Some(part) = outline.chart_range(self.text) {
            return Some(part);
        }
        let place = self.lines.source_span(0..0);
        self.flaws.add(
            FlawCode::MissingField,
            place,
            "there is no flowchart",
            "add a ```mermaid block that starts with `flowchart TD`",
        );
        None
    }

    /// Parses YAML in a part of the file and shifts its flaws to their lines.
    fn parse_yaml(&mut self, part: Range<usize>) -> Option<(document::SourceTree, usize)> {
        let before = self.lines.line_and_column(part.start).0 - 1;
        match document::read(&self.text.as_bytes()[part]) {
            Ok(tree) => Some((tree, before)),
            Err(flaws) => {
                self.add_shifted_flaws(flaws, before);
                None
            }
        }
    }

    /// Adds the flaws of a part that starts after `before` lines.
    fn add_shifted_flaws(&mut self, flaws: Vec<Flaw>, before: usize) {
        for mut flaw in flaws {
            flaw.span.line += before;
            flaw.span.end_line += before;
            self.flaws.push(flaw);
        }
    }
}

/// The sections that an agent receives at the start.
fn sections(text: &str, outline: &SopOutline) -> Vec<SopSection> {
    let top = outline.sections.iter().filter(|it| it.level == 2);
    top.filter(|it| !it.contains_instructions())
        .map(|it| SopSection {
            title: it.title.as_str().into(),
            text: text[it.full_range(outline)].trim().into(),
        })
        .collect()
}

/// Maps the nodes of the procedure to the flowchart and the file.
struct ChartNodes {
    /// The node index of each vertex.
    node_of: Vec<Option<usize>>,
    /// The location of each node's first mention.
    spans: Vec<mermaid::ByteSpan>,
    /// The link of each edge.
    links: Vec<usize>,
}

impl ChartNodes {
    fn link<'c>(&self, chart: &'c Flowchart, edge: usize) -> &'c mermaid::ChartLink {
        &chart.links[self.links[edge]]
    }
}
