//! The store contract, with two replicas.

use crate::{database, open};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tramline_engine::testing::{StoreRig, store_contract};

/// Longer than any pause of a busy machine.
const LEASE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn is_kept_by_two_replicas() {
    let (server, _) = database();
    let count = AtomicU32::new(0);
    store_contract(async || {
        let name = format!("t{}", count.fetch_add(1, Ordering::Relaxed));
        let url = server.database(&name).unwrap();
        let (store, other) = (open(&url, "a", LEASE), open(&url, "b", LEASE));
        StoreRig::new(store).with_other(other)
    })
    .await;
}
