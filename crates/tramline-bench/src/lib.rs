//! Code shared by benchmarks and tests: the near-miss set of search, and recorded SOP sessions
//! replayed through the gate of a procedure.

pub mod near_miss_set;
#[cfg(feature = "replay")]
pub mod replay;
