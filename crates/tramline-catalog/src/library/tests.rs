//! Saving, finding and versions, with one process and with several that may crash.

use super::*;
use futures_util::future::join_all;
use tramline_engine::WorkflowMap;
use tramline_engine::ports::DocumentStore;
use tramline_engine::testing::MemoryStore;
use tramline_formats::yaml_graph;

fn text(n: usize) -> String {
    format!(
        "version: '1.0'\nserver: {{ name: s, version: '1' }}\ntools:\n  - name: t\n    description: d{n}\n    \
         inputSchema: {{ type: object }}\n    nodes:\n      - {{ id: entry, type: entry, next: exit }}\n      \
         - {{ id: exit, type: exit }}\n"
    )
}

fn save(name: &str, n: usize, force: bool) -> SaveRequest {
    SaveRequest {
        name: WorkflowName::new(name).unwrap(),
        text: text(n).into(),
        tool: None,
        description: "gives back what it is given".into(),
        by: "ann".into(),
        operator: false,
        saver: Saver::Caller(None),
        force,
        recursive: false,
    }
}

fn of(caller: Option<&str>, mut save: SaveRequest) -> SaveRequest {
    save.by = caller.unwrap_or("agent").into();
    save.saver = Saver::Caller(caller.map(Str::from));
    save
}

