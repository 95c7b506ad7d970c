//! Style, click and accessibility statements, which are kept verbatim.

use super::parse::{FlowchartParser, StatementError};
use super::{STATEMENTS_MAX, StyleStatement};
use tramline_expr::Str;
use tramline_workflow::flaw::FlawCode;

impl FlowchartParser<'_, '_> {
    pub(super) fn add_style(
        &mut self,
        start: usize,
        it: StyleStatement,
    ) -> Result<(), StatementError> {
        if self.chart.styles.len() >= STATEMENTS_MAX {
            let message = format!("more than {STATEMENTS_MAX} style statements");
            return Err(
                StatementError::at(start, message, "split the diagram").fatal(FlawCode::TooMany)
            );
        }
        self.chart.styles.push(it);
        Ok(())
    }

    /// Parses `style`, `class` and similar statements after their keyword.
    pub(super) fn style_statement(
        &mut self,
        word: &str,
        start: usize,
    ) -> Result<(), StatementError> {
        let text: Str = match word {
            // A URL may contain a `;`.
            "click" => {
                self.scan.skip_blanks();
                let from = self.scan.at;
                self.scan.skip_line();
                let text = self.scan.text_since(from);
                text.trim_end_matches(|c: char| c.is_whitespace() || c == ';')
                    .into()
            }
            _ => self.scan.rest_of_statement().0.into(),
        };
        if text.is_empty() {
            let hint = "complete the statement, or remove it";
            return Err(StatementError::at(
                start,
                format!("`{word}` is empty"),
                hint,
            ));
        }
        let made = match word {
            "style" => StyleStatement::Style(text),
            "linkStyle" => StyleStatement::LinkStyle(text),
            "classDef" => StyleStatement::ClassDef(text),
            "class" => StyleStatement::Class(text),
            _ => StyleStatement::Click(text),
        };
        self.add_style(start, made)
    }

    /// Parses `accTitle: …`, `accDescr: …` or `accDescr {…}`; returns whether there was one.
    pub(super) fn accessibility(&mut self) -> Result<bool, StatementError> {
        let start = self.scan.at;
        let is_title = self.scan.accept("accTitle");
        if !is_title && !self.scan.accept("accDescr") {
            return Ok(false);
        }
        self.scan.skip_blanks();
        let text: Str = if self.scan.accept(":") {
            self.scan.skip_blanks();
            let from = self.scan.at;
            self.scan.skip_line();
            self.scan.text_since(from).trim_end().into()
        } else if !is_title && self.scan.accept("{") {
            let from = self.scan.at;
            if !self.unclosed.description {
                self.scan.skip(|c| c != '}');
            }
            let text = super::labels::parse_label(self.scan.text_since(from), true).text;
            if !self.scan.accept("}") {
                self.unclosed.description = true;
                return Err(StatementError::at(
                    start,
                    "a description is not closed",
                    "end it with `}`",
                ));
            }
            text.replace('\n', " ").trim().into()
        } else {
            self.scan.at = start;
            return Ok(false);
        };
        self.add_style(
            start,
            match is_title {
                true => StyleStatement::Title(text),
                false => StyleStatement::Description(text),
            },
        )?;
        Ok(true)
    }
}
