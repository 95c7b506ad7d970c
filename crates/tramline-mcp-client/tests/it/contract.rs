//! The contract of `Tools` with both handshakes and real processes.

use crate::support::{Bench, options};
use tramline_engine::testing::tools_contract;

#[tokio::test(flavor = "multi_thread")]
async fn servers_keep_the_contract() {
    let bench = Bench::plain();
    tools_contract(bench.servers.clone(), "u").await;
    bench.servers.shutdown().await;
}

#[tokio::test]
async fn servers_keep_the_contract_in_the_newer_era() {
    let bench = Bench::with(r#"["--modern-only"]"#, "", options());
    tools_contract(bench.servers.clone(), "u").await;
    bench.servers.shutdown().await;
}
