//! The `sop` commands, and the examples audited against their transcripts.

use super::RETAIL;
use crate::support::{Tramline, root};
use std::io::Write;
use std::process::Stdio;
use tramline::expr::Value;

const EXAMPLES: [&str; 3] = ["retail", "incident", "onboarding"];

fn example(name: &str, file: &str) -> String {
    format!("examples/sop/{name}/{file}")
}

#[test]
fn every_example_is_sound_and_its_transcripts_are_what_they_claim() {
    let tramline = Tramline::new();
    for name in EXAMPLES {
        let sop = example(name, &format!("{name}.md"));
        let checked = tramline.run(&["sop", "check", &sop, "--json"]);
        assert_eq!(checked.code(), 0, "{}", checked.err());
        let json = checked.json();
        assert_eq!(
            json.get("flaws")
                .and_then(Value::as_array)
                .map(<[Value]>::len),
            Some(0),
            "{json}"
        );
        for (file, code) in [("legal.jsonl", 0), ("off.jsonl", 1)] {
            let transcript = example(name, file);
            let audited =
                tramline.run(&["sop", "audit", &sop, "--transcript", &transcript, "--json"]);
            assert_eq!(audited.code(), code, "{name} {file}: {}", audited.out());
            let json = audited.json();
            let unproven = json.get("summary").and_then(|it| it.get("moves_unproven"));
            if code == 0 {
                assert_eq!(unproven.and_then(Value::as_u64), Some(0), "{name}: {json}");
            }
        }
    }
    assert!(
        tramline
            .run(&["sop", "check", "examples/sop/onboarding/week.md"])
            .code()
            == 0
    );
}

#[test]
fn what_is_wrong_is_shown_at_its_line() {
    let tramline = Tramline::new();
    let flawed = "crates/tramline-formats/tests/sop/flawed/many.md";
    let checked = tramline.run(&["sop", "check", flawed]);
    assert_eq!(checked.code(), 2);
    assert!(
        checked.err().contains("did you mean `ROUTE`?"),
        "{}",
        checked.err()
    );
    let warned = tramline.run(&[
        "sop",
        "check",
        "crates/tramline-formats/tests/sop/flawed/warnings.md",
        "--mermaid",
    ]);
    assert_eq!(warned.code(), 0);
    assert!(
        warned.out().contains("style LONELY fill:#fcc"),
        "{}",
        warned.out()
    );
}

#[test]
fn files_that_a_procedure_includes_are_checked_too() {
    let tramline = Tramline::new();
    let outer = "```mermaid\nflowchart TD\n  START --> SUB[Sub] --> END([End])\n```\n## Node Prompts\n### SUB\n```yaml\nsop: inner.md\n```\n";
    let inner = "```mermaid\nflowchart TD\n  IN --> PAY[Pay] --> OUT([Out])\n```\n## Node Prompts\n### PAY\n```yaml\ntools: [pay]\nCONFIRM: true\n```\nPay.\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outer.md").display().to_string();
    std::fs::write(&file, outer).unwrap();
    let missing = tramline.run(&["sop", "check", &file]);
    assert_eq!(missing.code(), 2, "{}", missing.err());
    assert!(missing.err().contains("inner.md"), "{}", missing.err());
    for (field, code) in [("confrim", 2), ("confirm", 0)] {
        let text = inner.replace("CONFIRM", field);
        std::fs::write(folder.path().join("inner.md"), text).unwrap();
        let checked = tramline.run(&["sop", "check", &file]);
        assert_eq!(checked.code(), code, "{}", checked.err());
        let told = tramline.run(&["sop", "check", &file, "--json"]).json();
        let sound = told.get("sound").and_then(Value::as_bool);
        assert_eq!(sound, Some(code == 0), "{told}");
    }
}

