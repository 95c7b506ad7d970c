//! Fakes for the seams, and the contract suites that every implementation passes.

mod memory_store;
mod store_contract;

pub use memory_store::MemoryStore;
pub use store_contract::{StoreRig, store_contract};
