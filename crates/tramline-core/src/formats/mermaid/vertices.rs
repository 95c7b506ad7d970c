//! Vertices: ids, the brackets around their captions, classes, and `@{…}`.

use super::parse::{Bad, Parser};
use super::shapes::BRACKETS;
use super::{Caption, ID_BYTES_MAX, Shape, Spot, VERTICES_MAX, Vertex, captions};
use crate::flaw::Code;

/// Words of the language that cannot be ids.
const RESERVED: [&str; 12] = [
    "graph",
    "flowchart",
    "flowchart-elk",
    "subgraph",
    "style",
    "linkStyle",
    "classDef",
    "class",
    "click",
    "interpolate",
    "accTitle",
    "accDescr",
];

impl Parser<'_, '_> {
    /// A vertex with everything that is said of it here; gives its place.
    pub(super) fn vertex(&mut self) -> Result<usize, Bad> {
        let start = self.scan.at;
        let hint = "write a vertex such as `A[text]`";
        if self.is_arrow(true) {
            return Err(Bad::at(start, "an arrow where a vertex is expected", hint));
        }
        let id = self.scan.word();
        if id.len() > ID_BYTES_MAX {
            let message = format!("an id of more than the {ID_BYTES_MAX} bytes allowed");
            return Err(Bad::at(
                start,
                message,
                "give it a short id and a text: `A[text]`",
            ));
        }
        if self.scan.starts("@{") && self.link_ids.contains(id) {
            return Err(Bad::at(start, "a link where a vertex is expected", hint));
        }
        let stray = id.starts_with("accTitle:") || id.starts_with("accDescr:");
        if RESERVED.contains(&id) || stray {
            let hint = "choose another id, such as one with a capital letter";
            return Err(Bad::at(
                start,
                format!("`{id}` is a word of the language"),
                hint,
            ));
        }
        if id.is_empty() || id.starts_with("%%") {
            return Err(self.no_vertex(start, hint));
        }
        let spot = Spot::from(start..self.scan.at);
        let place = self.named(id, spot)?;
        self.classes(place)?;
        if let Some((shape, caption)) = self.bracketed()? {
            self.draw(place, Some(shape), Some(caption), spot);
        }
        self.classes(place)?;
        if self.scan.starts("@{") {
            self.data(place)?;
            self.classes(place)?;
        }
        Ok(place)
    }

    fn no_vertex(&self, start: usize, hint: &'static str) -> Bad {
        match self.scan.since(start).is_empty() {
            false => Bad::at(
                start,
                "a comment needs a line of its own",
                "move it to its own line",
            ),
            true => match self.scan.peek() {
                None | Some('\n') => Bad::at(start, "a vertex is missing", hint),
                Some(c) => Bad::at(start, format!("`{c}` where a vertex is expected"), hint),
            },
        }
    }

    /// The place of the vertex with this id, which is new if nobody named it before.
    fn named(&mut self, id: &str, spot: Spot) -> Result<usize, Bad> {
        let place = match self.ids.get(id) {
            Some(place) => *place,
            None => {
                let place = self.chart.vertices.len();
                if place >= VERTICES_MAX {
                    let message = format!("more than the {VERTICES_MAX} vertices allowed");
                    return Err(
                        Bad::at(spot.start, message, "split the drawing").fatal(Code::TooMany)
                    );
                }
                self.ids.insert(id.into(), place);
                self.chart.vertices.push(Vertex {
                    id: id.into(),
                    spot,
                    ..Vertex::default()
                });
                place
            }
        };
        if let Some((_, members)) = self.open.last_mut() {
            members.push(place);
        }
        Ok(place)
    }

    /// Gives a vertex its shape and caption; the last ones count.
    pub(super) fn draw(
        &mut self,
        place: usize,
        shape: Option<Shape>,
        caption: Option<Caption>,
        spot: Spot,
    ) {
        let vertex = &mut self.chart.vertices[place];
        if let (Some(old), Some(new)) = (&vertex.caption, &caption)
            && old != new
        {
            vertex.redrawn.0 = Some(spot);
        }
        vertex.shape = shape.or(vertex.shape);
        vertex.caption = caption.or(vertex.caption.take());
    }

