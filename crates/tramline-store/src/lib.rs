//! Stores journals in SQLite. May not know what a graph means: here a journal is opaque chunks.

mod sqlite;

pub use sqlite::{Sqlite, StoreCopy, StoreProblem, Verification, utc};
