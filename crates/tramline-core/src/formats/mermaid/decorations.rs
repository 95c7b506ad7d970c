//! Statements that change how a drawing looks or is read aloud: kept as they are written.

use super::parse::{Bad, Parser};
use super::{Decoration, LINES_MAX};
use crate::flaw::Code;
use tramline_expr::Str;

impl Parser<'_, '_> {
    pub(super) fn decorate(&mut self, start: usize, it: Decoration) -> Result<(), Bad> {
        if self.chart.decorations.len() >= LINES_MAX {
            let message = format!("more than the {LINES_MAX} statements about looks allowed");
            return Err(Bad::at(start, message, "split the drawing").fatal(Code::TooMany));
        }
        self.chart.decorations.push(it);
        Ok(())
    }

    /// `style`, `class` and their kin, after their word.
    pub(super) fn decoration(&mut self, word: &str, start: usize) -> Result<(), Bad> {
        let text: Str = match word {
            // An address may hold a `;`.
            "click" => {
                self.scan.blanks();
                let from = self.scan.at;
                self.scan.skip_line();
                let text = self.scan.since(from);
                text.trim_end_matches(|c: char| c.is_whitespace() || c == ';')
                    .into()
            }
            _ => self.scan.remainder().0.into(),
        };
        if text.is_empty() {
            let hint = "say of what, and what about it";
            return Err(Bad::at(start, format!("`{word}` says nothing"), hint));
        }
        let made = match word {
            "style" => Decoration::Style(text),
            "linkStyle" => Decoration::LinkStyle(text),
            "classDef" => Decoration::ClassDef(text),
            "class" => Decoration::Class(text),
            _ => Decoration::Click(text),
        };
        self.decorate(start, made)
    }

    /// `accTitle: …`, `accDescr: …` or `accDescr {…}`; whether one stood here.
    pub(super) fn accessibility(&mut self) -> Result<bool, Bad> {
        let start = self.scan.at;
        let is_title = self.scan.take("accTitle");
        if !is_title && !self.scan.take("accDescr") {
            return Ok(false);
        }
        self.scan.blanks();
        let text: Str = if self.scan.take(":") {
            self.scan.blanks();
            let from = self.scan.at;
            self.scan.skip_line();
            self.scan.since(from).trim_end().into()
        } else if !is_title && self.scan.take("{") {
            let from = self.scan.at;
            if !self.unclosed.description {
                self.scan.skip(|c| c != '}');
            }
            let text = super::captions::caption(self.scan.since(from), true).text;
            if !self.scan.take("}") {
                self.unclosed.description = true;
                return Err(Bad::at(
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
        self.decorate(
            start,
            match is_title {
                true => Decoration::Title(text),
                false => Decoration::Description(text),
            },
        )?;
        Ok(true)
    }
}
