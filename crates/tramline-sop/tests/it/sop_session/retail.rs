//! The number of calls that the retail example takes with `advance`, compared to one per node.

use super::{RecordedSession, sop};
use std::path::Path;
use std::sync::Arc;
use tramline_sop::SopDecision;
use tramline_workflow::journal::{Event, SopEvent};

/// An agent's action: an `advance` with a node and slots, or a tool call with arguments and result.
enum AgentAction {
    On(Option<&'static str>, &'static str),
    Calls(&'static str, &'static str, &'static str),
}
use AgentAction::{Calls, On};

fn moves(turn: &SopDecision) -> usize {
    let moved = |event: &&Event| matches!(event, Event::Sop(SopEvent::Moved(_)));
    turn.events.iter().filter(moved).count()
}

const ONE: &str = r##"{"order_id": "#1"}"##;
const TWO: &str = r##"{"order_id": "#2"}"##;
const PENDING: &str = r#"{"status": "pending", "user_id": "u1"}"#;
const DELIVERED: &str = r#"{"status": "delivered", "user_id": "u1", "items": [{"item_id": "a", "product_id": "p", "price": 5}],
    "payment_history": [{"payment_method_id": "card", "amount": 5}]}"#;
const PRODUCT: &str = r#"{"product_id": "p", "variants": {"b": {"available": true, "price": 6}}}"#;