#[tokio::test]
async fn only_who_saved_a_workflow_and_the_operator_replace_it() {
    let store = MemoryStore::new();
    let library = library(&store);
    let (ann, bob, unnamed) = (Some("ann"), Some("bob"), None);
    library
        .save(of(ann, save("shared", 1, false)))
        .await
        .unwrap();
    for other in [bob, unnamed] {
        for force in [true, false] {
            let refused = library.save(of(other, save("shared", 2, force))).await;
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, LibraryError::NotOwner { .. }),
                "{refused}"
            );
            assert!(
                refused.to_string().contains("under another name"),
                "{refused}"
            );
        }
        // Saving the same workflow changes neither version nor owner.
        let same = library
            .save(of(other, save("shared", 1, true)))
            .await
            .unwrap();
        assert_eq!((same.new, same.saved.owner.as_deref()), (false, ann));
    }
    let own = library
        .save(of(ann, save("shared", 2, true)))
        .await
        .unwrap();
    assert_eq!(own.saved.version, 2);
    // After the operator replaced it, no other caller can.
    let operators = SaveRequest {
        operator: true,
        saver: Saver::Operator,
        ..save("shared", 3, true)
    };
    assert_eq!(library.save(operators).await.unwrap().saved.version, 3);
    for caller in [ann, bob, unnamed] {
        assert!(
            library
                .save(of(caller, save("shared", 4, true)))
                .await
                .is_err()
        );
    }
    // An unnamed caller's workflow does not belong to any named caller.
    library
        .save(of(unnamed, save("common", 1, false)))
        .await
        .unwrap();
    assert!(
        library
            .save(of(bob, save("common", 2, true)))
            .await
            .is_err()
    );
    assert!(
        library
            .save(of(unnamed, save("common", 2, true)))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn what_earlier_versions_saved_is_replaced_by_the_same_name() {
    let store = MemoryStore::new();
    let library = library(&store);
    library
        .save(of(Some("ann"), save("old", 1, false)))
        .await
        .unwrap();
    let body = store.get(KIND, "old").await.unwrap().unwrap();
    let body = String::from_utf8(body)
        .unwrap()
        .replace(r#""owner":"ann","#, "");
    assert!(!body.contains("owner"), "{body}");
    store.put(KIND, "old", body.into_bytes()).await.unwrap();
    assert!(
        library
            .save(of(Some("bob"), save("old", 2, true)))
            .await
            .is_err()
    );
    let own = library
        .save(of(Some("ann"), save("old", 2, true)))
        .await
        .unwrap();
    assert_eq!(own.saved.owner.as_deref(), Some("ann"));
}

fn library(store: &MemoryStore) -> Library {
    Library::new(Arc::new(store.clone()), Arc::new(WorkflowMap::default()))
}

#[tokio::test]
async fn a_saved_workflow_is_found_with_every_version() {
    let store = MemoryStore::new();
    let library = library(&store);
    assert!(library.save(save("give-back", 1, false)).await.unwrap().new);
    let again = library.save(save("give-back", 1, false)).await.unwrap();
    assert!(!again.new, "saving the same workflow adds no version");
    let other = library.save(save("give-back", 2, false)).await.unwrap_err();
    assert!(
        matches!(other, LibraryError::NameTaken { version: 1, .. }),
        "{other}"
    );
    let forced = library.save(save("give-back", 2, true)).await.unwrap();
    assert_eq!(forced.saved.version, 2);
    let first = library.get("give-back", Some(1)).await.unwrap();
    assert_eq!(first.text, text(1));
    assert_eq!(library.versions("give-back").await.unwrap().len(), 2);
    let missing = library.get("give-back", Some(3)).await.unwrap_err();
    assert!(matches!(missing, LibraryError::NoVersion { latest: 2, .. }));
    let found = library.find("give-back").unwrap();
    assert_eq!(found.graph.workflow.name, "give-back");
    let slip = library.get("give-bak", None).await.unwrap_err();
    assert!(
        slip.to_string().contains("did you mean `give-back`?"),
        "{slip}"
    );
    library.remove("give-back").await.unwrap();
    assert!(library.find("give-back").is_none());
    assert!(library.save(save("give-back", 3, false)).await.unwrap().new);
    let versions = library.versions("give-back").await.unwrap();
    assert_eq!(
        versions.len(),
        1,
        "the versions of the removed workflow are gone"
    );
}

#[tokio::test]
async fn documents_at_hand_win_over_saved_ones() {
    let document = yaml_graph::read(text(7).as_bytes()).unwrap();
    let shelf = WorkflowMap::new(document.workflows.iter().map(|graph| Callable {
        graph: Arc::clone(graph),
        origin: Value::Bool(true),
    }));
    let library = Library::new(Arc::new(MemoryStore::new()), Arc::new(shelf));
    library.save(save("t", 1, false)).await.unwrap();
    library.save(save("u", 1, false)).await.unwrap();
    assert_eq!(library.find("t").unwrap().origin, Value::Bool(true));
    assert_eq!(library.find("u").unwrap().origin, Value::Null);
    assert_eq!(library.names(), ["t", "u"]);
}

#[tokio::test]
async fn of_a_thousand_saves_at_once_none_is_lost() {
    let store = MemoryStore::new();
    let processes: Vec<_> = (0..4)
        .map(|_| Arc::new(library(&store.process())))
        .collect();
    let saves = (0..1_000).map(|n| {
        let library = Arc::clone(&processes[n % 4]);
        tokio::spawn(async move { library.save(save("busy", n, true)).await })
    });
    for saved in join_all(saves).await {
        saved.unwrap().unwrap();
    }
    let versions = processes[0].versions("busy").await.unwrap();
    let mut texts: Vec<_> = versions.iter().map(|saved| saved.text.clone()).collect();
    texts.sort();
    texts.dedup();
    assert_eq!((versions.len(), texts.len()), (1_000, 1_000));
}

#[tokio::test]
async fn without_force_one_of_many_wins_and_the_rest_are_told() {
    let store = MemoryStore::new();
    let library = Arc::new(library(&store));
    let saves = (0..1_000).map(|n| {
        let library = Arc::clone(&library);
        tokio::spawn(async move { library.save(save("busy", n, false)).await })
    });
    let ends = join_all(saves).await;
    let won = ends.iter().filter(|end| end.as_ref().unwrap().is_ok());
    assert_eq!(won.count(), 1);
    assert_eq!(library.get("busy", None).await.unwrap().version, 1);
}

#[tokio::test]
async fn what_another_process_saves_is_seen() {
    let store = MemoryStore::new();
    let (mine, theirs) = (library(&store.process()), library(&store.process()));
    mine.refresh().await.unwrap();
    theirs.save(save("new-one", 1, false)).await.unwrap();
    assert!(mine.find("new-one").is_none());
    mine.refresh().await.unwrap();
    assert!(mine.find("new-one").is_some());
    assert_eq!(mine.list(Some("GIVE new")).await.unwrap().len(), 1);
    assert!(mine.list(Some("nothing")).await.unwrap().is_empty());
    theirs.remove("new-one").await.unwrap();
    mine.refresh().await.unwrap();
    assert!(mine.find("new-one").is_none());
}

#[tokio::test]
async fn what_is_damaged_is_told_and_left_alone() {
    let store = MemoryStore::new();
    let library = library(&store);
    library.save(save("sound", 1, false)).await.unwrap();
    store.put(KIND, "broken", b"{".to_vec()).await.unwrap();
    let told = library.save(save("broken", 1, true)).await.unwrap_err();
    assert!(matches!(told, LibraryError::Damaged { .. }), "{told}");
    assert_eq!(store.get(KIND, "broken").await.unwrap().unwrap(), b"{");
    assert_eq!(library.list(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_too_large_or_flawed_is_not_saved() {
    let library = library(&MemoryStore::new());
    let mut large = save("large", 1, false);
    large.text = "x".repeat(10 << 20).into();
    let told = library.save(large).await.unwrap_err().to_string();
    assert!(told.contains("10485760 bytes"), "{told}");
    let mut flawed = save("flawed", 1, false);
    flawed.text = text(1).replace("next: exit", "next: exti").into();
    let told = library.save(flawed).await.unwrap_err();
    assert!(matches!(told, LibraryError::Flawed(_)), "{told}");
    assert!(library.list(None).await.unwrap().is_empty());
}

/// A document whose workflow calls another by name.
fn calls(name: &str, called: &str, recursive: bool) -> SaveRequest {
    let text = format!(
        "version: '1.0'\nserver: {{name: s, version: '1'}}\ntools:\n  - name: {name}\n    \
         description: Calls.\n    inputSchema: {{type: object}}\n    nodes:\n      \
         - {{id: entry, type: entry, next: inner}}\n      \
         - {{id: inner, type: workflow, workflow: {called}, args: {{}}, next: exit}}\n      \
         - {{id: exit, type: exit}}\n"
    );
    SaveRequest {
        text: text.as_str().into(),
        force: true,
        recursive,
        ..save(name, 1, true)
    }
}

#[tokio::test]
async fn what_would_call_itself_is_refused_unless_that_is_said() {
    let library = Library::new(
        Arc::new(MemoryStore::new()),
        Arc::new(WorkflowMap::default()),
    );
    let itself = library.save(calls("boom", "boom", false)).await;
    let Err(LibraryError::Recursive { path, .. }) = itself else {
        panic!("the recursive workflow was saved");
    };
    assert!(path.is_empty());
    library.save(calls("first", "second", false)).await.unwrap();
    library.save(calls("second", "third", false)).await.unwrap();
    let closes = library.save(calls("third", "first", false)).await;
    let Err(LibraryError::Recursive { path, .. }) = closes else {
        panic!("the recursive workflow was saved");
    };
    assert_eq!(path, ["first", "second"]);
    library.save(calls("third", "first", true)).await.unwrap();
    // A workflow outside a cycle can still be saved.
    library.save(calls("fourth", "first", false)).await.unwrap();
}

#[tokio::test]
async fn agents_do_not_fill_the_memory_with_saved_texts() {
    let (first, second) = {
        let store = MemoryStore::new();
        (library(&store), library(&store))
    };
    let padded = |name: &str, operator: bool| {
        let mut save = save(name, 1, true);
        save.text = format!("{}# {}\n", save.text, "x".repeat(TEXT_BYTES_MAX - 1_000)).into();
        save.operator = operator;
        save
    };
    let fit = LIBRARY_BYTES_MAX / TEXT_BYTES_MAX;
    for number in 0..fit {
        // What another process saved counts too.
        let by = if number % 2 == 0 { &first } else { &second };
        by.save(padded(&format!("large-{number}"), false))
            .await
            .unwrap();
    }
    for name in ["another", "more"] {
        let refused = first.save(padded(name, false)).await.unwrap_err();
        assert!(matches!(refused, LibraryError::TooLarge(_)), "{refused}");
        assert!(refused.to_string().contains("library rm"), "{refused}");
    }
    // A new version of the same size replaces the text of the old one, and the operator decides freely.
    let mut again = padded("large-0", false);
    again.description = "something else".into();
    first.save(again).await.unwrap();
    first.save(padded("another", true)).await.unwrap();
}
