//! SOP sessions: allowed and refused moves, slots, guards, the tool gate, automatic moves.

use std::sync::Arc;
use tramline_expr::Value;
use tramline_formats::sop_markdown;
use tramline_sop::{CallRequest, MoveRequest, Procedure, SopDecision, SopRefusal, SopSession};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{self, Entry, Event, SopEvent, SopStarted, ToolAnswered};
use tramline_workflow::sop::Sop;

mod audits;
mod hubs;
mod limits;
mod nested;
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

/// A session with its journal, recorded as an engine would.
struct RecordedSession {
    session: SopSession,
    journal: Vec<Entry>,
}

impl RecordedSession {
    fn new(text: &str, change: impl FnOnce(&mut Sop)) -> Self {
        let mut main = sop(text);
        change(&mut main);
        Self::with_procedures(vec![Arc::new(main), Arc::new(sop(REFUND))])
    }

    fn with_procedures(sops: Vec<Arc<Sop>>) -> Self {
        let begun = SopStarted {
            sops: sops.clone(),
            files: vec!["refund.md".into(); sops.len() - 1],
            session: None,
            by: "test".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
            carried: Vec::new(),
        };
        let built = sops
            .into_iter()
            .map(|it| Arc::new(Procedure::build(it).unwrap()))
            .collect();
        let id = RunId::new(1, 1);
        let session = SopSession::start(id, built, begun.clone(), 5).unwrap();
        let event = Event::Sop(SopEvent::SopStarted(Box::new(begun)));
        let journal = vec![Entry {
            seq: 1,
            at_ms: 5,
            event,
        }];
        Self { session, journal }
    }

    fn record(&mut self, turn: &SopDecision) {
        for event in turn.events.clone() {
            let entry = Entry {
                seq: self.session.seq + 1,
                at_ms: 6,
                event,
            };
            self.session.apply(&entry).unwrap();
            self.journal.push(entry);
        }
    }

    fn request(&mut self, ask: &MoveRequest) -> SopDecision {
        let turn = tramline_sop::move_to(&self.session, ask);
        self.record(&turn);
        turn
    }

    fn move_to(&mut self, node: &str) -> SopDecision {
        self.request(&MoveRequest {
            node: Some(node.into()),
            ..MoveRequest::default()
        })
    }

    fn advance(&mut self, node: Option<&str>, slots: &str) -> SopDecision {
        let ask = MoveRequest {
            node: node.map(Into::into),
            slots: Value::from_json(slots).unwrap(),
            ..MoveRequest::default()
        };
        let turn = tramline_sop::advance(&self.session, &ask);
        self.record(&turn);
        turn
    }

    fn call(&mut self, tool: &str, confirmed: Option<&str>, output: &str) -> SopDecision {
        self.call_with(tool, "null", confirmed, output)
    }

    fn call_with(
        &mut self,
        tool: &str,
        arguments: &str,
        confirmed: Option<&str>,
        output: &str,
    ) -> SopDecision {
        let pass = CallRequest {
            written: None,
            repeats: None,
            tool: ToolName::new("shop", tool),
            arguments: Value::from_json(arguments).unwrap(),
            confirmed: confirmed.map(Into::into),
            approval_run: None,
            requires_approval: false,
            bare_name_differs: false,
            step: None,
            upstream: None,
        };
        let turn = tramline_sop::check_call(&self.session, pass);
        self.record(&turn);
        if turn.refusal.is_none() {
            let answered = ToolAnswered {
                redacted: Vec::new(),
                call: self.session.call_count,
                output: Value::from_json(output).unwrap(),
                failure: None,
                by: None,
                edited_arguments: None,
            };
            let events = vec![Event::Sop(SopEvent::ToolAnswered(Box::new(answered)))];
            self.record(&SopDecision {
                events,
                ..SopDecision::default()
            });
        }
        turn
    }

