//! Properties of every diagram: nothing overlaps, and nothing is outside.

use super::layout::PlacedBox;
use super::*;
use proptest::prelude::*;
use tramline_formats::yaml_graph;
use tramline_workflow::workflow::{Edge, RetryPolicy, SwitchRule};

fn diagram_of(text: &str) -> WorkflowDiagram {
    let document = yaml_graph::read(text.as_bytes()).unwrap();
    WorkflowDiagram::of(&document.workflows[0].workflow)
}

const LOOP: &str = r#"
version: "1.0"
server: {name: x, version: "1"}
tools:
  - name: again
    description: Tries again.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: "try it"}
      - {id: "try it", type: mcp, server: builtin, tool: http, args: {url: "http://x"}, retry: 2, approval: true, on-error: end, next: more}
      - id: more
        type: switch
        conditions: [{rule: {"<": [{var: "$length('x\"y')"}, 3]}, next: "try it"}]
        next: end
      - {id: end, type: transform, transform: {expr: "{\"a\": 1 # 2}" }, next: exit}
      - {id: exit, type: exit}
"#;

#[test]
fn mermaid_and_dot_escape_what_they_would_read() {
    let picture = diagram_of(&LOOP.replace("1 # 2", "1"));
    assert_eq!(
        mermaid(&picture),
        r##"flowchart TD
    entry(["entry"])
    n1["try it<br/>builtin:http<br/>asks first, retries 2"]
    more{"more"}
    n2[/"end<br/>#123;#34;a#34;: 1#125;"/]
    exit((("exit")))
    entry --> n1
    n1 --> more
    n1 -.->|"error"| n2
    more -->|"$length('x#34;y') #60; 3"| n1
    more -->|"otherwise"| n2
    n2 --> exit
"##
    );
    let dot = dot(&picture);
    for line in [
        r#""end" [label="end\n{\"a\": 1}", shape=parallelogram, margin=0];"#,
        r#""more" -> "try it" [label="$length('x\"y') < 3"];"#,
        r#""try it" -> "end" [label="error", style=dashed, color=firebrick, fontcolor=firebrick];"#,
    ] {
        assert!(dot.contains(line), "{line}\n{dot}");
    }
}

#[test]
fn svg_escapes_text_and_draws_every_kind() {
    let mut picture = diagram_of(&LOOP.replace("1 # 2", "1"));
    picture.name = "a<b>&\"c\"\u{1}".to_owned();
    let svg = svg(&picture, &layout(&picture).unwrap());
    assert!(svg.contains("<title>a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}</title>"));
    for class in ["entry", "call", "compute", "choose", "exit"] {
        assert!(svg.contains(&format!("class=\"node {class}\"")), "{class}");
    }
    assert!(svg.contains("prefers-color-scheme:dark"));
}

fn action(kind: usize, outs: &[usize]) -> Action {
    match kind {
        0 => Action::Compute {
            expression: "a & \"日本語 and a rather long text that is cut somewhere\"".into(),
        },
        1 => Action::Choose {
            rules: outs
                .iter()
                .map(|to| SwitchRule {
                    rule: Value::Bool(true),
                    label: format!("n{to}").into(),
                })
                .collect(),
            otherwise: None,
        },
        _ => Action::Call {
            tool: tramline_workflow::ids::ToolName::new("server", "tool"),
            arguments: Template::Literal(Value::Null),
        },
    }
}

/// A workflow with this many nodes and arbitrary edges, including self-loops.
fn workflow(nodes: usize, links: &[(usize, usize, u8)]) -> Workflow {
    let mut outs = vec![Vec::new(); nodes];
    for (from, to, _) in links {
        outs[from % nodes].push(to % nodes);
    }
    let node = |at: usize| {
        let mut node = Node::new(format!("n{at}"), action(at % 4, &outs[at]));
        if at.is_multiple_of(5) {
            node.retry = Some(RetryPolicy {
                max: 3,
                wait_ms: 1,
                backoff: 1.0,
            });
        }
        node
    };
    let edge = |(from, to, label): &(usize, usize, u8)| {
        let (from, to) = (from % nodes, to % nodes);
        let label = match label % 3 {
            0 if from % 4 == 1 => format!("n{to}"),
            0 | 1 => DEFAULT_LABEL.to_owned(),
            _ => ERROR_LABEL.to_owned(),
        };
        Edge::labelled(format!("n{from}"), format!("n{to}"), label)
    };
    Workflow {
        name: "random".into(),
        nodes: (0..nodes).map(node).collect(),
        edges: links.iter().map(edge).collect(),
        ..Workflow::default()
    }
}

