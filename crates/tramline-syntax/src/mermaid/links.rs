//! Links: arrows of every stroke, length and head, with an inner or a trailing label.

use super::parse::{FlowchartParser, StatementError};
use super::{ArrowHead, ChartLabel, ID_BYTES_MAX, Stroke};
use std::ops::Range;
use tramline_expr::Str;

/// A parsed arrow, before its vertices are known.
#[derive(Clone, Debug)]
pub(super) struct ParsedArrow {
    pub(super) id: Option<Str>,
    pub(super) tail: ArrowHead,
    pub(super) stroke: Stroke,
    pub(super) head: ArrowHead,
    pub(super) length: u32,
    pub(super) label: Option<ChartLabel>,
    pub(super) span: Range<usize>,
}

/// The drawn part of an arrow: its extent, and whether a label follows inside it.
struct ArrowShape {
    tail: ArrowHead,
    stroke: Stroke,
    head: ArrowHead,
    length: usize,
    bytes: usize,
    is_open: bool,
}

fn head_of(byte: Option<&u8>) -> Option<ArrowHead> {
    match byte {
        Some(b'>') => Some(ArrowHead::Arrow),
        Some(b'x') => Some(ArrowHead::Cross),
        Some(b'o') => Some(ArrowHead::Circle),
        _ => None,
    }
}

/// The length of a link, capped.
fn clamp_length(length: usize) -> u32 {
    /// Most ranks that one link spans.
    const LENGTH_MAX: u32 = 100;
    u32::try_from(length).map_or(LENGTH_MAX, |length| length.clamp(1, LENGTH_MAX))
}

fn run_length(bytes: &[u8], of: u8) -> usize {
    bytes.iter().take_while(|byte| **byte == of).count()
}

/// The arrow at the start of these bytes. `x` and `o` are tails only in the middle of a line.
fn parse_arrow_shape(text: &[u8], is_fresh_line: bool) -> Option<ArrowShape> {
    let tail = match text.first() {
        Some(b'<') => ArrowHead::Arrow,
        Some(b'x') if !is_fresh_line => ArrowHead::Cross,
        Some(b'o') if !is_fresh_line => ArrowHead::Circle,
        _ => ArrowHead::None,
    };
    let lead = usize::from(tail != ArrowHead::None);
    let body = &text[lead..];
    let mut found = match body.first()? {
        b'~' if lead == 0 => {
            let tildes = run_length(body, b'~');
            (tildes >= 3).then(|| ArrowShape {
                tail,
                stroke: Stroke::Invisible,
                head: ArrowHead::None,
                length: tildes - 2,
                bytes: tildes,
                is_open: false,
            })
        }
        b'-' if body.get(1) != Some(&b'.') => straight(body, b'-', Stroke::Solid),
        b'=' => straight(body, b'=', Stroke::Thick),
        b'-' | b'.' => dotted(body),
        _ => None,
    }?;
    found.tail = tail;
    found.bytes += lead;
    Some(found)
}

fn straight(body: &[u8], of: u8, stroke: Stroke) -> Option<ArrowShape> {
    let count = run_length(body, of);
    if count < 2 {
        return None;
    }
    let head = head_of(body.get(count));
    let (length, bytes) = match head {
        Some(_) => (count - 1, count + 1),
        None => (count.saturating_sub(2), count),
    };
    Some(ArrowShape {
        tail: ArrowHead::None,
        stroke,
        head: head.unwrap_or(ArrowHead::None),
        length,
        bytes,
        is_open: head.is_none() && count == 2,
    })
}

fn dotted(body: &[u8]) -> Option<ArrowShape> {
    let lead = usize::from(body.first() == Some(&b'-'));
    let dots = run_length(&body[lead..], b'.');
    let closed = body.get(lead + dots) == Some(&b'-');
    if dots == 0 || (!closed && (lead == 0 || dots > 1)) {
        return None;
    }
    let head = match closed {
        true => head_of(body.get(lead + dots + 1)),
        false => None,
    };
    Some(ArrowShape {
        tail: ArrowHead::None,
        stroke: Stroke::Dotted,
        head: head.unwrap_or(ArrowHead::None),
        length: dots,
        bytes: lead + dots + usize::from(closed) + usize::from(head.is_some()),
        is_open: !closed,
    })
}

impl FlowchartParser<'_, '_> {
    /// Whether an arrow starts here.
    pub(super) fn is_arrow(&self, is_fresh_line: bool) -> bool {
        parse_arrow_shape(self.scan.rest().as_bytes(), is_fresh_line).is_some()
    }

