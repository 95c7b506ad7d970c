//! What measures and tests share: recorded conversations replayed through the gate of a procedure.

#[cfg(feature = "replay")]
pub mod replay;
