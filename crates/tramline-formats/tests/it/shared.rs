//! The reference documents are read without changes.

use std::path::{Path, PathBuf};
use tramline_formats::yaml_graph;

/// A folder of shared data. If it is absent, the tests that need it are skipped, but never in CI.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRAMLINE_SHARED").map_or(default, PathBuf::from);
    let folder = shared.join("data").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let missing = folder.display();
    assert!(std::env::var_os("CI").is_none(), "{missing} is missing");
    None
}

/// The reference documents.
pub(crate) fn documents() -> Vec<PathBuf> {
    let Some(folder) = folder("mcpgraph") else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    found.sort();
    assert_eq!(found.len(), 4);
    found
}

#[test]
fn the_shared_documents_have_no_flaws() {
    for path in documents() {
        let document = yaml_graph::read(&std::fs::read(&path).unwrap());
        let document = document.unwrap_or_else(|flaws| panic!("{}: {flaws:#?}", path.display()));
        assert_eq!(document.warnings, [], "{}", path.display());
        assert!(!document.workflows.is_empty());
        for graph in &document.workflows {
            assert!(graph.input_checker().unwrap().is_plain());
            assert!(graph.output_checker().unwrap().is_plain());
        }
    }
}
