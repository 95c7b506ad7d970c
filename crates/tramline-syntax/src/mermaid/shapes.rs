//! The shapes of vertices: their brackets and their names in `@{shape: …}`.

use tramline_workflow::text::nearest;

/// A shape by its short name. Fifteen of them have brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeShape(&'static str);

impl NodeShape {
    /// A rectangle, the default shape.
    pub const RECTANGLE: Self = Self("rect");
    /// Rounded ends: the start or the end of a procedure.
    pub const STADIUM: Self = Self("stadium");
    /// A decision.
    pub const RHOMBUS: Self = Self("diam");

    /// Its short name.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Its display name.
    pub fn display_name(self) -> &'static str {
        let long = BRACKETS.iter().find(|bracket| bracket.shape == self);
        long.map_or(self.0, |bracket| bracket.display_name)
    }

    /// Looks a shape up by its name or an alias.
    pub fn find(name: &str) -> Result<Self, Option<&'static str>> {
        let found = NAMES.iter().find(|names| names.contains(&name));
        match found {
            Some(names) => Ok(Self(names[0])),
            None => Err(nearest(name, NAMES.iter().copied().flatten().copied())),
        }
    }

    /// All shapes.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|names| Self(names[0]))
    }

    /// Its brackets, if it has any.
    pub(super) fn brackets(self) -> Option<(&'static str, &'static str)> {
        let bracket = BRACKETS.iter().find(|bracket| bracket.shape == self)?;
        Some((bracket.open, bracket.close))
    }
}

/// A pair of brackets and its shape.
pub(super) struct ShapeBrackets {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    pub(super) shape: NodeShape,
    display_name: &'static str,
}

const fn bracket(
    open: &'static str,
    close: &'static str,
    shape: &'static str,
    word: &'static str,
) -> ShapeBrackets {
    ShapeBrackets {
        open,
        close,
        shape: NodeShape(shape),
        display_name: word,
    }
}

/// The pairs, longer openings first. Slanted pairs are distinguished by both ends.
pub(super) const BRACKETS: [ShapeBrackets; 15] = [
    bracket("(((", ")))", "dbl-circ", "double-circle"),
    bracket("((", "))", "circle", "circle"),
    bracket("([", "])", "stadium", "stadium"),
    bracket("(-", "-)", "ellipse", "ellipse"),
    bracket("(", ")", "rounded", "rounded"),
    bracket("[[", "]]", "fr-rect", "subroutine"),
    bracket("[(", ")]", "cyl", "cylinder"),
    bracket("[/", "/]", "lean-r", "parallelogram"),
    bracket("[/", "\\]", "trap-b", "trapezoid"),
    bracket("[\\", "\\]", "lean-l", "parallelogram-alt"),
    bracket("[\\", "/]", "trap-t", "trapezoid-alt"),
    bracket("[", "]", "rect", "rectangle"),
    bracket("{{", "}}", "hex", "hexagon"),
    bracket("{", "}", "diam", "rhombus"),
    bracket(">", "]", "odd", "asymmetric"),
];

/// All names of each shape, the short one first.
const NAMES: &[&[&str]] = &[
    &[
        "rect",
        "proc",
        "process",
        "rectangle",
        "square",
        "squareRect",
    ],
    &["rounded", "event", "round", "roundedRect"],
    &["stadium", "terminal", "pill"],
    &[
        "fr-rect",
        "subprocess",
        "subproc",
        "framed-rectangle",
        "subroutine",
    ],
    &["cyl", "db", "database", "cylinder"],
    &["circle", "circ"],
    &["dbl-circ", "double-circle", "doublecircle"],
    &["ellipse"],
    &["odd", "asymmetric"],
    &["diam", "decision", "diamond", "question", "rhombus"],
    &["hex", "hexagon", "prepare"],
    &[
        "lean-r",
        "lean-right",
        "in-out",
        "lean_right",
        "parallelogram",
    ],
    &[
        "lean-l",
        "lean-left",
        "out-in",
        "lean_left",
        "parallelogram-alt",
    ],
    &["trap-b", "priority", "trapezoid-bottom", "trapezoid"],
    &[
        "trap-t",
        "manual",
        "trapezoid-top",
        "inv-trapezoid",
        "inv_trapezoid",
        "trapezoid-alt",
    ],
    &["text"],
    &["notch-rect", "card", "notched-rectangle"],
    &[
        "lin-rect",
        "lined-rectangle",
        "lined-process",
        "lin-proc",
        "shaded-process",
    ],
    &["sm-circ", "start", "small-circle"],
    &["fr-circ", "stop", "framed-circle"],
    &["f-circ", "junction", "filled-circle"],
    &["cross-circ", "summary", "crossed-circle"],
    &["fork", "join"],
    &["hourglass", "collate"],
    &["brace", "comment", "brace-l"],
    &["brace-r"],
    &["braces"],
    &["bolt", "com-link", "lightning-bolt"],
    &["doc", "document"],
    &["docs", "documents", "st-doc", "stacked-document"],
    &["lin-doc", "lined-document"],
    &["tag-doc", "tagged-document"],
    &["delay", "half-rounded-rectangle"],
    &["h-cyl", "das", "horizontal-cylinder"],
    &["lin-cyl", "disk", "lined-cylinder"],
    &["curv-trap", "display", "curved-trapezoid"],
    &[
        "div-rect",
        "div-proc",
        "divided-rectangle",
        "divided-process",
    ],
    &["tri", "extract", "triangle"],
    &["flip-tri", "manual-file", "flipped-triangle"],
    &["win-pane", "internal-storage", "window-pane"],
    &["notch-pent", "loop-limit", "notched-pentagon"],
    &["sl-rect", "manual-input", "sloped-rectangle"],
    &["st-rect", "processes", "procs", "stacked-rectangle"],
    &["tag-rect", "tag-proc", "tagged-rectangle", "tagged-process"],
    &["bow-rect", "stored-data", "bow-tie-rectangle"],
    &["flag", "paper-tape"],
    &["cloud"],
    &["bang"],
    &["datastore", "data-store"],
    &["icon"],
    &["iconSquare"],
    &["iconCircle"],
    &["iconRounded"],
    &["imageSquare"],
    &["anchor"],
];
