//! Of thousands of tools a planner sees the few that search finds, and a schema of just those.

use super::{SAFE, told};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tramline_engine::testing::{FakeTools, MemoryStore, ScriptedModel};
use tramline_planner::loop_runner::{LoopRequest, LoopRunner};
use tramline_planner::{ServiceOptions, Services};

const MANY: usize = 3_000;

fn many() -> FakeTools {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"},"how":{"enum":["a","b"],"type":"string"}},"required":["n"]}"#;
    let mut tools = FakeTools::new()
        .tool("zoo", "feed_penguin", SAFE, |given| async { Ok(given) })
        .described("zoo", "feed_penguin", "Gives fish to a penguin", schema)
        .tool("builtin", "finalize_summary", SAFE, |given| async {
            Ok(given)
        });
    for number in 0..MANY {
        let name = format!("gauge_{number}");
        tools = tools
            .tool("plant", &name, SAFE, |given| async { Ok(given) })
            .described("plant", &name, "Reads a gauge of the plant", "{}");
    }
    tools
}

fn runner(model: Option<Arc<ScriptedModel>>) -> LoopRunner {
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(many()), ServiceOptions::default());
    let runner = LoopRunner::new(services.planner);
    match model {
        Some(model) => runner.with_model(model),
        None => runner,
    }
}

#[tokio::test]
async fn a_model_is_shown_few_tools_and_may_name_no_other() {
    let plan = r#"{"plan": [{"id": "f", "tool": "zoo:feed_penguin", "args": {"n": 2}}]}"#;
    let model = Arc::new(ScriptedModel::new([plan]));
    let runner = runner(Some(Arc::clone(&model)));
    let mut request = LoopRequest::new("the penguins are hungry, they want fishes");
    request.recommendations = vec![json!({"tool": "gauge_77"}).into()];
    let done = runner.run(request).await.unwrap();
    assert!(done.success(), "{done:?}");
    let prompt = &model.prompts()[0];
    let shown = &prompt.messages[1].text;
    assert!(shown.contains("zoo:feed_penguin") && shown.contains("finalize_summary"));
    assert!(shown.contains("gauge_77"), "the recommended tool is shown");
    assert!(shown.matches("argsSchema").count() <= 20);
    let schema = Json::from(prompt.schema.as_ref().unwrap());
    let steps = schema["properties"]["plan"]["items"]["anyOf"]
        .as_array()
        .unwrap();
    assert!(steps.len() <= 20);
    let feed = steps
        .iter()
        .find(|step| step["properties"]["tool"]["enum"] == json!(["zoo:feed_penguin"]));
    let args = &feed.unwrap()["properties"]["args"];
    let text = json!({"type": "string"});
    assert_eq!(
        args["properties"]["n"]["anyOf"],
        json!([{"type": "integer"}, text])
    );
    assert_eq!(
        (&args["required"], &args["additionalProperties"]),
        (&json!(["n"]), &json!(false))
    );
}

#[tokio::test]
async fn an_agent_is_shown_few_too_and_only_what_it_may_use() {
    let runner = runner(None);
    let mut request = LoopRequest::new("the penguins want fishes");
    let names = |asked: &Json| -> Vec<String> {
        let tools = asked["plan_request"]["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let asked = told(&runner.run(request.clone()).await.unwrap());
    assert_eq!(names(&asked)[0], "zoo:feed_penguin");
    assert!(names(&asked).len() <= 8);
    request.available_tools = Some(vec!["plant:*".into()]);
    let asked = told(&runner.run(request).await.unwrap());
    assert_eq!(names(&asked).len(), 8);
    assert!(names(&asked).iter().all(|name| name.starts_with("plant:")));
}
