//! A line-by-line diff of two texts in the unified format.

/// Unchanged lines shown around each change.
const CONTEXT_LINES: usize = 3;
/// Lines of a diff that are shown; a person who has to approve it does not read more.
const SHOWN_LINES_MAX: usize = 400;
/// Bytes of a line that are shown; minified files have lines of megabytes.
const LINE_BYTES_MAX: usize = 400;
/// Changed lines up to which a minimal diff is searched; the search is quadratic in time and
/// memory. Above this, the text is shown as replaced completely.
const EDITS_MAX: usize = 800;

/// A unified diff without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextDiff {
    /// Hunks with `@@` lines; empty if the texts are equal.
    pub text: String,
    /// Whether the diff was truncated.
    pub is_truncated: bool,
}

/// What happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEdit {
    Keep,
    Delete,
    Insert,
}

/// The unified diff of two texts.
pub fn unified(before: &str, after: &str) -> TextDiff {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(before), lines(after));
    let edits = line_edits(&old, &new);
    let mut shown = DiffWriter::default();
    let (mut at, mut line, mut other) = (0, 0, 0);
    while let Some(first) = edits[at..].iter().position(|edit| *edit != LineEdit::Keep) {
        let first = at + first;
        let begin = first.saturating_sub(CONTEXT_LINES).max(at);
        let end = hunk_end(&edits, first);
        line += begin - at;
        other += begin - at;
        shown.write_hunk(&edits[begin..end], &old, &new, &mut line, &mut other);
        at = end;
    }
    TextDiff {
        text: shown.text,
        is_truncated: shown.is_truncated,
    }
}

/// Lines including their line breaks, so that a missing final line break is a difference.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Where the hunk that starts with this change ends. Changes close to each other share a hunk.
fn hunk_end(edits: &[LineEdit], first: usize) -> usize {
    let mut last = first;
    for (at, edit) in edits.iter().enumerate().skip(first) {
        if *edit != LineEdit::Keep {
            last = at;
        } else if at - last > 2 * CONTEXT_LINES {
            break;
        }
    }
    (last + 1 + CONTEXT_LINES).min(edits.len())
}

#[derive(Default)]
struct DiffWriter {
    text: String,
    lines: usize,
    is_truncated: bool,
}

impl DiffWriter {
    fn write_hunk(
        &mut self,
        edits: &[LineEdit],
        old: &[&str],
        new: &[&str],
        line: &mut usize,
        other: &mut usize,
    ) {
        let count = |skipped: LineEdit| edits.iter().filter(|edit| **edit != skipped).count();
        let (removed, added) = (count(LineEdit::Insert), count(LineEdit::Delete));
        // An empty side is numbered by the line before it.
        let start = |at: usize, count: usize| at + usize::from(count > 0);
        self.write_line(&format!(
            "@@ -{},{removed} +{},{added} @@",
            start(*line, removed),
            start(*other, added)
        ));
        for edit in edits {
            match edit {
                LineEdit::Keep => self.write_line(&format!(" {}", old[*line])),
                LineEdit::Delete => self.write_line(&format!("-{}", old[*line])),
                LineEdit::Insert => self.write_line(&format!("+{}", new[*other])),
            }
            *line += usize::from(*edit != LineEdit::Insert);
            *other += usize::from(*edit != LineEdit::Delete);
        }
    }

    fn write_line(&mut self, line: &str) {
        if self.lines == SHOWN_LINES_MAX {
            self.is_truncated = true;
            return;
        }
        self.lines += 1;
        let ended = line.ends_with('\n') || line.starts_with('@');
        let line = line.trim_end_matches('\n');
        let kept = line.floor_char_boundary(LINE_BYTES_MAX);
        self.text.push_str(&line[..kept]);
        if kept < line.len() {
            self.is_truncated = true;
            self.text.push('…');
        }
        self.text.push('\n');
        if !ended {
            self.text.push_str("\\ no line break at the end\n");
        }
    }
}

/// What happens to each line: the common prefix and suffix are kept, and the middle is searched.
fn line_edits(old: &[&str], new: &[&str]) -> Vec<LineEdit> {
    let same = |(one, other): &(&&str, &&str)| one == other;
    let begin = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = pairs.take_while(same).count();
    let old_middle = &old_rest[..old_rest.len() - end];
    let new_middle = &new_rest[..new_rest.len() - end];
    let mut edits = vec![LineEdit::Keep; begin];
    edits.extend(shortest_edits(old_middle, new_middle).unwrap_or_else(|| {
        let deleted = old_middle.iter().map(|_| LineEdit::Delete);
        deleted
            .chain(new_middle.iter().map(|_| LineEdit::Insert))
            .collect()
    }));
    edits.extend(vec![LineEdit::Keep; end]);
    edits
}

