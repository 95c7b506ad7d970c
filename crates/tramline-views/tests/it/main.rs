//! Tests of everything that reads and shows documents, on the seeds of the fuzz targets.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod fuzz_seeds;
