//! Keeps journals in SQLite. May not know what a graph means: a journal is opaque chunks here.

mod sqlite;

pub use sqlite::{Sqlite, StoreProblem, Verification};
