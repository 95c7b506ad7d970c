//! Styles of our own, put into a text after everything foreign in it was cleaned.
//!
//! A style stands in a text as a mark that nothing foreign can hold: it has a number in it that is
//! drawn for each process. The text between marks is escaped, then marks become escape sequences.

use anstyle::{AnsiColor, Style};
use std::fmt::{self, Display, Write};
use std::sync::LazyLock;
use tramline_core::text::printable_line;

/// What a mark begins and ends with: no character.
const EDGE: char = '\u{fdd0}';

/// A style. `{paint}` begins it and `{paint:#}` ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Paint {
    /// What went well.
    Good,
    /// What went wrong.
    Bad,
    /// What asks, or has changed.
    Ask,
    /// What matters less.
    Dim,
    /// The word `error`.
    Error,
}

impl Paint {
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

/// The begin of every mark of this process.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let number = tramline_engine::clock::random();
    format!("{EDGE}{number:016x}")
});

impl Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = if f.alternate() { '-' } else { '+' };
        write!(f, "{}{turn}{}{EDGE}", *MARK, self.letter())
    }
}

/// A line with its marks as escape sequences and everything else escaped.
pub(super) fn painted(text: &str) -> String {
    let mut parts = text.split(MARK.as_str());
    let mut clean = printable_line(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let (mark, rest) = part.split_once(EDGE).unwrap_or(("", part));
        let (turn, letter) = mark.split_at(mark.len().min(1));
        let paint = Paint::ALL
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
        let (paint, foreign) = (Paint::Good, "x\u{1b}[2J\u{fdd0}+g\u{fdd0}\ny");
        let line = painted(&format!("{paint}ok{paint:#} {foreign}"));
        assert_eq!(
            line,
            "\u{1b}[32mok\u{1b}[0m x\\u{1b}[2J\u{fdd0}+g\u{fdd0}\\ny"
        );
    }
}
