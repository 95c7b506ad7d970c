//! Vertices: ids, bracketed labels, classes, and `@{…}`.

use super::parse::{FlowchartParser, StatementError};
use super::shapes::BRACKETS;
use super::{ByteSpan, ChartLabel, ID_BYTES_MAX, NodeShape, VERTICES_MAX, Vertex, labels};
use tramline_workflow::flaw::FlawCode;

/// Keywords that cannot be ids.
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

impl FlowchartParser<'_, '_> {
    /// Parses a vertex with its label, classes and attributes, and returns its index.
    pub(super) fn vertex(&mut self) -> Result<usize, StatementError> {
        let start = self.scan.at;
        let hint = "write a vertex such as `A[text]`";
        if self.is_arrow(true) {
            return Err(StatementError::at(
                start,
                "an arrow where a vertex is expected",
                hint,
            ));
        }
        let id = self.scan.read_id();
        if id.len() > ID_BYTES_MAX {
            let message = format!("an id is longer than {ID_BYTES_MAX} bytes");
            return Err(StatementError::at(
                start,
                message,
                "give it a short id and a text: `A[text]`",
            ));
        }
        if self.scan.starts_with("@{") && self.link_ids.contains(id) {
            return Err(StatementError::at(
                start,
                "a link where a vertex is expected",
                hint,
            ));
        }
        let stray = id.starts_with("accTitle:") || id.starts_with("accDescr:");
        if RESERVED.contains(&id) || stray {
            let hint = "choose another id, such as one with a capital letter";
            return Err(StatementError::at(
                start,
                format!("`{id}` is a reserved keyword"),
                hint,
            ));
        }
        if id.is_empty() || id.starts_with("%%") {
            return Err(self.missing_vertex(start, hint));
        }
        let spot = ByteSpan::from(start..self.scan.at);
        let place = self.vertex_by_id(id, spot)?;
        self.classes(place)?;
        if let Some((shape, caption)) = self.bracketed_label()? {
            self.set_label(place, Some(shape), Some(caption), spot);
        }
        self.classes(place)?;
        if self.scan.starts_with("@{") {
            self.vertex_attributes(place)?;
            self.classes(place)?;
        }
        Ok(place)
    }

    fn missing_vertex(&self, start: usize, hint: &'static str) -> StatementError {
        match self.scan.text_since(start).is_empty() {
            false => StatementError::at(
                start,
                "a comment must be on its own line",
                "move it to its own line",
            ),
            true => match self.scan.peek() {
                None | Some('\n') => StatementError::at(start, "a vertex is missing", hint),
                Some(c) => {
                    StatementError::at(start, format!("`{c}` where a vertex is expected"), hint)
                }
            },
        }
    }

    /// The index of the vertex with this id, added if it is new.
    fn vertex_by_id(&mut self, id: &str, spot: ByteSpan) -> Result<usize, StatementError> {
        let place = match self.ids.get(id) {
            Some(place) => *place,
            None => {
                let place = self.chart.vertices.len();
                if place >= VERTICES_MAX {
                    let message = format!("more than {VERTICES_MAX} vertices");
                    return Err(StatementError::at(spot.start, message, "split the diagram")
                        .fatal(FlawCode::TooMany));
                }
                self.ids.insert(id.into(), place);
                self.chart.vertices.push(Vertex {
                    id: id.into(),
                    span: spot,
                    ..Vertex::default()
                });
                place
            }
        };
        if let Some((_, members)) = self.open_subgraphs.last_mut() {
            members.push(place);
        }
        Ok(place)
    }

    /// Sets the shape and label of a vertex; the last ones count.
    pub(super) fn set_label(
        &mut self,
        place: usize,
        shape: Option<NodeShape>,
        caption: Option<ChartLabel>,
        spot: ByteSpan,
    ) {
        let vertex = &mut self.chart.vertices[place];
        if let (Some(old), Some(new)) = (&vertex.label, &caption)
            && old != new
        {
            vertex.second_label.0 = Some(spot);
        }
        vertex.shape = shape.or(vertex.shape);
        vertex.label = caption.or(vertex.label.take());
    }

    /// Parses any number of `:::name`.
    fn classes(&mut self, place: usize) -> Result<(), StatementError> {
        while self.scan.accept(":::") {
            let start = self.scan.at;
            let class = self.scan.read_class();
            if class.is_empty() {
                return Err(StatementError::at(
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

    /// Parses a bracketed label and its shape.
    fn bracketed_label(&mut self) -> Result<Option<(NodeShape, ChartLabel)>, StatementError> {
        let start = self.scan.at;
        let Some(first) = BRACKETS.iter().find(|it| self.scan.starts_with(it.open)) else {
            return Ok(None);
        };
        let mut open = first.open;
        self.scan.accept(open);
        if open == "[" && self.scan.accept("|") {
            // The border attribute is ignored.
            self.scan.skip(|c| !"|[](){}\n".contains(c));
            if !self.scan.accept("|") {
                return Err(StatementError::at(
                    start,
                    "`[|` is not closed",
                    "write `[|borders:lt|text]`",
                ));
            }
        }
        self.scan.skip_whitespace();
        let caption = match self.scan.starts_with("\"") {
            true => self.quoted_label()?,
            false => {
                let from = self.scan.at;
                self.skip_unquoted(open);
                if self.scan.is_done() {
                    return Err(self.unclosed_error(start, open, first.close));
                }
                // Without a closing `-)` it is a rounded vertex whose text starts with a dash.
                if open == "(-" && !self.scan.starts_with("-)") {
                    open = "(";
                    labels::parse_label(&format!("-{}", self.scan.text_since(from)), false)
                } else {
                    labels::parse_label(self.scan.text_since(from), false)
                }
            }
        };
        self.scan.skip_whitespace();
        let fits = |close: &str| self.scan.starts_with(close);
        let found = BRACKETS.iter().find(|it| it.open == open && fits(it.close));
        if let Some(found) = found {
            self.scan.accept(found.close);
            return Ok(Some((found.shape, caption)));
        }
        let wanted = BRACKETS.iter().find(|it| it.open == open);
        Err(self.unclosed_error(start, open, wanted.map_or("]", |it| it.close)))
    }

    /// Skips unquoted text up to a possible end.
    fn skip_unquoted(&mut self, open: &str) {
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

    fn unclosed_error(&self, start: usize, open: &str, close: &str) -> StatementError {
        match self.scan.peek() {
            None => {
                let message = format!("`{open}` is not closed");
                StatementError::at(start, message, format!("end the text with `{close}`"))
            }
            Some(c) => StatementError::at(
                self.scan.at,
                format!("`{c}` in a text that should end with `{close}`"),
                format!("quote the text: `{open}\"text\"{close}`"),
            ),
        }
    }

    /// Parses a text in double quotes; backticks inside them make it Markdown.
    pub(super) fn quoted_label(&mut self) -> Result<ChartLabel, StatementError> {
        let start = self.scan.at;
        self.scan.accept("\"");
        let markdown = self.scan.accept("`");
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
            let message = format!("a quoted text is not closed with {end}");
            return Err(StatementError::at(
                start,
                message,
                format!("end it with {end}"),
            ));
        };
        let from = self.scan.at;
        self.scan.at += length;
        let caption = labels::parse_label(self.scan.text_since(from), markdown);
        self.scan.accept(end);
        Ok(caption)
    }
}
