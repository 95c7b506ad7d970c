//! Audits of transcripts: constructed ones, and recorded sessions.

use super::{DESK, sop};
use crate::shared;
use std::time::{Duration, Instant};
use tramline_formats::sop_markdown;
use tramline_sop::audit::{self, Auditor};
use tramline_sop::coverage::SopCoverage;
use tramline_views::sop_coverage_chart;
use tramline_workflow::sop::SopFiles;

#[test]
fn what_is_off_is_told_with_its_place() {
    let text = r#"{"name": "one", "events": [
        {"user": "Hello"},
        {"tool": "goto_node", "args": {"node_id": "START"}},
        {"tool": "goto_node", "args": {"node_id": "AUTH"}},
        {"tool": "cancel", "args": {}},
        {"tool": "goto_node", "args": {"node_id": "CHECK"}},
        {"tool": "look", "args": {}},
        {"tool": "goto_node", "args": {"node_id": "NOWHERE"}}
    ]}"#;
    let transcripts = audit::read(text).unwrap();
    let auditor = Auditor::new(&sop(DESK).into(), &transcripts).unwrap();
    let found = auditor.audit(&transcripts[0]).unwrap();
    assert!(!found.is_legal());
    assert_eq!((found.moves, found.calls, found.writes), (4, 2, 1));
    let off: Vec<_> = found
        .edge_violations
        .iter()
        .map(|it| (it.event, it.what.as_str()))
        .collect();
    assert_eq!(off, [(5, "CHECK"), (7, "NOWHERE")]);
    assert_eq!(found.tool_violations[0].what, "cancel");
    assert_eq!(found.tool_violations[0].at.as_deref(), Some("AUTH"));
    assert_eq!(found.write_violations, 1);
    let procedure = &auditor.procedures()[0];
    let mut coverage = SopCoverage::new(procedure);
    coverage.add(procedure, 0, &found);
    assert_eq!(coverage.covered(), (3, 1));
    let picture = sop_coverage_chart::mermaid(&coverage, procedure).unwrap();
    assert!(picture.contains("linkStyle"), "{picture}");
    assert!(tramline_syntax::mermaid::read(picture.as_bytes()).is_ok());
}

#[test]
fn an_audit_goes_into_procedures_inside_others() {
    let outer = "```mermaid\nflowchart TD\n  START --> WEEK[The week] --> END([End])\n```\n## Node Prompts\n### WEEK\n```yaml\nsop: sub/week.md\n```\n";
    let inner = "```mermaid\nflowchart TD\n  W1[One] --> W2[Two] --> W3([Over])\n  W1 --> W4([Never])\n```\n## Node Prompts\n### W2\n```yaml\ntools: [pay]\n```\n";
    let mut read = SopFiles::new("a/outer.md");
    let mut places = Vec::new();
    while let Some(file) = read.next_file().unwrap() {
        places.push(file.path.to_string());
        let text = if places.len() == 1 { outer } else { inner };
        read.add(file, sop(text));
    }
    assert_eq!(places, ["a/outer.md", "a/sub/week.md"]);
    let go = |node: &str| format!(r#"{{"tool": "goto_node", "args": {{"node_id": "{node}"}}}}"#);
    let held = |nodes: &[&str], calls: &str| {
        let moves: Vec<String> = nodes.iter().map(|it| go(it)).collect();
        format!(r#"{{"events": [{}{calls}]}}"#, moves.join(","))
    };
    let whole = held(&["START", "WEEK", "W2", "W3", "END"], "");
    let off = held(&["START", "WEEK", "W3"], r#", {"tool": "pay"}"#);
    let text = format!("{whole}\n{off}");
    let transcripts = audit::read(&text).unwrap();
    let auditor = Auditor::new(&read, &transcripts).unwrap();
    let found: Vec<_> = transcripts
        .iter()
        .map(|it| auditor.audit(it).unwrap())
        .collect();
    assert!(
        found[0].is_legal() && found[0].reached_end,
        "{:?}",
        found[0]
    );
    assert_eq!(found[1].edge_violations[0].what, "W3");
    assert_eq!(found[1].tool_violations[0].at.as_deref(), Some("W3"));
    assert!(!found[1].reached_end, "the outer procedure has not ended");
    let covered: Vec<_> = auditor
        .procedures()
        .iter()
        .enumerate()
        .map(|(number, procedure)| {
            let mut coverage = SopCoverage::new(procedure);
            found
                .iter()
                .for_each(|it| coverage.add(procedure, number, it));
            assert!(sop_coverage_chart::mermaid(&coverage, procedure).is_some());
            (coverage.sessions, coverage.nodes, coverage.edges)
        })
        .collect();
    assert_eq!(covered[0], (2, vec![2, 2, 1], vec![2, 1]));
    assert_eq!(covered[1], (2, vec![2, 1, 2, 0], vec![1, 1, 0]));
}

#[test]
fn messages_of_chats_are_transcripts_too() {
    let openai = r#"{"messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "goto_node", "arguments": "{\"node_id\": \"START\"}"}}]},
        {"role": "tool", "content": "{}"}
    ]}"#;
    let anthropic = r#"[{"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "mcp__desk__goto_node", "input": {"node_id": "START"}}]}]"#;
    for text in [openai, anthropic] {
        let transcripts = audit::read(text).unwrap();
        let auditor = Auditor::new(&sop(DESK).into(), &transcripts).unwrap();
        let found = auditor.audit(&transcripts[0]).unwrap();
        assert_eq!(found.moves, 1, "{text}");
        assert!(found.is_legal());
    }
    assert!(audit::read("5").is_err());
    assert!(audit::read("{\"events\": [\n").is_err());
}

#[test]
fn the_recorded_conversations_are_audited_in_seconds() {
    let Some(folder) = shared::folder("sop") else {
        return;
    };
    let file = std::fs::read(folder.join("policy_mermaid_mcp.md")).unwrap();
    let sop = sop_markdown::read(&file, "x").unwrap().sop;
    let text = std::fs::read_to_string(folder.join("traces/gemini-3-flash.jsonl")).unwrap();
    let begun = Instant::now();
    let transcripts = audit::read(&text).unwrap();
    let auditor = Auditor::new(&sop.into(), &transcripts).unwrap();
    let all: Vec<_> = transcripts
        .iter()
        .map(|it| auditor.audit(it).unwrap())
        .collect();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(all.len(), 114);
    let sum = |count: fn(&audit::SopAudit) -> usize| all.iter().map(count).sum::<usize>();
    assert_eq!(sum(|it| it.moves), 1_363);
    assert_eq!(sum(|it| it.calls), 842);
    let legal = all.iter().filter(|it| it.is_legal()).count();
    let ended = all.iter().filter(|it| it.reached_end).count();
    // The figures in docs/sop.md.
    assert_eq!((legal, ended), (9, 89));
    assert_eq!(sum(|it| it.edge_violations.len()), 40);
    assert_eq!(
        (sum(|it| it.writes), sum(|it| it.write_violations)),
        (186, 62)
    );
    assert_eq!(sum(|it| it.tool_violations.len()), 334);
}
