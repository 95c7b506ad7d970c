//! Hubs do not skip the demands before them, and a tool of another server does not count as the
//! required one.

use super::{DESK, REFUND, RecordedSession, new_session, refusal, session_at_route, sop};
use std::sync::Arc;
use tramline_expr::Value;
use tramline_sop::{CallRequest, MoveRequest, SopDecision, SopRefusal};
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::{Event, SopEvent};
use tramline_workflow::sop::SopMode;

fn refusal_message(turn: &SopDecision) -> String {
    refusal(turn).message()
}

#[test]
fn a_hub_as_the_first_move_does_not_skip_what_lies_before_it() {
    let mut told = new_session();
    let turn = told.move_to("ROUTE");
    assert_eq!(
        refusal_message(&turn),
        "ROUTE can be reached only after AUTH (tools to call: find). Path there: START -> AUTH"
    );
    told.move_to("START");
    let SopRefusal::UnmetDemands { path, .. } = refusal(&told.move_to("ROUTE")).clone() else {
        panic!("it skipped AUTH");
    };
    assert_eq!(path, ["START", "AUTH"]);
    told.move_to("AUTH");
    let turn = told.move_to("ROUTE");
    assert_eq!(
        refusal_message(&turn),
        "AUTH cannot be left yet; tools to call: find"
    );
    assert!(told.session.valid_next().is_empty());
    told.call("find", None, "{}");
    assert_eq!(told.session.valid_next(), ["ROUTE"]);
    assert!(told.move_to("ROUTE").refusal.is_none());
    told.check_fold();
}

#[test]
fn a_hub_that_no_edge_leads_to_does_not_skip_what_lies_before_its_target() {
    let text = "---\nagent: desk\nhubs: [ROUTE, HELP]\n---\n```mermaid\nflowchart TD\n  START --> AUTH[Who] --> ROUTE{What}\n\
                ROUTE -->|pay| PAY[Pay] --> DONE([Done])\n  ROUTE -->|bye| DONE\n  HELP[Explain] --> MORE[More] --> ROUTE\n```\n\
                ## Node Prompts\n### AUTH\n```yaml\ntools: [find]\nmust_call: [find]\n```\nWho.\n";
    let mut told = RecordedSession::with_procedures(vec![Arc::new(sop(text))]);
    told.move_to("HELP");
    told.move_to("MORE");
    assert!(told.session.valid_next().is_empty());
    for turn in [told.move_to("ROUTE"), told.advance(Some("ROUTE"), "{}")] {
        assert_eq!(
            refusal_message(&turn),
            "ROUTE can be reached only after AUTH (tools to call: find). Path there: START -> AUTH"
        );
    }
    let turn = told.advance(None, "{}");
    assert_eq!(told.session.current_node_id().unwrap(), "MORE", "{turn:?}");
    for node in ["START", "AUTH"] {
        assert!(told.move_to(node).refusal.is_none());
    }
    told.call("find", None, "{}");
    for node in ["HELP", "MORE", "ROUTE", "PAY"] {
        assert!(told.move_to(node).refusal.is_none(), "{node}");
    }
    told.check_fold();
}

#[test]
fn a_failed_call_meets_no_demand() {
    let mut told = new_session();
    told.move_to("START");
    told.move_to("AUTH");
    let failure = tramline_workflow::failure::Failure::new(
        tramline_workflow::failure::FailureKind::Tool,
        "no customer with that name",
    );
    let pass = CallRequest {
        written: None,
        repeats: None,
        tool: ToolName::new("shop", "find"),
        arguments: Value::Null,
        confirmed: None,
        approval_run: None,
        requires_approval: false,
        bare_name_differs: false,
        step: None,
        upstream: None,
    };
    let turn = tramline_sop::check_call(&told.session, pass);
    told.record(&turn);
    let answered = tramline_workflow::journal::ToolAnswered {
        redacted: Vec::new(),
        call: told.session.call_count,
        output: Value::Null,
        failure: Some(failure),
        by: None,
        edited_arguments: None,
    };
    told.record(&SopDecision {
        events: vec![Event::Sop(SopEvent::ToolAnswered(Box::new(answered)))],
        ..SopDecision::default()
    });
    assert!(told.move_to("ROUTE").refusal.is_some());
}

