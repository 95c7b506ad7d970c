//! Tests of SOP sessions on whole procedures.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod shared;
mod sop_session;
