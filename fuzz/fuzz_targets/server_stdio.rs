//! Any bytes as what a client writes to a server over stdio: whatever is answered is a line of JSON, and
//! the server ends when its input does.

#![no_main]

#[path = "../checks/server_stdio.rs"]
mod server_stdio;
#[path = "../checks/serving.rs"]
mod serving;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server_stdio::check(bytes));
