//! Our own styles, inserted into a text after everything untrusted in it was escaped.
//!
//! In a text, a style is a mark that untrusted text cannot contain: it includes a random number per
//! process. The text between marks is escaped, then marks become escape sequences.

use anstyle::{AnsiColor, Style};
use std::fmt::{self, Display, Write};
use std::sync::LazyLock;
use tramline_workflow::text::printable_line;

/// Starts and ends a mark: a Unicode noncharacter.
const MARK_DELIMITER: char = '\u{fdd0}';

/// A style. `{paint}` starts it and `{paint:#}` ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum TextStyle {
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// A question or a change.
    Ask,
    /// Secondary text.
    Dim,
    /// The word `error`.
    Error,
}

impl TextStyle {
    const ALL: [Self; 5] = [Self::Good, Self::Bad, Self::Ask, Self::Dim, Self::Error];

    fn letter(self) -> char {
        match self {
            Self::Good => 'g',
            Self::Bad => 'b',
            Self::Ask => 'a',
            Self::Dim => 'd',
            Self::Error => 'e',
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Ask => AnsiColor::Yellow.on_default(),
            Self::Dim => Style::new().dimmed(),
            Self::Error => AnsiColor::Red.on_default().bold(),
        }
    }
}

/// The start of every mark in this process.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let number = tramline_engine::clock::random();
    format!("{MARK_DELIMITER}{number:016x}")
});

impl Display for TextStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = if f.alternate() { '-' } else { '+' };
        write!(f, "{}{turn}{}{MARK_DELIMITER}", *MARK, self.letter())
    }
}

/// A line with its marks as escape sequences and everything else escaped.
pub(super) fn render_styles(text: &str) -> String {
    let mut parts = text.split(MARK.as_str());
    let mut clean = printable_line(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let (mark, rest) = part.split_once(MARK_DELIMITER).unwrap_or(("", part));
        let (turn, letter) = mark.split_at(mark.len().min(1));
        let paint = TextStyle::ALL
            .into_iter()
            .find(|paint| letter.chars().eq([paint.letter()]));
        if let Some(paint) = paint {
            let style = paint.style();
            // Writing to a string cannot fail.
            let _ = match turn {
                "+" => write!(clean, "{style}"),
                _ => write!(clean, "{style:#}"),
            };
        }
        clean.push_str(&printable_line(rest));
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_styles_become_escape_sequences() {
        let (paint, foreign) = (TextStyle::Good, "x\u{1b}[2J\u{fdd0}+g\u{fdd0}\ny");
        let line = render_styles(&format!("{paint}ok{paint:#} {foreign}"));
        assert_eq!(
            line,
            "\u{1b}[32mok\u{1b}[0m x\\u{1b}[2J\u{fdd0}+g\u{fdd0}\\ny"
        );
    }
}
