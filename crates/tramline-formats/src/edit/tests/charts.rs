//! Edits of procedures change the flowchart and preserve comments and everything else.

use crate::SourceKind;
use crate::edit::{GraphEdit, apply_edits};
use crate::sop_markdown;
use proptest::prelude::*;
use serde_json::json;

const TEXT: &str = r#"---
agent: desk
hubs: [TRIAGE]
---

# Desk

```mermaid
flowchart TD
    START([Begins]) --> ACK["Read it"]
    %% what matters
    ACK --> HOW{How bad?}
    HOW -->|bad| PAGE["Page someone"] --> TRIAGE
    HOW -->|minor| TRIAGE{Looks like?}
    TRIAGE --> A & B
    A[One] & B[Other] --> END([Done])
```

## Node Prompts

### TRIAGE

Look twice.

### PAGE

By phone.
"#;

fn made(text: &str, edits: serde_json::Value) -> Result<String, String> {
    let edits: Vec<GraphEdit> = serde_json::from_value(edits).unwrap();
    let edited = apply_edits(text, Some(SourceKind::Procedure), None, &edits)?;
    let mut again: Vec<char> = text.chars().collect();
    for change in edited.changes.iter().rev() {
        again.splice(change.from..change.to, change.insert.chars());
    }
    assert_eq!(again.into_iter().collect::<String>(), edited.text);
    Ok(edited.text)
}

fn after(edits: serde_json::Value) -> String {
    made(TEXT, edits).unwrap()
}

/// The edges of a procedure, sorted.
fn edges(text: &str) -> Vec<String> {
    let sop = sop_markdown::read(text.as_bytes(), "s").unwrap().sop;
    let id = |at: usize| &sop.nodes[at].id;
    let ways = sop.edges.iter();
    let mut ways: Vec<_> = ways
        .map(|way| format!("{}>{}", id(way.from.index()), id(way.to.index())))
        .collect();
    ways.sort();
    ways
}

#[test]
fn the_text_of_a_node_is_set_where_it_stands() {
    let set = |id: &str, text: &str| json!([{"op": "set_field", "id": id, "path": ["text"], "value": text}]);
    assert_eq!(
        after(set("ACK", "Read all of it")),
        TEXT.replace("\"Read it\"", "Read all of it")
    );
    assert_eq!(
        after(set("A", "(1) \"x\"")),
        TEXT.replace("A[One]", "A[\"(1) #34;x#34;\"]")
    );
    assert_eq!(after(set("START", "Go")), TEXT.replace("Begins", "Go"));
    assert!(made(TEXT, set("ACK", " ")).is_err());
}

#[test]
fn a_node_is_inserted_into_the_only_edge_or_beside_others() {
    let add = |after: &str| json!([{"op": "add_node", "after": after, "node": {"id": "NEW", "kind": "step", "text": "Note it"}}]);
    assert_eq!(
        after(add("ACK")),
        TEXT.replace("ACK --> HOW{", "ACK --> NEW[Note it] --> HOW{")
    );
    let text = after(add("HOW"));
    let line = "    HOW -->|minor| TRIAGE{Looks like?}\n";
    assert_eq!(
        text,
        TEXT.replace(line, &format!("{line}    HOW --> NEW[Note it]\n"))
    );
    let text = made(&text, json!([{"op": "remove_node", "id": "NEW"}])).unwrap();
    assert_eq!(text, TEXT);
    let text =
        after(json!([{"op": "add_node", "node": {"id": "X", "kind": "decision", "text": "a-b?"}}]));
    assert!(text.contains("END([Done])\n    X{\"a-b?\"}\n```"), "{text}");
}

