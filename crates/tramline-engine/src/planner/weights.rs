//! How much each sign of a plan weighs: numbers only, in the form that `cargo xtask bench planner --fit` prints.

use super::signs::SIGNS;

/// What the signs of a plan weigh.
pub(super) struct Weights {
    /// By sign, what it weighs always and what more where much was learnt.
    pub(super) signs: [(f64, f64); SIGNS],
    /// What makes a share a confidence: bias, slope, and what more where much was learnt.
    pub(super) sureness: [f64; 3],
}

/// Where tools are found by words.
pub(super) const BY_WORDS: Weights = Weights {
    signs: [
        (-1.372, 2.346),
        (3.171, 1.853),
        (2.822, -2.032),
        (3.201, 0.104),
        (1.493, 1.191),
        (7.641, 1.525),
        (0.203, 0.314),
        (0.276, 0.319),
        (1.856, 3.229),
        (1.860, -0.653),
        (3.211, -3.231),
        (0.586, -0.219),
        (-2.119, 3.641),
        (-0.089, -1.549),
        (0.322, 0.737),
        (-0.501, -1.722),
        (5.678, -0.783),
        (-2.776, 0.230),
        (0.137, 1.393),
        (0.830, 0.614),
        (-1.235, -0.965),
        (-0.097, 0.195),
        (-0.569, 0.062),
        (2.214, -0.345),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
    ],
    sureness: [-0.984, 0.852, 0.785],
};

/// Where they are found by what they mean, too.
pub(super) const BY_MEANING: Weights = Weights {
    signs: [
        (-1.372, 2.346),
        (3.171, 1.853),
        (2.822, -2.032),
        (3.201, 0.104),
        (1.493, 1.191),
        (7.641, 1.525),
        (0.203, 0.314),
        (0.276, 0.319),
        (1.856, 3.229),
        (1.860, -0.653),
        (3.211, -3.231),
        (0.586, -0.219),
        (-2.119, 3.641),
        (-0.089, -1.549),
        (0.322, 0.737),
        (-0.501, -1.722),
        (5.678, -0.783),
        (-2.776, 0.230),
        (0.137, 1.393),
        (0.830, 0.614),
        (-1.235, -0.965),
        (-0.097, 0.195),
        (-0.569, 0.062),
        (2.214, -0.345),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
        (0.0, 0.0),
    ],
    sureness: [-0.984, 0.852, 0.785],
};
