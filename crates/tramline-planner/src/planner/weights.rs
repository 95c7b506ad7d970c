//! The weights of a plan's features, in the form that `cargo xtask bench planner --fit` prints.

use super::features::PLAN_FEATURES;

/// The weights of a plan's features.
pub(super) struct Weights {
    /// By feature, its base weight and the weight added in proportion to the trust in the history.
    pub(super) signs: [(f64, f64); PLAN_FEATURES],
    /// Calibration of a share to a confidence: bias, slope, and the weight of the trust in the history.
    pub(super) sureness: [f64; 3],
}

/// Weights for tools found by words alone.
pub(super) const BY_WORDS: Weights = Weights {
    signs: [
        (-2.845, 3.226),
        (3.063, -0.619),
        (3.781, -2.342),
        (3.132, 0.227),
        (-0.876, -0.081),
        (6.813, 1.051),
        (-0.146, 0.797),
        (0.849, -0.322),
        (-0.127, 2.677),
        (1.100, -0.629),
        (2.433, -2.763),
        (0.373, 0.254),
        (-0.533, 1.747),
        (0.059, -0.912),
        (0.200, 0.690),
        (-0.093, -0.757),
        (5.050, 1.023),
        (-2.408, 0.114),
        (0.458, 0.466),
        (0.012, 0.504),
        (-1.176, -0.903),
        (-0.070, 0.166),
        (-0.419, 0.161),
        (2.618, -1.381),
        (0.518, -1.086),
        (-0.251, 0.603),
        (0.822, -1.347),
        (0.469, 0.541),
        (-0.072, 0.340),
        (3.012, -0.725),
        (0.545, 0.779),
        (1.622, 0.063),
        (0.089, -0.143),
        (-0.827, -0.022),
    ],
    sureness: [-0.769, 0.808, 0.791],
};

/// Weights for tools found by words and embeddings.
pub(super) const BY_MEANING: Weights = Weights {
    signs: [
        (-3.566, 4.002),
        (2.957, -0.127),
        (4.224, -2.848),
        (2.819, 0.838),
        (-0.466, 0.047),
        (2.944, 2.948),
        (-0.187, 0.816),
        (0.812, -0.207),
        (-0.220, 2.075),
        (1.097, -0.523),
        (2.654, -2.910),
        (0.446, 0.119),
        (-0.580, 1.925),
        (0.132, -0.966),
        (0.177, 0.629),
        (0.816, -1.956),
        (4.459, 0.718),
        (-2.294, 0.220),
        (0.607, 0.283),
        (-0.239, 0.627),
        (-1.141, -0.849),
        (-0.047, 0.199),
        (-0.393, 0.180),
        (1.761, -0.927),
        (0.434, -0.470),
        (-0.221, 0.595),
        (0.857, -1.379),
        (0.620, 0.128),
        (-0.267, 0.305),
        (3.330, -0.599),
        (0.345, 0.319),
        (1.378, -0.067),
        (-0.610, 0.239),
        (-0.563, -0.028),
    ],
    sureness: [-0.579, 0.931, 0.531],
};
