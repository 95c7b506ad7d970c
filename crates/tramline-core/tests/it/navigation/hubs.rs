//! Hubs do not skip what lies before them, and a tool of another server does not stand in for one.

use super::{DESK, REFUND, Told, desk, identified, refusal, sop};
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::ids::ToolName;
use tramline_core::navigate::{self, Ask, Pass, Refusal, Turn};
use tramline_core::sop::Mode;

fn says(turn: &Turn) -> String {
    refusal(turn).says()
}

#[test]
fn a_hub_as_the_first_move_does_not_skip_what_lies_before_it() {
    let mut told = desk();
    let turn = told.go("ROUTE");
    assert_eq!(
        says(&turn),
        "ROUTE can be reached only after AUTH (tools to be called: find). Path there: START -> AUTH"
    );
    told.go("START");
    let Refusal::Demands { path, .. } = refusal(&told.go("ROUTE")).clone() else {
        panic!("it skipped AUTH");
    };
    assert_eq!(path, ["START", "AUTH"]);
    told.go("AUTH");
    let turn = told.go("ROUTE");
    assert_eq!(
        says(&turn),
        "AUTH cannot be left yet; tools to be called: find"
    );
    assert!(told.walk.valid_next().is_empty());
    told.call("find", None, "{}");
    assert_eq!(told.walk.valid_next(), ["ROUTE"]);
    assert!(told.go("ROUTE").refusal.is_none());
    told.check_fold();
}

#[test]
fn a_failed_call_meets_no_demand() {
    let mut told = desk();
    told.go("START");
    told.go("AUTH");
    let failure = tramline_core::failure::Failure::new(
        tramline_core::failure::FailureKind::Tool,
        "nobody of that name",
    );
    let pass = Pass {
        tool: ToolName::new("shop", "find"),
        arguments: Value::Null,
        confirmed: None,
        asked_in: None,
        asks: false,
        is_other: false,
        step: None,
        upstream: None,
    };
    let turn = navigate::call(&told.walk, pass);
    told.record(&turn);
    let answered = tramline_core::journal::ToolAnswered {
        call: told.walk.calls,
        output: Value::Null,
        failure: Some(failure),
        by: None,
        edited_arguments: None,
    };
    told.record(&Turn {
        events: vec![tramline_core::journal::Event::ToolAnswered(Box::new(
            answered,
        ))],
        ..Turn::default()
    });
    assert!(told.go("ROUTE").refusal.is_some());
}

#[test]
fn a_hub_abandons_a_node_half_way_and_demands_stay_met() {
    let mut told = identified();
    told.go("CHECK");
    assert!(
        told.go("PENDING").refusal.is_some(),
        "the order is not known"
    );
    assert!(told.go("ROUTE").refusal.is_none(), "left half-way");
    told.go("START");
    assert_eq!(told.path(), "START");
    assert!(
        told.go("ROUTE").refusal.is_none(),
        "what was met before stays met"
    );
    told.check_fold();
}

#[test]
fn advance_does_not_jump_either() {
    let mut told = desk();
    let turn = told.advance(Some("ROUTE"), "{}");
    assert!(turn.refusal.is_some(), "{turn:?}");
    assert!(told.walk.at_id().is_none_or(|at| at != "ROUTE"));
    told.advance(None, "{}");
    let turn = told.advance(Some("ROUTE"), "{}");
    assert!(turn.refusal.is_some(), "{turn:?}");
    assert_eq!(told.walk.at_id().unwrap(), "AUTH");
}

#[test]
fn where_nothing_is_demanded_a_hub_can_be_reached_from_anywhere() {
    let text = DESK.replacen("must_call: [find]\n", "", 1);
    let mut told = Told::new(&text, |_| {});
    assert!(told.go("ROUTE").refusal.is_none(), "as the first move");
    let mut told = Told::new(&text, |_| {});
    told.go("START");
    assert!(told.go("ROUTE").refusal.is_none());
}

