//! Arbitrary text as recorded SOP sessions: at least one is parsed, or there is a reason.

#![no_main]

#[path = "../checks/transcript.rs"]
mod transcript;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| transcript::check(bytes));
