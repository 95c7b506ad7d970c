//! Arbitrary text as an exported run: imported and readable, or rejected.

use std::sync::{Arc, LazyLock};
use tokio::runtime::Runtime;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, EngineOptions, RunOwner};

static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().ok()
});

pub(crate) fn check(bytes: &[u8]) {
    let (Ok(text), Some(runtime)) = (std::str::from_utf8(bytes), &*RUNTIME) else {
        return;
    };
    runtime.block_on(async {
        let (store, tools) = (Arc::new(MemoryStore::default()), Arc::new(FakeTools::new()));
        let engine = Engine::new(store, tools, EngineOptions::default());
        if let Ok((id, _)) = engine.import(text, RunOwner::default()).await {
            let exported = engine.export(&id).await;
            assert!(
                exported.is_ok(),
                "an imported run cannot be exported: {exported:?}"
            );
        }
    });
}