#[test]
fn a_hub_abandons_a_node_half_way_and_demands_stay_met() {
    let mut told = session_at_route();
    told.move_to("CHECK");
    assert!(
        told.move_to("PENDING").refusal.is_some(),
        "the order is not known"
    );
    assert!(told.move_to("ROUTE").refusal.is_none(), "left half-way");
    told.move_to("START");
    assert_eq!(told.path(), "START");
    assert!(
        told.move_to("ROUTE").refusal.is_none(),
        "met demands stay met"
    );
    told.check_fold();
}

#[test]
fn advance_does_not_jump_either() {
    let mut told = new_session();
    let turn = told.advance(Some("ROUTE"), "{}");
    assert!(turn.refusal.is_some(), "{turn:?}");
    assert!(
        told.session
            .current_node_id()
            .is_none_or(|at| at != "ROUTE")
    );
    told.advance(None, "{}");
    let turn = told.advance(Some("ROUTE"), "{}");
    assert!(turn.refusal.is_some(), "{turn:?}");
    assert_eq!(told.session.current_node_id().unwrap(), "AUTH");
}

#[test]
fn where_nothing_is_demanded_a_hub_can_be_reached_from_anywhere() {
    let text = DESK.replacen("must_call: [find]\n", "", 1);
    let mut told = RecordedSession::new(&text, |_| {});
    assert!(
        told.move_to("ROUTE").refusal.is_none(),
        "a hub as the first move"
    );
    let mut told = RecordedSession::new(&text, |_| {});
    told.move_to("START");
    assert!(told.move_to("ROUTE").refusal.is_none());
}