    /// `:::name`, as often as it stands here.
    fn classes(&mut self, place: usize) -> Result<(), Bad> {
        while self.scan.take(":::") {
            let start = self.scan.at;
            self.scan
                .skip(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            let class = self.scan.since(start);
            if class.is_empty() {
                return Err(Bad::at(
                    start,
                    "a class is missing after `:::`",
                    "write its name",
                ));
            }
            let classes = &mut self.chart.vertices[place].classes;
            if !classes.iter().any(|known| known == class) {
                classes.push(class.into());
            }
        }
        Ok(())
    }

    /// A caption in brackets, and the shape that these draw.
    fn bracketed(&mut self) -> Result<Option<(Shape, Caption)>, Bad> {
        let start = self.scan.at;
        let Some(first) = BRACKETS.iter().find(|it| self.scan.starts(it.open)) else {
            return Ok(None);
        };
        let mut open = first.open;
        self.scan.take(open);
        if open == "[" && self.scan.take("|") {
            // Which borders are drawn is nothing that anybody reads.
            self.scan.skip(|c| !"|[](){}\n".contains(c));
            if !self.scan.take("|") {
                return Err(Bad::at(
                    start,
                    "`[|` is not closed",
                    "write `[|borders:lt|text]`",
                ));
            }
        }
        self.scan.spaces();
        let caption = match self.scan.starts("\"") {
            true => self.quoted()?,
            false => {
                let from = self.scan.at;
                self.unquoted(open);
                if self.scan.is_done() {
                    return Err(self.not_closed(start, open, first.close));
                }
                // An ellipse that does not end as one is a text that begins with a dash.
                if open == "(-" && !self.scan.starts("-)") {
                    open = "(";
                    captions::caption(&format!("-{}", self.scan.since(from)), false)
                } else {
                    captions::caption(self.scan.since(from), false)
                }
            }
        };
        self.scan.spaces();
        let fits = |close: &str| self.scan.starts(close);
        let found = BRACKETS.iter().find(|it| it.open == open && fits(it.close));
        if let Some(found) = found {
            self.scan.take(found.close);
            return Ok(Some((found.shape, caption)));
        }
        let wanted = BRACKETS.iter().find(|it| it.open == open);
        Err(self.not_closed(start, open, wanted.map_or("]", |it| it.close)))
    }

    /// Goes over a text without quotes, up to what may end it.
    fn unquoted(&mut self, open: &str) {
        let slanted = open.starts_with("[/") || open.starts_with("[\\");
        let rest = self.scan.rest();
        if self.unclosed.bracket {
            self.scan.at += rest.len();
            return;
        }
        let end = rest.char_indices().find(|(at, c)| match c {
            '[' | ']' | '(' | ')' | '{' | '}' => true,
            '/' | '\\' => slanted && rest[at + 1..].starts_with(']'),
            '-' => open == "(-" && rest[at + 1..].starts_with(')'),
            _ => false,
        });
        self.unclosed.bracket = end.is_none();
        self.scan.at += end.map_or(rest.len(), |(at, _)| at);
    }

    fn not_closed(&self, start: usize, open: &str, close: &str) -> Bad {
        match self.scan.peek() {
            None => {
                let message = format!("`{open}` is not closed");
                Bad::at(start, message, format!("end the text with `{close}`"))
            }
            Some(c) => Bad::at(
                self.scan.at,
                format!("`{c}` in a text that `{close}` should end"),
                format!("put the text into quotes: `{open}\"text\"{close}`"),
            ),
        }
    }

    /// A text in double quotes; in backticks inside them it is Markdown.
    pub(super) fn quoted(&mut self) -> Result<Caption, Bad> {
        let start = self.scan.at;
        self.scan.take("\"");
        let markdown = self.scan.take("`");
        let end = if markdown { "`\"" } else { "\"" };
        let known = match markdown {
            true => &mut self.unclosed.markdown,
            false => &mut self.unclosed.quote,
        };
        let found = match *known {
            true => None,
            false => self.scan.rest().find(end),
        };
        let Some(length) = found else {
            *known = true;
            let message = format!("a text that begins with a quote has no {end}");
            return Err(Bad::at(start, message, format!("end it with {end}")));
        };
        let from = self.scan.at;
        self.scan.at += length;
        let caption = captions::caption(self.scan.since(from), markdown);
        self.scan.take(end);
        Ok(caption)
    }
}
