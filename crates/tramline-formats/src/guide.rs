//! A page about each format, with examples: an agent can learn the format from it.

use super::{Format, SourceKind};

/// The page about a kind of document.
pub fn page(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Workflows(Format::Yaml) => include_str!("../guides/yaml.md"),
        SourceKind::Workflows(Format::Dag) => include_str!("../guides/dag.md"),
        SourceKind::Workflows(Format::Ir) => include_str!("../guides/ir.md"),
        SourceKind::Workflows(Format::Markdown) => include_str!("../guides/markdown.md"),
        SourceKind::Procedure => include_str!("../guides/sop.md"),
    }
}

/// The examples on the page: the text between fences of tildes.
pub fn examples(kind: SourceKind) -> Vec<&'static str> {
    let parts = page(kind).split("~~~~").skip(1).step_by(2);
    parts
        .filter_map(|part| Some(part.split_once('\n')?.1))
        .collect()
}

/// What a kind of document is for, in a few words.
pub fn title(kind: SourceKind) -> &'static str {
    let first = page(kind).lines().next().unwrap_or_default();
    first.trim_start_matches("# ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, sop_markdown};

    /// What an agent reads at once.
    const PAGE_BYTES_MAX: usize = 8 << 10;

    #[test]
    fn every_page_fits_and_has_three_examples_without_flaws() {
        for kind in SourceKind::ALL {
            assert!(page(kind).len() <= PAGE_BYTES_MAX, "{kind:?}");
            assert!(!title(kind).is_empty());
            let examples = examples(kind);
            assert_eq!(examples.len(), 3, "{kind:?}");
            for text in examples {
                match kind {
                    SourceKind::Procedure => {
                        let read = sop_markdown::read(text.as_bytes(), "example");
                        let read = read.unwrap_or_else(|flaws| panic!("{text}\n{flaws:?}"));
                        assert!(read.warnings.is_empty(), "{text}\n{:?}", read.warnings);
                    }
                    SourceKind::Workflows(_) => {
                        let read = crate::read(text.as_bytes(), ReadOptions::default());
                        let read = read.unwrap_or_else(|flaws| panic!("{text}\n{flaws:?}"));
                        let flaws = &read.document.warnings;
                        assert!(flaws.is_empty(), "{text}\n{flaws:?}");
                        assert_eq!(SourceKind::Workflows(read.format), kind, "{text}");
                    }
                }
            }
        }
    }
}
