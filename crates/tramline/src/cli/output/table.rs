//! Tables that fit the terminal: columns with headers, the widest texts cut with `…`.

use super::{print, style};
use std::io::IsTerminal;
use tramline_workflow::text::printable_line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters between columns.
const GAP: usize = 2;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Column {
    title: &'static str,
    /// How narrow it may become, in characters; `None` if it is never cut.
    narrowest: Option<usize>,
    is_right: bool,
}

impl Column {
    /// A column that is never cut.
    pub(in crate::cli) const fn fixed(title: &'static str) -> Self {
        Self {
            title,
            narrowest: None,
            is_right: false,
        }
    }

    /// A column that is cut on a narrow terminal, but not below this many characters.
    pub(in crate::cli) const fn flexible(title: &'static str, narrowest: usize) -> Self {
        Self {
            title,
            narrowest: Some(narrowest),
            is_right: false,
        }
    }

    /// The same, aligned to the right.
    pub(in crate::cli) const fn right(mut self) -> Self {
        self.is_right = true;
        self
    }
}

/// A table for people.
pub(in crate::cli) struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(in crate::cli) fn new(columns: [Column; N]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row. Its texts may be untrusted.
    pub(in crate::cli) fn row(&mut self, cells: [String; N]) {
        self.rows
            .push(cells.map(|cell| printable_line(&cell).into_owned()));
    }

    /// Prints the table to standard output, cut to the terminal's width if it is a terminal.
    pub(in crate::cli) fn print(&self) {
        for line in self.lines(width()) {
            print(&line);
        }
    }

    fn lines(&self, width: Option<usize>) -> Vec<String> {
        let widths = self.widths(width);
        let heads = self.columns.map(|column| column.title.to_owned());
        let dim = style::TextStyle::Dim;
        let head = self.line(&heads, &widths);
        let mut lines = vec![style::render_styles(&format!("{dim}{head}{dim:#}"))];
        lines.extend(self.rows.iter().map(|row| self.line(row, &widths)));
        lines
    }

    /// The width of every column. Flexible ones become narrower, the widest first, until the table fits.
    fn widths(&self, width: Option<usize>) -> [usize; N] {
        let mut widths = self.columns.map(|column| column.title.width());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let Some(most) = width else {
            return widths;
        };
        let mut over = (widths.iter().sum::<usize>() + GAP * (N - 1)).saturating_sub(most);
        while over > 0 {
            let can_shrink = |at: &usize| {
                let narrowest = self.columns[*at].narrowest;
                narrowest.is_some_and(|narrowest| widths[*at] > narrowest)
            };
            let Some(at) = (0..N).filter(can_shrink).max_by_key(|at| widths[*at]) else {
                return widths;
            };
            widths[at] -= 1;
            over -= 1;
        }
        widths
    }

    fn line(&self, cells: &[String; N], widths: &[usize; N]) -> String {
        let mut line = String::new();
        for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            let shown = cut(cell, width);
            let padding = " ".repeat(width.saturating_sub(shown.width()));
            if at > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            match self.columns[at].is_right {
                true => line.extend([&padding, &shown].map(String::as_str)),
                false => line.extend([&shown, &padding].map(String::as_str)),
            }
        }
        line.trim_end().to_owned()
    }
}

/// The width of the terminal on standard output; `None` without one, where nothing is cut.
pub(in crate::cli) fn width() -> Option<usize> {
    let out = std::io::stdout();
    let size = out
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(&out));
    let columns = size?.ok()?.ws_col;
    (columns > 0).then_some(columns.into())
}

/// A text of at most this width, with `…` where it was cut.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        shown.push(c);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<3> {
        let columns = [
            Column::fixed("ID"),
            Column::flexible("NAME", 6),
            Column::fixed("TOOK").right(),
        ];
        let mut table = Table::new(columns);
        table.row(["run_1".into(), "a rather long name".into(), "5 ms".into()]);
        table.row(["run_22".into(), "名前はとても長い".into(), "12.0 s".into()]);
        table
    }

    #[test]
    fn a_table_is_cut_where_it_may_be() {
        let lines = table().lines(Some(26));
        assert_eq!(lines[1], "run_1   a rather …    5 ms");
        assert_eq!(lines[2], "run_22  名前はと…   12.0 s");
        assert!(
            lines[1..].iter().all(|line| line.width() <= 26),
            "{lines:?}"
        );
        let lines = table().lines(None);
        assert_eq!(lines[1], "run_1   a rather long name    5 ms");
        // Nothing is cut below its narrowest width, or where it must stay whole.
        let lines = table().lines(Some(4));
        assert_eq!(lines[1], "run_1   a rat…    5 ms");
    }

    #[test]
    fn untrusted_cells_stay_in_their_line() {
        let mut table = Table::new([Column::fixed("A"), Column::flexible("B", 3)]);
        table.row(["\u{1b}[2J\nx".into(), "y".into()]);
        let lines = table.lines(Some(80));
        assert_eq!(lines.len(), 2);
        assert!(
            !lines[1].contains('\u{1b}') && !lines[1].contains('\n'),
            "{lines:?}"
        );
    }
}
