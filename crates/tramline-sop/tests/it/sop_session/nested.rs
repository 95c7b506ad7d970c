//! A node that enters a procedure: what it requires of calls applies inside.

use super::{DESK, RecordedSession, refusal};
use tramline_sop::SopRefusal;

/// A session inside the procedure of a node with these settings, where it may pay.
fn session_inside(settings: &str) -> RecordedSession {
    let text = DESK.replacen(
        "sop: refund.md\n",
        &format!("sop: refund.md\n{settings}"),
        1,
    );
    let mut told = RecordedSession::new(&text, |_| {});
    for node in ["START", "AUTH"] {
        told.move_to(node);
    }
    told.call("find", None, "{}");
    for node in ["ROUTE", "SUB"] {
        assert!(told.move_to(node).refusal.is_none(), "{node}");
    }
    told.move_to("R_HOW");
    told.advance(Some("R_PAY"), r#"{"method": "card"}"#);
    assert_eq!(told.session.current_node_id().unwrap(), "R_PAY");
    told
}

#[test]
fn confirm_at_the_node_that_enters_a_procedure_holds_for_calls_inside() {
    let mut told = session_inside("confirm: true\n");
    let turn = told.call("refund", None, "{}");
    assert!(
        matches!(refusal(&turn), SopRefusal::ApprovalMissing { .. }),
        "{turn:?}"
    );
    assert!(told.call("look", None, "{}").refusal.is_none());
    let turn = told.call("refund", Some("the user said yes"), "{}");
    assert!(turn.refusal.is_none(), "{turn:?}");
    let mut told = session_inside("");
    assert!(told.call("refund", None, "{}").refusal.is_none());
    told.check_fold();
}

#[test]
fn rules_at_the_node_that_enters_a_procedure_hold_for_calls_inside() {
    let mut told = session_inside("args: {refund: args.sum <= 10}\nmax_calls: {refund: 1}\n");
    let turn = told.call_with("refund", r#"{"sum": 11}"#, None, "{}");
    assert!(
        matches!(refusal(&turn), SopRefusal::RulesViolated { .. }),
        "{turn:?}"
    );
    let turn = told.call_with("refund", r#"{"sum": 10}"#, None, "{}");
    assert!(turn.refusal.is_none(), "{turn:?}");
    let turn = told.call_with("refund", r#"{"sum": 10}"#, None, "{}");
    assert!(turn.refusal.is_some(), "{turn:?}");
    told.check_fold();
}

#[test]
fn at_the_end_inside_the_edges_of_the_outer_node_are_next() {
    let mut told = session_inside("");
    told.call("refund", None, "{}");
    told.move_to("R_END");
    assert_eq!(told.session.next_edges(), [("DONE".into(), None)]);
    assert_eq!(told.session.valid_next(), ["DONE"]);
    assert!(told.move_to("DONE").refusal.is_none());
    assert!(told.session.valid_next().is_empty());
}
