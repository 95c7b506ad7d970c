//! Fakes for the seams, and the contract suites that every implementation passes.

mod counted;
pub mod embedder_contract;
pub mod fake_embedder;
pub mod fake_model;
mod fake_sealer;
pub mod fake_tools;
mod memory_store;
pub mod model_contract;
mod sealer_contract;
mod store_contract;
pub mod tools_contract;

pub use counted::Counted;
pub use embedder_contract::embedder_contract;
pub use fake_embedder::FakeEmbedder;
pub use fake_model::ScriptedModel;
pub use fake_sealer::FakeSealer;
pub use fake_tools::{Called, FakeTools};
pub use memory_store::MemoryStore;
pub use model_contract::model_contract;
pub use sealer_contract::sealer_contract;
pub use store_contract::{StoreRig, store_contract};
pub use tools_contract::tools_contract;
