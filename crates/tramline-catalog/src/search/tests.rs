//! Tests of order, confidence and reasons, and that removed documents leave no trace.

use super::*;
use crate::testing::FakeEmbedder;
use proptest::prelude::*;
use std::sync::Arc;

fn tool(server: &str, name: &str, description: &str, parameters: &[&str]) -> SearchDocument {
    SearchDocument {
        name: name.into(),
        server: server.into(),
        parameters: parameters.iter().map(|name| (*name).into()).collect(),
        ..SearchDocument::new(DocumentKind::Tool, format!("{server}:{name}"), description)
    }
}

fn some() -> Vec<SearchDocument> {
    let mut report = SearchDocument::new(
        DocumentKind::Workflow,
        "weekly-report",
        "Collects the week's closed issues and mails a summary to the team",
    );
    report.past_requests = vec![
        "send the weekly summary".into(),
        "mail everybody what got done".into(),
    ];
    vec![
        tool("files", "read_file", "Reads a file as text", &["path"]),
        tool(
            "files",
            "writeFile",
            "Writes text into a file",
            &["path", "content"],
        ),
        tool(
            "files",
            "list_directory",
            "Lists what a folder holds",
            &["path"],
        ),
        tool("web", "fetch", "Fetches a page from the internet", &["url"]),
        tool(
            "github",
            "list_issues",
            "Lists the issues of a repository",
            &["owner", "repo"],
        ),
        tool(
            "github",
            "create_issue",
            "Opens an issue in a repository",
            &["title", "body"],
        ),
        tool(
            "sky",
            "forecast",
            "Weather of the coming days in a city",
            &["city", "days"],
        ),
        report,
    ]
}

fn index() -> SearchIndex {
    let mut index = SearchIndex::new();
    for card in some() {
        index.put(card, None).unwrap();
    }
    index
}

fn first(query: &str) -> SearchHit {
    index().search(query, None, 5).swap_remove(0)
}

#[test]
fn what_is_meant_comes_first() {
    for (query, id) in [
        ("what will the weather be tomorrow", "sky:forecast"),
        ("open a new issue", "github:create_issue"),
        ("reading files", "files:read_file"),
        ("write file", "files:writeFile"),
        ("which folders are there", "files:list_directory"),
        ("mail what got done", "weekly-report"),
    ] {
        assert_eq!(first(query).id, id, "{query}");
    }
}

#[test]
fn exact_words_are_sure() {
    for query in [
        "read_file",
        "files:read_file",
        "Read File",
        "Reads a file as text.",
        "Send the weekly summary",
        "collect closed issues of the week and mail the team a summary",
    ] {
        let hit = first(query);
        assert!(
            hit.confidence >= 0.95,
            "{query}: {} {:?}",
            hit.confidence,
            hit.features
        );
    }
}

#[test]
fn what_several_say_is_not_sure() {
    let mut index = index();
    index
        .put(tool("other", "read_file", "Gets a file", &["name"]), None)
        .unwrap();
    let hits = index.search("read_file", None, 5);
    assert!(
        hits[0].confidence < 0.95 && hits[1].confidence < 0.95,
        "{hits:?}"
    );
    let ids: Vec<&str> = hits[..2].iter().map(|hit| hit.id.as_str()).collect();
    assert!(ids.contains(&"files:read_file") && ids.contains(&"other:read_file"));
}

