//! Parses a flowchart statement by statement; an invalid statement is reported and skipped.

use super::links::ParsedArrow;
use super::mask::MaskedText;
use super::scanner::ChartScanner;
use super::{
    BYTES_MAX, ChartLink, Direction, Flowchart, LINKS_MAX, LineIndex, LinkStatement, Stroke,
    VertexMention,
};
use crate::FlawCollector;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use tramline_expr::Str;
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::text::display_name;

/// Why a statement cannot be parsed.
#[derive(Debug)]
pub(super) struct StatementError(Box<StatementErrorDetail>);

#[derive(Debug)]
struct StatementErrorDetail {
    at: usize,
    code: FlawCode,
    message: String,
    hint: String,
    stops_parsing: bool,
}

impl StatementError {
    pub(super) fn at(at: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(Box::new(StatementErrorDetail {
            at,
            code: FlawCode::Syntax,
            message: message.into(),
            hint: hint.into(),
            stops_parsing: false,
        }))
    }

    /// Makes it the last error: parsing stops here.
    pub(super) fn fatal(mut self, code: FlawCode) -> Self {
        self.0.code = code;
        self.0.stops_parsing = true;
        self
    }
}

/// Delimiters known to be unclosed, to avoid scanning to the end again.
#[derive(Default)]
pub(super) struct UnclosedDelimiters {
    pub(super) quote: bool,
    pub(super) markdown: bool,
    pub(super) bracket: bool,
    pub(super) data: bool,
    pub(super) description: bool,
    arrows: [bool; 4],
}

impl UnclosedDelimiters {
    pub(super) fn arrow(&mut self, stroke: Stroke) -> &mut bool {
        &mut self.arrows[match stroke {
            Stroke::Solid => 0,
            Stroke::Thick => 1,
            Stroke::Dotted => 2,
            Stroke::Invisible => 3,
        }]
    }
}

/// Parses one flowchart.
pub(super) struct FlowchartParser<'t, 'f> {
    pub(super) scan: ChartScanner<'t>,
    masked: &'t MaskedText,
    lines: &'f LineIndex<'f>,
    flaws: &'f mut FlawCollector,
    pub(super) chart: Flowchart,
    chains: Vec<LinkStatement>,
    pub(super) ids: HashMap<Str, usize>,
    pub(super) link_ids: HashSet<Str>,
    /// The open subgraphs, each with the vertices mentioned in it so far.
    pub(super) open_subgraphs: Vec<(usize, Vec<usize>)>,
    pub(super) unclosed: UnclosedDelimiters,
    /// The total bytes of link labels so far.
    label_bytes: usize,
}

impl<'t, 'f> FlowchartParser<'t, 'f> {
    pub(super) fn new(
        masked: &'t MaskedText,
        lines: &'f LineIndex<'f>,
        flaws: &'f mut FlawCollector,
    ) -> Self {
        Self {
            scan: ChartScanner::new(&masked.text, 0..0),
            masked,
            lines,
            flaws,
            chart: Flowchart::default(),
            chains: Vec::new(),
            ids: HashMap::new(),
            link_ids: HashSet::new(),
            open_subgraphs: Vec::new(),
            unclosed: UnclosedDelimiters::default(),
            label_bytes: 0,
        }
    }

    /// Parses the chart in a part of the text, with the source ranges of its statements.
    pub(super) fn chart(mut self, part: Range<usize>) -> Option<(Flowchart, Vec<LinkStatement>)> {
        self.scan = ChartScanner::new(&self.masked.text, part);
        self.chart
            .front_matter
            .clone_from(&self.masked.front_matter);
        self.chart.directives.clone_from(&self.masked.directives);
        if let Err(bad) = self.header() {
            self.report(bad);
            return None;
        }
        loop {
            self.scan.skip(|c| c == ';');
            if !self.scan.skip_whitespace() && self.scan.is_done() {
                break;
            }
            if self.scan.at_statement_end() {
                continue;
            }
            if let Err(bad) = self.statement() {
                let is_last = bad.0.stops_parsing;
                self.scan.at = self.scan.at.max(bad.0.at);
                // A delimiter that is missing at the end is reported where it was opened.
                if self.scan.is_done() {
                    self.scan.at = bad.0.at;
                }
                self.report(bad);
                if is_last {
                    return None;
                }
                self.scan.skip_line();
            }
        }
        while let Some((group, _)) = self.open_subgraphs.last() {
            let start = self.chart.subgraphs[*group].span.start;
            self.report(StatementError::at(
                start,
                "a subgraph has no `end`",
                "add `end` on a line of its own",
            ));
            self.close_subgraph();
        }
        Some((self.chart, self.chains))
    }

    fn report(&mut self, bad: StatementError) {
        let StatementErrorDetail {
            at,
            code,
            message,
            hint,
            ..
        } = *bad.0;
        // A flaw beyond the limit is dropped, so it needs no location.
        let place = match self.flaws.is_full() {
            true => SourceSpan::default(),
            false => self.lines.source_span(at..at),
        };
        self.flaws.add(code, place, message, hint);
    }

    fn header(&mut self) -> Result<(), StatementError> {
        self.scan.skip_whitespace();
        let start = self.scan.at;
        let word = self.scan.read_id();
        match word {
            "graph" | "flowchart" | "flowchart-elk" => {}
            "" => {
                let hint = "start it with `flowchart TD`";
                return Err(StatementError::at(start, "there is no flowchart", hint));
            }
            other => {
                let message = format!("`{}` is not a flowchart", display_name(other));
                let hint = "start it with `flowchart TD`; other diagrams are not supported";
                return Err(StatementError::at(start, message, hint));
            }
        }
        self.scan.skip_blanks();
        self.chart.direction = self.direction();
        Ok(())
    }

