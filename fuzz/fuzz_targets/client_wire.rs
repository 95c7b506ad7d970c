//! Any bytes as what a downstream server writes: what passes the bound on lines is no longer than it, and
//! reading does not depend on how the bytes are cut into pieces.

#![no_main]

#[path = "../checks/client_wire.rs"]
mod client_wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| client_wire::check(bytes));
