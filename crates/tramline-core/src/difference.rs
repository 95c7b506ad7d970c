//! The difference between two texts, line by line, in the unified format.

/// So many unchanged lines are shown around each change.
const CONTEXT_LINES: usize = 3;
/// A difference is shown so far, in lines; nobody reads more before they agree to it.
const SHOWN_LINES_MAX: usize = 400;
/// A longer line is cut where it is shown, in bytes: minified files have lines of megabytes.
const LINE_BYTES_MAX: usize = 400;
/// Texts that differ in more lines than this are shown as replaced whole: the search takes the
/// square of it in time and memory.
const EDITS_MAX: usize = 800;

/// A unified difference without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Hunks with `@@` lines; empty if the texts are the same.
    pub text: String,
    /// Whether it was cut.
    pub cut: bool,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Keep,
    Delete,
    Insert,
}

/// The unified difference between two texts.
pub fn unified(before: &str, after: &str) -> Difference {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(before), lines(after));
    let edits = edits(&old, &new);
    let mut shown = Shown::default();
    let (mut at, mut line, mut other) = (0, 0, 0);
    while let Some(first) = edits[at..].iter().position(|edit| *edit != Edit::Keep) {
        let first = at + first;
        let begin = first.saturating_sub(CONTEXT_LINES).max(at);
        let end = hunk_end(&edits, first);
        line += begin - at;
        other += begin - at;
        shown.hunk(&edits[begin..end], &old, &new, &mut line, &mut other);
        at = end;
    }
    Difference {
        text: shown.text,
        cut: shown.cut,
    }
}

/// Lines with their ends, so that a missing last line break is a difference.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Where a hunk ends that begins with a change: changes with little between them belong together.
fn hunk_end(edits: &[Edit], first: usize) -> usize {
    let mut last = first;
    for (at, edit) in edits.iter().enumerate().skip(first) {
        if *edit != Edit::Keep {
            last = at;
        } else if at - last > 2 * CONTEXT_LINES {
            break;
        }
    }
    (last + 1 + CONTEXT_LINES).min(edits.len())
}

#[derive(Default)]
struct Shown {
    text: String,
    lines: usize,
    cut: bool,
}

impl Shown {
    fn hunk(
        &mut self,
        edits: &[Edit],
        old: &[&str],
        new: &[&str],
        line: &mut usize,
        other: &mut usize,
    ) {
        let count = |skipped: Edit| edits.iter().filter(|edit| **edit != skipped).count();
        let (removed, added) = (count(Edit::Insert), count(Edit::Delete));
        // An empty side is counted from the line before it.
        let start = |at: usize, count: usize| at + usize::from(count > 0);
        self.line(&format!(
            "@@ -{},{removed} +{},{added} @@",
            start(*line, removed),
            start(*other, added)
        ));
        for edit in edits {
            match edit {
                Edit::Keep => self.line(&format!(" {}", old[*line])),
                Edit::Delete => self.line(&format!("-{}", old[*line])),
                Edit::Insert => self.line(&format!("+{}", new[*other])),
            }
            *line += usize::from(*edit != Edit::Insert);
            *other += usize::from(*edit != Edit::Delete);
        }
    }

    fn line(&mut self, line: &str) {
        if self.lines == SHOWN_LINES_MAX {
            self.cut = true;
            return;
        }
        self.lines += 1;
        let ended = line.ends_with('\n') || line.starts_with('@');
        let line = line.trim_end_matches('\n');
        let kept = line.floor_char_boundary(LINE_BYTES_MAX);
        self.text.push_str(&line[..kept]);
        if kept < line.len() {
            self.cut = true;
            self.text.push('…');
        }
        self.text.push('\n');
        if !ended {
            self.text.push_str("\\ no line break at the end\n");
        }
    }
}

/// What becomes of each line: what both begin and end with is kept, the middle is searched.
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let same = |(one, other): &(&&str, &&str)| one == other;
    let begin = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = pairs.take_while(same).count();
    let old_middle = &old_rest[..old_rest.len() - end];
    let new_middle = &new_rest[..new_rest.len() - end];
    let mut edits = vec![Edit::Keep; begin];
    edits.extend(search(old_middle, new_middle).unwrap_or_else(|| {
        let deleted = old_middle.iter().map(|_| Edit::Delete);
        deleted
            .chain(new_middle.iter().map(|_| Edit::Insert))
            .collect()
    }));
    edits.extend(vec![Edit::Keep; end]);
    edits
}

/// The fewest edits from one to the other, after Myers; nothing if there are too many.
fn search(old: &[&str], new: &[&str]) -> Option<Vec<Edit>> {
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
                return Some(back(&trail, old.len(), new.len(), place));
            }
        }
    }
    None
}

/// The edits along the way that the search took, from its end to its beginning.
fn back(
    trail: &[Vec<usize>],
    mut x: usize,
    mut y: usize,
    place: impl Fn(isize) -> usize,
) -> Vec<Edit> {
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
            edits.push(Edit::Keep);
            (x, y) = (x - 1, y - 1);
        }
        if count > 0 {
            edits.push(if down { Edit::Insert } else { Edit::Delete });
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
        assert!(shown.cut);
        assert_eq!(shown.text.lines().count(), SHOWN_LINES_MAX);
        let wide = unified("", &"x".repeat(10_000));
        assert!(wide.cut && wide.text.len() < 600);
    }

    /// What the edits make of the old lines.
    fn applied<'t>(edits: &[Edit], old: &[&'t str], new: &[&'t str]) -> Vec<&'t str> {
        let (mut line, mut other) = (0, 0);
        let mut made = Vec::new();
        for edit in edits {
            match edit {
                Edit::Keep => {
                    assert_eq!(old[line], new[other]);
                    made.push(old[line]);
                }
                Edit::Delete => {}
                Edit::Insert => made.push(new[other]),
            }
            line += usize::from(*edit != Edit::Insert);
            other += usize::from(*edit != Edit::Delete);
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
            let edits = edits(&old, &new);
            prop_assert_eq!(applied(&edits, &old, &new), new);
            unified(&before, &after);
        }
    }
}