#[test]
fn hits_say_why() {
    let hit = first("list the issues of our repository, by owner");
    assert_eq!(hit.id, "github:list_issues");
    let reasons = hit.reasons.join("; ");
    assert!(reasons.contains(r#"name: "list", "issues""#), "{reasons}");
    assert!(
        reasons.contains(r#"description: "repository""#),
        "{reasons}"
    );
    assert!(reasons.contains(r#"parameters: "owner""#), "{reasons}");
    let hit = first("send everybody the weekly summary");
    assert!(
        hit.reasons.join("; ").contains("past request"),
        "{:?}",
        hit.reasons
    );
}

#[test]
fn nothing_is_found_for_nothing() {
    assert!(index().search("", None, 5).is_empty());
    assert!(index().search("?!", None, 5).is_empty());
    assert!(index().search("xylophone", None, 5).is_empty());
    assert!(SearchIndex::new().search("read", None, 5).is_empty());
    assert!(index().search("file", None, 0).is_empty());
}

#[test]
fn kinds_can_be_asked_for() {
    let hits = index().search_kind("issues", None, 5, |kind| kind == DocumentKind::Workflow);
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].id, "weekly-report");
}

#[test]
fn names_are_found_by_parts_and_patterns() {
    let names = |pattern: &str| {
        let names = index().find_names(pattern, 10, |_| true);
        names
            .matches
            .into_iter()
            .map(|named| named.id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("READ_FILE"), ["files:read_file"]);
    assert_eq!(
        names("github:*"),
        ["github:create_issue", "github:list_issues"]
    );
    assert_eq!(
        names("list_*"),
        ["files:list_directory", "github:list_issues"]
    );
    assert_eq!(
        names("issue")[..2],
        ["github:create_issue", "github:list_issues"]
    );
    assert_eq!(names("internet"), ["web:fetch"]);
    assert_eq!(names("").len(), some().len());
    let none = index().find_names("read_fiel", 10, |_| true);
    assert_eq!(
        (none.total, none.did_you_mean.as_deref()),
        (0, Some("files:read_file"))
    );
}

#[tokio::test]
async fn a_finder_keeps_vectors_for_the_next_start() {
    let embedder = Arc::new(FakeEmbedder::default());
    let finder = Finder::new(Some(embedder.clone()));
    let made = finder.put(some(), &EncodedVectors::new()).await.unwrap();
    let texts = some().len() + 2;
    assert_eq!((made.len(), embedder.embedded()), (texts, texts));
    let hits = finder.search("forecasting weathers", 3, |_| true).await;
    assert_eq!(hits[0].id, "sky:forecast");
    assert!(hits[0].features.embedding_lead.is_some());
    assert!(
        hits[0].reasons.join("; ").contains("similar in meaning"),
        "{hits:?}"
    );

    let again = Finder::new(Some(embedder.clone()));
    assert!(again.put(some(), &made).await.unwrap().is_empty());
    assert_eq!(embedder.embedded(), texts + 1);
    assert_eq!(
        again.search("forecasting weathers", 3, |_| true).await,
        hits
    );
}

/// Operations on an index: a document is added, changed or removed.
fn deeds() -> impl Strategy<Value = Vec<(usize, Option<usize>)>> {
    let deed = (0..12_usize, prop::option::weighted(0.7, 0..6_usize));
    prop::collection::vec(deed, 0..60)
}

fn card(which: usize, version: usize) -> SearchDocument {
    const WORDS: [&str; 9] = [
        "read", "file", "mail", "issue", "weather", "list", "send", "page", "搜索",
    ];
    let word = |n: usize| WORDS[(which * 5 + version * 3 + n) % WORDS.len()];
    let mut card = tool(
        word(2),
        &format!("{}_{}", word(0), word(1)),
        word(3),
        &[word(4)],
    );
    card.id = format!("card-{which}").into();
    card.past_requests = (0..version)
        .map(|n| format!("{} a {}", word(n), word(n + 1)).into())
        .collect();
    card
}

fn vector(which: usize, version: usize) -> Option<Vector> {
    let numbers = (0..5).map(|n| ((which + 2) * (version + 3) * (n + 1) % 7) as f32 - 2.5);
    (!which.is_multiple_of(3)).then(|| Vector::new(numbers.collect()).unwrap())
}

proptest! {
    #[test]
    fn an_index_forgets_what_was_in_it(deeds in deeds()) {
        let mut index = SearchIndex::new();
        let mut now = std::collections::BTreeMap::new();
        for (which, version) in deeds {
            match version {
                Some(version) => {
                    index.put(card(which, version), vector(which, version).as_ref()).unwrap();
                    now.insert(which, version);
                }
                None => {
                    let was_there = now.remove(&which).is_some();
                    prop_assert_eq!(index.remove(&format!("card-{which}")), was_there);
                }
            }
        }
        let mut fresh = SearchIndex::new();
        for (which, version) in now {
            fresh.put(card(which, version), vector(which, version).as_ref()).unwrap();
        }
        prop_assert_eq!(index.len(), fresh.len());
        let meant = vector(1, 1);
        for query in ["read a file", "mail", "send an issue list", "搜索", "weather page"] {
            prop_assert_eq!(index.search(query, None, 20), fresh.search(query, None, 20));
            let both = index.search(query, meant.as_ref(), 20);
            prop_assert_eq!(both, fresh.search(query, meant.as_ref(), 20));
            prop_assert_eq!(index.find_names(query, 20, |_| true), fresh.find_names(query, 20, |_| true));
        }
    }

    #[test]
    fn any_query_is_answered(query in ".{0,200}", most in 0..300_usize) {
        let hits = index().search(&query, None, most);
        prop_assert!(hits.len() <= most.min(HITS_MAX));
        for pair in hits.windows(2) {
            prop_assert!(pair[0].confidence >= pair[1].confidence);
        }
        index().find_names(&query, most, |_| true);
    }
}
