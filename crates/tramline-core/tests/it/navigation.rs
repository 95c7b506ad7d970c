//! Walking procedures: legal and illegal moves, slots, guards, the gate, going on by itself.

use std::sync::Arc;
use tramline_core::Value;
use tramline_core::formats::sop_markdown;
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{self, Entry, Event, Guided, ToolAnswered};
use tramline_core::navigate::{self, Ask, Pass, Procedure, Refusal, Turn, Walk};
use tramline_core::sop::Sop;

mod audits;
mod bounds;
mod hubs;
mod retail;
mod rules;

const DESK: &str = r#"---
agent: desk
tools: [find, look, cancel, refund]
read_only_tools: [look]
---
```mermaid
flowchart TD
    START([Writes]) --> AUTH[Who is it?] --> ROUTE{What?}
    ROUTE -->|cancel| CHECK[Look up the order] --> PENDING{Pending?}
    PENDING -->|no| DENY([Too late])
    PENDING -->|yes| REMIND[Two reasons count] --> COLLECT[Collect the reason] --> CANCEL[Cancel it] --> DONE([Done])
    ROUTE -->|refund| SUB[Refund] --> DONE
    ROUTE -->|else| HUMAN([Hand over])
    CANCEL -->|failed| COLLECT
```
## Node Prompts
### AUTH
```yaml
tools: [find]
must_call: [find]
```
Find the customer.
### CHECK
```yaml
tools: [find]
slots: {order_id: string}
```
Ask for the order.
### PENDING
```yaml
guards:
  "yes": results.find.status = "pending"
  "no": results.find.status != "pending"
```
### REMIND
Only two reasons count.
### COLLECT
```yaml
slots:
  reason: [no longer needed, ordered by mistake]
max_visits: 2
```
Ask why.
### CANCEL
```yaml
tools: [cancel]
must_call: [cancel]
confirm: true
```
Cancel after a yes.
### SUB
```yaml
sop: refund.md
```
"#;

const REFUND: &str = r#"---
agent: refund
---
```mermaid
flowchart TD
    R_START([Begin]) --> R_HOW[How?] --> R_PAY[Pay] --> R_END([Paid])
```
## Node Prompts
### R_HOW
```yaml
slots: {method: string}
```
Ask how.
### R_PAY
```yaml
tools: [refund]
```
Pay.
"#;

fn sop(text: &str) -> Sop {
    let read = sop_markdown::read(text.as_bytes(), "x");
    read.unwrap_or_else(|flaws| panic!("{flaws:#?}")).sop
}

/// A walk with its journal, recorded as an engine would.
struct Told {
    walk: Walk,
    journal: Vec<Entry>,
}

impl Told {
    fn new(text: &str, change: impl FnOnce(&mut Sop)) -> Self {
        let mut main = sop(text);
        change(&mut main);
        Self::along(vec![Arc::new(main), Arc::new(sop(REFUND))])
    }

    fn along(sops: Vec<Arc<Sop>>) -> Self {
        let begun = Guided {
            sops: sops.clone(),
            files: vec!["refund.md".into(); sops.len() - 1],
            session: None,
            by: "test".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
        };
        let built = sops
            .into_iter()
            .map(|it| Arc::new(Procedure::build(it).unwrap()))
            .collect();
        let id = RunId::new(1, 1);
        let walk = Walk::begin(id, built, begun.clone(), 5).unwrap();
        let event = Event::Guided(Box::new(begun));
        let journal = vec![Entry {
            seq: 1,
            at_ms: 5,
            event,
        }];
        Self { walk, journal }
    }

    fn record(&mut self, turn: &Turn) {
        for event in turn.events.clone() {
            let entry = Entry {
                seq: self.walk.seq + 1,
                at_ms: 6,
                event,
            };
            self.walk.apply(&entry).unwrap();
            self.journal.push(entry);
        }
    }

    fn ask(&mut self, ask: &Ask) -> Turn {
        let turn = navigate::goto(&self.walk, ask);
        self.record(&turn);
        turn
    }

    fn go(&mut self, node: &str) -> Turn {
        self.ask(&Ask {
            node: Some(node.into()),
            ..Ask::default()
        })
    }

    fn advance(&mut self, node: Option<&str>, slots: &str) -> Turn {
        let ask = Ask {
            node: node.map(Into::into),
            slots: Value::from_json(slots).unwrap(),
            ..Ask::default()
        };
        let turn = navigate::advance(&self.walk, &ask);
        self.record(&turn);
        turn
    }

    fn call(&mut self, tool: &str, confirmed: Option<&str>, output: &str) -> Turn {
        self.call_with(tool, "null", confirmed, output)
    }

