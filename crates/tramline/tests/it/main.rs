//! The binary and its examples, as users meet them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod clients;
