//! Procedures in Markdown: every layout, and every flaw with its line in the file.

use crate::shared;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tramline_formats::sop_markdown;
use tramline_workflow::flaw::Severity;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sop")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .filter(|it| {
            it.extension()
                .is_some_and(|end| end == "md" || end == "mmd")
        })
        .collect();
    found.sort();
    found
}

fn held_against(table: &str, path: &Path) {
    if std::env::var_os("TRAMLINE_BLESS").is_some() {
        std::fs::write(path, table).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    for (found, wanted) in table.lines().zip(expected.lines()) {
        assert_eq!(found, wanted, "set TRAMLINE_BLESS to accept the changes");
    }
    assert_eq!(table.len(), expected.len());
}

#[test]
fn every_layout_is_read_as_expected() {
    let mut table = String::new();
    for path in files(&folder()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let read = sop_markdown::read(&std::fs::read(&path).unwrap(), "unnamed");
        let read = read.unwrap_or_else(|flaws| panic!("{name}: {flaws:#?}"));
        let told = serde_json::to_string_pretty(&read.sop).unwrap();
        writeln!(table, "{name} lines {:?}\n{told}", read.lines).unwrap();
        read.warnings
            .iter()
            .for_each(|flaw| writeln!(table, "  {flaw}").unwrap());
        let again = serde_json::from_str(&told).unwrap();
        assert_eq!(read.sop, again);
    }
    held_against(&table, &folder().join("expected.txt"));
}

#[test]
fn the_more_particular_field_says_how_strictly_calls_are_held() {
    use tramline_workflow::sop::SopMode::{self, Observe, Strict, Warn};
    let held = |front: &str| -> (SopMode, SopMode, bool) {
        let text =
            format!("---\nagent: a\n{front}---\n```mermaid\nflowchart TD\n  START --> E\n```\n");
        let sop = sop_markdown::read(text.as_bytes(), "x").unwrap().sop;
        (sop.mode, sop.call_mode(), sop.gated)
    };
    for (front, wanted) in [
        ("", (Strict, Strict, true)),
        ("strict: false\n", (Warn, Warn, true)),
        ("strict: false\nmode: observe\n", (Observe, Observe, true)),
        ("strict: false\nmode: strict\n", (Strict, Strict, true)),
        ("strict: false\nenforce_tools: true\n", (Warn, Strict, true)),
        (
            "enforce_tools: true\nmode: observe\n",
            (Observe, Strict, true),
        ),
        ("enforce_tools: false\n", (Strict, Strict, false)),
    ] {
        assert_eq!(held(front), wanted, "{front}");
    }
}

#[test]
fn every_flaw_is_reported_at_its_line() {
    let mut table = String::new();
    for path in files(&folder().join("flawed")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let flaws = match sop_markdown::read(&std::fs::read(&path).unwrap(), "unnamed") {
            Ok(read) => read.warnings,
            Err(flaws) => flaws,
        };
        assert!(!flaws.is_empty(), "{name}");
        writeln!(table, "{name}").unwrap();
        for flaw in flaws {
            let mark = if flaw.code.severity() == Severity::Error {
                "error"
            } else {
                "warning"
            };
            assert!(flaw.suggestion.is_some(), "{flaw}");
            writeln!(table, "  {mark} {flaw}").unwrap();
        }
    }
    held_against(&table, &folder().join("flawed/expected.txt"));
}

#[test]
fn an_edge_of_a_subgraph_is_one_of_its_first_or_last_node() {
    let text = "```mermaid\nflowchart TD\n  START --> g\n  subgraph g\n    A --> B\n    subgraph h\n      B --> C\n    end\n  \
                end\n  g -->|done| END\n  h -->|again| START\n```\n";
    let sop = sop_markdown::read(text.as_bytes(), "x").unwrap().sop;
    let id = |at: tramline_workflow::ids::NodeIx| sop.nodes[at.index()].id.as_str();
    let edges: Vec<_> = sop
        .edges
        .iter()
        .map(|edge| (id(edge.from), id(edge.to)))
        .collect();
    assert_eq!(
        edges,
        [
            ("START", "A"),
            ("A", "B"),
            ("B", "C"),
            ("C", "END"),
            ("C", "START")
        ]
    );
    let several = text.replace("A --> B\n", "A --> B\n    A2 --> B\n");
    let flaws = sop_markdown::read(several.as_bytes(), "x")
        .map(|_| ())
        .unwrap_err();
    assert!(
        flaws[0].message.contains("could mean `A` or `A2`"),
        "{flaws:#?}"
    );
}

#[test]
fn the_shared_procedures_are_read() {
    let Some(folder) = shared::folder("sop") else {
        return;
    };
    for (file, nodes) in [("policy_mermaid_mcp.md", 40), ("retail-agent-sop.md", 49)] {
        let read = sop_markdown::read(&std::fs::read(folder.join(file)).unwrap(), "x");
        let read = read.unwrap_or_else(|flaws| panic!("{file}: {flaws:#?}"));
        assert_eq!(read.sop.nodes.len(), nodes, "{file}");
        assert_eq!(read.sop.nodes[read.sop.entry.index()].id, "START");
        assert_eq!(read.warnings, [], "{file}");
    }
}

#[test]
fn any_cut_of_a_file_is_answered() {
    for path in files(&folder()) {
        let bytes = std::fs::read(&path).unwrap();
        for end in (0..bytes.len()).step_by(3) {
            let _ = sop_markdown::read(&bytes[..end], "x");
        }
    }
}

#[test]
fn a_heading_inside_a_nodes_section_is_part_of_its_instructions() {
    let text = "---\nversion: 1.0\n---\n```mermaid\nflowchart TD\n  START --> ASK[Ask] --> PAY[Pay] --> END([End])\n```\n\
                ## Node Prompts\n### ASK\nAsk.\n#### What to ask\nThe number.\n##### PAY\nNot yet.\n\
                ### Orders\n#### PAY\n```yaml\ntools: [pay]\n```\n";
    let read = sop_markdown::read(text.as_bytes(), "x").unwrap();
    let node = |id: &str| &read.sop.nodes[read.sop.find(id).unwrap().index()];
    assert_eq!(
        node("ASK").prompt.as_deref(),
        Some("Ask.\n#### What to ask\nThe number.\n##### PAY\nNot yet.")
    );
    // Below a heading that is not a node, deeper headings are nodes.
    assert_eq!(node("PAY").tools, ["pay"]);
    assert!(node("PAY").section && node("PAY").prompt.is_none());
    assert!(!node("END").section);
    assert_eq!(read.sop.version.as_deref(), Some("1.0"));
    for (version, kept) in [
        ("2", "2"),
        ("1.10", "1.10"),
        ("\"3.0\"", "3.0"),
        ("1.2.3", "1.2.3"),
    ] {
        let text = text.replace("version: 1.0", &format!("version: {version} # as written"));
        let read = sop_markdown::read(text.as_bytes(), "x").unwrap();
        assert_eq!(read.sop.version.as_deref(), Some(kept));
    }
}

#[test]
fn the_examples_have_no_flaws() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sop");
    for file in [
        "retail/retail.md",
        "incident/incident.md",
        "onboarding/onboarding.md",
        "onboarding/week.md",
    ] {
        let read = sop_markdown::read(&std::fs::read(examples.join(file)).unwrap(), "x");
        let read = read.unwrap_or_else(|flaws| panic!("{file}: {flaws:#?}"));
        assert_eq!(read.warnings, [], "{file}");
    }
}

/// `confirm` in a second block would silently not apply.
#[test]
fn settings_in_a_second_block_are_an_error() {
    let file = |second: &str| {
        format!(
            "---\nname: two\n---\n```mermaid\nflowchart TD\nSTART --> PAY --> DONE\n```\n\n\
             ## Node prompts\n\n### PAY\n```yaml\ntools: [pay]\n```\nPay.\n\n```yaml\n{second}\n```\n"
        )
    };
    let flaws = sop_markdown::read(file("confirm: true").as_bytes(), "two").unwrap_err();
    let flaw = flaws
        .iter()
        .find(|flaw| flaw.message.contains("second block"));
    assert!(
        flaw.is_some_and(|flaw| flaw.message.contains("`confirm`")),
        "{flaws:?}"
    );
    // An example for the agent is part of its instructions.
    sop_markdown::read(file("amount: 5").as_bytes(), "two").unwrap();
}
