//! The gate over recorded conversations, in numbers.

mod replay;
