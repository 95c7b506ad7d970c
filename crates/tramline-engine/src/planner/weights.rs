//! How much each sign of a plan weighs: numbers only, as `cargo xtask bench planner --fit` prints them.

use super::signs::SIGNS;

/// By sign, what it weighs always and what more where much was learnt.
pub(super) const WEIGHTS: [(f64, f64); SIGNS] = [
    (-1.538, 1.194),
    (2.408, 0.062),
    (4.024, -2.326),
    (4.131, -2.852),
    (0.335, 1.952),
    (5.473, 1.513),
    (0.061, 0.485),
    (0.389, -0.055),
    (1.821, 4.057),
    (1.097, -0.718),
    (5.180, -5.621),
    (0.471, 0.349),
    (-0.158, 2.588),
    (-0.208, -0.498),
    (0.215, 0.489),
    (0.503, -3.137),
    (5.029, -0.893),
    (-2.263, -0.203),
    (0.538, 0.668),
    (0.350, -0.014),
    (-1.216, -1.003),
    (0.107, 0.164),
];

/// What makes a share a confidence: bias, slope, and what more where much was learnt.
pub(super) const SURENESS: [f64; 3] = [-0.762, 0.820, 0.857];
