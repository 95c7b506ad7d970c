//! Any text as the file of an exported run: it is taken and can be read, or refused.

use std::sync::{Arc, LazyLock};
use tokio::runtime::Runtime;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, Options, Owner};

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
        let engine = Engine::new(store, tools, Options::default());
        if let Ok((id, _)) = engine.import(text, Owner::default()).await {
            let exported = engine.export(&id).await;
            assert!(
                exported.is_ok(),
                "what was taken cannot be read: {exported:?}"
            );
        }
    });
}
