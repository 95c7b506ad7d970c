//! Links: arrows of every stroke, length and head, with text inside or behind them.

use super::parse::{Bad, Parser};
use super::{Caption, Head, ID_BYTES_MAX, Stroke};
use std::ops::Range;
use tramline_expr::Str;

/// An arrow as drawn, before anybody knows what it links.
#[derive(Clone, Debug)]
pub(super) struct Arrow {
    pub(super) id: Option<Str>,
    pub(super) tail: Head,
    pub(super) stroke: Stroke,
    pub(super) head: Head,
    pub(super) length: u32,
    pub(super) caption: Option<Caption>,
    pub(super) spot: Range<usize>,
}

/// The drawn part of an arrow: how far it goes, and whether text follows inside it.
struct Drawn {
    tail: Head,
    stroke: Stroke,
    head: Head,
    length: usize,
    bytes: usize,
    is_open: bool,
}

fn head_of(byte: Option<&u8>) -> Option<Head> {
    match byte {
        Some(b'>') => Some(Head::Arrow),
        Some(b'x') => Some(Head::Cross),
        Some(b'o') => Some(Head::Circle),
        _ => None,
    }
}

/// How long a link is. One that is drawn longer than anybody wants it is cut.
fn long(length: usize) -> u32 {
    /// Ranks that one link spans.
    const LENGTH_MAX: u32 = 100;
    u32::try_from(length).map_or(LENGTH_MAX, |length| length.clamp(1, LENGTH_MAX))
}

fn run(bytes: &[u8], of: u8) -> usize {
    bytes.iter().take_while(|byte| **byte == of).count()
}