#[test]
fn a_node_goes_and_what_led_to_it_leads_on() {
    let text = after(json!([{"op": "remove_node", "id": "PAGE"}]));
    let wanted = TEXT
        .replace(
            "HOW -->|bad| PAGE[\"Page someone\"] --> TRIAGE",
            "HOW -->|bad| TRIAGE",
        )
        .replace("### PAGE\n\nBy phone.\n", "");
    assert_eq!(text, wanted);
    let text = after(json!([{"op": "remove_node", "id": "B"}]));
    assert!(
        text.contains("    TRIAGE --> A\n    TRIAGE --> END\n    A[One] --> END([Done])\n"),
        "{text}"
    );
    let text = after(json!([{"op": "remove_node", "id": "ACK"}]));
    assert!(
        text.contains("START([Begins]) --> HOW\n    %% what matters\n    HOW{How bad?}\n"),
        "{text}"
    );
}

#[test]
fn edges_are_added_and_removed() {
    let text = after(json!([{"op": "connect", "from": "A", "to": "TRIAGE", "label": "not yet"}]));
    assert_eq!(
        text,
        TEXT.replace("END([Done])\n", "END([Done])\n    A -->|not yet| TRIAGE\n")
    );
    assert_eq!(
        made(
            &text,
            json!([{"op": "disconnect", "from": "A", "to": "TRIAGE"}])
        )
        .unwrap(),
        TEXT
    );
    let text = after(json!([{"op": "disconnect", "from": "HOW", "to": "PAGE"}]));
    assert!(
        text.contains("    PAGE[\"Page someone\"] --> TRIAGE\n"),
        "{text}"
    );
    let again = made(
        TEXT,
        json!([{"op": "connect", "from": "START", "to": "ACK"}]),
    );
    assert_eq!(again.unwrap_err(), "`START` already has an edge to `ACK`");
    let none = made(
        TEXT,
        json!([{"op": "disconnect", "from": "START", "to": "END"}]),
    );
    assert_eq!(none.unwrap_err(), "there is no edge from `START` to `END`");
}

#[test]
fn an_id_is_exchanged_in_the_drawing_the_instructions_and_the_frontmatter() {
    let text = after(json!([{"op": "rename_node", "id": "TRIAGE", "to": "SORT"}]));
    assert_eq!(text, TEXT.replace("TRIAGE", "SORT"));
    let styled = TEXT.replace("```\n\n## Node", "    style ACK fill:#fff\n```\n\n## Node");
    let refused = made(
        &styled,
        json!([{"op": "rename_node", "id": "ACK", "to": "READ"}]),
    );
    assert!(refused.unwrap_err().contains("style or click"));
}

#[test]
fn an_invalid_chart_must_be_fixed_first() {
    let refused = made(
        &TEXT.replace("ACK --> HOW{", "ACK --> {"),
        json!([{"op": "remove_node", "id": "ACK"}]),
    );
    assert!(refused.unwrap_err().starts_with("fix the text first"));
    let near = made(TEXT, json!([{"op": "remove_node", "id": "PAGER"}]));
    assert_eq!(
        near.unwrap_err(),
        "there is no node `PAGER`; did you mean `PAGE`?"
    );
}

proptest! {
    /// Connecting and disconnecting two nodes restores the original edges.
    #[test]
    fn connecting_and_disconnecting_restores_the_edges(from in 0usize..8, to in 0usize..8) {
        let ids = ["START", "ACK", "HOW", "PAGE", "TRIAGE", "A", "B", "END"];
        let (from, to) = (ids[from], ids[to]);
        let connected = made(TEXT, json!([{"op": "connect", "from": from, "to": to}]));
        if let Ok(text) = connected {
            let way = format!("{from}>{to}");
            let mut wanted = edges(TEXT);
            wanted.push(way.clone());
            wanted.sort();
            prop_assert_eq!(edges(&text), wanted);
            let back = made(&text, json!([{"op": "disconnect", "from": from, "to": to}])).unwrap();
            let kept: Vec<_> = edges(TEXT).into_iter().filter(|it| *it != way).collect();
            prop_assert_eq!(edges(&back), kept);
        }
    }
}