/// Each kind of customer request, from the greeting to its end.
const WISHES: [(&str, &[AgentAction]); 6] = [
    (
        "END_CANCEL",
        &[
            On(
                Some("CHK_CANCEL"),
                r##"{"order_id": "#1", "reason": "ordered by mistake"}"##,
            ),
            Calls("get_order_details", ONE, PENDING),
            On(None, "{}"),
            Calls(
                "cancel_pending_order",
                r##"{"order_id": "#1", "reason": "ordered by mistake"}"##,
                "{}",
            ),
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
            Calls("get_order_details", ONE, PENDING),
            On(None, "{}"),
            Calls("modify_pending_order_address", ONE, "{}"),
            On(None, "{}"),
        ],
    ),
    (
        "END_UADDR",
        &[
            On(Some("COLLECT_USER_ADDR"), r#"{"user_address": {}}"#),
            Calls("modify_user_address", r#"{"user_id": "u1"}"#, "{}"),
            On(None, "{}"),
        ],
    ),
    (
        "DENY_RETURN",
        &[
            On(Some("CHK_RETURN"), r##"{"order_id": "#1"}"##),
            Calls("get_order_details", ONE, PENDING),
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
            Calls("get_order_details", TWO, DELIVERED),
            On(None, "{}"),
            Calls(
                "return_delivered_order_items",
                r##"{"order_id": "#2", "item_ids": ["a"], "payment_method_id": "card"}"##,
                "{}",
            ),
            On(None, "{}"),
        ],
    ),
    (
        "END_EXCH",
        &[
            On(Some("CHK_EXCH"), r##"{"order_id": "#2"}"##),
            Calls("get_order_details", TWO, DELIVERED),
            On(None, r#"{"exchanges": [], "payment_method_id": "card"}"#),
            Calls("get_product_details", r#"{"product_id": "p"}"#, PRODUCT),
            On(None, "{}"),
            Calls(
                "exchange_delivered_order_items",
                r##"{"order_id": "#2", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "card"}"##,
                "{}",
            ),
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
        // The customer is greeted, then states the request.
        let mut told = RecordedSession::with_procedures(vec![Arc::clone(&retail)]);
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
                Calls(tool, arguments, gives) => {
                    let turn = told.call_with(tool, arguments, Some("yes"), gives);
                    assert!(turn.refusal.is_none(), "{end}: {turn:?}");
                }
            }
        }
        assert_eq!(told.session.current_node_id().unwrap(), end);
        told.check_fold();
    }
    let saved = 100 - 100 * calls / nodes;
    assert!(
        saved >= 60,
        "{calls} calls for {nodes} nodes: {saved} % fewer"
    );
    // The figures in docs/sop.md.
    assert_eq!((calls, nodes), (23, 58));
}

/// A call that a rule stops: the tool, its arguments, and the rule's message.
const STOPPED: [(&str, &str, &str); 26] = [
    (
        "cancel_pending_order",
        r##"{"order_id": "#other", "reason": "no longer needed"}"##,
        "belongs to another customer",
    ),
    (
        "modify_user_address",
        r#"{"user_id": "u2"}"#,
        "only the profile of the customer",
    ),
    (
        "cancel_pending_order",
        r##"{"order_id": "#2", "reason": "no longer needed"}"##,
        "only a pending order whose items",
    ),
    (
        "cancel_pending_order",
        r##"{"order_id": "#1", "reason": "too dear"}"##,
        "the reason must be",
    ),
    (
        "modify_pending_order_address",
        r##"{"order_id": "#2"}"##,
        "only a pending order can be changed",
    ),
    (
        "modify_pending_order_payment",
        r##"{"order_id": "#2", "payment_method_id": "gift_card_1"}"##,
        "only a pending order can be changed",
    ),
    (
        "modify_pending_order_payment",
        r##"{"order_id": "#1", "payment_method_id": "card"}"##,
        "paid that way already",
    ),
    (
        "modify_pending_order_payment",
        r##"{"order_id": "#1", "payment_method_id": "paypal_9"}"##,
        "the customer has no such payment method",
    ),
    (
        "modify_pending_order_payment",
        r##"{"order_id": "#1", "payment_method_id": "gift_card_1"}"##,
        "the gift card does not cover the total",
    ),
    (
        "modify_pending_order_items",
        r##"{"order_id": "#2", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "card"}"##,
        "the items of an order can be changed once, while it is pending",
    ),
    (
        "return_delivered_order_items",
        r##"{"order_id": "#1", "item_ids": ["a"], "payment_method_id": "card"}"##,
        "only a delivered order",
    ),
    (
        "exchange_delivered_order_items",
        r##"{"order_id": "#1", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "card"}"##,
        "only a delivered order",
    ),
    (
        "return_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["a"], "payment_method_id": "paypal_1"}"##,
        "the refund goes to",
    ),
    (
        "return_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": [], "payment_method_id": "card"}"##,
        "name the items",
    ),
    (
        "return_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["a", "a"], "payment_method_id": "card"}"##,
        "or not as many of them",
    ),
    (
        "return_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["z"], "payment_method_id": "card"}"##,
        "does not have these items",
    ),
    (
        "modify_pending_order_items",
        r##"{"order_id": "#1", "item_ids": ["a"], "new_item_ids": ["b", "c"], "payment_method_id": "card"}"##,
        "each item needs one new item",
    ),
    (
        "exchange_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["a"], "new_item_ids": ["c"], "payment_method_id": "card"}"##,
        "an available variant of the same product",
    ),
    (
        "exchange_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["a"], "new_item_ids": ["elsewhere"], "payment_method_id": "card"}"##,
        "an available variant of the same product",
    ),
    (
        "exchange_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "paypal_9"}"##,
        "the customer has no such payment method",
    ),
    (
        "exchange_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "gift_card_1"}"##,
        "does not cover the difference",
    ),
    (
        "exchange_delivered_order_items",
        r##"{"order_id": "#2", "item_ids": ["a"], "new_item_ids": ["a"], "payment_method_id": "card"}"##,
        "the new item is the same",
    ),
    (
        "modify_pending_order_items",
        r##"{"order_id": "#1", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "paypal_1"}"##,
        "settled another way",
    ),
    (
        "modify_pending_order_items",
        r##"{"order_id": "#3", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "card"}"##,
        "the items of an order can be changed once (",
    ),
    (
        "return_delivered_order_items",
        r##"{"order_id": "#4", "item_ids": ["a"], "payment_method_id": "card"}"##,
        "an order can be returned or exchanged once (",
    ),
    (
        "exchange_delivered_order_items",
        r##"{"order_id": "#4", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "card"}"##,
        "an order can be returned or exchanged once (",
    ),
];

/// A customer with orders of every kind, each looked up, and two that were already changed.
fn at_the_counter() -> RecordedSession {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sop/retail/retail.md");
    let mut retail = sop(&std::fs::read_to_string(file).unwrap());
    // Only rules are tested here: every tool may be called at the first node, without approval.
    let writes = retail.tools.clone();
    retail.nodes[0].tools = writes;
    let mut told = RecordedSession::with_procedures(vec![Arc::new(retail)]);
    told.move_to("START");
    let mut does = |tool: &str, arguments: &str, gives: &str| {
        let turn = told.call_with(tool, arguments, None, gives);
        assert!(turn.refusal.is_none(), "{turn:?}");
    };
    let order = |user: &str, status: &str| {
        format!(
            r#"{{"user_id": "{user}", "status": "{status}", "payment_history": [{{"payment_method_id": "card", "amount": 5}}],
            "items": [{{"item_id": "a", "product_id": "p", "price": 5}}]}}"#
        )
    };
    does("find_user_id_by_email", "{}", r#""u1""#);
    let methods = r#"{"payment_methods": {"card": {"source": "credit_card"}, "paypal_1": {"source": "paypal"},
        "gift_card_1": {"source": "gift_card", "balance": 0.5}}}"#;
    does("get_user_details", r#"{"user_id": "u1"}"#, methods);
    let product = r#"{"product_id": "p", "variants": {"a": {"available": true, "price": 5},
        "b": {"available": true, "price": 6}, "c": {"available": false, "price": 4}}}"#;
    does("get_product_details", r#"{"product_id": "p"}"#, product);
    for (id, user, status) in [
        ("#1", "u1", "pending"),
        ("#2", "u1", "delivered"),
        ("#3", "u1", "pending"),
        ("#4", "u1", "delivered"),
        ("#other", "u2", "pending"),
    ] {
        let id = format!(r#"{{"order_id": "{id}"}}"#);
        does("get_order_details", &id, &order(user, status));
    }
    let change = r##"{"order_id": "#3", "item_ids": ["a"], "new_item_ids": ["b"], "payment_method_id": "card"}"##;
    does(
        "modify_pending_order_items",
        change,
        &order("u1", "pending (item modified)"),
    );
    let exchange = change.replace("#3", "#4");
    does(
        "exchange_delivered_order_items",
        &exchange,
        &order("u1", "exchange requested"),
    );
    // A shop that does not report the state of orders: only the calls show that one was changed.
    for (id, status) in [("#3", "pending"), ("#4", "delivered")] {
        let id = format!(r#"{{"order_id": "{id}"}}"#);
        does("get_order_details", &id, &order("u1", status));
    }
    told
}

#[test]
fn every_rule_of_the_example_stops_a_call() {
    let told = at_the_counter();
    let mut heard: Vec<(String, String)> = Vec::new();
    for (tool, arguments, says) in STOPPED {
        let mut told = RecordedSession {
            session: told.session.clone(),
            journal: Vec::new(),
        };
        let turn = told.call_with(tool, arguments, None, "{}");
        assert!(turn.refusal.is_some(), "{tool} {arguments} was let through");
        let (name, arguments) = (
            tramline_workflow::ids::ToolName::new("shop", tool),
            tramline_expr::Value::from_json(arguments).unwrap(),
        );
        let report = tramline_sop::check_rules(&told.session, &name, &arguments, None);
        let broken = report.checked.iter().filter(|it| it.holds == Some(false));
        let broken: Vec<String> = broken.map(|it| it.describe()).collect();
        let fits = broken.iter().any(|it| it.contains(says));
        assert!(fits, "{tool} {arguments}: {broken:?} without {says}");
        for checked in report.checked.iter().filter(|it| it.holds == Some(false)) {
            heard.push((
                tool.to_owned(),
                checked.message.clone().unwrap().to_string(),
            ));
        }
    }
    let retail = told.session.sop();
    let mut all = 0;
    for rule in &retail.rules {
        let message = rule
            .message
            .as_ref()
            .expect("every rule of the example has a message");
        let is_heard = |tool: &str| heard.iter().any(|(it, says)| it == tool && says == message);
        assert!(
            rule.tools.iter().any(|tool| is_heard(tool)),
            "nothing breaks {message}"
        );
        all += 1;
    }
    assert_eq!(all, 22, "add a call that each new rule stops");
}
