//! The registry: searching callables, and reading them with their schemas.

use super::support::*;
use axum::http::StatusCode;
use serde_json::json;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::FakeTools;
use tramline_engine::{Engine, ToolPattern, ToolPolicy};

const SECRET: &str = "s3cr3t-of-the-shop";

/// Two servers, a built-in tool and a workflow; one server's description contains a secret.
fn shop() -> Engine {
    let looks = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let destroys = ToolHints {
        destructive: Some(true),
        ..ToolHints::default()
    };
    let echo = |arguments| async move { Ok(arguments) };
    let mut tools = FakeTools::new()
        .tool("builtin", "http", ToolHints::default(), echo)
        .tool("shop", "cancel_order", destroys, echo)
        .tool("shop", "get_order", looks, echo)
        .described(
            "shop",
            "get_order",
            &format!("Looks an order up with {SECRET}.{}", " More.".repeat(100)),
            r#"{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}"#,
        );
    for number in 0..150 {
        tools = tools.tool("many", &format!("tool_{number:03}"), looks, echo);
    }
    let policy = ToolPolicy {
        ask: vec![ToolPattern::parse("builtin:http").unwrap()],
        deny: Vec::new(),
    };
    secretive(tools, &[("SHOP_KEY", SECRET)], policy)
}

#[tokio::test]
async fn everything_callable_is_told_in_short_and_found_by_a_part() {
    let routes = api(&shop());
    let (status, all) = get(&routes, "/api/registry").await;
    assert_eq!((status, &all["total"]), (StatusCode::OK, &json!(154)));
    assert_eq!(all["tools"].as_array().unwrap().len(), 50);
    assert_eq!(all["silent"], json!([]));
    let (_, most) = get(&routes, "/api/registry?most=100000").await;
    assert_eq!(most["tools"].as_array().unwrap().len(), 100);
    let (_, found) = get(&routes, "/api/registry?text=order").await;
    let names = |told: &serde_json::Value| {
        let tools = told["tools"].as_array().unwrap().iter();
        let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        names(&found),
        ["shop:cancel_order", "shop:get_order", "workflow:judge"]
    );
    assert_eq!(
        (&found["tools"][0]["asks"], &found["tools"][1]["asks"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(found["tools"][2]["kind"], "workflow");
    assert!(found["tools"][1].get("input_schema").is_none(), "{found}");
    let (_, found) = get(&routes, "/api/registry?text=sh*:get_*").await;
    assert_eq!(names(&found), ["shop:get_order"]);
    let (_, found) = get(&routes, "/api/registry?text=get_ordr").await;
    assert_eq!(
        (&found["tools"], &found["did_you_mean"]),
        (&json!([]), &json!("shop:get_order"))
    );
    let (status, _) = get(&routes, "/api/registry?limit=3").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn one_is_told_whole_by_any_of_its_names() {
    let routes = api(&shop());
    for name in ["shop:get_order", "mcp-shop-get_order", "shop%3Aget_order"] {
        let (status, told) = get(&routes, &format!("/api/registry/{name}")).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        assert_eq!(
            (&told["name"], &told["server"], &told["tool"]),
            (
                &json!("shop:get_order"),
                &json!("shop"),
                &json!("get_order")
            )
        );
        assert_eq!(told["input_schema"]["required"], json!(["order_id"]));
        assert_eq!(
            (&told["read_only"], told.get("destructive")),
            (&json!(true), None)
        );
    }
    let (_, told) = get(&routes, "/api/registry/http").await;
    assert_eq!(
        (&told["name"], &told["kind"], &told["asks"]),
        (&json!("builtin:http"), &json!("builtin"), &json!(true))
    );
    let (_, told) = get(&routes, "/api/registry/workflow:judge").await;
    assert_eq!(told["input_schema"]["required"], json!(["total"]));
    let (status, told) = get(&routes, "/api/registry/shop:get_oder").await;
    assert_eq!(
        (status, &told["error"]["kind"]),
        (StatusCode::NOT_FOUND, &json!("not_found"))
    );
    let said = told["error"]["message"].as_str().unwrap();
    assert!(said.contains("did you mean `shop:get_order`?"), "{said}");
}

#[tokio::test]
async fn what_servers_say_of_themselves_is_cut_and_holds_no_secret() {
    let routes = api(&shop());
    let (_, whole) = asked_text(&routes, "/api/registry/shop:get_order").await;
    let (_, list) = asked_text(&routes, "/api/registry?text=get_order").await;
    for told in [&whole, &list] {
        assert!(!told.contains(SECRET), "{told}");
        assert!(told.contains("Looks an order up with"), "{told}");
    }
    assert!(list.contains('…') && list.len() < 700, "{list}");
    assert!(whole.matches("More.").count() == 100, "{whole}");
}
