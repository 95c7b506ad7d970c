//! The curve of an edge as SVG path data.

use super::Point;
use std::fmt::Write;

/// The curve through the points of an edge that leads down, or across if `is_across`. It ends this
/// many pixels before its last point, for an arrow head.
pub(in crate::diagram) fn edge_path(
    points: &[Point],
    is_loop: bool,
    head: f64,
    is_across: bool,
) -> String {
    let pair = |point: Point| match is_across {
        true => format!("{:.1} {:.1}", point.y, point.x),
        false => format!("{:.1} {:.1}", point.x, point.y),
    };
    let Some(&first) = points.first() else {
        return String::new();
    };
    let mut line = format!("M{}", pair(first));
    let down = is_down(points);
    for (at, ends) in points.windows(2).enumerate() {
        let (from, mut to) = (ends[0], ends[1]);
        if at + 2 == points.len() {
            match is_loop {
                true => to.x += head,
                false => to.y -= down * head,
            }
        }
        let _ = if (from.x - to.x).abs() < 0.1 && !is_loop {
            write!(line, "L{}", pair(to))
        } else {
            let (one, other) = bends(from, to, is_loop, at == 0);
            write!(line, "C{} {} {}", pair(one), pair(other), pair(to))
        };
    }
    line
}

/// Whether the last piece of an edge leads down (1) or up (-1).
pub(in crate::diagram) fn is_down(points: &[Point]) -> f64 {
    match points {
        [.., before, last] if last.y < before.y => -1.0,
        _ => 1.0,
    }
}

/// The control points of one piece: vertical at both ends, or out to the side and back for an edge
/// from a node to itself.
fn bends(from: Point, to: Point, is_loop: bool, is_out: bool) -> (Point, Point) {
    let point = |x: f64, y: f64| Point { x, y };
    let half = (from.y + to.y) / 2.0;
    match (is_loop, is_out) {
        (true, true) => (point(to.x, from.y), point(to.x, from.y)),
        (true, false) => (point(from.x, to.y), point(from.x, to.y)),
        (false, _) => (point(from.x, half), point(to.x, half)),
    }
}