fn apart(one: &PlacedBox, other: &PlacedBox) -> bool {
    let (dx, dy) = (
        (one.middle.x - other.middle.x).abs(),
        (one.middle.y - other.middle.y).abs(),
    );
    dx + 0.01 >= (one.width + other.width) / 2.0 || dy + 0.01 >= (one.height + other.height) / 2.0
}

fn within(layout: &DiagramLayout, placed: &PlacedBox) -> bool {
    placed.middle.x - placed.width / 2.0 >= -0.01
        && placed.middle.y - placed.height / 2.0 >= -0.01
        && placed.middle.x + placed.width / 2.0 <= layout.width + 0.01
        && placed.middle.y + placed.height / 2.0 <= layout.height + 0.01
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn nothing_lies_on_anything_else(
        nodes in 1..24usize,
        links in prop::collection::vec((0..24usize, 0..24usize, 0..3u8), 0..40),
    ) {
        let picture = WorkflowDiagram::of(&workflow(nodes, &links));
        let layout = layout(&picture).unwrap();
        let labels: Vec<_> = layout.edges.iter().filter_map(|way| way.label).collect();
        // The label of a self-loop is next to its node, in the node's own space.
        let loops = picture.edges.iter().filter(|link| link.from == link.to).count();
        let all: Vec<_> = layout.nodes.iter().chain(&labels).collect();
        for (at, one) in all.iter().enumerate() {
            prop_assert!(within(&layout, one));
            if loops == 0 {
                for other in &all[at + 1..] {
                    prop_assert!(apart(one, other), "{one:?} {other:?}");
                }
            }
        }
        for (link, way) in picture.edges.iter().zip(&layout.edges) {
            let (from, to) = (&layout.nodes[link.from], &layout.nodes[link.to]);
            for (end, node) in [(way.points.first(), from), (way.points.last(), to)] {
                let end = end.unwrap();
                prop_assert!((end.x - node.middle.x).abs() <= node.width / 2.0 + 0.01);
                prop_assert!((end.y - node.middle.y).abs() <= node.height / 2.0 + 0.01);
            }
        }
        let text = svg(&picture, &layout);
        prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}", text);
        prop_assert_eq!(layout.nodes.len(), nodes);
    }
}

#[test]
fn a_chain_runs_straight_down() {
    let links: Vec<_> = (0..9).map(|at| (at, at + 1, 1)).collect();
    let layout = layout(&WorkflowDiagram::of(&workflow(10, &links))).unwrap();
    for pair in layout.nodes.windows(2) {
        assert!((pair[0].middle.x - pair[1].middle.x).abs() < 0.5);
        assert!(pair[0].middle.y < pair[1].middle.y);
    }
}

#[test]
fn large_graphs_are_drawn_and_larger_ones_refused() {
    let links: Vec<_> = (0..9_000)
        .map(|at| (at * 7919 % 5_000, at * 104_729 % 5_000, (at % 3) as u8))
        .collect();
    let picture = WorkflowDiagram::of(&workflow(5_000, &links));
    let begun = std::time::Instant::now();
    let layout = super::layout(&picture).unwrap();
    let text = svg(&picture, &layout);
    // Far above the real time, even unoptimised on a busy machine: guards against quadratic
    // behaviour.
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    assert_eq!(text.matches("class=\"node ").count(), 5_000);
    let larger = super::layout(&WorkflowDiagram::of(&workflow(5_001, &[])));
    assert!(larger.unwrap_err().to_string().contains("5001 nodes"));
}
