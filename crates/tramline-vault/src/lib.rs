//! Seals what settings hold, under a key that it keeps in a file of its own.
//!
//! It may not know what a setting, a run or a server is, and it keeps nothing but that key.

mod key_file;
mod vault;

pub use vault::Vault;
