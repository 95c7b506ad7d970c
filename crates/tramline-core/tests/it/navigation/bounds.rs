//! What bounds a walk: visits, procedures inside others, modes, and the list of tasks.

use super::{DESK, Told, desk, identified, refusal};
use tramline_core::journal::{Event, Way};
use tramline_core::navigate::{self, Refusal};
use tramline_core::{Value, todo};

#[test]
fn visits_are_limited() {
    let mut told = identified();
    told.walk.slots =
        Value::from_json(r#"{"order_id": "1", "reason": "ordered by mistake"}"#).unwrap();
    told.walk.results = Value::from_json(r#"{"find": {"status": "pending"}}"#).unwrap();
    let known = (told.walk.slots.clone(), told.walk.results.clone());
    for _ in 0..2 {
        for node in ["ROUTE", "CHECK", "PENDING", "REMIND", "COLLECT"] {
            assert!(told.go(node).refusal.is_none(), "{node}");
            (told.walk.slots, told.walk.results) = known.clone();
        }
    }
    for node in ["ROUTE", "CHECK", "PENDING", "REMIND"] {
        told.go(node);
        (told.walk.slots, told.walk.results) = known.clone();
    }
    let turn = told.go("COLLECT");
    assert!(matches!(refusal(&turn), Refusal::TooOften { most: 2, .. }));
}

#[test]
fn a_procedure_inside_another_is_entered_and_left() {
    let mut told = identified();
    let turn = told.go("SUB");
    assert_eq!(turn.events.len(), 2);
    assert_eq!(told.path(), "R_START");
    assert_eq!(told.walk.frames().len(), 2);
    let early = told.go("DONE");
    assert!(
        matches!(refusal(&early), Refusal::Unfinished { .. }),
        "{early:?}"
    );
    told.advance(None, r#"{"method": "card"}"#);
    assert_eq!(told.path(), "R_START R_HOW R_PAY");
    assert!(told.call("refund", None, "1").refusal.is_none());
    told.advance(None, "{}");
    assert_eq!(told.walk.at_id().unwrap(), "DONE");
    assert_eq!(told.path(), "START AUTH ROUTE SUB DONE");
    told.check_fold();
    told.go("SUB");
    told.go("ROUTE");
    told.go("SUB");
    assert!(told.go("ROUTE").refusal.is_none(), "out by a hub");
    assert_eq!(told.walk.frames().len(), 1);
}

#[test]
fn modes_refuse_warn_or_only_write_down() {
    use tramline_core::sop::Mode;
    for mode in Mode::ALL {
        let mut told = Told::new(DESK, |sop| sop.mode = mode);
        told.go("START");
        let turn = told.go("CANCEL");
        let call = told.call("refund", None, "1");
        let warned = (turn.warning.is_some(), call.warning.is_some());
        let refused = (turn.refusal.is_some(), call.refusal.is_some());
        match mode {
            Mode::Strict => assert_eq!((refused, warned), ((true, true), (false, false))),
            Mode::Warn => assert_eq!((refused, warned), ((false, false), (true, true))),
            Mode::Observe => assert_eq!((refused, warned), ((false, false), (false, false))),
        }
        if mode != Mode::Strict {
            let Event::Moved(moved) = &turn.events[0] else {
                panic!("{turn:?}")
            };
            assert_eq!(moved.way, Way::Off);
            assert!(moved.against.is_some());
            assert_eq!(told.walk.at_id().unwrap(), "CANCEL");
        }
        told.check_fold();
    }
}

#[test]
fn todos_are_kept_and_checked() {
    let mut told = desk();
    let list = r#"[{"content": "Cancel", "status": "pending", "completion_node": "DONE"}]"#;
    let todos = todo::read(&Value::from_json(list).unwrap()).unwrap();
    let turn = navigate::todo(todos);
    told.record(&turn);
    assert_eq!(told.walk.todos.len(), 1);
    assert_eq!(todo::summary(&told.walk.todos).pending, 1);
    told.check_fold();
    for (bad, says) in [
        (r#"{}"#, "`todos` is a list of tasks, not an object"),
        (
            r#"[{"status": "pending"}]"#,
            "task 1 says nothing in `content`",
        ),
        (
            r#"[{"content": "a", "status": "x"}]"#,
            "`status` of task 1 is one of pending, in_progress or completed",
        ),
    ] {
        assert_eq!(
            todo::read(&Value::from_json(bad).unwrap()).unwrap_err(),
            says
        );
    }
}
