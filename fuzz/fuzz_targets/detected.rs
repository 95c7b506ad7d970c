//! Arbitrary bytes in any format: checked like `tramline check` does, and drawn if valid.

#![no_main]

#[path = "../checks/detected.rs"]
mod detected;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| detected::check(bytes));
