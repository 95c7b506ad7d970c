//! Arbitrary bytes as the output of a downstream server: no line that passes exceeds its limit, and
//! parsing does not depend on how the bytes are split.

#![no_main]

#[path = "../checks/client_wire.rs"]
mod client_wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| client_wire::check(bytes));
