//! Subgraphs: their titles and members.

use super::parse::{FlowchartParser, StatementError};
use super::scanner::ChartScanner;
use super::{ChartLabel, DEPTH_MAX, STATEMENTS_MAX, Subgraph, labels};
use tramline_expr::Str;
use tramline_workflow::flaw::FlawCode;

impl FlowchartParser<'_, '_> {
    /// Parses the start of a subgraph: an id, an id with a title, or only a title.
    pub(super) fn subgraph(&mut self, start: usize) -> Result<(), StatementError> {
        let problem = if self.open_subgraphs.len() >= DEPTH_MAX {
            let message = format!("subgraphs nested deeper than {DEPTH_MAX} levels");
            Some((message, "flatten the diagram"))
        } else if self.chart.subgraphs.len() >= STATEMENTS_MAX {
            let message = format!("more than {STATEMENTS_MAX} subgraphs");
            Some((message, "divide the diagram"))
        } else {
            None
        };
        if let Some((message, hint)) = problem {
            return Err(StatementError::at(start, message, hint).fatal(FlawCode::TooMany));
        }
        let place = self.chart.subgraphs.len();
        self.chart.subgraphs.push(Subgraph {
            parent: self.open_subgraphs.last().map(|(group, _)| *group),
            span: (start..self.scan.at).into(),
            ..Subgraph::default()
        });
        self.open_subgraphs.push((place, Vec::new()));
        self.scan.skip_blanks();
        let (id, title) = self.subgraph_title()?;
        let group = &mut self.chart.subgraphs[place];
        (group.id, group.title) = (id, title);
        self.expect_end()
    }

    fn subgraph_title(&mut self) -> Result<(Option<Str>, Option<ChartLabel>), StatementError> {
        if self.scan.starts_with("\"") {
            let title = self.quoted_label()?;
            let text = title.text.clone();
            return Ok(match (title.markdown, text.is_empty()) {
                (false, true) => (None, None),
                (false, false) if is_word(&text) => (Some(text), None),
                (false, false) | (true, _) => (None, Some(title)),
            });
        }
        let start = self.scan.at;
        let id: Option<Str> = Some(self.scan.read_id().into()).filter(|id: &Str| !id.is_empty());
        self.scan.skip_blanks();
        if id.is_some() && self.scan.at_statement_end() {
            return Ok((id, None));
        }
        if id.is_some() && self.scan.accept("[") {
            let title = match self.scan.starts_with("\"") {
                true => self.quoted_label()?,
                false => {
                    let from = self.scan.at;
                    self.scan.skip(|c| !"]\n".contains(c));
                    labels::parse_label(self.scan.text_since(from), false)
                }
            };
            self.scan.skip_blanks();
            return match self.scan.accept("]") {
                true => Ok((id, Some(title))),
                false => Err(StatementError::at(
                    self.scan.at,
                    "a title is not closed",
                    "end it with `]`",
                )),
            };
        }
        self.scan.at = start;
        let (text, _) = self.scan.rest_of_statement();
        let title = labels::parse_label(text, false);
        Ok((None, Some(title).filter(|title| !title.text.is_empty())))
    }

    pub(super) fn end_subgraph(&mut self, start: usize) -> Result<(), StatementError> {
        if self.open_subgraphs.is_empty() {
            let hint = "remove it, or give the vertex a text: `end[End]`";
            return Err(StatementError::at(start, "`end` without a subgraph", hint));
        }
        self.close_subgraph();
        Ok(())
    }

    /// Assigns the vertices mentioned in the group to it, unless they belong to an inner group.
    pub(super) fn close_subgraph(&mut self) {
        let Some((group, members)) = self.open_subgraphs.pop() else {
            return;
        };
        for member in members {
            let vertex = &mut self.chart.vertices[member];
            let is_itself = self.chart.subgraphs[group].id.as_ref() == Some(&vertex.id);
            if vertex.subgraph.is_none() && !is_itself {
                vertex.subgraph = Some(group);
            }
        }
    }
}

/// Whether a text is a valid id as a whole.
fn is_word(text: &str) -> bool {
    !text.is_empty() && ChartScanner::new(text, 0..text.len()).read_id() == text
}