/// The shortest edit script (Myers), or `None` if it would be too long.
fn shortest_edits(old: &[&str], new: &[&str]) -> Option<Vec<LineEdit>> {
    let most = EDITS_MAX.min(old.len() + new.len());
    let place = |diagonal: isize| (diagonal + most as isize + 1) as usize;
    let mut reached = vec![0usize; 2 * most + 3];
    let mut trail: Vec<Vec<usize>> = Vec::new();
    for edits in 0..=most as isize {
        trail.push(reached.clone());
        for diagonal in (-edits..=edits).step_by(2) {
            let down = diagonal == -edits
                || diagonal != edits && reached[place(diagonal - 1)] < reached[place(diagonal + 1)];
            let mut x = match down {
                true => reached[place(diagonal + 1)],
                false => reached[place(diagonal - 1)] + 1,
            };
            let mut y = (x as isize - diagonal) as usize;
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            reached[place(diagonal)] = x;
            if x >= old.len() && y >= new.len() {
                return Some(trace_back(&trail, old.len(), new.len(), place));
            }
        }
    }
    None
}

/// Traces the search back from its end to collect the edits.
fn trace_back(
    trail: &[Vec<usize>],
    mut x: usize,
    mut y: usize,
    place: impl Fn(isize) -> usize,
) -> Vec<LineEdit> {
    let mut edits = Vec::new();
    for (count, reached) in trail.iter().enumerate().rev() {
        let (count, diagonal) = (count as isize, x as isize - y as isize);
        let down = diagonal == -count
            || diagonal != count && reached[place(diagonal - 1)] < reached[place(diagonal + 1)];
        let before = if down { diagonal + 1 } else { diagonal - 1 };
        let from_x = if count == 0 {
            0
        } else {
            reached[place(before)]
        };
        let from_y = (from_x as isize - before).max(0) as usize;
        let from_y = if count == 0 { 0 } else { from_y };
        while x > from_x && y > from_y {
            edits.push(LineEdit::Keep);
            (x, y) = (x - 1, y - 1);
        }
        if count > 0 {
            edits.push(if down {
                LineEdit::Insert
            } else {
                LineEdit::Delete
            });
            (x, y) = (from_x, from_y);
        }
    }
    edits.reverse();
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_difference_shows_what_changes_with_its_surroundings() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
        let expected = "@@ -2,7 +2,8 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n+i\n";
        assert_eq!(unified(before, after).text, expected);
        assert_eq!(unified(before, before).text, "");
        assert_eq!(unified("", "x\n").text, "@@ -0,0 +1,1 @@\n+x\n");
        assert_eq!(unified("x\n", "").text, "@@ -1,1 +0,0 @@\n-x\n");
        let no_end = "@@ -1,1 +1,1 @@\n-x\n+x\n\\ no line break at the end\n";
        assert_eq!(unified("x\n", "x").text, no_end);
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let long: String = (0..5_000).map(|line| format!("{line}\n")).collect();
        let shown = unified("", &long);
        assert!(shown.is_truncated);
        assert_eq!(shown.text.lines().count(), SHOWN_LINES_MAX);
        let wide = unified("", &"x".repeat(10_000));
        assert!(wide.is_truncated && wide.text.len() < 600);
    }

    /// Applies the edits to the old lines.
    fn applied<'t>(edits: &[LineEdit], old: &[&'t str], new: &[&'t str]) -> Vec<&'t str> {
        let (mut line, mut other) = (0, 0);
        let mut made = Vec::new();
        for edit in edits {
            match edit {
                LineEdit::Keep => {
                    assert_eq!(old[line], new[other]);
                    made.push(old[line]);
                }
                LineEdit::Delete => {}
                LineEdit::Insert => made.push(new[other]),
            }
            line += usize::from(*edit != LineEdit::Insert);
            other += usize::from(*edit != LineEdit::Delete);
        }
        assert_eq!((line, other), (old.len(), new.len()));
        made
    }

    proptest! {
        #[test]
        fn edits_lead_from_one_text_to_the_other(
            before in "([abc]\n){0,12}[abc]?",
            after in "([abc]\n){0,12}[abc]?",
        ) {
            let (old, new) = (lines(&before), lines(&after));
            let edits = line_edits(&old, &new);
            prop_assert_eq!(applied(&edits, &old, &new), new);
            unified(&before, &after);
        }
    }
}
