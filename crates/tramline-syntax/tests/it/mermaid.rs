//! Flowcharts: every construct, every flaw, diagrams from READMEs, and the round trip.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tramline_syntax::mermaid::{self, ArrowHead, Diagram, Flowchart};

mod hostile;
mod written;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mermaid")
}

/// The cases of a file: each starts with `=== its name`.
fn cases(file: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("=== "), found.last_mut()) {
            (Some(name), _) => found.push((name.trim().to_owned(), String::new())),
            (None, Some((_, body))) => body.push_str(line),
            (None, None) => panic!("{file} must start with a name"),
        }
    }
    found
}

fn chart(text: &str) -> Flowchart {
    match mermaid::read(text.as_bytes()) {
        Ok(Diagram::Flowchart(chart)) => chart,
        Err(flaws) => panic!("{flaws:#?} in\n{text}"),
    }
}

/// A complete chart in a short form.
fn chart_text(chart: &Flowchart) -> String {
    let mut text = String::new();
    let direction = chart.direction.map(|it| format!("{it:?}"));
    writeln!(text, "  direction {}", direction.unwrap_or("-".into())).unwrap();
    for front in chart.front_matter.iter().chain(&chart.directives) {
        writeln!(text, "  front {front:?}").unwrap();
    }
    for vertex in &chart.vertices {
        let shape = vertex.shape.map_or("-", |shape| shape.display_name());
        write!(text, "  {} {shape}", vertex.id).unwrap();
        if let Some(caption) = &vertex.label {
            let mark = if caption.markdown { "md" } else { "" };
            write!(text, " {mark}{:?}", caption.text).unwrap();
        }
        vertex
            .classes
            .iter()
            .for_each(|class| text += &format!(" .{class}"));
        vertex
            .attributes
            .iter()
            .for_each(|(key, value)| text += &format!(" {key}={value}"));
        vertex
            .subgraph
            .iter()
            .for_each(|group| text += &format!(" in {group}"));
        text.push('\n');
    }
    for (at, group) in chart.subgraphs.iter().enumerate() {
        let id = group.id.as_deref().unwrap_or("-");
        let title = group
            .title
            .as_ref()
            .map_or("-", |title| title.text.as_str());
        writeln!(
            text,
            "  group {at} {id} {title:?} in {:?} {:?}",
            group.parent, group.direction
        )
        .unwrap();
    }
    for link in &chart.links {
        let end = |head: ArrowHead| match head {
            ArrowHead::None => ".",
            ArrowHead::Arrow => ">",
            ArrowHead::Cross => "x",
            ArrowHead::Circle => "o",
        };
        let id = |at: usize| &chart.vertices[at].id;
        let caption = link
            .label
            .as_ref()
            .map(|caption| format!(" {:?}", caption.text));
        let name = link.id.as_ref().map(|id| format!(" as {id}"));
        writeln!(
            text,
            "  {} {}{:?}{}{} {}{}{}",
            id(link.from),
            end(link.tail),
            link.stroke,
            link.length,
            end(link.head),
            id(link.to),
            caption.unwrap_or_default(),
            name.unwrap_or_default(),
        )
        .unwrap();
    }
    chart
        .styles
        .iter()
        .for_each(|it| text += &format!("  {it:?}\n"));
    text
}

fn held_against(table: &str, file: &str) {
    let path = folder().join(file);
    if std::env::var_os("TRAMLINE_BLESS").is_some() {
        std::fs::write(&path, table).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (found, wanted) in table.lines().zip(expected.lines()) {
        assert_eq!(found, wanted, "set TRAMLINE_BLESS to accept the changes");
    }
    assert_eq!(table.len(), expected.len());
}

#[test]
fn every_construct_is_read_as_expected() {
    let mut table = String::new();
    for (name, text) in cases("constructs.txt") {
        writeln!(table, "{name}\n{}", chart_text(&chart(&text))).unwrap();
    }
    held_against(&table, "constructs.expected.txt");
}

#[test]
fn every_flaw_is_reported_at_its_location() {
    let mut table = String::new();
    for (name, text) in cases("flawed.txt") {
        let flaws = mermaid::read(text.as_bytes()).err();
        let flaws = flaws.unwrap_or_else(|| panic!("{name} is valid"));
        writeln!(table, "{name}").unwrap();
        for flaw in flaws {
            assert!(flaw.suggestion.is_some(), "{flaw}");
            writeln!(table, "  {flaw}").unwrap();
        }
    }
    held_against(&table, "flawed.expected.txt");
}

#[test]
fn drawings_in_the_style_of_readmes_are_read() {
    let all = cases("readmes.txt");
    assert!(all.len() >= 30, "{} drawings", all.len());
    let mut table = String::new();
    for (name, text) in all {
        let chart = chart(&text);
        let (vertices, links) = (chart.vertices.len(), chart.links.len());
        let labelled = chart
            .links
            .iter()
            .filter(|link| link.label.is_some())
            .count();
        let grouped = chart
            .vertices
            .iter()
            .filter(|it| it.subgraph.is_some())
            .count();
        writeln!(
            table,
            "{name}: {vertices} vertices ({grouped} in {} groups), {links} links ({labelled} with text), {} looks",
            chart.subgraphs.len(),
            chart.styles.len(),
        )
        .unwrap();
    }
    held_against(&table, "readmes.expected.txt");
}

#[test]
fn all_of_them_are_the_same_after_printing() {
    for file in ["constructs.txt", "readmes.txt"] {
        for (name, text) in cases(file) {
            let diagram = Diagram::Flowchart(chart(&text));
            let printed = mermaid::print(&diagram);
            assert_eq!(
                Diagram::Flowchart(chart(&printed)),
                diagram,
                "{name}\n{printed}"
            );
        }
    }
}

#[test]
fn lines_may_end_in_any_way() {
    for (name, text) in cases("constructs.txt") {
        let crlf = text.replace('\n', "\r\n");
        let (unix, windows) = (chart(&text), chart(&crlf));
        let fronts =
            |chart: &Flowchart| chart.front_matter.is_some() || !chart.directives.is_empty();
        // Verbatim parts keep their line endings.
        if !fronts(&unix) {
            assert_eq!(unix, windows, "{name}");
        }
    }
}

#[test]
fn arrows_may_follow_a_class_and_ids_may_begin_with_an_ampersand() {
    let read = chart("flowchart TD\nA:::x-->B:::a-b-.->C\nC --> &D & E\n");
    let ids: Vec<_> = read
        .vertices
        .iter()
        .map(|vertex| vertex.id.as_str())
        .collect();
    assert_eq!(ids, ["A", "B", "C", "&D", "E"]);
    assert_eq!(read.vertices[0].classes, ["x"]);
    assert_eq!(read.vertices[1].classes, ["a-b"]);
    assert_eq!(read.links.len(), 4);
}
