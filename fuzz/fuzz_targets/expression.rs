//! Any text as an expression: the first byte says whether as JSONata or as a JSON Logic rule. It
//! compiles or says why not, and evaluates or says why not, within its limits.

#![no_main]

#[path = "../checks/expression.rs"]
mod expression;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| expression::check(bytes));