    /// Parses a direction, if there is one.
    fn direction(&mut self) -> Option<Direction> {
        const WORDS: [(&str, Direction); 9] = [
            ("TD", Direction::Down),
            ("TB", Direction::Down),
            ("BT", Direction::Up),
            ("LR", Direction::Right),
            ("RL", Direction::Left),
            ("v", Direction::Down),
            ("^", Direction::Up),
            (">", Direction::Right),
            ("<", Direction::Left),
        ];
        for (word, direction) in WORDS {
            let mut ahead = self.scan;
            if ahead.accept(word) && ahead.peek().is_none_or(|c| c.is_whitespace() || c == ';') {
                self.scan = ahead;
                return Some(direction);
            }
        }
        None
    }

    fn statement(&mut self) -> Result<(), StatementError> {
        let before = self.scan;
        let word = self.scan.read_id();
        let spaced = self.scan.peek().is_none_or(char::is_whitespace);
        match word {
            "subgraph" => return self.subgraph(before.at),
            "end" => {
                self.scan.skip_blanks();
                if self.scan.at_statement_end() {
                    return self.end_subgraph(before.at);
                }
            }
            "direction" if spaced => {
                self.scan.skip_blanks();
                if let Some(direction) = self.direction() {
                    self.set_direction(direction);
                    return self.expect_end();
                }
            }
            "style" | "linkStyle" | "classDef" | "class" | "click" if spaced => {
                return self.style_statement(word, before.at);
            }
            _ => {}
        }
        if self.scan.starts_with("@{") && self.link_ids.contains(word) {
            return self.link_attributes(word);
        }
        self.scan = before;
        match self.accessibility()? {
            true => Ok(()),
            false => self.chain(),
        }
    }

    fn set_direction(&mut self, direction: Direction) {
        match self.open_subgraphs.last() {
            Some((group, _)) => self.chart.subgraphs[*group].direction = Some(direction),
            None => self.chart.direction = Some(direction),
        }
    }

    /// Checks that the statement ends here.
    pub(super) fn expect_end(&mut self) -> Result<(), StatementError> {
        self.scan.skip_blanks();
        match self.scan.peek() {
            None | Some('\n' | ';') => Ok(()),
            Some('%') => {
                let hint = "move it to its own line";
                Err(StatementError::at(
                    self.scan.at,
                    "a comment must be on its own line",
                    hint,
                ))
            }
            Some(c) => {
                let hint = "end the statement here with a line break or `;`";
                Err(StatementError::at(
                    self.scan.at,
                    format!("unexpected `{c}`"),
                    hint,
                ))
            }
        }
    }

    /// Parses vertices and the links between them.
    fn chain(&mut self) -> Result<(), StatementError> {
        let mut chain = LinkStatement::default();
        let mut from = self.vertices()?;
        loop {
            let start = self.scan.at;
            let Some(arrow) = self.arrow()? else {
                break;
            };
            chain.arrows.push(start..self.scan.at);
            let to = self.vertices()?;
            self.link(&arrow, &from, &to)?;
            chain.ends.push(std::mem::replace(&mut from, to));
        }
        chain.ends.push(from);
        self.chains.push(chain);
        self.expect_end()
    }

    /// Parses vertices joined by `&`.
    fn vertices(&mut self) -> Result<Vec<VertexMention>, StatementError> {
        let mut found = vec![self.mention()?];
        loop {
            let before = self.scan;
            self.scan.skip_blanks();
            if !self.scan.accept("&") {
                self.scan = before;
                return Ok(found);
            }
            self.scan.skip_whitespace();
            found.push(self.mention()?);
        }
    }

    fn mention(&mut self) -> Result<VertexMention, StatementError> {
        let start = self.scan.at;
        let vertex = self.vertex()?;
        let bytes = start..self.scan.at;
        Ok(VertexMention { vertex, bytes })
    }

    /// Links each source vertex with each target vertex.
    fn link(
        &mut self,
        arrow: &ParsedArrow,
        from: &[VertexMention],
        to: &[VertexMention],
    ) -> Result<(), StatementError> {
        if self.chart.links.len() + from.len().saturating_mul(to.len()) > LINKS_MAX {
            let message = format!("more than {LINKS_MAX} links");
            let bad = StatementError::at(arrow.span.start, message, "split the diagram");
            return Err(bad.fatal(FlawCode::TooMany));
        }
        // Each link gets its own copy of the label.
        let caption = arrow.label.as_ref().map_or(0, |it| it.text.len());
        let copied = caption.saturating_mul(from.len().saturating_mul(to.len()));
        self.label_bytes = self.label_bytes.saturating_add(copied);
        if self.label_bytes > BYTES_MAX {
            let message = "the labels of all links are too long in total";
            let bad = StatementError::at(arrow.span.start, message, "shorten the text");
            return Err(bad.fatal(FlawCode::TooMany));
        }
        if let Some(id) = &arrow.id {
            self.link_ids.insert(id.clone());
        }
        for from in from {
            for to in to {
                self.chart.links.push(ChartLink {
                    id: arrow.id.clone(),
                    from: from.vertex,
                    to: to.vertex,
                    stroke: arrow.stroke,
                    length: arrow.length,
                    tail: arrow.tail,
                    head: arrow.head,
                    label: arrow.label.clone(),
                    span: arrow.span.clone().into(),
                });
            }
        }
        Ok(())
    }
}
