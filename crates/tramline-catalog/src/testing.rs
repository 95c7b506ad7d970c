//! A fake embedder, and the contract suite that every embedder passes.

pub mod embedder_contract;
pub mod fake_embedder;

pub use embedder_contract::embedder_contract;
pub use fake_embedder::FakeEmbedder;