#[test]
fn a_procedure_is_walked_from_a_pipe() {
    let tramline = Tramline::new();
    let mut child = tramline
        .command(&["sop", "walk", RETAIL, "--mermaid"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let words = "START\nnope\nnext\ncall find_user_id_by_email \"u1\"\nnext\nCHK_CANCEL\nset order_id=W1\n\
                 call get_order_details {\"status\": \"pending\"}\nnext\nset reason=ordered by mistake\nnext\nquit\n";
    child
        .stdin
        .take()
        .unwrap()
        .write_all(words.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(out.contains("refused: Node not found: nope."), "{out}");
    assert!(
        out.contains("DO_CANCEL: Read back order and reason"),
        "{out}"
    );
    assert!(out.contains("style DO_CANCEL fill:#cfc"), "{out}");
}

#[test]
fn coverage_counts_nodes_and_draws_them() {
    let tramline = Tramline::new();
    let transcript = example("retail", "legal.jsonl");
    let words = [
        "sop",
        "coverage",
        RETAIL,
        "--transcript",
        &transcript,
        "--json",
        "--mermaid",
    ];
    let json = tramline.run(&words).json();
    let nodes = json.get("nodes").unwrap();
    assert_eq!(nodes.get("ROUTE").and_then(Value::as_u64), Some(4));
    assert_eq!(nodes.get("END_CANCEL").and_then(Value::as_u64), Some(1));
    assert_eq!(nodes.get("INFO").and_then(Value::as_u64), Some(0));
    let picture = json.get("mermaid").and_then(Value::as_str).unwrap();
    assert!(
        tramline::syntax::mermaid::read(picture.as_bytes()).is_ok(),
        "{picture}"
    );
}

#[test]
fn the_recorded_conversations_get_their_verdicts() {
    let shared = std::env::var_os("TRAMLINE_SHARED");
    let shared = shared.map_or_else(|| root().join("../shared"), Into::into);
    let folder = shared.join("data/sop");
    if !folder.is_dir() {
        assert!(
            std::env::var_os("CI").is_none(),
            "{} is missing",
            folder.display()
        );
        return;
    }
    let (sop, traces) = (
        folder.join("policy_mermaid_mcp.md"),
        folder.join("traces/gemini-3-flash.jsonl"),
    );
    let (sop, traces) = (sop.to_str().unwrap(), traces.to_str().unwrap());
    let tramline = Tramline::new();
    let begun = std::time::Instant::now();
    let audited = tramline.run(&["sop", "audit", sop, "--transcript", traces, "--json"]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(audited.code(), 1);
    let json = audited.json();
    let sums = json.get("summary").unwrap();
    let count = |key: &str| sums.get(key).and_then(Value::as_u64).unwrap();
    assert_eq!(
        (count("conversations"), count("moves_off_edges")),
        (114, 40)
    );
    assert_eq!((count("writes"), count("writes_off_node")), (186, 62));
}

#[test]
fn a_walk_by_hand_shows_demands_and_hubs_and_takes_text_as_text() {
    let tramline = Tramline::new();
    let file = tramline.data.path().join("desk.md");
    let text = "```mermaid\nflowchart TD\n  START --> AUTH[Who] --> ROUTE{What} --> PAY[Pay] --> END([End])\n```\n\
                ## Node Prompts\n### AUTH\n```yaml\ntools: [find, look]\nmust_call: [[find, look]]\n```\n\
                ### PAY\n```yaml\nslots: {card: string}\n```\n";
    std::fs::write(&file, text).unwrap();
    let mut command = tramline.command(&["sop", "walk", file.to_str().unwrap()]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let typed = "ROUTE\ncall find\nROUTE\nPAY\nset card=1\nEND\n";
    child
        .stdin
        .take()
        .unwrap()
        .write_all(typed.as_bytes())
        .unwrap();
    let out = child.wait_with_output().unwrap();
    let shown = String::from_utf8(out.stdout).unwrap();
    for words in [
        "  must call: find or look",
        "  from anywhere: ROUTE (after AUTH)",
        "  from anywhere: ROUTE\n",
        "  to collect: card",
        "  an end",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}
