//! How much room nodes and labels need, without knowing the font.
//!
//! Text is drawn in a fixed-width font, whose letters are at most this wide everywhere.

use crate::picture::{Kind, Shape, cut};

/// The size of a node's id, in pixels.
pub(in crate::picture) const TITLE_SIZE: f64 = 13.0;
/// The size of what stands below it.
pub(in crate::picture) const DETAIL_SIZE: f64 = 11.0;
/// The size of labels on ways.
pub(in crate::picture) const LABEL_SIZE: f64 = 11.0;
/// The height of a line of text.
pub(in crate::picture) const LINE_HEIGHT: f64 = 17.0;

/// How wide a letter is, as a part of its size: 0.602 in most fixed-width fonts.
const LETTER: f64 = 0.62;
/// Longer ids are cut, in characters.
const TITLE_CHARS_MAX: usize = 34;
/// The least width of a node.
const WIDTH_MIN: f64 = 84.0;

/// The lines of text in a node: the text, and its size.
pub(in crate::picture) fn lines(shape: &Shape) -> Vec<(String, f64)> {
    let mut lines = vec![(cut(&shape.id, TITLE_CHARS_MAX), TITLE_SIZE)];
    if let Some(detail) = &shape.detail {
        lines.push((detail.clone(), DETAIL_SIZE));
    }
    if !shape.notes.is_empty() {
        lines.push((shape.notes.join(" · "), DETAIL_SIZE));
    }
    lines
}

/// How wide a text is at most.
fn text_width(text: &str, size: f64) -> f64 {
    let cells: usize = text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum();
    cells as f64 * size * LETTER
}

/// Whether a character takes the room of two: East Asian scripts and pictographs.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x115f | 0x2600..=0x27bf | 0x2e80..=0xa4cf | 0xac00..=0xd7a3
        | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6
        | 0x1f000..=0x1faff | 0x20000..=0x3fffd)
}

/// The width and height of a node.
pub(super) fn size(shape: &Shape) -> (f64, f64) {
    let lines = lines(shape);
    let widths = lines.iter().map(|(text, size)| text_width(text, *size));
    let width = widths.fold(0.0, f64::max);
    let height = lines.len() as f64 * LINE_HEIGHT;
    match shape.kind {
        Kind::Call => ((width + 28.0).max(WIDTH_MIN), height + 16.0),
        // The slanted ends take room from the text.
        Kind::Compute | Kind::Wait => ((width + 52.0).max(WIDTH_MIN), height + 16.0),
        Kind::Entry | Kind::Exit => ((width + height + 16.0).max(WIDTH_MIN), height + 14.0),
        Kind::Choose => {
            // A box fits into a rhombus if its parts of width and height add up to one at most.
            let whole = height * 2.2 + 10.0;
            ((width / (1.0 - height / whole)).max(WIDTH_MIN) + 8.0, whole)
        }
    }
}

/// The width and height of a label.
pub(super) fn label(text: &str) -> (f64, f64) {
    (text_width(text, LABEL_SIZE) + 8.0, LINE_HEIGHT)
}
