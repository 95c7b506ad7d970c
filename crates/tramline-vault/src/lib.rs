//! Encrypts settings with a key in its own file.
//!
//! It may not know what a setting, a run or a server is, and it stores nothing but that key.

mod key_file;
mod vault;

pub use vault::Vault;
