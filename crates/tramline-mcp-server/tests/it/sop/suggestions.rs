//! Suggestions for an intent where procedures are pinned: only what could be called in one of them.

use super::super::support::{Era, connect};
use super::call_sop;
use super::pinned::{BANK, PinnedFixture, bank};
use serde_json::json;
use tramline_mcp_server::PinOptions;

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_offer_only_tools_that_some_node_allows() {
    let fixture = PinnedFixture::default();
    let terms = PinOptions {
        ungated: vec!["free:*".parse().unwrap()],
        ..PinOptions::default()
    };
    let (_, server) = fixture.serve_with(&[&bank(BANK)], terms).await;
    let client = connect(&server, Era::Modern).await;
    let intent = "wipe everything, log in, take a note, look, identify the user and pay";
    let told = call_sop(&client, "execute_dag", json!({ "intent": intent })).await;
    assert_eq!(told["status"], "suggestion", "{told}");
    let text = told.to_string();
    for closed in ["t:wipe", "t:login", "evil:identify", "builtin:"] {
        assert!(!text.contains(closed), "{closed}: {text}");
    }
    for open in ["t:pay", "t:identify", "t:look", "free:note"] {
        assert!(text.contains(open), "{open}: {text}");
    }
}
