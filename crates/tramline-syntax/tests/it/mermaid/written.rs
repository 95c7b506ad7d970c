//! Random charts, printed and read again, are unchanged.

use proptest::prelude::*;
use tramline_expr::{Str, Value};
use tramline_syntax::mermaid::{
    self, ArrowHead, ChartLabel, ChartLink, Diagram, Direction, Flowchart, NodeShape, Stroke,
    StyleStatement, Subgraph, Vertex,
};

fn direction() -> impl Strategy<Value = Option<Direction>> {
    prop::option::of(prop::sample::select(vec![
        Direction::Down,
        Direction::Up,
        Direction::Left,
        Direction::Right,
    ]))
}

fn caption() -> impl Strategy<Value = Option<ChartLabel>> {
    let text = prop_oneof![
        "[a-zA-Z0-9 ,.?!]{0,20}",
        "[\\PC\n\t\"#`%;|\\[\\](){}<>/\\\\-]{0,30}",
        Just("%%{init}%%".to_owned()),
        Just("end".to_owned()),
    ];
    prop::option::of(
        (text, any::<bool>()).prop_map(|(text, markdown)| ChartLabel {
            text: text.into(),
            markdown,
        }),
    )
}

fn id() -> impl Strategy<Value = String> {
    let odd = [
        "end",
        "default",
        "direction",
        "v",
        "x",
        "o",
        "9",
        "a-b",
        "a.b",
        "日本",
        "a:b",
        "e=f",
        "A&B",
    ];
    prop_oneof![
        "[a-zA-Z][a-zA-Z0-9_]{0,6}",
        prop::sample::select(odd.to_vec()).prop_map(str::to_owned),
    ]
    .prop_filter("a reserved keyword", |id| {
        !["graph", "style", "class", "click"].contains(&id.as_str())
    })
}

fn shape() -> impl Strategy<Value = NodeShape> {
    prop::sample::select(NodeShape::all().collect::<Vec<_>>())
}

prop_compose! {
    fn vertex(groups: usize)(
        id in id(),
        shaped in prop::option::of((shape(), caption())),
        classes in prop::collection::btree_set("[a-z]{1,4}", 0..3),
        width in prop::option::of(0..100u32),
        group in prop::option::of(0..groups.max(1)),
    ) -> Vertex {
        let (shape, label) = shaped.map_or((None, None), |(shape, caption)| (Some(shape), caption));
        Vertex {
            id: id.into(),
            shape,
            label,
            classes: classes.into_iter().map(Str::from).collect(),
            attributes: width.map(|width| ("w".into(), Value::from(width))).into_iter().collect(),
            subgraph: group.filter(|_| groups > 0),
            ..Vertex::default()
        }
    }
}

fn groups() -> impl Strategy<Value = Vec<Subgraph>> {
    let one = (
        "[A-Z]{2,5}",
        caption(),
        direction(),
        any::<prop::sample::Index>(),
        any::<bool>(),
    );
    prop::collection::vec(one, 0..4).prop_map(|all| {
        let mut made: Vec<Subgraph> = Vec::new();
        for (at, (id, title, direction, inside, top)) in all.into_iter().enumerate() {
            // Subgraphs start in order: the parent is one that is still open.
            let last = at.checked_sub(1);
            let chain: Vec<usize> = std::iter::successors(last, |at| made[*at].parent).collect();
            let parent = (!top && !chain.is_empty()).then(|| chain[inside.index(chain.len())]);
            made.push(Subgraph {
                id: Some(format!("{id}{at}").into()),
                title,
                direction,
                parent,
                ..Subgraph::default()
            });
        }
        made
    })
}

fn link(vertices: usize) -> impl Strategy<Value = ChartLink> {
    let heads = || {
        prop::sample::select(vec![
            ArrowHead::None,
            ArrowHead::Arrow,
            ArrowHead::Cross,
            ArrowHead::Circle,
        ])
    };
    let stroke = prop::sample::select(vec![
        Stroke::Solid,
        Stroke::Thick,
        Stroke::Dotted,
        Stroke::Invisible,
    ]);
    let ends = (0..vertices, 0..vertices);
    (
        ends,
        stroke,
        1..6u32,
        heads(),
        heads(),
        caption(),
        any::<bool>(),
    )
        .prop_map(|((from, to), stroke, length, tail, head, caption, named)| {
            let plain = stroke == Stroke::Invisible;
            ChartLink {
                id: named.then(|| "e1".into()),
                from,
                to,
                stroke,
                length,
                tail: if plain { ArrowHead::None } else { tail },
                head: if plain { ArrowHead::None } else { head },
                label: caption,
                span: Default::default(),
            }
        })
}

fn charts() -> impl Strategy<Value = Flowchart> {
    (groups(), direction())
        .prop_flat_map(|(groups, direction)| {
            let vertices = prop::collection::vec(vertex(groups.len()), 1..8);
            (Just(groups), Just(direction), vertices)
        })
        .prop_flat_map(|(groups, direction, mut vertices)| {
            let mut seen = std::collections::HashSet::new();
            vertices.retain(|vertex| seen.insert(vertex.id.clone()));
            let links = prop::collection::vec(link(vertices.len()), 0..8);
            (Just(groups), Just(direction), Just(vertices), links)
        })
        .prop_map(|(groups, direction, vertices, links)| Flowchart {
            direction,
            vertices,
            links,
            subgraphs: groups,
            styles: vec![StyleStatement::Style("a fill:#f9f".into())],
            ..Flowchart::default()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn what_is_printed_is_read_as_the_same(chart in charts()) {
        let diagram = Diagram::Flowchart(chart);
        let text = mermaid::print(&diagram);
        let read = mermaid::read(text.as_bytes());
        prop_assert_eq!(read.as_ref().ok(), Some(&diagram), "{}\n{:?}", text, read);
    }
}
