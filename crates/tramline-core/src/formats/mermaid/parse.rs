//! Goes over a flowchart statement by statement; a flawed one is told and passed over.

use super::links::Arrow;
use super::mask::Masked;
use super::scan::Scan;
use super::{BYTES_MAX, Chain, Direction, Flowchart, LINKS_MAX, Lines, Link, Mention, Stroke};
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::text::shown;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use tramline_expr::Str;

/// Why a statement cannot be read.
#[derive(Debug)]
pub(super) struct Bad(Box<Wrong>);

#[derive(Debug)]
struct Wrong {
    at: usize,
    code: Code,
    message: String,
    hint: String,
    is_last: bool,
}

impl Bad {
    pub(super) fn at(at: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(Box::new(Wrong {
            at,
            code: Code::Syntax,
            message: message.into(),
            hint: hint.into(),
            is_last: false,
        }))
    }

    /// The same as the last thing that is read.
    pub(super) fn fatal(mut self, code: Code) -> Self {
        self.0.code = code;
        self.0.is_last = true;
        self
    }
}

/// What is known not to be closed any more, so that nobody looks for it to the end again.
#[derive(Default)]
pub(super) struct Unclosed {
    pub(super) quote: bool,
    pub(super) markdown: bool,
    pub(super) bracket: bool,
    pub(super) data: bool,
    pub(super) description: bool,
    arrows: [bool; 4],
}

impl Unclosed {
    pub(super) fn arrow(&mut self, stroke: Stroke) -> &mut bool {
        &mut self.arrows[match stroke {
            Stroke::Solid => 0,
            Stroke::Thick => 1,
            Stroke::Dotted => 2,
            Stroke::Invisible => 3,
        }]
    }
}

/// Reads one flowchart.
pub(super) struct Parser<'t, 'f> {
    pub(super) scan: Scan<'t>,
    masked: &'t Masked,
    lines: &'f Lines<'f>,
    flaws: &'f mut Flaws,
    pub(super) chart: Flowchart,
    chains: Vec<Chain>,
    pub(super) ids: HashMap<Str, usize>,
    pub(super) link_ids: HashSet<Str>,
    /// The groups under way, each with the vertices named in it so far.
    pub(super) open: Vec<(usize, Vec<usize>)>,
    pub(super) unclosed: Unclosed,
    /// The bytes of captions that are on all links so far.
    copied: usize,
}

impl<'t, 'f> Parser<'t, 'f> {
    pub(super) fn new(masked: &'t Masked, lines: &'f Lines<'f>, flaws: &'f mut Flaws) -> Self {
        Self {
            scan: Scan::new(&masked.text, 0..0),
            masked,
            lines,
            flaws,
            chart: Flowchart::default(),
            chains: Vec::new(),
            ids: HashMap::new(),
            link_ids: HashSet::new(),
            open: Vec::new(),
            unclosed: Unclosed::default(),
            copied: 0,
        }
    }

    /// The chart that stands in a part of the text, and how its statements are written.
    pub(super) fn chart(mut self, part: Range<usize>) -> Option<(Flowchart, Vec<Chain>)> {
        self.scan = Scan::new(&self.masked.text, part);
        self.chart.front.clone_from(&self.masked.front);
        self.chart.directives.clone_from(&self.masked.directives);
        if let Err(bad) = self.header() {
            self.tell(bad);
            return None;
        }
        loop {
            self.scan.skip(|c| c == ';');
            if !self.scan.spaces() && self.scan.is_done() {
                break;
            }
            if self.scan.is_end() {
                continue;
            }
            if let Err(bad) = self.statement() {
                let is_last = bad.0.is_last;
                self.scan.at = self.scan.at.max(bad.0.at);
                // What is only found missing at the end is told where it began.
                if self.scan.is_done() {
                    self.scan.at = bad.0.at;
                }
                self.tell(bad);
                if is_last {
                    return None;
                }
                self.scan.skip_line();
            }
        }
        while let Some((group, _)) = self.open.last() {
            let start = self.chart.groups[*group].spot.start;
            self.tell(Bad::at(
                start,
                "a subgraph has no `end`",
                "add `end` on a line of its own",
            ));
            self.close_group();
        }
        Some((self.chart, self.chains))
    }

    fn tell(&mut self, bad: Bad) {
        let Wrong {
            at,
            code,
            message,
            hint,
            ..
        } = *bad.0;
        // One that is not kept needs no place.
        let place = match self.flaws.is_full() {
            true => Place::default(),
            false => self.lines.place(at..at),
        };
        self.flaws.add(code, place, message, hint);
    }