#[test]
fn a_required_slot_is_a_demand_too() {
    let text = DESK.replacen("must_call: [find]\n", "slots: {customer: string}\n", 1);
    let mut told = Told::new(&text, |_| {});
    let turn = told.go("ROUTE");
    assert!(
        says(&turn).contains("AUTH (slots to be set: customer)"),
        "{turn:?}"
    );
    told.go("START");
    told.go("AUTH");
    let turn = told.ask(&Ask {
        node: Some("ROUTE".into()),
        slots: Value::from_json(r#"{"customer": "ada"}"#).unwrap(),
        ..Ask::default()
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
        let mut told = Told::new(&text, |_| {});
        told.go("START");
        told.go("AUTH");
        assert_eq!(
            says(&told.go("ROUTE")),
            "AUTH cannot be left yet; tools to be called: by_email or by_name"
        );
        told.call("find", None, "{}");
        assert!(told.go("ROUTE").refusal.is_some(), "it is none of the two");
        told.call(tool, None, "{}");
        assert!(told.go("ROUTE").refusal.is_none(), "{tool}");
        told.check_fold();
    }
}

#[test]
fn only_nodes_on_every_path_count() {
    // Two ways to be known: neither node lies on every path.
    let text = "```mermaid\nflowchart TD\n  START --> A[a] --> ROUTE{r}\n  START --> B[b] --> ROUTE\n  ROUTE --> X[x] --> LATER[l]\n```\n\
                ## Node Prompts\n### A\n```yaml\nmust_call: [a]\n```\n### B\n```yaml\nmust_call: [b]\n```\n\
                ### X\n```yaml\ntools: [x]\nmust_call: [x]\n```\n### LATER\n```yaml\nhub: true\n```\n";
    let mut told = Told::new(text, |sop| {
        let at = sop.find("ROUTE").unwrap();
        sop.nodes[at.at()].hub = true;
    });
    assert!(told.go("ROUTE").refusal.is_none());
    let turn = told.go("LATER");
    assert!(
        says(&turn).contains("LATER can be reached only after X"),
        "{turn:?}"
    );
    told.go("X");
    told.call("x", None, "1");
    told.go("ROUTE");
    assert!(told.go("LATER").refusal.is_none());
}

#[test]
fn demands_inside_a_procedure_before_the_hub_count() {
    let outer = "---\nhubs: [ROUTE]\n---\n```mermaid\nflowchart TD\n  START --> AUTH[a] --> ROUTE{r} --> END([e])\n```\n\
                 ## Node Prompts\n### AUTH\n```yaml\nsop: refund.md\n```\n";
    let inner = "---\nagent: who\n---\n```mermaid\nflowchart TD\n  IN([i]) --> ASK[q] --> OUT([o])\n```\n\
                 ## Node Prompts\n### ASK\n```yaml\ntools: [find]\nmust_call: [find]\n```\n";
    let mut told = Told::along(vec![Arc::new(sop(outer)), Arc::new(sop(inner))]);
    let turn = told.go("ROUTE");
    assert_eq!(
        says(&turn),
        "ROUTE can be reached only after ASK (tools to be called: find). Path there: START -> AUTH -> IN -> ASK"
    );
    told.go("START");
    told.go("AUTH");
    told.go("ASK");
    assert!(told.go("ROUTE").refusal.is_some(), "out of it half-way");
    told.call("find", None, "1");
    assert!(told.go("ROUTE").refusal.is_none());
    told.check_fold();
}

#[test]
fn a_hub_that_is_the_entry_and_circles_are_no_trap() {
    let text = "---\nhubs: [START, B]\n---\n```mermaid\nflowchart TD\n  START --> A --> B --> A\n  B --> START\n```\n\
                ## Node Prompts\n### A\n```yaml\ntools: [a]\nmust_call: [a]\n```\n";
    let mut told = Told::new(text, |_| {});
    assert!(told.go("START").refusal.is_none());
    assert!(told.go("B").refusal.is_some());
    told.go("A");
    told.call("a", None, "1");
    assert!(told.go("B").refusal.is_none());
    assert!(told.go("START").refusal.is_none());
    assert!(told.go("B").refusal.is_none());
}

#[test]
fn a_lenient_procedure_warns_and_lets_pass() {
    for mode in [Mode::Warn, Mode::Observe] {
        let mut told = Told::new(DESK, |sop| sop.mode = mode);
        let turn = told.go("ROUTE");
        assert!(turn.refusal.is_none());
        assert_eq!(turn.warning.is_some(), mode == Mode::Warn);
        assert_eq!(told.walk.at_id().unwrap(), "ROUTE");
        told.check_fold();
    }
}

/// Walks what a refusal advises, doing what each node wants.
fn follow(told: &mut Told, path: &[tramline_core::Str]) {
    for node in path {
        if told.walk.at_id() == Some(node) {
            continue;
        }
        let turn = told.go(node);
        assert!(turn.refusal.is_none(), "{node}: {turn:?}");
        if node == "AUTH" || node == "CHECK" {
            told.call("find", None, r#"{"status": "pending"}"#);
        }
        let slots = Value::from_json(r#"{"order_id": "1", "reason": "ordered by mistake"}"#);
        told.ask(&Ask {
            slots: slots.unwrap(),
            ..Ask::default()
        });
    }
}

#[test]
fn what_a_refusal_advises_can_be_walked() {
    for first in [&[][..], &["START"], &["START", "AUTH"]] {
        let mut told = desk();
        for node in first {
            told.go(node);
        }
        if first.len() == 2 {
            told.call("find", None, "{}");
        }
        let Refusal::NoTool { path, .. } = refusal(&told.call("cancel", None, "1")).clone() else {
            panic!("allowed");
        };
        follow(&mut told, &path);
        assert_eq!(told.walk.at_id().unwrap(), "CANCEL");
        let mut told = desk();
        let Refusal::NoWay { path, .. } = refusal(&told.go("CANCEL")).clone() else {
            panic!("allowed");
        };
        assert_eq!(path.first().unwrap(), "START", "ROUTE would be refused");
        follow(&mut told, &path);
    }
    // After the customer is known the hub is the shorter way.
    let mut told = identified();
    told.go("HUMAN");
    let Refusal::NoTool { path, .. } = refusal(&told.call("cancel", None, "1")).clone() else {
        panic!("allowed");
    };
    assert_eq!(path.first().unwrap(), "ROUTE");
    // A tool of a procedure inside is found too.
    let Refusal::NoTool { nodes, path, .. } = refusal(&told.call("refund", None, "1")).clone()
    else {
        panic!("allowed");
    };
    assert_eq!(nodes, ["R_PAY"]);
    assert_eq!(path, ["ROUTE", "SUB", "R_START", "R_HOW", "R_PAY"]);
}

#[test]
fn start_begins_again_whatever_the_entry_is_called() {
    let text = DESK.replace("START", "HELLO");
    let mut told = Told::new(&text, |_| {});
    assert!(told.go("START").refusal.is_none());
    assert_eq!(told.path(), "HELLO");
    told.go("AUTH");
    told.call("find", None, "1");
    told.go("ROUTE");
    told.go("SUB");
    assert!(
        told.go("START").refusal.is_none(),
        "out of a procedure inside"
    );
    assert_eq!(
        (told.path(), told.walk.frames().len()),
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
    let mut told = Told::new(&(chart + "```\n"), |_| {});
    let turn = told.go("NOWHERE");
    assert!(says(&turn).ends_with("N59, N60"), "{turn:?}");
}

fn call_of(told: &mut Told, server: &str, tool: &str, is_other: bool) -> Turn {
    let pass = Pass {
        tool: ToolName::new(server, tool),
        arguments: Value::Null,
        confirmed: None,
        asked_in: None,
        asks: false,
        is_other,
        step: None,
        upstream: None,
    };
    let turn = navigate::call(&told.walk, pass);
    told.record(&turn);
    if turn.refusal.is_none() {
        let answered = tramline_core::journal::ToolAnswered {
            call: told.walk.calls,
            output: Value::from_json(r#"{"status": "pending"}"#).unwrap(),
            failure: None,
            by: None,
            edited_arguments: None,
        };
        told.record(&Turn {
            events: vec![tramline_core::journal::Event::ToolAnswered(Box::new(
                answered,
            ))],
            ..Turn::default()
        });
    }
    turn
}

#[test]
fn a_tool_of_the_same_name_on_another_server_counts_for_nothing() {
    let mut told = desk();
    told.go("START");
    told.go("AUTH");
    let turn = call_of(&mut told, "evil", "find", true);
    assert!(turn.refusal.is_some(), "the node means another `find`");
    // Where it is let pass it still meets no demand and feeds no guard.
    let mut told = Told::new(DESK, |sop| sop.gated = false);
    told.go("START");
    told.go("AUTH");
    assert!(call_of(&mut told, "evil", "find", true).refusal.is_none());
    assert!(told.go("ROUTE").refusal.is_some());
    assert!(told.walk.results.get("find").is_none());
    assert!(told.walk.results.get("evil:find").is_some());
    call_of(&mut told, "shop", "find", false);
    assert!(told.go("ROUTE").refusal.is_none());
    assert!(told.walk.results.get("find").is_some());
    told.check_fold();
}

#[test]
fn a_demand_with_a_server_is_met_by_that_server_only() {
    let text = DESK.replacen("must_call: [find]", "must_call: [\"shop:find\"]", 1);
    let mut told = Told::new(&text, |sop| sop.gated = false);
    told.go("START");
    told.go("AUTH");
    call_of(&mut told, "other", "find", false);
    assert!(told.go("ROUTE").refusal.is_some());
    call_of(&mut told, "shop", "find", true);
    assert!(told.go("ROUTE").refusal.is_none());
}
