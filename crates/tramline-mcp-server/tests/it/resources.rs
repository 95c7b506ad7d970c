//! Resources, prompts, completions and skills: what is declared, what is ours, who sees what, and what is announced.

use super::support::{
    Client, ERAS, Era, calling, connect, connect_over, over_http, pure, services, serving,
    structured,
};
use rmcp::model::{
    ArgumentInfo, ClientCapabilities, CompleteRequestParams, GetPromptRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResult, Reference,
    ResourceContents, ServerNotification, SubscriptionFilter,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_formats::yaml_graph;
use tramline_mcp_server::{HttpOptions, NamedToken, Server, ServerDescription, Toolset};

const RUNS: &[Toolset] = &[Toolset::Graphs, Toolset::Runs];

const DOCUMENT: &str = r##"
version: "1.0"
server: {name: s, version: "1"}
tools:
  - {name: go, description: Goes., inputSchema: {type: object}, nodes: [{id: entry, type: entry, next: exit}, {id: exit, type: exit}]}
resources:
  - {uri: "notes://today", title: Today, mimeType: text/markdown, text: "# Today"}
  - {uri: "notes://{day}/pixel", blob: AAAA, mimeType: image/png}
  - {uri: "notes://{day}", text: "Notes of {day}: {other}"}
prompts:
  - name: review
    title: Review
    arguments: [{name: file, required: true, values: [main.rs, lib.rs, build.rs]}, {name: why}]
    messages: [{content: "Review {file}. {why}"}, {role: assistant, content: {type: text, text: "{file}?"}}]
"##;

/// A server of a document with content of its own.
fn declaring(text: &str) -> (Server, ServerDescription) {
    let about = described(text);
    let services = services(MemoryStore::default(), FakeTools::new());
    let graphs = yaml_graph::read(text.as_bytes()).unwrap().workflows;
    let graphs = graphs.into_iter().map(|graph| (graph, Value::Null));
    let server = Server::new(services, about.clone(), &[Toolset::Graphs], graphs).unwrap();
    (server, about)
}

fn described(text: &str) -> ServerDescription {
    let document = yaml_graph::read(text.as_bytes()).unwrap_or_else(|flaws| panic!("{flaws:?}"));
    ServerDescription {
        content: vec![document.content],
        ..ServerDescription::default()
    }
}

async fn read(client: &Client, uri: &str) -> Result<ReadResourceResult, rmcp::ServiceError> {
    client
        .service
        .peer()
        .read_resource(ReadResourceRequestParams::new(uri))
        .await
}

/// The text of a resource.
async fn text(client: &Client, uri: &str) -> String {
    let read = read(client, uri).await.unwrap();
    match &read.contents[0] {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        other => panic!("{other:?}"),
    }
}

async fn uris(client: &Client) -> Vec<String> {
    let listed = client.service.peer().list_all_resources().await.unwrap();
    listed.into_iter().map(|resource| resource.uri).collect()
}

#[tokio::test]
async fn a_document_declares_resources_templates_and_prompts() {
    for era in ERAS {
        let client = connect(&declaring(DOCUMENT).0, era).await;
        let peer = client.service.peer();
        assert_eq!(
            uris(&client).await[..2],
            ["notes://today", "skill://go/SKILL.md"]
        );
        assert_eq!(text(&client, "notes://today").await, "# Today");
        assert_eq!(
            text(&client, "notes://may%201").await,
            "Notes of may 1: {other}"
        );
        let pixel = read(&client, "notes://may/pixel").await.unwrap();
        assert!(
            matches!(&pixel.contents[0], ResourceContents::BlobResourceContents { blob, mime_type: Some(mime), .. } if blob == "AAAA" && mime == "image/png")
        );
        let templates = peer.list_all_resource_templates().await.unwrap();
        let templates: Vec<_> = templates
            .iter()
            .map(|it| it.uri_template.as_str())
            .collect();
        assert!(
            templates.contains(&"notes://{day}") && templates.contains(&"tramline://runs/{run_id}"),
            "{templates:?}"
        );
        for odd in [
            "notes://",
            "notes://a/b",
            "other://x",
            "tramline://runs/run_none",
            "tramline://nothing",
        ] {
            let missing = read(&client, odd).await.unwrap_err().to_string();
            assert!(
                missing.contains("-32602") && missing.contains("no resource"),
                "{missing}"
            );
        }

        let prompts = peer.list_all_prompts().await.unwrap();
        assert_eq!(
            (prompts[0].name.as_str(), prompts[0].title.as_deref()),
            ("review", Some("Review"))
        );
        let mut asked = GetPromptRequestParams::new("review");
        assert!(peer.get_prompt(asked.clone()).await.is_err());
        asked.arguments = json!({"file": "{why}", "why": "It is new."})
            .as_object()
            .cloned();
        let got = serde_json::to_value(peer.get_prompt(asked).await.unwrap()).unwrap();
        assert_eq!(
            got["messages"][0]["content"]["text"],
            "Review {why}. It is new."
        );
        assert_eq!(got["messages"][1]["role"], "assistant");

        let argument = ArgumentInfo::new("file", "B");
        let completing = CompleteRequestParams::new(Reference::for_prompt("review"), argument);
        let values = peer.complete(completing).await.unwrap().completion.values;
        assert_eq!(values, ["build.rs", "lib.rs"]);
    }
}

#[tokio::test]
async fn formats_can_be_learned_from_us() {
    let client = connect(&serving(&[Toolset::Graphs], vec![pure("one")]), Era::Modern).await;
    let listed = uris(&client).await;
    let formats = listed
        .iter()
        .filter(|uri| uri.starts_with("tramline://formats/"));
    assert_eq!(formats.clone().count(), 5, "{listed:?}");
    for uri in formats {
        assert!(text(&client, uri).await.contains("## Examples"), "{uri}");
    }
    let template = Reference::for_resource("tramline://formats/{format}");
    let completing = CompleteRequestParams::new(template, ArgumentInfo::new("format", "y"));
    let values = client
        .service
        .peer()
        .complete(completing)
        .await
        .unwrap()
        .completion
        .values;
    assert_eq!(values[0], "yaml");
}

#[tokio::test]
async fn a_run_is_read_as_state_result_and_trace() {
    for era in ERAS {
        let client = connect(&serving(RUNS, vec![pure("one")]), era).await;
        let sum = "ä".repeat(10);
        let started = client
            .call(
                "run_start",
                json!({"workflow": "one", "arguments": {"a": sum}}),
            )
            .await;
        let uri = structured(&started)["resource"]
            .as_str()
            .unwrap()
            .to_owned();
        client
            .call(
                "run_await",
                json!({"run_id": structured(&started)["run_id"]}),
            )
            .await;
        let state: Json = serde_json::from_str(&text(&client, &uri).await).unwrap();
        assert_eq!(
            (&state["status"], &state["result"]["a"]),
            (&json!("completed"), &json!(sum))
        );
        let whole = text(&client, &format!("{uri}/result")).await;
        let mut parts = String::new();
        while parts.len() < whole.len() {
            parts += &text(
                &client,
                &format!("{uri}/result?offset={}&length=5", parts.len()),
            )
            .await;
        }
        assert_eq!(parts, whole);
        let trace: Json =
            serde_json::from_str(&text(&client, &format!("{uri}/trace")).await).unwrap();
        assert!(trace["steps"].is_array());
        assert!(uris(&client).await.contains(&uri));
        let template = Reference::for_resource("tramline://runs/{run_id}");
        let completing = CompleteRequestParams::new(template, ArgumentInfo::new("run_id", ""));
        let values = client
            .service
            .peer()
            .complete(completing)
            .await
            .unwrap()
            .completion
            .values;
        assert_eq!(values.len(), 1);
    }
    // Without a toolset for runs they are not listed, and how they went is not shown.
    let client = connect(&serving(&[Toolset::Graphs], vec![pure("one")]), Era::Modern).await;
    client.call("one", json!({})).await;
    assert!(
        !uris(&client)
            .await
            .iter()
            .any(|uri| uri.starts_with("tramline://runs/"))
    );
}

#[tokio::test]
async fn many_runs_are_listed_in_pages() {
    let client = connect(&serving(RUNS, vec![pure("one")]), Era::Modern).await;
    for _ in 0..120 {
        client.call("one", json!({})).await;
    }
    let (mut cursor, mut pages, mut seen) = (None, 0, Vec::new());
    loop {
        let asked = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let page = client
            .service
            .peer()
            .list_resources(Some(asked))
            .await
            .unwrap();
        assert!(page.resources.len() <= 100);
        seen.extend(page.resources.into_iter().map(|it| it.uri));
        pages += 1;
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let runs = seen
        .iter()
        .filter(|uri| uri.starts_with("tramline://runs/"))
        .count();
    assert_eq!((runs, pages), (120, 3));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 120 + 5 + 1);
    let odd = PaginatedRequestParams::default().with_cursor(Some("odd".into()));
    assert!(
        client
            .service
            .peer()
            .list_resources(Some(odd))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_large_result_is_a_preview_with_a_link() {
    let client = connect(&serving(RUNS, vec![pure("one")]), Era::Modern).await;
    let large = "x".repeat(400_000);
    let reply = client.call("one", json!({"a": large})).await;
    assert!(reply.structured_content.is_none());
    let told = serde_json::to_value(&reply).unwrap();
    assert!(told.to_string().len() < 10_000);
    let link = &told["content"][1];
    assert_eq!(
        (&link["type"], &link["size"]),
        (&json!("resource_link"), &json!(400_008))
    );
    let whole = text(&client, link["uri"].as_str().unwrap()).await;
    assert_eq!(
        serde_json::from_str::<Json>(&whole).unwrap(),
        json!({"a": large})
    );
    let started = client
        .call(
            "run_start",
            json!({"workflow": "one", "arguments": {"a": large}}),
        )
        .await;
    let waited = client
        .call(
            "run_await",
            json!({"run_id": structured(&started)["run_id"]}),
        )
        .await;
    assert_eq!(
        structured(&waited)["result"]["bytes"],
        400_008,
        "{waited:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_another_caller_is_not_there() {
    let named = |name: &str| NamedToken {
        name: name.into(),
        token: format!("{name}-secret"),
        approver: false,
    };
    let http = HttpOptions {
        named_tokens: vec![named("ann"), named("bob")],
        ..HttpOptions::at("127.0.0.1:0".parse().unwrap())
    };
    let stop = CancellationToken::new();
    let server = serving(RUNS, vec![pure("one")]);
    let listening = server.listen(http, stop.clone()).await.unwrap();
    let address = listening.address;
    tokio::spawn(listening.serve());
    let _guard = stop.drop_guard();
    for era in ERAS {
        let caller = |token: &'static str| {
            connect_over(
                over_http(address, Some(token)),
                era,
                ClientCapabilities::default(),
            )
        };
        let (ann, bob) = (caller("ann-secret").await, caller("bob-secret").await);
        let started = ann.call("run_start", json!({"workflow": "one"})).await;
        let uri = structured(&started)["resource"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(text(&ann, &uri).await.contains("run_id"));
        for hidden in [uri.clone(), format!("{uri}/result"), format!("{uri}/trace")] {
            assert!(read(&bob, &hidden).await.is_err(), "{hidden}");
        }
        assert!(!uris(&bob).await.contains(&uri));
        assert!(uris(&ann).await.contains(&uri));
    }
}

#[tokio::test]
async fn the_end_of_a_run_is_announced_to_subscribers_of_any_server() {
    let (store, gate) = (MemoryStore::default(), Arc::new(Semaphore::new(0)));
    let serve = || {
        let gate = Arc::clone(&gate);
        let tools =
            FakeTools::new().tool("t", "slow", ToolHints::default(), move |given: Value| {
                let gate = Arc::clone(&gate);
                async move {
                    gate.acquire().await.unwrap().forget();
                    Ok(given)
                }
            });
        let graphs = [(calling("slow", "slow", ""), Value::Null)];
        Server::new(
            services(store.clone(), tools),
            ServerDescription::default(),
            RUNS,
            graphs,
        )
        .unwrap()
    };
    let (first, second) = (serve(), serve());
    let starter = connect(&first, Era::Modern).await;
    let started = starter.call("run_start", json!({"workflow": "slow"})).await;
    let uri = structured(&started)["resource"]
        .as_str()
        .unwrap()
        .to_owned();
    let listener = connect(&second, Era::Modern).await;
    let filter = SubscriptionFilter::builder()
        .resource_subscriptions([uri.clone(), "tramline://runs/run_x".into()])
        .build();
    let mut subscription = listener.service.peer().listen(filter).await.unwrap();
    gate.add_permits(1);
    let heard = tokio::time::timeout(Duration::from_secs(60), subscription.next())
        .await
        .unwrap()
        .unwrap();
    let Some(ServerNotification::ResourceUpdatedNotification(updated)) = heard else {
        panic!("{heard:?}");
    };
    assert_eq!(updated.params.uri, uri);
    // Progress may be announced before the end; the state says which it was.
    starter
        .call(
            "run_await",
            json!({"run_id": structured(&started)["run_id"], "wait_seconds": 55}),
        )
        .await;
    assert!(text(&listener, &uri).await.contains("completed"));
}

#[tokio::test]
async fn an_edit_of_a_document_is_announced() {
    let (server, _) = declaring(DOCUMENT);
    let client = connect(&server, Era::Modern).await;
    let filter = SubscriptionFilter::builder()
        .prompts_list_changed()
        .resources_list_changed()
        .resource_subscriptions(["notes://today".to_owned()])
        .build();
    let mut subscription = client.service.peer().listen(filter).await.unwrap();
    let text = DOCUMENT
        .replace("# Today", "# Tomorrow")
        .replace("title: Review", "title: Reviews");
    let graphs = yaml_graph::read(text.as_bytes()).unwrap().workflows;
    let graphs = graphs.into_iter().map(|graph| (graph, Value::Null));
    server.replace_graphs(server.prepare(described(&text), graphs).unwrap());
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let next = tokio::time::timeout(Duration::from_secs(60), subscription.next()).await;
        heard.push(match next.unwrap().unwrap().unwrap() {
            ServerNotification::PromptListChangedNotification(_) => "prompts",
            ServerNotification::ResourceListChangedNotification(_) => "resources",
            ServerNotification::ResourceUpdatedNotification(_) => "updated",
            other => panic!("{other:?}"),
        });
    }
    heard.sort_unstable();
    assert_eq!(heard, ["prompts", "resources", "updated"]);
}

#[tokio::test]
async fn an_older_client_subscribes_to_single_resources() {
    let client = connect(&declaring(DOCUMENT).0, Era::Legacy).await;
    let peer = client.service.peer();
    #[expect(deprecated, reason = "older clients subscribe this way")]
    let subscribe = |uri: &str| peer.subscribe(rmcp::model::SubscribeRequestParams::new(uri));
    subscribe("notes://today").await.unwrap();
    assert!(subscribe("notes://a/b").await.is_err());
    #[expect(deprecated, reason = "older clients subscribe this way")]
    peer.unsubscribe(rmcp::model::UnsubscribeRequestParams::new("notes://today"))
        .await
        .unwrap();
}