    fn header(&mut self) -> Result<(), Bad> {
        self.scan.spaces();
        let start = self.scan.at;
        let word = self.scan.word();
        match word {
            "graph" | "flowchart" | "flowchart-elk" => {}
            "" => {
                let hint = "begin it with `flowchart TD`";
                return Err(Bad::at(start, "there is no flowchart", hint));
            }
            other => {
                let message = format!("`{}` is no flowchart", shown(other));
                let hint = "begin it with `flowchart TD`; other diagrams are not read";
                return Err(Bad::at(start, message, hint));
            }
        }
        self.scan.blanks();
        self.chart.direction = self.direction();
        Ok(())
    }

    /// A direction, if one stands here.
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
            if ahead.take(word) && ahead.peek().is_none_or(|c| c.is_whitespace() || c == ';') {
                self.scan = ahead;
                return Some(direction);
            }
        }
        None
    }

    fn statement(&mut self) -> Result<(), Bad> {
        let before = self.scan;
        let word = self.scan.word();
        let spaced = self.scan.peek().is_none_or(char::is_whitespace);
        match word {
            "subgraph" => return self.group(before.at),
            "end" => {
                self.scan.blanks();
                if self.scan.is_end() {
                    return self.end(before.at);
                }
            }
            "direction" if spaced => {
                self.scan.blanks();
                if let Some(direction) = self.direction() {
                    self.turn(direction);
                    return self.ended();
                }
            }
            "style" | "linkStyle" | "classDef" | "class" | "click" if spaced => {
                return self.decoration(word, before.at);
            }
            _ => {}
        }
        if self.scan.starts("@{") && self.link_ids.contains(word) {
            return self.link_data(word);
        }
        self.scan = before;
        match self.accessibility()? {
            true => Ok(()),
            false => self.chain(),
        }
    }

    fn turn(&mut self, direction: Direction) {
        match self.open.last() {
            Some((group, _)) => self.chart.groups[*group].direction = Some(direction),
            None => self.chart.direction = Some(direction),
        }
    }

    /// Nothing may follow on the line.
    pub(super) fn ended(&mut self) -> Result<(), Bad> {
        self.scan.blanks();
        match self.scan.peek() {
            None | Some('\n' | ';') => Ok(()),
            Some('%') => {
                let hint = "move it to its own line";
                Err(Bad::at(
                    self.scan.at,
                    "a comment needs a line of its own",
                    hint,
                ))
            }
            Some(c) => {
                let hint = "end the statement here: with a new line or `;`";
                Err(Bad::at(
                    self.scan.at,
                    format!("`{c}` is not understood here"),
                    hint,
                ))
            }
        }
    }

    /// Vertices and the links between them.
    fn chain(&mut self) -> Result<(), Bad> {
        let mut chain = Chain::default();
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
        self.ended()
    }

    /// Vertices with `&` between them.
    fn vertices(&mut self) -> Result<Vec<Mention>, Bad> {
        let mut found = vec![self.mention()?];
        loop {
            let before = self.scan;
            self.scan.blanks();
            if !self.scan.take("&") {
                self.scan = before;
                return Ok(found);
            }
            self.scan.spaces();
            found.push(self.mention()?);
        }
    }

    fn mention(&mut self) -> Result<Mention, Bad> {
        let start = self.scan.at;
        let vertex = self.vertex()?;
        let bytes = start..self.scan.at;
        Ok(Mention { vertex, bytes })
    }

    /// Links each of these vertices with each of those.
    fn link(&mut self, arrow: &Arrow, from: &[Mention], to: &[Mention]) -> Result<(), Bad> {
        if self.chart.links.len() + from.len().saturating_mul(to.len()) > LINKS_MAX {
            let message = format!("more than the {LINKS_MAX} links allowed");
            let bad = Bad::at(arrow.spot.start, message, "split the drawing");
            return Err(bad.fatal(Code::TooMany));
        }
        // Each pair has its own copy when it is written out.
        let caption = arrow.caption.as_ref().map_or(0, |it| it.text.len());
        let copied = caption.saturating_mul(from.len().saturating_mul(to.len()));
        self.copied = self.copied.saturating_add(copied);
        if self.copied > BYTES_MAX {
            let message = "the texts of many links are too long together";
            let bad = Bad::at(arrow.spot.start, message, "shorten the text");
            return Err(bad.fatal(Code::TooMany));
        }
        if let Some(id) = &arrow.id {
            self.link_ids.insert(id.clone());
        }
        for from in from {
            for to in to {
                self.chart.links.push(Link {
                    id: arrow.id.clone(),
                    from: from.vertex,
                    to: to.vertex,
                    stroke: arrow.stroke,
                    length: arrow.length,
                    tail: arrow.tail,
                    head: arrow.head,
                    caption: arrow.caption.clone(),
                    spot: arrow.spot.clone().into(),
                });
            }
        }
        Ok(())
    }
}
