//! Limits of a session: visits, nested procedures, modes, and the task list.

use super::{DESK, RecordedSession, new_session, refusal, session_at_route};
use tramline_expr::Value;
use tramline_sop::SopRefusal;
use tramline_workflow::journal::{Event, MoveKind, SopEvent};
use tramline_workflow::todo;

#[test]
fn visits_are_limited() {
    let mut told = session_at_route();
    told.session.slots =
        Value::from_json(r#"{"order_id": "1", "reason": "ordered by mistake"}"#).unwrap();
    told.session.results = Value::from_json(r#"{"find": {"status": "pending"}}"#).unwrap();
    let known = (told.session.slots.clone(), told.session.results.clone());
    for _ in 0..2 {
        for node in ["ROUTE", "CHECK", "PENDING", "REMIND", "COLLECT"] {
            assert!(told.move_to(node).refusal.is_none(), "{node}");
            (told.session.slots, told.session.results) = known.clone();
        }
    }
    for node in ["ROUTE", "CHECK", "PENDING", "REMIND"] {
        told.move_to(node);
        (told.session.slots, told.session.results) = known.clone();
    }
    let turn = told.move_to("COLLECT");
    assert!(matches!(
        refusal(&turn),
        SopRefusal::VisitLimitReached { most: 2, .. }
    ));
}

#[test]
fn a_procedure_inside_another_is_entered_and_left() {
    let mut told = session_at_route();
    let turn = told.move_to("SUB");
    assert_eq!(turn.events.len(), 2);
    assert_eq!(told.path(), "R_START");
    assert_eq!(told.session.frames().len(), 2);
    let early = told.move_to("DONE");
    assert!(
        matches!(refusal(&early), SopRefusal::NestedUnfinished { .. }),
        "{early:?}"
    );
    told.advance(None, r#"{"method": "card"}"#);
    assert_eq!(told.path(), "R_START R_HOW R_PAY");
    assert!(told.call("refund", None, "1").refusal.is_none());
    told.advance(None, "{}");
    assert_eq!(told.session.current_node_id().unwrap(), "DONE");
    assert_eq!(told.path(), "START AUTH ROUTE SUB DONE");
    told.check_fold();
    told.move_to("SUB");
    told.move_to("ROUTE");
    told.move_to("SUB");
    assert!(
        told.move_to("ROUTE").refusal.is_none(),
        "a hub leaves the nested procedure"
    );
    assert_eq!(told.session.frames().len(), 1);
}

#[test]
fn modes_refuse_warn_or_only_write_down() {
    use tramline_workflow::sop::SopMode;
    for mode in SopMode::ALL {
        let mut told = RecordedSession::new(DESK, |sop| sop.mode = mode);
        told.move_to("START");
        let turn = told.move_to("CANCEL");
        let call = told.call("refund", None, "1");
        let warned = (turn.warning.is_some(), call.warning.is_some());
        let refused = (turn.refusal.is_some(), call.refusal.is_some());
        match mode {
            SopMode::Strict => assert_eq!((refused, warned), ((true, true), (false, false))),
            SopMode::Warn => assert_eq!((refused, warned), ((false, false), (true, true))),
            SopMode::Observe => assert_eq!((refused, warned), ((false, false), (false, false))),
        }
        if mode != SopMode::Strict {
            let Event::Sop(SopEvent::Moved(moved)) = &turn.events[0] else {
                panic!("{turn:?}")
            };
            assert_eq!(moved.way, MoveKind::Off);
            assert!(moved.against.is_some());
            assert_eq!(told.session.current_node_id().unwrap(), "CANCEL");
        }
        told.check_fold();
    }
}

#[test]
fn todos_are_kept_and_checked() {
    let mut told = new_session();
    let list = r#"[{"content": "Cancel", "status": "pending", "completion_node": "DONE"}]"#;
    let todos = todo::read(&Value::from_json(list).unwrap()).unwrap();
    let turn = tramline_sop::replace_todos(todos);
    told.record(&turn);
    assert_eq!(told.session.todos.len(), 1);
    assert_eq!(todo::summarize(&told.session.todos).pending, 1);
    told.check_fold();
    for (bad, says) in [
        (r#"{}"#, "`todos` must be a list of tasks, not an object"),
        (r#"[{"status": "pending"}]"#, "task 1 has no `content`"),
        (
            r#"[{"content": "a", "status": "x"}]"#,
            "`status` of task 1 must be pending, in_progress or completed",
        ),
    ] {
        assert_eq!(
            todo::read(&Value::from_json(bad).unwrap()).unwrap_err(),
            says
        );
    }
}
