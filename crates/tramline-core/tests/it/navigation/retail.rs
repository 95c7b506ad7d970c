//! How many calls the retail example takes with `advance`, beside one for each node.

use super::{Told, sop};
use std::path::Path;
use std::sync::Arc;
use tramline_core::journal::Event;
use tramline_core::navigate::Turn;

/// What an agent does: walks on (with a node and slots), or calls a tool that gives something.
enum Does {
    On(Option<&'static str>, &'static str),
    Calls(&'static str, &'static str),
}
use Does::{Calls, On};

fn moves(turn: &Turn) -> usize {
    let moved = |event: &&Event| matches!(event, Event::Moved(_));
    turn.events.iter().filter(moved).count()
}

/// Each wish of a customer, from the greeting to its end.
const WISHES: [(&str, &[Does]); 6] = [
    (
        "END_CANCEL",
        &[
            On(
                Some("CHK_CANCEL"),
                r##"{"order_id": "#1", "reason": "ordered by mistake"}"##,
            ),
            Calls("get_order_details", r#"{"status": "pending"}"#),
            On(None, "{}"),
            Calls("cancel_pending_order", "{}"),
            On(None, "{}"),
        ],
    ),
    (
        "END_MOD",
        &[
            On(
                Some("CHK_MOD"),
                r##"{"order_id": "#1", "change": "address", "new_address": {}}"##,
            ),
            Calls("get_order_details", r#"{"status": "pending"}"#),
            On(None, "{}"),
            Calls("modify_pending_order_address", "{}"),
            On(None, "{}"),
        ],
    ),
    (
        "END_UADDR",
        &[
            On(Some("COLLECT_USER_ADDR"), r#"{"user_address": {}}"#),
            Calls("modify_user_address", "{}"),
            On(None, "{}"),
        ],
    ),
    (
        "DENY_RETURN",
        &[
            On(Some("CHK_RETURN"), r##"{"order_id": "#3"}"##),
            Calls("get_order_details", r#"{"status": "pending"}"#),
            On(None, "{}"),
        ],
    ),
    (
        "END_RETURN",
        &[
            On(
                Some("CHK_RETURN"),
                r##"{"order_id": "#2", "return_items": [], "refund_to": "card"}"##,
            ),
            Calls("get_order_details", r#"{"status": "delivered"}"#),
            On(None, "{}"),
            Calls("return_delivered_order_items", "{}"),
            On(None, "{}"),
        ],
    ),
    (
        "END_EXCH",
        &[
            On(Some("CHK_EXCH"), r##"{"order_id": "#2"}"##),
            Calls("get_order_details", r#"{"status": "delivered"}"#),
            On(None, r#"{"exchanges": [], "payment_method_id": "card"}"#),
            Calls("get_product_details", "{}"),
            On(None, "{}"),
            Calls("exchange_delivered_order_items", "{}"),
            On(None, "{}"),
        ],
    ),
];

#[test]
fn advance_saves_six_calls_in_ten() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sop/retail/retail.md");
    let retail = Arc::new(sop(&std::fs::read_to_string(file).unwrap()));
    let (mut calls, mut nodes) = (0, 0);
    for (end, wish) in WISHES {
        // The customer is greeted, then says what is wanted.
        let mut told = Told::along(vec![Arc::clone(&retail)]);
        nodes += moves(&told.advance(None, "{}"));
        calls += 1;
        assert!(
            told.call("find_user_id_by_email", None, r#""u1""#)
                .refusal
                .is_none()
        );
        for does in wish {
            match does {
                On(node, slots) => {
                    let turn = told.advance(*node, slots);
                    assert!(turn.refusal.is_none(), "{end}: {turn:?}");
                    nodes += moves(&turn);
                    calls += 1;
                }
                Calls(tool, gives) => {
                    let turn = told.call(tool, Some("yes"), gives);
                    assert!(turn.refusal.is_none(), "{end}: {turn:?}");
                }
            }
        }
        assert_eq!(told.walk.at_id().unwrap(), end);
        told.check_fold();
    }
    let saved = 100 - 100 * calls / nodes;
    assert!(
        saved >= 60,
        "{calls} calls for {nodes} nodes: {saved} % fewer"
    );
    // What docs/sop.md states.
    assert_eq!((calls, nodes), (23, 58));
}