/// The arrow that begins these bytes. `x` and `o` count as tails only where a line goes on.
fn drawn(text: &[u8], is_fresh_line: bool) -> Option<Drawn> {
    let tail = match text.first() {
        Some(b'<') => Head::Arrow,
        Some(b'x') if !is_fresh_line => Head::Cross,
        Some(b'o') if !is_fresh_line => Head::Circle,
        _ => Head::None,
    };
    let lead = usize::from(tail != Head::None);
    let body = &text[lead..];
    let mut found = match body.first()? {
        b'~' if lead == 0 => {
            let tildes = run(body, b'~');
            (tildes >= 3).then(|| Drawn {
                tail,
                stroke: Stroke::Invisible,
                head: Head::None,
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

fn straight(body: &[u8], of: u8, stroke: Stroke) -> Option<Drawn> {
    let count = run(body, of);
    if count < 2 {
        return None;
    }
    let head = head_of(body.get(count));
    let (length, bytes) = match head {
        Some(_) => (count - 1, count + 1),
        None => (count.saturating_sub(2), count),
    };
    Some(Drawn {
        tail: Head::None,
        stroke,
        head: head.unwrap_or(Head::None),
        length,
        bytes,
        is_open: head.is_none() && count == 2,
    })
}

fn dotted(body: &[u8]) -> Option<Drawn> {
    let lead = usize::from(body.first() == Some(&b'-'));
    let dots = run(&body[lead..], b'.');
    let closed = body.get(lead + dots) == Some(&b'-');
    if dots == 0 || (!closed && (lead == 0 || dots > 1)) {
        return None;
    }
    let head = match closed {
        true => head_of(body.get(lead + dots + 1)),
        false => None,
    };
    Some(Drawn {
        tail: Head::None,
        stroke: Stroke::Dotted,
        head: head.unwrap_or(Head::None),
        length: dots,
        bytes: lead + dots + usize::from(closed) + usize::from(head.is_some()),
        is_open: !closed,
    })
}

impl Parser<'_, '_> {
    /// Whether an arrow begins here.
    pub(super) fn is_arrow(&self, is_fresh_line: bool) -> bool {
        drawn(self.scan.rest().as_bytes(), is_fresh_line).is_some()
    }

    /// The arrow that comes next, if one does: also on the next line.
    pub(super) fn arrow(&mut self) -> Result<Option<Arrow>, Bad> {
        let before = self.scan;
        let is_fresh_line = self.scan.spaces();
        let start = self.scan.at;
        let id = match is_fresh_line {
            true => None,
            false => self.arrow_id(),
        };
        let rest = self.scan.rest().as_bytes();
        let Some(drawn) = drawn(rest, is_fresh_line) else {
            self.scan = before;
            return Ok(None);
        };
        self.scan.at += drawn.bytes;
        let mut arrow = Arrow {
            id,
            tail: drawn.tail,
            stroke: drawn.stroke,
            head: drawn.head,
            length: long(drawn.length),
            caption: None,
            spot: start..self.scan.at,
        };
        if drawn.is_open {
            self.inside(&mut arrow)?;
        }
        self.scan.spaces();
        if self.scan.starts("|") {
            arrow.caption = Some(self.behind()?);
            self.scan.spaces();
        }
        Ok(Some(arrow))
    }

    /// The id that an arrow was given: `e1@`.
    fn arrow_id(&mut self) -> Option<Str> {
        let before = self.scan;
        let id = self.scan.word();
        let sound = !id.is_empty() && id.len() <= ID_BYTES_MAX;
        if sound && self.scan.take("@") && self.is_arrow(false) {
            return Some(id.into());
        }
        self.scan = before;
        None
    }

    /// The text inside an arrow, and the arrow's end.
    fn inside(&mut self, arrow: &mut Arrow) -> Result<(), Bad> {
        self.scan.spaces();
        let start = self.scan.at;
        if self.scan.starts("\"") {
            arrow.caption = Some(self.quoted()?);
            self.scan.spaces();
            if let Some((0, end)) = closing(self.scan.rest().as_bytes(), arrow.stroke) {
                self.close(arrow, &end);
                return Ok(());
            }
            let hint = "end it with an arrow such as `-->`, or put the text behind it: `-->|text|`";
            return Err(Bad::at(
                self.scan.at,
                "an arrow does not end after its text",
                hint,
            ));
        }
        let known = self.unclosed.arrow(arrow.stroke);
        let found = match *known {
            true => None,
            false => closing(self.scan.rest().as_bytes(), arrow.stroke),
        };
        let Some((at, end)) = found else {
            *known = true;
            let hint = "write `-->`, or `-- text -->` with a text";
            return Err(Bad::at(arrow.spot.start, "an arrow does not end", hint));
        };
        self.scan.at += at;
        let text = self.scan.since(start);
        arrow.caption =
            Some(super::captions::caption(text, false)).filter(|it| !it.text.is_empty());
        self.close(arrow, &end);
        Ok(())
    }

    fn close(&mut self, arrow: &mut Arrow, end: &Drawn) {
        self.scan.at += end.bytes;
        arrow.head = end.head;
        arrow.length = long(end.length);
        arrow.spot.end = self.scan.at;
    }

    /// The text behind an arrow, between bars.
    fn behind(&mut self) -> Result<Caption, Bad> {
        let start = self.scan.at;
        self.scan.take("|");
        self.scan.spaces();
        let caption = match self.scan.starts("\"") {
            true => self.quoted()?,
            false => {
                let from = self.scan.at;
                self.scan.skip(|c| !"|[](){}".contains(c));
                super::captions::caption(self.scan.since(from), false)
            }
        };
        self.scan.spaces();
        if self.scan.take("|") {
            return Ok(caption);
        }
        Err(match self.scan.peek() {
            None => Bad::at(
                start,
                "the text of an arrow is not closed",
                "end it with `|`",
            ),
            Some(c) => Bad::at(
                self.scan.at,
                format!("`{c}` in the text of an arrow"),
                "put the text into quotes: `-->|\"text\"|`",
            ),
        })
    }
}

/// The first end of an arrow with text: how far it is, and what it is.
fn closing(text: &[u8], stroke: Stroke) -> Option<(usize, Drawn)> {
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
        at += run(&text[at..], mark);
    }
    None
}