    fn call_with(
        &mut self,
        tool: &str,
        arguments: &str,
        confirmed: Option<&str>,
        output: &str,
    ) -> Turn {
        let pass = Pass {
            tool: ToolName::new("shop", tool),
            arguments: Value::from_json(arguments).unwrap(),
            confirmed: confirmed.map(Into::into),
            asked_in: None,
            asks: false,
            is_other: false,
            step: None,
            upstream: None,
        };
        let turn = navigate::call(&self.walk, pass);
        self.record(&turn);
        if turn.refusal.is_none() {
            let answered = ToolAnswered {
                call: self.walk.calls,
                output: Value::from_json(output).unwrap(),
                failure: None,
                by: None,
                edited_arguments: None,
            };
            let events = vec![Event::ToolAnswered(Box::new(answered))];
            self.record(&Turn {
                events,
                ..Turn::default()
            });
        }
        turn
    }

    fn path(&self) -> String {
        self.walk
            .path()
            .map(|it| it.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Folds the journal as it was written to disk, and compares.
    fn check_fold(&self) {
        let mut lines = Vec::new();
        for entry in &self.journal {
            journal::encode(entry, &mut lines).unwrap();
        }
        let entries = journal::decode(1, &lines).unwrap();
        assert_eq!(entries, self.journal);
        let build = |sop: &Arc<Sop>| Procedure::build(Arc::clone(sop)).map(Arc::new);
        let folded = Walk::fold(self.walk.id.clone(), entries, build).unwrap();
        assert_eq!(
            folded.path().collect::<Vec<_>>(),
            self.walk.path().collect::<Vec<_>>()
        );
        assert_eq!(folded.slots, self.walk.slots);
        assert_eq!(folded.results, self.walk.results);
        assert_eq!(folded.todos, self.walk.todos);
        assert_eq!((folded.seq, folded.calls), (self.walk.seq, self.walk.calls));
        assert_eq!(
            (folded.moves, folded.refusals),
            (self.walk.moves, self.walk.refusals)
        );
    }
}

fn desk() -> Told {
    Told::new(DESK, |_| {})
}

/// A conversation at ROUTE: the customer is known, and nothing else.
fn identified() -> Told {
    let mut told = desk();
    told.go("START");
    told.go("AUTH");
    told.call("find", None, "{}");
    assert!(told.go("ROUTE").refusal.is_none());
    told
}

fn refusal(turn: &Turn) -> &Refusal {
    turn.refusal.as_ref().unwrap()
}

#[test]
fn legal_moves_are_edges_the_same_node_the_entry_and_hubs() {
    let mut told = desk();
    let early = told.go("AUTH");
    assert_eq!(
        refusal(&early).says(),
        "Cannot begin at AUTH. Begin at START"
    );
    assert!(told.go("START").refusal.is_none());
    assert!(told.go("AUTH").refusal.is_none());
    assert!(told.go("AUTH").refusal.is_none());
    assert_eq!(told.path(), "START AUTH");
    let left = told.go("CHECK");
    assert_eq!(refusal(&left).says(), "Cannot reach CHECK from AUTH");
    assert!(matches!(refusal(&left), Refusal::NoWay { next, .. } if *next == ["ROUTE"]));
    told.call("find", None, "{}");
    assert!(told.go("ROUTE").refusal.is_none());
    assert!(told.go("CHECK").refusal.is_none());
    assert_eq!(told.path(), "START AUTH ROUTE CHECK");
    assert!(
        told.go("ROUTE").refusal.is_none(),
        "a hub is legal from anywhere"
    );
    assert!(told.go("START").refusal.is_none());
    assert_eq!(told.path(), "START");
    assert_eq!(told.walk.refusals, 2);
    told.check_fold();
}

#[test]
fn an_unknown_node_is_told_with_what_may_have_been_meant() {
    let mut told = desk();
    let turn = told.go("CHEKC");
    let Refusal::NoNode { near, nodes, .. } = refusal(&turn) else {
        panic!("{turn:?}")
    };
    assert_eq!(near.as_deref(), Some("CHECK"));
    assert_eq!(nodes.len(), 12);
    assert!(
        refusal(&turn)
            .says()
            .starts_with("Node not found: CHEKC. Did you mean CHECK?")
    );
}

#[test]
fn a_node_is_left_when_its_tools_were_called_and_its_slots_are_set() {
    let mut told = desk();
    told.go("START");
    told.go("AUTH");
    let turn = told.advance(None, "{}");
    assert_eq!(
        refusal(&turn).says(),
        "AUTH cannot be left yet; tools to be called: find"
    );
    told.call("find", None, r#"{"status": "pending"}"#);
    told.advance(None, "{}");
    assert_eq!(told.path(), "START AUTH ROUTE");
    told.go("CHECK");
    let turn = told.go("PENDING");
    assert_eq!(
        refusal(&turn).says(),
        "CHECK cannot be left yet; slots to be set: order_id"
    );
    let bad = told.advance(Some("PENDING"), r#"{"order_id": 7}"#);
    assert_eq!(
        refusal(&bad).says(),
        "The slot order_id must be of type string, not 7"
    );
    let bad = told.advance(Some("PENDING"), r#"{"order": "7"}"#);
    assert_eq!(
        refusal(&bad).says(),
        "No node collects a slot order. Did you mean order_id?"
    );
    let turn = told.advance(Some("PENDING"), r##"{"order_id": "#1"}"##);
    assert!(turn.refusal.is_none());
    assert_eq!(told.path(), "START AUTH ROUTE CHECK PENDING REMIND COLLECT");
    told.check_fold();
}

#[test]
fn guards_decide_and_are_written_down_with_their_operands() {
    let mut told = identified();
    told.go("CHECK");
    let slots = Value::from_json(r#"{"order_id": "1"}"#).unwrap();
    told.ask(&Ask {
        node: Some("PENDING".into()),
        slots,
        ..Ask::default()
    });
    let unknown = told.go("COLLECT");
    assert!(matches!(refusal(&unknown), Refusal::NoWay { .. }));
    let unknown = told.go("REMIND");
    assert!(
        refusal(&unknown)
            .says()
            .contains("results.find.status is not known"),
        "{unknown:?}"
    );
    told.go("ROUTE");
    told.go("CHECK");
    told.call("find", None, r#"{"status": "shipped"}"#);
    let gone = told.go("PENDING");
    assert!(
        matches!(refusal(&gone), Refusal::Missing { .. }),
        "a hub begins another wish"
    );
    let slots = Value::from_json(r#"{"order_id": "2"}"#).unwrap();
    told.ask(&Ask {
        node: Some("PENDING".into()),
        slots,
        ..Ask::default()
    });
    let wrong = told.go("REMIND");
    assert_eq!(
        refusal(&wrong).says(),
        "Cannot go from PENDING to REMIND: the guards lead to DENY"
    );
    let right = told.go("DENY");
    let Event::Moved(moved) = &right.events[0] else {
        panic!("{right:?}")
    };
    let weighed: Vec<_> = moved
        .weighed
        .iter()
        .map(|it| (it.to.as_str(), it.holds))
        .collect();
    assert_eq!(weighed, [("DENY", Some(true)), ("REMIND", Some(false))]);
    let operands = &moved.weighed[0].operands;
    assert_eq!(
        operands[0],
        ("results.find.status".into(), "shipped".into())
    );
    assert!(told.walk.is_terminal());
    told.check_fold();
}

#[test]
fn calls_pass_where_the_node_allows_them_and_the_user_has_agreed() {
    let mut told = desk();
    let early = told.call("cancel", None, "1");
    assert!(
        refusal(&early)
            .says()
            .contains("the conversation has not begun")
    );
    told.go("START");
    told.go("AUTH");
    let turn = told.call("cancel", None, "1");
    assert_eq!(
        refusal(&turn).says(),
        "shop:cancel is not allowed here: the conversation stands at AUTH, which allows: find, look. \
         It is allowed at: CANCEL. Path there: AUTH -> ROUTE -> CHECK -> PENDING -> REMIND -> COLLECT -> CANCEL"
    );
    assert!(
        told.call("look", None, "1").refusal.is_none(),
        "it only reads"
    );
    assert!(
        told.call("find", None, r#"{"status": "pending"}"#)
            .refusal
            .is_none()
    );
    told.advance(Some("ROUTE"), "{}");
    told.advance(Some("CHECK"), r#"{"order_id": "1"}"#);
    told.call("find", None, r#"{"status": "pending"}"#);
    told.advance(None, r#"{"reason": "no longer needed"}"#);
    assert_eq!(told.walk.at_id().unwrap(), "CANCEL");
    let turn = told.call("cancel", None, "1");
    assert!(matches!(refusal(&turn), Refusal::Unconfirmed { .. }));
    let turn = told.call("cancel", Some("the user said yes"), r#"{"ok": true}"#);
    assert!(turn.refusal.is_none());
    assert_eq!(
        told.walk.results.get("cancel").and_then(|it| it.get("ok")),
        Some(&true.into())
    );
    told.check_fold();
}

#[test]
fn advance_walks_until_somebody_is_needed() {
    let mut told = desk();
    told.advance(None, "{}");
    assert_eq!(told.path(), "START AUTH");
    told.call("find", None, r#"{"status": "pending"}"#);
    told.advance(None, "{}");
    assert_eq!(told.path(), "START AUTH ROUTE");
    let turn = told.advance(
        Some("CHECK"),
        r#"{"order_id": "1", "reason": "ordered by mistake"}"#,
    );
    assert_eq!(turn.events.len(), 2, "CHECK has a tool to be called first");
    told.call("find", None, r#"{"status": "pending"}"#);
    let turn = told.advance(None, "{}");
    assert_eq!(
        told.path(),
        "START AUTH ROUTE CHECK PENDING REMIND COLLECT CANCEL"
    );
    let by_itself = turn
        .events
        .iter()
        .filter(|it| matches!(it, Event::Moved(it) if it.by_itself));
    assert_eq!(by_itself.count(), 4);
    told.check_fold();
}
