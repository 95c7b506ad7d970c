//! Fakes for the seams, and the contract suites that every implementation passes.
