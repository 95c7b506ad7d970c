//! Fakes for the ports, and the contract suites that every implementation passes.

mod cipher_contract;
mod counting_store;
mod fake_cipher;
pub mod fake_model;
pub mod fake_tools;
mod memory_store;
pub mod model_contract;
mod store_contract;
pub mod tools_contract;

pub use crate::long_work::hold_trial_slots;
pub use cipher_contract::cipher_contract;
pub use counting_store::CountingStore;
pub use fake_cipher::FakeCipher;
pub use fake_model::ScriptedModel;
pub use fake_tools::{FakeCall, FakeTools};
pub use memory_store::MemoryStore;
pub use model_contract::model_contract;
pub use store_contract::{StoreRig, store_contract};
pub use tools_contract::tools_contract;
