//! Numbers: doubles as in JavaScript, and exact 64-bit integers.

use std::cmp::Ordering;

/// A JSON number. Equality and order compare the numbers, not their representation.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer that fits `i64`.
    Int(i64),
    /// An integer above `i64::MAX` that fits `u64`.
    UInt(u64),
    /// Any other number. Always finite in values that came from JSON.
    Float(f64),
}

impl Number {
    /// The number as a double; integers beyond 2^53 are rounded.
    #[inline]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::UInt(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// The number, if it is an integer that fits `i64`.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            Self::UInt(_) => None,
            // Both bounds are exact doubles; the upper one is the first that no longer fits.
            Self::Float(float) => (float.fract() == 0.0
                && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float))
            .then_some(float as i64),
        }
    }

    /// The number, if it is an integer that fits `u64`.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::Int(int) => u64::try_from(int).ok(),
            Self::UInt(int) => Some(int),
            Self::Float(float) => (float.fract() == 0.0
                && (0.0..18_446_744_073_709_551_616.0).contains(&float))
            .then_some(float as u64),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Int(_), Self::UInt(_)) | (Self::UInt(_), Self::Int(_)) => false,
            _ => self.as_f64() == other.as_f64(),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::UInt(a), Self::UInt(b)) => Some(a.cmp(b)),
            (Self::Int(_), Self::UInt(_)) => Some(Ordering::Less),
            (Self::UInt(_), Self::Int(_)) => Some(Ordering::Greater),
            _ => self.as_f64().partial_cmp(&other.as_f64()),
        }
    }
}

impl From<f64> for Number {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<i32> for Number {
    fn from(int: i32) -> Self {
        Self::Int(int.into())
    }
}

impl From<u32> for Number {
    fn from(int: u32) -> Self {
        Self::Int(int.into())
    }
}

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        i64::try_from(int).map_or(Self::UInt(int), Self::Int)
    }
}

impl From<usize> for Number {
    fn from(int: usize) -> Self {
        (int as u64).into()
    }
}
