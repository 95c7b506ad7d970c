//! Rules over arguments and earlier calls: satisfied, violated, undecided, and decided by a person.

use super::{RecordedSession, refusal, sop};
use std::sync::Arc;
use tramline_expr::Value;
use tramline_sop::{CALLS_KEPT_MAX, CallRequest, SopDecision, SopRefusal};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{Event, SopEvent, ToolAnswered};

/// A procedure with one node at which `refund` and `note` may be called, under the given rules.
fn session_with_rules(front: &str, node: &str) -> RecordedSession {
    let text = format!(
        "---\nagent: desk\ntools: [find, order, refund, note]\nread_only_tools: [find, order]\n{front}---\n\
         ```mermaid\nflowchart TD\n  START([x]) --> PAY[pay] --> DONE([y])\n```\n\
         ## Node Prompts\n### PAY\n```yaml\ntools: [refund, note]\n{node}```\nPay.\n"
    );
    let mut told = RecordedSession::with_procedures(vec![Arc::new(sop(&text))]);
    told.move_to("START");
    told.move_to("PAY");
    told
}

fn refusal_message(turn: &SopDecision) -> String {
    turn.refusal
        .as_ref()
        .map_or_else(String::new, SopRefusal::message)
}

fn order(told: &mut RecordedSession, id: &str, result: &str) {
    let turn = told.call_with("order", &format!(r#"{{"id": "{id}"}}"#), None, result);
    assert_eq!(refusal_message(&turn), "");
}

const REFUND: &str = r#"{"order": "1", "to": "card", "amount": 5}"#;

#[test]
fn arguments_are_held_against_earlier_calls() {
    let rule = "args:\n  refund: args.order in calls.order.args.id\n";
    let mut told = session_with_rules("", rule);
    let early = told.call_with("refund", REFUND, None, "1");
    assert_eq!(
        refusal_message(&early),
        "shop:refund is not allowed at PAY yet: first `calls.order.args.id` is not known; call order; then repeat the call"
    );
    let SopRefusal::RulesViolated { report, .. } = refusal(&early) else {
        panic!("{early:?}");
    };
    assert_eq!(report.needed[0].tool, "order");
    order(&mut told, "2", "{}");
    let other = told.call_with("refund", REFUND, None, "1");
    assert_eq!(
        refusal_message(&other),
        "shop:refund is not allowed at PAY: the rule `args: args.order in calls.order.args.id` does not hold (args.order = \"1\", calls.order.args.id = \"2\")"
    );
    order(&mut told, "1", "{}");
    assert_eq!(
        refusal_message(&told.call_with("refund", REFUND, None, "1")),
        ""
    );
    // A tool without a rule is allowed.
    assert_eq!(refusal_message(&told.call("note", None, "1")), "");
    told.check_fold();
}

#[test]
fn a_failed_look_up_is_none() {
    let mut told = session_with_rules("", "args:\n  refund: args.order in calls.order.args.id\n");
    let pass = call_request("order", r#"{"id": "1"}"#);
    told.record(&tramline_sop::check_call(&told.session, pass));
    fail(&mut told, FailureKind::Tool);
    let turn = told.call_with("refund", REFUND, None, "1");
    assert!(refusal_message(&turn).contains("call order"), "{turn:?}");
}

fn call_request(tool: &str, arguments: &str) -> CallRequest {
    CallRequest {
        written: None,
        repeats: None,
        tool: ToolName::new("shop", tool),
        arguments: Value::from_json(arguments).unwrap(),
        confirmed: None,
        approval_run: None,
        requires_approval: false,
        bare_name_differs: false,
        step: None,
        upstream: None,
    }
}

fn fail(told: &mut RecordedSession, kind: FailureKind) {
    fail_with(told, Failure::new(kind, "no"));
}

fn fail_with(told: &mut RecordedSession, failure: Failure) {
    let answered = ToolAnswered {
        redacted: Vec::new(),
        call: told.session.call_count,
        output: Value::Null,
        failure: Some(failure),
        by: None,
        edited_arguments: None,
    };
    let events = vec![Event::Sop(SopEvent::ToolAnswered(Box::new(answered)))];
    told.record(&SopDecision {
        events,
        ..SopDecision::default()
    });
}

const LOOKUPS: &str = "lookups:
  order: {tool: [order, refund], args: {id: args.order}}
  customer: {tool: find, args: {id: lookups.order.customer}}
  products: {tool: find, each: lookups.order.items, args: {product: each}}
";

#[test]
fn a_missing_look_up_is_named_with_its_arguments() {
    let rules = "rules:
  refund:
    args:
      - {rule: 'lookups.order.status = \"paid\"', message: only paid orders}
      - args.to in lookups.customer.cards
      - $count(lookups.products[open = false]) = 0
";
    let mut told = session_with_rules(&format!("{LOOKUPS}{rules}"), "");
    let turn = told.call_with("refund", REFUND, None, "1");
    assert_eq!(
        refusal_message(&turn),
        "shop:refund is not allowed at PAY yet: first call order with {\"id\":\"1\"}; then repeat the call"
    );
    order(
        &mut told,
        "1",
        r#"{"status": "paid", "customer": "c", "items": ["p", "q", "p"]}"#,
    );
    let turn = told.call_with("refund", REFUND, None, "1");
    assert_eq!(
        refusal_message(&turn),
        "shop:refund is not allowed at PAY yet: first call find with {\"id\":\"c\"}; call find with {\"product\":\"p\"}; call find with {\"product\":\"q\"}; then repeat the call"
    );
    let SopRefusal::RulesViolated { report, .. } = refusal(&turn) else {
        panic!("{turn:?}");
    };
    assert_eq!(report.needed.len(), 3);
    for needed in report.needed.clone() {
        let result = match needed.arguments.get("id") {
            Some(_) => r#"{"cards": ["card", "cash"]}"#,
            None => r#"{"open": true}"#,
        };
        told.call_with(&needed.tool, &needed.arguments.to_json(), None, result);
    }
    let other = told.call_with("refund", r#"{"order": "1", "to": "gift"}"#, None, "1");
    assert!(
        refusal_message(&other)
            .contains("args.to = \"gift\", lookups.customer.cards = [\"card\",\"cash\"]"),
        "{other:?}"
    );
    assert_eq!(
        refusal_message(&told.call_with("refund", REFUND, None, "1")),
        ""
    );
    told.check_fold();
}

#[test]
fn the_latest_result_wins_and_a_field_it_lacks_is_missing() {
    let front = format!("{LOOKUPS}rules: {{refund: {{args: lookups.order.status = \"paid\"}}}}\n");
    let mut told = session_with_rules(&front, "");
    order(&mut told, "1", r#"{"status": "paid"}"#);
    // `refund` would also need a matching `id`, which it does not have: the earlier look-up is
    // used.
    let refund = r#"{"order": "1", "id": "1"}"#;
    assert_eq!(
        refusal_message(&told.call_with("refund", refund, None, r#"{"status": "refunded"}"#)),
        ""
    );
    let again = told.call_with("refund", REFUND, None, "1");
    assert!(
        refusal_message(&again).contains("lookups.order.status = \"refunded\""),
        "{again:?}"
    );
    // The result of the change lacks the field: the order must be looked up again.
    let mut changed = session_with_rules(&front, "");
    order(&mut changed, "1", r#"{"status": "paid"}"#);
    changed.call_with("refund", refund, None, "{}");
    let again = changed.call_with("refund", REFUND, None, "1");
    assert!(
        refusal_message(&again).contains(r#"call order with {"id":"1"} again"#),
        "{again:?}"
    );
    order(&mut told, "1", "{}");
    let lacking = told.call_with("refund", REFUND, None, "1");
    assert!(
        refusal_message(&lacking).contains("`lookups.order.status` is not in the output of order"),
        "{lacking:?}"
    );
}

/// A condition with a missing operand never holds, however it is written.
#[test]
fn no_condition_holds_by_what_is_missing() {
    for rule in [
        "lookups.order.status != \"closed\"",
        "$not(lookups.order.status = \"closed\")",
        "$count(lookups.order.items) = 0",
        "$count(args.items[$not($ in $$.lookups.order.items)]) = 0",
        "$not(args.order in calls.order.args.id)",
        "$not(args.nothing)",
        "args.nothing != 1",
        "$count(args.nothing[x = 1]) = 0",
        "results.order.status != \"closed\"",
        "slots.reason != \"x\"",
        "caller.id != \"x\"",
        "($o := lookups.order; $o.status != \"closed\")",
        "$count($filter(args.items, function($i){ $not($i in lookups.order.items) })) = 0",
        "args.order = \"1\" ? lookups.order.status != \"closed\" : false",
        "$boolean(nonsense.path) = false and $error(\"x\")",
        "1 + \"x\" = 2",
        "lookups.order.closed",
    ] {
        let front = format!(
            "{LOOKUPS}rules: {{refund: {{args: {}}}}}\n",
            Value::from(rule)
        );
        let mut told = session_with_rules(&front, "");
        let turn = told.call_with("refund", r#"{"order": "1", "items": ["a"]}"#, None, "1");
        assert!(turn.refusal.is_some(), "{rule} let the call through");
    }
}

#[test]
fn what_can_be_known_is_not_missing() {
    for rule in [
        "$count(calls.refund) < 3",
        "$count(calls.refund[args.order = $$.args.order]) = 0",
        "$not($exists(lookups.order))",
        "args.order = \"1\" or lookups.order.status = \"paid\"",
        "args.items = [] or $count(args.items[$ = \"b\"]) = 0",
    ] {
        let front = format!(
            "{LOOKUPS}rules: {{refund: {{args: {}}}}}\n",
            Value::from(rule)
        );
        let mut told = session_with_rules(&front, "");
        let turn = told.call_with("refund", r#"{"order": "1", "items": ["a"]}"#, None, "1");
        assert_eq!(refusal_message(&turn), "", "{rule}");
    }
}

#[test]
fn json_logic_is_held_likewise() {
    let node = r#"args:
  refund:
    - {"in": [{"var": "args.order"}, {"map": [{"var": "calls.order"}, {"var": "args.id"}]}]}
    - rule: {"<=": [{"var": "args.amount"}, 10]}
      message: at most 10
    - {"none": [{"var": "calls.refund"}, {"==": [{"var": "args.amount"}, 7]}]}
"#;
    let mut told = session_with_rules("", node);
    let turn = told.call_with("refund", REFUND, None, "1");
    assert!(
        refusal_message(&turn).contains("`calls.order` is not known; call order"),
        "{turn:?}"
    );
    order(&mut told, "12", "{}");
    let other = told.call_with("refund", REFUND, None, "1");
    assert!(
        refusal_message(&other).contains("does not hold"),
        "{other:?}"
    );
    order(&mut told, "1", "{}");
    order(&mut told, "2", "{}");
    assert_eq!(
        refusal_message(&told.call_with("refund", REFUND, None, "1")),
        ""
    );
    let large = told.call_with("refund", r#"{"order": "1", "amount": 11}"#, None, "1");
    assert_eq!(
        refusal_message(&large),
        "shop:refund is not allowed at PAY: at most 10 (args.amount = 11)"
    );
    let none = told.call_with("refund", r#"{"order": "1"}"#, None, "1");
    assert!(
        refusal_message(&none).contains("the argument `amount` is missing"),
        "{none:?}"
    );
}

#[test]
fn once_per_refuses_the_same_value_and_max_calls_the_next_call() {
    let node = "once_per:\n  refund: {value: args.order, message: one refund per order}\nmax_calls: {refund: 2}\n";
    let mut told = session_with_rules("", node);
    assert_eq!(
        refusal_message(&told.call_with("refund", REFUND, None, "1")),
        ""
    );
    let twice = told.call_with("refund", r#"{"order": "1", "to": "gift"}"#, None, "1");
    assert_eq!(
        refusal_message(&twice),
        "shop:refund is not allowed at PAY: one refund per order (args.order = \"1\", the value = \"1\", earlier call = 1)"
    );
    // The call history is kept past START and hubs.
    told.move_to("START");
    told.move_to("PAY");
    assert!(
        told.call_with("refund", REFUND, None, "1")
            .refusal
            .is_some()
    );
    let unknown = told.call_with("refund", "{}", None, "1");
    assert!(
        refusal_message(&unknown).contains("the argument `order` is missing"),
        "{unknown:?}"
    );
    assert_eq!(
        refusal_message(&told.call_with("refund", r#"{"order": "2"}"#, None, "1")),
        ""
    );
    let third = told.call_with("refund", r#"{"order": "3"}"#, None, "1");
    assert!(
        refusal_message(&third).contains("calls of shop:refund so far = 2"),
        "{third:?}"
    );
    told.check_fold();
}

#[test]
fn once_per_counts_what_may_have_happened_and_not_what_did_not() {
    for (kind, counts) in [
        (FailureKind::Tool, false),
        (FailureKind::Rejected, false),
        (FailureKind::BadArguments, false),
        (FailureKind::Timeout, true),
    ] {
        let mut told = session_with_rules("", "once_per: {refund: args.order}\n");
        told.record(&tramline_sop::check_call(
            &told.session,
            call_request("refund", REFUND),
        ));
        // While the call is running, an equal one is refused, whatever its result.
        let parallel = tramline_sop::check_call(&told.session, call_request("refund", REFUND));
        assert!(parallel.refusal.is_some());
        fail(&mut told, kind);
        let again = told.call_with("refund", REFUND, None, "1");
        assert_eq!(again.refusal.is_some(), counts, "{kind:?}");
    }
}

#[test]
fn a_comparison_in_jsonata_holds_for_numbers_only() {
    let mut told = session_with_rules("", "args: {refund: args.amount <= 100}\n");
    for amount in ["\"\"", "\"5\"", "[]", "[5]", "true", "null", "{}"] {
        let arguments = format!("{{\"amount\": {amount}}}");
        let turn = told.call_with("refund", &arguments, None, "{}");
        assert!(turn.refusal.is_some(), "{amount}");
    }
    let turn = told.call_with("refund", r#"{"amount": 5}"#, None, "{}");
    assert!(turn.refusal.is_none(), "{turn:?}");
}

#[test]
fn once_per_takes_a_number_and_its_text_as_the_same_and_null_as_missing() {
    let mut told = session_with_rules("", "once_per: {refund: args.order}\n");
    let mut refund = |arguments: &str| told.call_with("refund", arguments, None, "{}").refusal;
    assert!(refund(r#"{"order": 1}"#).is_none());
    assert!(refund(r#"{"order": "1"}"#).is_some());
    assert!(refund(r#"{"order": null}"#).is_some());
    assert!(refund(r#"{"order": "2"}"#).is_none());
    assert!(refund(r#"{"order": 2}"#).is_some());
}

#[test]
fn once_per_can_span_several_tools() {
    let mut told = session_with_rules(
        "",
        "once_per:\n  refund: {value: args.order, with: [note]}\n",
    );
    told.call_with("note", REFUND, None, "1");
    assert!(
        told.call_with("refund", REFUND, None, "1")
            .refusal
            .is_some()
    );
}

#[test]
fn a_rule_can_ask_a_person_instead() {
    let node = "args:\n  refund: {rule: args.amount < 3, message: small amounts go through, otherwise: ask}\n";
    let mut told = session_with_rules("", node);
    let asked_in = Some(RunId::new(7, 7));
    let mut large = call_request("refund", REFUND);
    large.approval_run.clone_from(&asked_in);
    let turn = tramline_sop::check_call(&told.session, large.clone());
    let [Event::Sop(SopEvent::ToolCalled(called))] = turn.events.as_slice() else {
        panic!("{turn:?}");
    };
    assert_eq!(called.run, asked_in);
    assert_eq!(
        called.rules[0].describe(),
        "small amounts go through (args.amount = 5)"
    );
    // An agent's statement does not count as a person's approval.
    large.confirmed = Some("the customer says yes".into());
    let turn = tramline_sop::check_call(&told.session, large);
    assert!(matches!(&turn.events[0], Event::Sop(SopEvent::ToolCalled(it)) if it.run == asked_in));
    let mut small = call_request("refund", r#"{"amount": 2}"#);
    small.approval_run = asked_in;
    let turn = tramline_sop::check_call(&told.session, small);
    assert!(matches!(&turn.events[0], Event::Sop(SopEvent::ToolCalled(it)) if it.run.is_none()));
    // An undecided rule does not ask a person.
    let turn = told.call_with("refund", "{}", Some("yes"), "1");
    assert!(matches!(refusal(&turn), SopRefusal::RulesViolated { .. }));
}

#[test]
fn a_rule_without_a_tool_is_about_all_that_are_not_free() {
    let node = "args: args.order = \"1\"\nmax_calls: 1\n";
    let mut told = session_with_rules("", node);
    assert!(
        told.call_with("note", r#"{"order": "2"}"#, None, "1")
            .refusal
            .is_some()
    );
    assert_eq!(
        refusal_message(&told.call_with("note", r#"{"order": "1"}"#, None, "1")),
        ""
    );
    assert_eq!(
        refusal_message(&told.call_with("refund", r#"{"order": "1"}"#, None, "1")),
        ""
    );
    assert!(
        told.call_with("refund", r#"{"order": "1"}"#, None, "1")
            .refusal
            .is_some()
    );
    assert_eq!(refusal_message(&told.call("order", None, "1")), "");
    assert_eq!(refusal_message(&told.call("order", None, "1")), "");
}

#[test]
fn a_rule_can_bind_a_tool_that_is_free_elsewhere() {
    let front = "rules: {order: {args: {rule: args.id != \"secret\", message: not that one}}}\n";
    let mut told = session_with_rules(front, "");
    order(&mut told, "1", "{}");
    let turn = told.call_with("order", r#"{"id": "secret"}"#, None, "1");
    assert!(
        refusal_message(&turn).starts_with("shop:order is not allowed at PAY: not that one"),
        "{turn:?}"
    );
}

#[test]
fn a_mode_that_only_warns_records_the_rule() {
    let mut told = session_with_rules("mode: warn\n", "args: {refund: args.amount < 3}\n");
    let turn = told.call_with("refund", REFUND, None, "1");
    assert!(turn.refusal.is_none());
    assert!(
        turn.warning
            .is_some_and(|it| it.contains("args.amount = 5"))
    );
    let Event::Sop(SopEvent::ToolCalled(called)) = &turn.events[0] else {
        panic!("{:?}", turn.events);
    };
    assert_eq!(called.rules[0].holds, Some(false));
    let mut told = session_with_rules(
        "enforce_tools: false\n",
        "args: {refund: args.amount < 3}\n",
    );
    assert!(
        told.call_with("refund", REFUND, None, "1")
            .refusal
            .is_none()
    );
}

#[test]
fn a_conversation_too_long_to_look_back_on_is_refused_and_says_so() {
    let mut told = session_with_rules(
        "",
        "once_per: {refund: args.order}\nargs: {note: args.order = \"1\"}\n",
    );
    for at in 0..=CALLS_KEPT_MAX {
        order(&mut told, &at.to_string(), "{}");
    }
    let turn = told.call_with("refund", REFUND, None, "1");
    assert!(
        refusal_message(&turn).contains("more than 2000 calls"),
        "{turn:?}"
    );
    // A rule that does not use earlier calls is decided as before.
    assert_eq!(
        refusal_message(&told.call_with("note", REFUND, None, "1")),
        ""
    );
}

/// A tool of the same name on another server supplies nothing.
#[test]
fn a_short_name_means_one_server() {
    let mut told = session_with_rules(
        "mode: warn\n",
        "args: {refund: args.order in calls.order.args.id}\n",
    );
    order(&mut told, "1", "{}");
    let mut other = call_request("order", r#"{"id": "7"}"#);
    other.tool = ToolName::new("elsewhere", "order");
    other.bare_name_differs = true;
    told.record(&tramline_sop::check_call(&told.session, other));
    let answered = ToolAnswered {
        redacted: Vec::new(),
        call: told.session.call_count,
        output: Value::Null,
        failure: None,
        by: None,
        edited_arguments: None,
    };
    told.record(&SopDecision {
        events: vec![Event::Sop(SopEvent::ToolAnswered(Box::new(answered)))],
        ..SopDecision::default()
    });
    let turn = told.call_with("refund", r#"{"order": "7"}"#, None, "1");
    let warning = turn.warning.unwrap_or_default();
    assert!(warning.contains("does not hold"), "{warning}");
}

#[test]
fn a_call_that_its_server_rejects_counts_and_one_that_was_not_sent_does_not() {
    let node = "once_per: {refund: args.order}\nmax_calls: {refund: 1}\n";
    let here = Failure::new(FailureKind::BadArguments, "not an object");
    let code = Value::object([("code", (-32602).into())]);
    let there = Failure::new(FailureKind::BadArguments, "no such order").with_data(code);
    for (failure, is_refused) in [(here, false), (there, true)] {
        let mut told = session_with_rules("", node);
        let pass = call_request("refund", REFUND);
        told.record(&tramline_sop::check_call(&told.session, pass));
        fail_with(&mut told, failure);
        let turn = told.call_with("refund", REFUND, None, "1");
        let says = refusal_message(&turn);
        assert_eq!(says.contains("max_calls"), is_refused, "{says}");
        assert!(!says.contains("once_per"), "{says}");
    }
}