#[test]
fn a_required_slot_is_a_demand_too() {
    let text = DESK.replacen("must_call: [find]\n", "slots: {customer: string}\n", 1);
    let mut told = RecordedSession::new(&text, |_| {});
    let turn = told.move_to("ROUTE");
    assert!(
        refusal_message(&turn).contains("AUTH (slots to set: customer)"),
        "{turn:?}"
    );
    told.move_to("START");
    told.move_to("AUTH");
    let turn = told.request(&MoveRequest {
        node: Some("ROUTE".into()),
        slots: Value::from_json(r#"{"customer": " "}"#).unwrap(),
        ..MoveRequest::default()
    });
    assert!(
        turn.refusal.is_some(),
        "a blank text sets nothing: {turn:?}"
    );
    let turn = told.request(&MoveRequest {
        node: Some("ROUTE".into()),
        slots: Value::from_json(r#"{"customer": "ada"}"#).unwrap(),
        ..MoveRequest::default()
    });
    assert!(turn.refusal.is_none(), "{turn:?}");
}

#[test]
fn a_list_inside_must_call_means_any_of_its_tools() {
    let text = DESK.replacen(
        "tools: [find]\nmust_call: [find]\n",
        "tools: [by_email, by_name, find]\nmust_call: [[by_email, by_name]]\n",
        1,
    );
    for tool in ["by_email", "by_name"] {
        let mut told = RecordedSession::new(&text, |_| {});
        told.move_to("START");
        told.move_to("AUTH");
        assert_eq!(
            refusal_message(&told.move_to("ROUTE")),
            "AUTH cannot be left yet; tools to call: by_email or by_name"
        );
        told.call("find", None, "{}");
        assert!(
            told.move_to("ROUTE").refusal.is_some(),
            "it is neither of the two tools"
        );
        told.call(tool, None, "{}");
        assert!(told.move_to("ROUTE").refusal.is_none(), "{tool}");
        told.check_fold();
    }
}

#[test]
fn only_nodes_on_every_path_count() {
    // Two alternative checks: neither node is on every path.
    let text = "```mermaid\nflowchart TD\n  START --> A[a] --> ROUTE{r}\n  START --> B[b] --> ROUTE\n  ROUTE --> X[x] --> LATER[l]\n```\n\
                ## Node Prompts\n### A\n```yaml\nmust_call: [a]\n```\n### B\n```yaml\nmust_call: [b]\n```\n\
                ### X\n```yaml\ntools: [x]\nmust_call: [x]\n```\n### LATER\n```yaml\nhub: true\n```\n";
    let mut told = RecordedSession::new(text, |sop| {
        let at = sop.find("ROUTE").unwrap();
        sop.nodes[at.index()].hub = true;
    });
    assert!(told.move_to("ROUTE").refusal.is_none());
    let turn = told.move_to("LATER");
    assert!(
        refusal_message(&turn).contains("LATER can be reached only after X"),
        "{turn:?}"
    );
    told.move_to("X");
    told.call("x", None, "1");
    told.move_to("ROUTE");
    assert!(told.move_to("LATER").refusal.is_none());
}

#[test]
fn demands_inside_a_procedure_before_the_hub_count() {
    let outer = "---\nhubs: [ROUTE]\n---\n```mermaid\nflowchart TD\n  START --> AUTH[a] --> ROUTE{r} --> END([e])\n```\n\
                 ## Node Prompts\n### AUTH\n```yaml\nsop: refund.md\n```\n";
    let inner = "---\nagent: who\n---\n```mermaid\nflowchart TD\n  IN([i]) --> ASK[q] --> OUT([o])\n```\n\
                 ## Node Prompts\n### ASK\n```yaml\ntools: [find]\nmust_call: [find]\n```\n";
    let mut told =
        RecordedSession::with_procedures(vec![Arc::new(sop(outer)), Arc::new(sop(inner))]);
    let turn = told.move_to("ROUTE");
    assert_eq!(
        refusal_message(&turn),
        "ROUTE can be reached only after ASK (tools to call: find). Path there: START -> AUTH -> IN -> ASK"
    );
    told.move_to("START");
    told.move_to("AUTH");
    told.move_to("ASK");
    assert!(
        told.move_to("ROUTE").refusal.is_some(),
        "the nested procedure is not finished"
    );
    told.call("find", None, "1");
    assert!(told.move_to("ROUTE").refusal.is_none());
    told.check_fold();
}

#[test]
fn a_hub_that_is_the_entry_and_circles_are_no_trap() {
    let text = "---\nhubs: [START, B]\n---\n```mermaid\nflowchart TD\n  START --> A --> B --> A\n  B --> START\n```\n\
                ## Node Prompts\n### A\n```yaml\ntools: [a]\nmust_call: [a]\n```\n";
    let mut told = RecordedSession::new(text, |_| {});
    assert!(told.move_to("START").refusal.is_none());
    assert!(told.move_to("B").refusal.is_some());
    told.move_to("A");
    told.call("a", None, "1");
    assert!(told.move_to("B").refusal.is_none());
    assert!(told.move_to("START").refusal.is_none());
    assert!(told.move_to("B").refusal.is_none());
}

#[test]
fn a_lenient_procedure_warns_and_lets_pass() {
    for mode in [SopMode::Warn, SopMode::Observe] {
        let mut told = RecordedSession::new(DESK, |sop| sop.mode = mode);
        let turn = told.move_to("ROUTE");
        assert!(turn.refusal.is_none());
        assert_eq!(turn.warning.is_some(), mode == SopMode::Warn);
        assert_eq!(told.session.current_node_id().unwrap(), "ROUTE");
        told.check_fold();
    }
}

/// Follows the path that a refusal suggests, meeting the demands of each node.
fn follow_path(told: &mut RecordedSession, path: &[tramline_expr::Str]) {
    for node in path {
        if told.session.current_node_id() == Some(node) {
            continue;
        }
        let turn = told.move_to(node);
        assert!(turn.refusal.is_none(), "{node}: {turn:?}");
        if node == "AUTH" || node == "CHECK" {
            told.call("find", None, r#"{"status": "pending"}"#);
        }
        let slots = Value::from_json(r#"{"order_id": "1", "reason": "ordered by mistake"}"#);
        told.request(&MoveRequest {
            slots: slots.unwrap(),
            ..MoveRequest::default()
        });
    }
}

#[test]
fn what_a_refusal_advises_can_be_walked() {
    for first in [&[][..], &["START"], &["START", "AUTH"]] {
        let mut told = new_session();
        for node in first {
            told.move_to(node);
        }
        if first.len() == 2 {
            told.call("find", None, "{}");
        }
        let SopRefusal::ToolNotAllowed { path, .. } =
            refusal(&told.call("cancel", None, "1")).clone()
        else {
            panic!("allowed");
        };
        follow_path(&mut told, &path);
        assert_eq!(told.session.current_node_id().unwrap(), "CANCEL");
        let mut told = new_session();
        let SopRefusal::NoEdge { path, .. } = refusal(&told.move_to("CANCEL")).clone() else {
            panic!("allowed");
        };
        assert_eq!(path.first().unwrap(), "START", "ROUTE would be refused");
        follow_path(&mut told, &path);
    }
    // Once the customer is known, the path through the hub is shorter.
    let mut told = session_at_route();
    told.move_to("HUMAN");
    let SopRefusal::ToolNotAllowed { path, .. } = refusal(&told.call("cancel", None, "1")).clone()
    else {
        panic!("allowed");
    };
    assert_eq!(path.first().unwrap(), "ROUTE");
    // A tool of a nested procedure is found too.
    let SopRefusal::ToolNotAllowed { nodes, path, .. } =
        refusal(&told.call("refund", None, "1")).clone()
    else {
        panic!("allowed");
    };
    assert_eq!(nodes, ["R_PAY"]);
    assert_eq!(path, ["ROUTE", "SUB", "R_START", "R_HOW", "R_PAY"]);
}

#[test]
fn start_begins_again_whatever_the_entry_is_called() {
    let text = DESK.replace("START", "HELLO");
    let mut told = RecordedSession::new(&text, |_| {});
    assert!(told.move_to("START").refusal.is_none());
    assert_eq!(told.path(), "HELLO");
    told.move_to("AUTH");
    told.call("find", None, "1");
    told.move_to("ROUTE");
    told.move_to("SUB");
    assert!(
        told.move_to("START").refusal.is_none(),
        "leaving a nested procedure"
    );
    assert_eq!(
        (told.path(), told.session.frames().len()),
        ("HELLO".to_owned(), 1)
    );
    told.check_fold();
    assert!(REFUND.contains("R_START"));
}

#[test]
fn an_unknown_node_is_told_with_every_node() {
    let mut chart = String::from("```mermaid\nflowchart TD\n  START --> N0\n");
    for at in 0..60 {
        chart.push_str(&format!("  N{at} --> N{}\n", at + 1));
    }
    let mut told = RecordedSession::new(&(chart + "```\n"), |_| {});
    let turn = told.move_to("NOWHERE");
    assert!(refusal_message(&turn).ends_with("N59, N60"), "{turn:?}");
}

fn call_tool(told: &mut RecordedSession, server: &str, tool: &str, is_other: bool) -> SopDecision {
    let pass = CallRequest {
        written: None,
        repeats: None,
        tool: ToolName::new(server, tool),
        arguments: Value::Null,
        confirmed: None,
        approval_run: None,
        requires_approval: false,
        bare_name_differs: is_other,
        step: None,
        upstream: None,
    };
    let turn = tramline_sop::check_call(&told.session, pass);
    told.record(&turn);
    if turn.refusal.is_none() {
        let answered = tramline_workflow::journal::ToolAnswered {
            redacted: Vec::new(),
            call: told.session.call_count,
            output: Value::from_json(r#"{"status": "pending"}"#).unwrap(),
            failure: None,
            by: None,
            edited_arguments: None,
        };
        told.record(&SopDecision {
            events: vec![Event::Sop(SopEvent::ToolAnswered(Box::new(answered)))],
            ..SopDecision::default()
        });
    }
    turn
}

#[test]
fn a_tool_of_the_same_name_on_another_server_counts_for_nothing() {
    let mut told = new_session();
    told.move_to("START");
    told.move_to("AUTH");
    let turn = call_tool(&mut told, "evil", "find", true);
    assert!(turn.refusal.is_some(), "the node means another `find`");
    // A call that the mode lets through still meets no demand and feeds no guard.
    let mut told = RecordedSession::new(DESK, |sop| sop.gated = false);
    told.move_to("START");
    told.move_to("AUTH");
    assert!(call_tool(&mut told, "evil", "find", true).refusal.is_none());
    assert!(told.move_to("ROUTE").refusal.is_some());
    assert!(told.session.results.get("find").is_none());
    assert!(told.session.results.get("evil:find").is_some());
    call_tool(&mut told, "shop", "find", false);
    assert!(told.move_to("ROUTE").refusal.is_none());
    assert!(told.session.results.get("find").is_some());
    told.check_fold();
}

#[test]
fn a_demand_with_a_server_is_met_by_that_server_only() {
    let text = DESK.replacen("must_call: [find]", "must_call: [\"shop:find\"]", 1);
    let mut told = RecordedSession::new(&text, |sop| sop.gated = false);
    told.move_to("START");
    told.move_to("AUTH");
    call_tool(&mut told, "other", "find", false);
    assert!(told.move_to("ROUTE").refusal.is_some());
    call_tool(&mut told, "shop", "find", true);
    assert!(told.move_to("ROUTE").refusal.is_none());
}
