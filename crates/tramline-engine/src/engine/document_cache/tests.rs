//! Tests of the document cache: sharing, keeping, dropping.

use super::*;
use tramline_workflow::workflow::{Action, Edge, Node};

fn workflow(name: &str) -> Arc<Workflow> {
    Arc::new(Workflow {
        name: name.into(),
        nodes: vec![
            Node::new("entry", Action::Entry),
            Node::new("exit", Action::Exit),
        ],
        edges: vec![Edge::new("entry", "exit")],
        ..Workflow::default()
    })
}

#[test]
fn equal_documents_are_one_and_are_encoded_once() {
    let cache = DocumentCache::<Workflow>::default();
    let (one, two) = (workflow("w"), workflow("w"));
    let first = cache.shared(&one).unwrap();
    let second = cache.shared(&two).unwrap();
    assert!(Arc::ptr_eq(&first.source, &second.source));
    assert!(Arc::ptr_eq(&first.document, &second.document));
    assert!(Arc::ptr_eq(
        &cache.built(&one).unwrap(),
        &cache.built(&two).unwrap()
    ));
    let other = cache.shared(&workflow("another")).unwrap();
    assert_ne!(first.document.digest, other.document.digest);
}

#[test]
fn what_nobody_uses_is_forgotten_but_for_the_last_few() {
    let cache = DocumentCache::<Workflow>::default();
    let held = workflow("held");
    let digest = cache.shared(&held).unwrap().document.digest;
    let many = 10 * SWEEP_MIN;
    for n in 0..many {
        let built = cache.built(&workflow(&format!("w{n}")));
        assert!(built.is_ok());
    }
    let table = cache.table();
    assert!(table.recent.len() <= RECENT_MAX);
    assert!(table.by_digest.len() < 2 * SWEEP_MIN + RECENT_MAX);
    assert!(table.by_address.len() < 2 * SWEEP_MIN + 2 * RECENT_MAX);
    drop(table);
    assert!(Arc::ptr_eq(&cache.find(&digest).unwrap(), &held));
    let last = StoredDocument::of(&*workflow(&format!("w{}", many - 1))).unwrap();
    assert!(
        cache.find(&last.digest).is_some(),
        "the most recent document stays"
    );
    let first = StoredDocument::of(&*workflow("w0")).unwrap();
    assert!(cache.find(&first.digest).is_none());
}

#[test]
fn large_documents_are_forgotten_sooner() {
    let cache = DocumentCache::<Workflow>::default();
    for n in 0..40 {
        let name = format!("{n}{}", "x".repeat(1 << 20));
        cache.shared(&workflow(&name)).unwrap();
    }
    let table = cache.table();
    assert!(table.known_bytes <= SWEEP_BYTES_MIN + (2 << 20));
    assert!(table.recent_bytes <= RECENT_BYTES_MAX);
}

#[test]
fn what_was_built_last_stays_built() {
    let cache = DocumentCache::<Workflow>::default();
    let document = StoredDocument::of(&*workflow("w")).unwrap();
    let whole = cache.read(document.digest, document.body).unwrap();
    let built = Arc::downgrade(&cache.built(&whole).unwrap());
    drop(whole);
    assert!(built.upgrade().is_some());
}

#[test]
fn a_document_that_was_changed_is_refused() {
    let cache = DocumentCache::<Workflow>::default();
    let document = StoredDocument::of(&*workflow("w")).unwrap();
    let mut body = document.body.clone();
    body[10] ^= 1;
    let says = cache.read(document.digest, body).unwrap_err();
    assert_eq!(says, "does not match its digest");
    let (garbage, body) = (ContentDigest::of(b"{"), b"{".to_vec());
    let says = cache.read(garbage, body).unwrap_err();
    assert!(says.starts_with("cannot be decoded: "), "{says}");
}
