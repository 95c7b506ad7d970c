//! Code shared by benchmarks and tests: recorded SOP sessions replayed through the gate of a
//! procedure.

#[cfg(feature = "replay")]
pub mod replay;