    /// Parses the next arrow, if any; it may be on the next line.
    pub(super) fn arrow(&mut self) -> Result<Option<ParsedArrow>, StatementError> {
        let before = self.scan;
        let is_fresh_line = self.scan.skip_whitespace();
        let start = self.scan.at;
        let id = match is_fresh_line {
            true => None,
            false => self.arrow_id(),
        };
        let rest = self.scan.rest().as_bytes();
        let Some(drawn) = parse_arrow_shape(rest, is_fresh_line) else {
            self.scan = before;
            return Ok(None);
        };
        self.scan.at += drawn.bytes;
        let mut arrow = ParsedArrow {
            id,
            tail: drawn.tail,
            stroke: drawn.stroke,
            head: drawn.head,
            length: clamp_length(drawn.length),
            label: None,
            span: start..self.scan.at,
        };
        if drawn.is_open {
            self.inner_label(&mut arrow)?;
        }
        self.scan.skip_whitespace();
        if self.scan.starts_with("|") {
            arrow.label = Some(self.trailing_label()?);
            self.scan.skip_whitespace();
        }
        Ok(Some(arrow))
    }

    /// The id of an arrow: `e1@`.
    fn arrow_id(&mut self) -> Option<Str> {
        let before = self.scan;
        let id = self.scan.read_id();
        let sound = !id.is_empty() && id.len() <= ID_BYTES_MAX;
        if sound && self.scan.accept("@") && self.is_arrow(false) {
            return Some(id.into());
        }
        self.scan = before;
        None
    }

    /// Parses the label inside an arrow, and the arrow's end.
    fn inner_label(&mut self, arrow: &mut ParsedArrow) -> Result<(), StatementError> {
        self.scan.skip_whitespace();
        let start = self.scan.at;
        if self.scan.starts_with("\"") {
            arrow.label = Some(self.quoted_label()?);
            self.scan.skip_whitespace();
            if let Some((0, end)) = find_arrow_end(self.scan.rest().as_bytes(), arrow.stroke) {
                self.close_arrow(arrow, &end);
                return Ok(());
            }
            let hint = "end it with an arrow such as `-->`, or put the text after it: `-->|text|`";
            return Err(StatementError::at(
                self.scan.at,
                "an arrow is not closed after its text",
                hint,
            ));
        }
        let known = self.unclosed.arrow(arrow.stroke);
        let found = match *known {
            true => None,
            false => find_arrow_end(self.scan.rest().as_bytes(), arrow.stroke),
        };
        let Some((at, end)) = found else {
            *known = true;
            let hint = "write `-->`, or `-- text -->` with a text";
            return Err(StatementError::at(
                arrow.span.start,
                "an arrow is not closed",
                hint,
            ));
        };
        self.scan.at += at;
        let text = self.scan.text_since(start);
        arrow.label =
            Some(super::labels::parse_label(text, false)).filter(|it| !it.text.is_empty());
        self.close_arrow(arrow, &end);
        Ok(())
    }

    fn close_arrow(&mut self, arrow: &mut ParsedArrow, end: &ArrowShape) {
        self.scan.at += end.bytes;
        arrow.head = end.head;
        arrow.length = clamp_length(end.length);
        arrow.span.end = self.scan.at;
    }

    /// Parses the label after an arrow, between bars.
    fn trailing_label(&mut self) -> Result<ChartLabel, StatementError> {
        let start = self.scan.at;
        self.scan.accept("|");
        self.scan.skip_whitespace();
        let caption = match self.scan.starts_with("\"") {
            true => self.quoted_label()?,
            false => {
                let from = self.scan.at;
                self.scan.skip(|c| !"|[](){}".contains(c));
                super::labels::parse_label(self.scan.text_since(from), false)
            }
        };
        self.scan.skip_whitespace();
        if self.scan.accept("|") {
            return Ok(caption);
        }
        Err(match self.scan.peek() {
            None => StatementError::at(
                start,
                "the text of an arrow is not closed",
                "end it with `|`",
            ),
            Some(c) => StatementError::at(
                self.scan.at,
                format!("`{c}` in the text of an arrow"),
                "quote the text: `-->|\"text\"|`",
            ),
        })
    }
}

/// The first end of an arrow with a label: its offset and form.
fn find_arrow_end(text: &[u8], stroke: Stroke) -> Option<(usize, ArrowShape)> {
    let mark = match stroke {
        Stroke::Solid => b'-',
        Stroke::Thick => b'=',
        Stroke::Dotted => b'.',
        Stroke::Invisible => return None,
    };
    let mut at = 0;
    while let Some(next) = text[at..].iter().position(|byte| *byte == mark) {
        at += next;
        let found = match stroke {
            Stroke::Dotted => dotted(&text[at..]),
            Stroke::Solid | Stroke::Thick | Stroke::Invisible => {
                straight(&text[at..], mark, stroke)
            }
        };
        if let Some(mut end) = found.filter(|end| !end.is_open) {
            let lead = stroke == Stroke::Dotted && at > 0 && text[at - 1] == b'-';
            if lead {
                at -= 1;
                end.bytes += 1;
            }
            return Some((at, end));
        }
        at += run_length(&text[at..], mark);
    }
    None
}