    fn path(&self) -> String {
        self.session
            .path()
            .map(|it| it.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Folds the journal from its encoded form, and compares.
    fn check_fold(&self) {
        let mut lines = Vec::new();
        for entry in &self.journal {
            journal::encode(entry, &mut lines).unwrap();
        }
        let entries = journal::decode(1, &lines).unwrap();
        assert_eq!(entries, self.journal);
        let build = |sop: &Arc<Sop>| Procedure::build(Arc::clone(sop)).map(Arc::new);
        let folded = SopSession::fold(self.session.id.clone(), entries, build).unwrap();
        assert_eq!(
            folded.path().collect::<Vec<_>>(),
            self.session.path().collect::<Vec<_>>()
        );
        assert_eq!(folded.slots, self.session.slots);
        assert_eq!(folded.results, self.session.results);
        assert_eq!(folded.todos, self.session.todos);
        assert_eq!(
            (folded.seq, folded.call_count),
            (self.session.seq, self.session.call_count)
        );
        assert_eq!(
            (folded.move_count, folded.refusal_count),
            (self.session.move_count, self.session.refusal_count)
        );
    }
}

fn new_session() -> RecordedSession {
    RecordedSession::new(DESK, |_| {})
}

/// A session at ROUTE: only the customer is known.
fn session_at_route() -> RecordedSession {
    let mut told = new_session();
    told.move_to("START");
    told.move_to("AUTH");
    told.call("find", None, "{}");
    assert!(told.move_to("ROUTE").refusal.is_none());
    told
}

fn refusal(turn: &SopDecision) -> &SopRefusal {
    turn.refusal.as_ref().unwrap()
}

#[test]
fn legal_moves_are_edges_the_same_node_the_entry_and_hubs() {
    let mut told = new_session();
    let early = told.move_to("AUTH");
    assert_eq!(
        refusal(&early).message(),
        "Cannot begin at AUTH. Begin at START"
    );
    assert!(told.move_to("START").refusal.is_none());
    assert!(told.move_to("AUTH").refusal.is_none());
    assert!(told.move_to("AUTH").refusal.is_none());
    assert_eq!(told.path(), "START AUTH");
    let left = told.move_to("CHECK");
    assert_eq!(refusal(&left).message(), "Cannot reach CHECK from AUTH");
    assert!(matches!(refusal(&left), SopRefusal::NoEdge { next, .. } if *next == ["ROUTE"]));
    told.call("find", None, "{}");
    assert!(told.move_to("ROUTE").refusal.is_none());
    assert!(told.move_to("CHECK").refusal.is_none());
    assert_eq!(told.path(), "START AUTH ROUTE CHECK");
    assert!(
        told.move_to("ROUTE").refusal.is_none(),
        "a hub can be entered from anywhere"
    );
    assert!(told.move_to("START").refusal.is_none());
    assert_eq!(told.path(), "START");
    assert_eq!(told.session.refusal_count, 2);
    told.check_fold();
}

#[test]
fn an_unknown_node_is_told_with_what_may_have_been_meant() {
    let mut told = new_session();
    let turn = told.move_to("CHEKC");
    let SopRefusal::UnknownNode { near, nodes, .. } = refusal(&turn) else {
        panic!("{turn:?}")
    };
    assert_eq!(near.as_deref(), Some("CHECK"));
    assert_eq!(nodes.len(), 12);
    assert!(
        refusal(&turn)
            .message()
            .starts_with("Node not found: CHEKC. Did you mean CHECK?")
    );
}

#[test]
fn a_node_is_left_when_its_tools_were_called_and_its_slots_are_set() {
    let mut told = new_session();
    told.move_to("START");
    told.move_to("AUTH");
    let turn = told.advance(None, "{}");
    assert_eq!(
        refusal(&turn).message(),
        "AUTH cannot be left yet; tools to call: find"
    );
    told.call("find", None, r#"{"status": "pending"}"#);
    told.advance(None, "{}");
    assert_eq!(told.path(), "START AUTH ROUTE");
    told.move_to("CHECK");
    let turn = told.move_to("PENDING");
    assert_eq!(
        refusal(&turn).message(),
        "CHECK cannot be left yet; slots to set: order_id"
    );
    let bad = told.advance(Some("PENDING"), r#"{"order_id": 7}"#);
    assert_eq!(
        refusal(&bad).message(),
        "The slot order_id must be of type string, not 7"
    );
    let bad = told.advance(Some("PENDING"), r#"{"order": "7"}"#);
    assert_eq!(
        refusal(&bad).message(),
        "No node collects a slot order. Did you mean order_id?"
    );
    let turn = told.advance(Some("PENDING"), r##"{"order_id": "#1"}"##);
    assert!(turn.refusal.is_none());
    assert_eq!(told.path(), "START AUTH ROUTE CHECK PENDING REMIND COLLECT");
    told.check_fold();
}

#[test]
fn guards_decide_and_are_written_down_with_their_operands() {
    let mut told = session_at_route();
    told.move_to("CHECK");
    let slots = Value::from_json(r#"{"order_id": "1"}"#).unwrap();
    told.request(&MoveRequest {
        node: Some("PENDING".into()),
        slots,
        ..MoveRequest::default()
    });
    let unknown = told.move_to("COLLECT");
    assert!(matches!(refusal(&unknown), SopRefusal::NoEdge { .. }));
    let unknown = told.move_to("REMIND");
    assert!(
        refusal(&unknown)
            .message()
            .contains("results.find.status is not known"),
        "{unknown:?}"
    );
    told.move_to("ROUTE");
    told.move_to("CHECK");
    told.call("find", None, r#"{"status": "shipped"}"#);
    let gone = told.move_to("PENDING");
    assert!(
        matches!(refusal(&gone), SopRefusal::UnmetRequirements { .. }),
        "a hub starts another request"
    );
    let slots = Value::from_json(r#"{"order_id": "2"}"#).unwrap();
    told.request(&MoveRequest {
        node: Some("PENDING".into()),
        slots,
        ..MoveRequest::default()
    });
    let wrong = told.move_to("REMIND");
    assert_eq!(
        refusal(&wrong).message(),
        "Cannot go from PENDING to REMIND: the guards lead to DENY"
    );
    let right = told.move_to("DENY");
    let Event::Sop(SopEvent::Moved(moved)) = &right.events[0] else {
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
    assert!(told.session.is_terminal());
    told.check_fold();
}

#[test]
fn calls_pass_where_the_node_allows_them_and_the_user_has_agreed() {
    let mut told = new_session();
    let early = told.call("cancel", None, "1");
    assert!(
        refusal(&early)
            .message()
            .contains("the session has not started")
    );
    told.move_to("START");
    told.move_to("AUTH");
    let turn = told.call("cancel", None, "1");
    assert_eq!(
        refusal(&turn).message(),
        "shop:cancel is not allowed here: the session is at AUTH, which allows: find, look. \
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
    assert_eq!(told.session.current_node_id().unwrap(), "CANCEL");
    let turn = told.call("cancel", None, "1");
    assert!(matches!(refusal(&turn), SopRefusal::ApprovalMissing { .. }));
    let turn = told.call("cancel", Some("the user said yes"), r#"{"ok": true}"#);
    assert!(turn.refusal.is_none());
    assert_eq!(
        told.session
            .results
            .get("cancel")
            .and_then(|it| it.get("ok")),
        Some(&true.into())
    );
    told.check_fold();
}

#[test]
fn advance_walks_until_somebody_is_needed() {
    let mut told = new_session();
    told.advance(None, "{}");
    assert_eq!(told.path(), "START AUTH");
    told.call("find", None, r#"{"status": "pending"}"#);
    told.advance(None, "{}");
    assert_eq!(told.path(), "START AUTH ROUTE");
    let turn = told.advance(
        Some("CHECK"),
        r#"{"order_id": "1", "reason": "ordered by mistake"}"#,
    );
    assert_eq!(turn.events.len(), 2, "CHECK requires a tool call first");
    told.call("find", None, r#"{"status": "pending"}"#);
    let turn = told.advance(None, "{}");
    assert_eq!(
        told.path(),
        "START AUTH ROUTE CHECK PENDING REMIND COLLECT CANCEL"
    );
    let by_itself = turn
        .events
        .iter()
        .filter(|it| matches!(it, Event::Sop(SopEvent::Moved(it)) if it.by_itself));
    assert_eq!(by_itself.count(), 4);
    told.check_fold();
}
