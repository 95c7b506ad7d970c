//! For any bytes: a chart or flaws with locations, without panics, in bounded time.

use super::cases;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use tramline_syntax::mermaid::{self, Diagram};
use tramline_workflow::flaw::FlawCode;

const PIECES: [&str; 60] = [
    "flowchart TD\n",
    "graph LR",
    "\n",
    "\r\n",
    " ",
    "\t",
    ";",
    "A",
    "B",
    "end",
    "subgraph",
    "x",
    "o",
    "-->",
    "---",
    "--",
    "-",
    "==>",
    "==",
    "=",
    "-.->",
    "-.",
    ".-",
    ".->",
    "~~~",
    "<--",
    "<",
    ">",
    "|",
    "\"",
    "`",
    "\"`",
    "`\"",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "[/",
    "/]",
    "([",
    "])",
    "@{",
    "@",
    ":::",
    ":",
    "&",
    "%%",
    "%%{",
    "}%%",
    "#quot;",
    "#35;",
    "style ",
    "click ",
    "classDef ",
    "accDescr {",
    "direction LR",
    "---\n",
    "é日",
];

/// Reads any text; a valid chart is the same after printing.
pub(super) fn answered(bytes: &[u8]) {
    match mermaid::read(bytes) {
        Ok(diagram) => {
            let printed = mermaid::print(&diagram);
            let again = mermaid::read(printed.as_bytes());
            assert_eq!(again.as_ref().ok(), Some(&diagram), "{printed}\n{again:?}");
        }
        Err(flaws) => {
            assert!(!flaws.is_empty());
            for flaw in flaws {
                assert!(flaw.span.line >= 1 && flaw.span.column >= 1, "{flaw}");
                let end = (flaw.span.end_line, flaw.span.end_column);
                assert!(end >= (flaw.span.line, flaw.span.column), "{flaw}");
            }
        }
    }
}

fn corrupted() -> impl Strategy<Value = String> {
    let all = cases("constructs.txt");
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    let change = (
        any::<prop::sample::Index>(),
        0..6usize,
        prop::sample::select(&PIECES[..]),
    );
    (
        prop::sample::select(texts),
        prop::collection::vec(change, 1..6),
    )
        .prop_map(|(mut text, changes)| {
            for (at, cut, piece) in changes {
                let starts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
                if starts.is_empty() {
                    break;
                }
                let first = at.index(starts.len());
                let last = (first + cut).min(starts.len() - 1);
                text.replace_range(starts[first]..starts[last], piece);
            }
            text
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(800) })]

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        answered(&bytes);
    }

    #[test]
    fn random_pieces_are_answered(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)
    ) {
        answered(pieces.concat().as_bytes());
        answered(format!("flowchart TD\n{}", pieces.concat()).as_bytes());
    }

    #[test]
    fn corrupted_charts_are_answered(text in corrupted()) {
        answered(text.as_bytes());
    }
}

#[test]
fn ten_thousand_vertices_are_read_quickly() {
    let mut text = String::from("flowchart TD\n");
    for at in 0..10_000 {
        writeln!(
            text,
            "    N{at}[\"Step number {at}\"] -->|next| N{}{{\"Is it {at}?\"}}",
            at + 1
        )
        .unwrap();
    }
    let begun = Instant::now();
    let Diagram::Flowchart(chart) = mermaid::read(text.as_bytes()).unwrap();
    let took = begun.elapsed();
    assert_eq!((chart.vertices.len(), chart.links.len()), (10_001, 10_000));
    // Generous for unoptimised builds on a busy machine; usually it takes a tenth of this.
    assert!(took < Duration::from_millis(1_000), "{took:?}");
}

#[test]
fn what_never_closes_costs_no_more_than_it_is_long() {
    for line in [
        "A[\"x\n",
        "A[\"`x\n",
        "A -- x\n",
        "A == x\n",
        "A -. x\n",
        "A>x\n",
        "A@{ x\n",
        "%%{ x\n",
        "A -->|x\n",
        "A[x\n",
        "accDescr { x\n",
        "subgraph a\nend\n",
        "A\n",
        "\n",
        "A & ",
        "-",
        "- ",
        "A --> ",
        "A:::b",
        ";",
        "A -->|\"x\n",
        "e1@",
        "x-- ",
        "..",
        "A..",
        "((((",
        "A@{ \" }\n",
        "&",
        "#",
    ] {
        let text = format!("flowchart TD\n{}", line.repeat(200_000 / line.len().max(4)));
        let begun = Instant::now();
        let _ = mermaid::read(text.as_bytes());
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2), "{line:?} took {took:?}");
    }
}

#[test]
fn what_multiplies_is_bounded() {
    let many = (0..1_000)
        .map(|at| format!("A{at}"))
        .collect::<Vec<_>>()
        .join(" & ");
    let text = format!("flowchart TD\n{many} --> {many}\n");
    let flaws = mermaid::read(text.as_bytes()).unwrap_err();
    assert_eq!(flaws[0].code, FlawCode::TooMany);
    let deep = format!("flowchart TD\n{}", "subgraph a\n".repeat(200));
    assert_eq!(
        mermaid::read(deep.as_bytes()).unwrap_err()[0].code,
        FlawCode::TooMany
    );
    let says = |text: &str| {
        mermaid::read(text.as_bytes()).unwrap_err()[0]
            .message
            .clone()
    };
    assert!(says(&deep).contains("nested deeper"), "{}", says(&deep));
    let wide = format!("flowchart TD\n{}", "subgraph a\nend\n".repeat(50_001));
    assert_eq!(says(&wide), "more than 50000 subgraphs");
    let long = format!(
        "flowchart TD\nA -- {} --> B & C & D & E & F\n",
        "x".repeat(1 << 20)
    );
    assert_eq!(
        mermaid::read(long.as_bytes()).unwrap_err()[0].code,
        FlawCode::TooMany
    );
}

/// Runs the fuzz target on random changes for `TRAMLINE_SOAK_SECONDS`, by default ten minutes.
#[test]
#[ignore = "runs for TRAMLINE_SOAK_SECONDS"]
fn soak() {
    let seconds = std::env::var("TRAMLINE_SOAK_SECONDS");
    let seconds = seconds.map_or(600, |it| it.parse().unwrap());
    let mut texts: Vec<String> = Vec::new();
    for file in ["constructs.txt", "readmes.txt", "flawed.txt"] {
        texts.extend(cases(file).into_iter().map(|(_, text)| text));
    }
    // SplitMix64, so that a run can be repeated by its seed.
    let mut state = 0x5eed_u64;
    let mut next = move |below: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % below.max(1) as u64) as usize
    };
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds) {
        let mut bytes = texts[next(texts.len())].clone().into_bytes();
        for _ in 0..1 + next(8) {
            let at = next(bytes.len() + 1);
            let end = (at + next(6)).min(bytes.len());
            match next(4) {
                0 => drop(bytes.splice(at..end, [])),
                1 => drop(bytes.splice(at..end, [next(256) as u8])),
                2 => {
                    let other = &texts[next(texts.len())];
                    let from = next(other.len());
                    let to = (from + next(40)).min(other.len());
                    drop(bytes.splice(at..at, other.as_bytes()[from..to].iter().copied()));
                }
                _ => drop(bytes.splice(at..end, PIECES[next(PIECES.len())].bytes())),
            }
        }
        answered(&bytes);
    }
}
