//! Any bytes in whatever format they are: read as `tramline check` reads, and drawn if they are good.

#![no_main]

#[path = "../checks/detected.rs"]
mod detected;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| detected::check(bytes));
