//! Any text as recorded conversations: at least one comes back, or a reason.

#![no_main]

#[path = "../checks/transcript.rs"]
mod transcript;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| transcript::check(bytes));
