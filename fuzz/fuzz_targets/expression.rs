//! Arbitrary text as an expression: the first byte selects JSONata or a JSON Logic rule. Compiling
//! and evaluating return a result or an error, within the limits.

#![no_main]

#[path = "../checks/expression.rs"]
mod expression;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| expression::check(bytes));
