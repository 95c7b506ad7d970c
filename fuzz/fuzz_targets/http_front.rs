//! Any bytes as what a client sends to a server over HTTP: it is answered as HTTP or hung up on, and a
//! health check after it is answered.

#![no_main]

#[path = "../checks/http_front.rs"]
mod http_front;
#[path = "../checks/serving.rs"]
mod serving;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| http_front::check(bytes));
