//! For any text, the markdown reader returns a document or flaws with locations.

use crate::markdown::{GOOD, good, hint};
use proptest::prelude::*;

fn try_reading(bytes: &[u8]) {
    if let Err(flaws) = tramline_formats::read(bytes, hint()) {
        assert!(!flaws.is_empty());
        let lines = 2 + bytes.iter().filter(|b| matches!(b, b'\n' | b'\r')).count();
        for flaw in flaws {
            let place = &flaw.span;
            assert!((1..=lines).contains(&place.line), "{flaw}");
            assert!(place.column >= 1, "{flaw}");
            let end = (place.end_line, place.end_column);
            assert!(end >= (place.line, place.column), "{flaw:?}");
        }
    }
}

/// Pieces that are special to markdown, YAML or the reader.
const PIECES: [&str; 36] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "    ",
    "- ",
    "* ",
    ": ",
    "# ",
    "## ",
    "### ",
    "## Steps\n",
    "### a\n",
    "```",
    "````",
    "~~~",
    "```yaml batch\n",
    "---\n",
    "|",
    ">",
    "${",
    "}",
    "$${",
    "??",
    "[",
    "]",
    "{",
    "\"",
    "'",
    "é",
    "日本",
    "\u{feff}",
    "\u{e000}",
    "- loop:\n    while: ",
    "- next: ",
];

fn corrupted() -> impl Strategy<Value = String> {
    let change = (
        any::<prop::sample::Index>(),
        0..40usize,
        prop::sample::select(&PIECES[..]),
    );
    prop::collection::vec(change, 1..6).prop_map(|changes| {
        let mut text = good();
        for (at, cut, piece) in changes {
            let starts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
            let first = at.index(starts.len());
            let last = (first + cut / 4).min(starts.len() - 1);
            text.replace_range(starts[first]..starts[last], piece);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_reading(&bytes);
    }

    #[test]
    fn random_pieces_are_answered(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)
    ) {
        try_reading(pieces.concat().as_bytes());
    }

    #[test]
    fn corrupted_documents_are_answered(text in corrupted()) {
        try_reading(text.as_bytes());
    }

    #[test]
    fn cut_documents_are_answered(length in 0..GOOD.len()) {
        try_reading(&GOOD.as_bytes()[..length]);
    }
}
