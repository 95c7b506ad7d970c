//! Intents: what may run from words alone, who plans instead, and how a plan is submitted.

use super::super::support::{Client, Era, connect, structured};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;
use tramline_engine::EngineOptions;
use tramline_engine::policy::{ToolPattern, ToolPolicy};
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore, ScriptedModel};
use tramline_expr::Value;
use tramline_mcp_server::{Server, ServerDescription, ServerOptions, Toolset};
use tramline_planner::Services;
use tramline_workflow::failure::{Failure, FailureKind};

const READS: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

const NAMED: &str =
    r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

/// Four tools of a bank without annotations, and one that only reads.
fn bank_tools() -> FakeTools {
    let none = ToolHints::default();
    let mut tools = FakeTools::new();
    for (name, says) in [
        ("close_account", "Closes the account of a customer"),
        ("send_invoice", "Sends an invoice to a customer"),
        ("pay_invoice", "Pays the invoice of a supplier"),
        ("open_account", "Opens an account for a customer"),
    ] {
        tools = tools
            .tool("bank", name, none, |given: Value| async move { Ok(given) })
            .described("bank", name, says, NAMED);
    }
    tools
        .tool("bank", "show_balance", READS, |given: Value| async move {
            Ok(given)
        })
        .described(
            "bank",
            "show_balance",
            "Shows the balance of an account",
            NAMED,
        )
}

/// A bank whose processes share a store.
struct Bank {
    store: MemoryStore,
    tools: Arc<FakeTools>,
    model: Option<Arc<ScriptedModel>>,
    options: EngineOptions,
}

impl Bank {
    fn new() -> Self {
        Self {
            store: MemoryStore::default(),
            tools: Arc::new(bank_tools()),
            model: None,
            options: EngineOptions::default(),
        }
    }

    fn with_model(model: ScriptedModel) -> Self {
        Self {
            model: Some(Arc::new(model)),
            ..Self::new()
        }
    }

    fn services(&self) -> Services {
        let store = Arc::new(self.store.process());
        Services::new(
            store,
            Arc::<FakeTools>::clone(&self.tools),
            self.options.clone(),
        )
    }

    /// A client of a server in a new process, with the control toolset only.
    async fn client(&self) -> Client {
        let conduct = ServerOptions {
            model: self.model.clone().map(|model| model as _),
            ..ServerOptions::default()
        };
        let sets = [Toolset::Control];
        let server = Server::with_options(
            self.services(),
            ServerDescription::default(),
            &sets,
            Vec::new(),
            conduct,
        );
        connect(&server.unwrap(), Era::Modern).await
    }

    async fn call(&self, tool: &str, arguments: Json) -> Json {
        let result = self.client().await.call(tool, arguments).await;
        structured(&result).clone()
    }

    fn called(&self) -> Vec<String> {
        let calls = self.tools.calls().into_iter();
        calls.map(|call| call.tool.to_string()).collect()
    }
}

#[tokio::test]
async fn nothing_that_may_have_an_effect_runs_from_words_alone() {
    let bank = Bank::new();
    for intent in [
        "Do not close the account of 'Ada'",
        "Has the invoice for 'ACME' been paid?",
        "Close the account of 'Ada'",
        "send invoice to 'ACME'",
        "pay invoice 'ACME'",
        "Never open an account for 'Bob'",
        "open account",
        "stop sending invoices to 'ACME'",
    ] {
        let told = bank.call("execute_dag", json!({ "intent": intent })).await;
        assert_eq!(told["status"], "suggestion", "{intent}: {told}");
        assert!(
            !told["why_not_run"].as_array().unwrap().is_empty(),
            "{told}"
        );
        for key in [
            "suggested_dag",
            "confidence",
            "explanation",
            "missing_arguments",
        ] {
            assert!(told.get(key).is_some(), "{key}: {told}");
        }
    }
    assert_eq!(bank.called(), Vec::<String>::new());
}

/// A history that makes the planner certain about reading a balance.
async fn teach_planner(bank: &Bank) {
    let step = json!({"id": "a", "tool": "bank:show_balance", "arguments": {"name": "Ada"}, "depends_on": []});
    for _ in 0..6 {
        let given = json!({"intent": "show the balance of the account 'Ada'",
            "workflow": {"tasks": [step]}});
        assert_eq!(bank.call("execute_dag", given).await["status"], "complete");
    }
}

#[tokio::test]
async fn what_only_reads_runs_when_it_is_sure_and_plainly_asked_for() {
    let bank = Bank::new();
    teach_planner(&bank).await;
    let count = bank.called().len();
    let told = bank
        .call(
            "execute_dag",
            json!({"intent": "show the balance of the account 'Bob'"}),
        )
        .await;
    assert_eq!(told["status"], "complete", "{told}");
    assert_eq!(told["plan"]["planner"], "words");
    assert_eq!(told["results"][0]["output"]["name"], "Bob");
    for intent in [
        "do not show the balance of the account 'Bob'",
        "show the balance of the account 'Bob'?",
        "could you show the balance of the account 'Bob'",
        "show the balance of the account 'Bob' if it is open",
        "show the balance of the account",
        "show the balance of the account 'Bob', close the account 'Ada'",
    ] {
        let told = bank.call("execute_dag", json!({ "intent": intent })).await;
        assert_eq!(told["status"], "suggestion", "{intent}: {told}");
    }
    assert_eq!(bank.called().len(), count + 1);
}

#[tokio::test]
async fn parts_that_the_plan_leaves_out_are_listed_in_the_reply() {
    let bank = Bank::new();
    let intent = json!({"intent": "show the balance of the account 'Bob', paint the fence"});
    let told = bank.call("execute_dag", intent).await;
    assert_eq!(told["status"], "suggestion", "{told}");
    assert_eq!(told["unmet"], json!(["paint the fence"]), "{told}");
    assert!(
        told["why_not_run"].to_string().contains("paint the fence"),
        "{told}"
    );
}

#[tokio::test]
async fn plans_that_were_given_or_submitted_teach_and_those_from_words_do_not() {
    let bank = Bank::new();
    teach_planner(&bank).await;
    let lessons = async || {
        let all = bank
            .services()
            .planner
            .history()
            .learned_plans()
            .await
            .unwrap()
            .into_iter();
        let mut all: Vec<_> = all.map(|one| (one.intent.to_string(), one.count)).collect();
        all.sort();
        all
    };
    let given = ("show the balance of the account #".to_owned(), 6);
    assert_eq!(lessons().await, std::slice::from_ref(&given));
    let intent = json!({"intent": "show the balance of the account 'Bob'"});
    let ran = bank.call("execute_dag", intent).await;
    assert_eq!(ran["plan"]["planner"], "words", "{ran}");
    assert_eq!(lessons().await, std::slice::from_ref(&given));
    let intent = json!({"intent": "close account 'Ada'"});
    let told = bank.call("execute_dag", intent).await;
    assert_eq!(told["status"], "suggestion", "{told}");
    assert_eq!(lessons().await, std::slice::from_ref(&given));
    let done = bank.call("submit_plan", example_plan(&told)).await;
    assert_eq!(done["status"], "complete", "{done}");
    assert_eq!(lessons().await, [("close account #".to_owned(), 1), given]);
}

#[tokio::test]
async fn what_a_person_must_agree_to_does_not_run_from_words() {
    let mut bank = Bank::new();
    teach_planner(&bank).await;
    bank.options.policy = ToolPolicy {
        ask: vec![ToolPattern::parse("bank:show_*").unwrap()],
        deny: Vec::new(),
    };
    let intent = json!({"intent": "show the balance of the account 'Bob'"});
    let told = bank.call("execute_dag", intent).await;
    assert_eq!(told["status"], "suggestion", "{told}");
    let tool = &told["plan_request"]["tools"][0];
    assert_eq!(tool["needs_approval"], true, "{told}");
}

#[tokio::test]
async fn a_configured_model_plans_and_its_plan_runs_like_the_caller_s() {
    let plan = json!({"plan": [{"id": "a", "tool": "bank:pay_invoice", "args": {"name": "ACME"}}]});
    let bank = Bank::with_model(ScriptedModel::new([plan.to_string()]));
    // From words alone, the planner would choose another tool.
    teach_planner(&bank).await;
    let intent = json!({"intent": "show the balance of the account 'ACME'"});
    let told = bank.call("execute_dag", intent).await;
    assert_eq!(told["status"], "complete", "{told}");
    assert_eq!(told["plan"]["planner"], "model");
    assert_eq!(bank.called().last().unwrap(), "bank:pay_invoice");
}

#[tokio::test]
async fn a_model_s_plan_asks_where_a_caller_s_would() {
    let plan = json!({"plan": [{"id": "a", "tool": "bank:pay_invoice", "args": {"name": "ACME"}}]});
    let mut bank = Bank::with_model(ScriptedModel::new([plan.to_string()]));
    bank.options.policy = ToolPolicy {
        ask: vec![ToolPattern::parse("bank:pay_*").unwrap()],
        deny: Vec::new(),
    };
    let told = bank
        .call("execute_dag", json!({"intent": "settle what we owe"}))
        .await;
    assert_eq!(told["checkpoint_type"], "approval_required", "{told}");
    assert_eq!(bank.called(), Vec::<String>::new());
}

#[tokio::test]
async fn where_the_model_has_no_plan_words_do_not_take_over() {
    let fails = Failure::new(FailureKind::Unavailable, "the model is away");
    for model in [
        ScriptedModel::new([r#"{"plan": []}"#]),
        ScriptedModel::default().then_fail(fails),
        ScriptedModel::new(["I would rather not.", "Still not."]),
    ] {
        let taught_one = Bank::new();
        teach_planner(&taught_one).await;
        let bank = Bank {
            model: Some(Arc::new(model)),
            ..taught_one
        };
        let count = bank.called().len();
        let intent = json!({"intent": "show the balance of the account 'Bob'"});
        let told = bank.call("execute_dag", intent).await;
        assert_eq!(told["status"], "suggestion", "{told}");
        assert!(
            told["why_not_run"].to_string().contains("the model"),
            "{told}"
        );
        assert_eq!(bank.called().len(), count);
    }
}

/// The plan in the example, as an agent would complete it.
fn example_plan(told: &Json) -> Json {
    let example = &told["plan_request"]["example"];
    assert_eq!(example["tool"], "submit_plan", "{told}");
    assert_eq!(example["arguments"]["handle"], told["handle"], "{told}");
    example["arguments"].clone()
}

#[tokio::test]
async fn a_plan_is_submitted_to_another_process_with_config_budget_and_session() {
    let bank = Bank::new();
    let asked = json!({"intent": "Close the account of 'Ada' and send invoice to 'Ada'",
        "config": {"per_layer_validation": true}, "budget": {"calls": 1}, "session_id": "s"});
    let told = bank.call("execute_dag", asked).await;
    assert_eq!(told["status"], "suggestion", "{told}");
    let asks = &told["plan_request"];
    let tools = asks["tools"].as_array().unwrap();
    assert!(tools.len() <= 8, "{asks}");
    assert!(tools.iter().all(|tool| tool["argsSchema"].is_object()));
    assert!(asks["plan_schema"]["properties"]["plan"]["items"].is_object());
    assert!(asks["open"]["why_not_run"].is_array(), "{asks}");
    let plan = json!([
        {"id": "close", "tool": tools[0]["name"], "args": {"name": "Ada"}},
        {"id": "more", "tool": tools[1]["name"], "args": {"name": "Ada"}}]);
    let other = json!({"handle": told["handle"], "plan": plan, "session_id": "t"});
    let refused = bank.call("submit_plan", other).await;
    assert_eq!(refused["error"]["code"], -32001, "{refused}");
    let given = json!({"handle": told["handle"], "plan": plan});
    let first = bank.call("submit_plan", given.clone()).await;
    assert_eq!(first["status"], "layer_complete", "{first}");
    assert_eq!(bank.called().len(), 1);
    let id = first["workflow_id"].clone();
    let stranger = bank.call("continue", json!({"workflow_id": id})).await;
    assert_eq!(stranger["error"]["code"], -32001, "{stranger}");
    let next = json!({"workflow_id": id, "session_id": "s"});
    let next = bank.call("continue", next).await;
    assert_eq!(next["checkpoint_type"], "budget_exceeded", "{next}");
    let again = bank.call("submit_plan", given).await;
    assert_eq!(again["error"]["data"]["name"], "NOT_FOUND", "{again}");
}

#[tokio::test]
async fn the_example_of_a_plan_request_can_be_submitted_as_it_is() {
    let bank = Bank::new();
    let told = bank
        .call("execute_dag", json!({"intent": "close account 'Ada'"}))
        .await;
    let done = bank.call("submit_plan", example_plan(&told)).await;
    assert_eq!(done["status"], "complete", "{done}");
    assert_eq!(bank.called(), ["bank:close_account"]);
}

#[tokio::test]
async fn a_plan_that_cannot_be_used_leaves_the_question_open() {
    let bank = Bank::new();
    let told = bank
        .call("execute_dag", json!({"intent": "close account"}))
        .await;
    let give = |plan: Json| json!({"handle": told["handle"], "plan": plan});
    for bad in [
        json!([]),
        json!([{"tool": "bank:close_acount", "args": {}}]),
        json!([{"tol": "bank:close_account", "args": {}}]),
        json!([{"id": "a", "tool": "bank:close_account", "args": {}, "depends_on": ["b"]}]),
    ] {
        let refused = bank.call("submit_plan", give(bad.clone())).await;
        assert_eq!(refused["error"]["code"], -32602, "{bad} {refused}");
        assert_eq!(refused["error"]["data"]["handle"], told["handle"]);
    }
    let good = json!([{"id": "b", "tool": "bank:close_account", "args": {"name": "Ada"}, "depends_on": ["a"]},
        {"id": "a", "tool": "bank:show_balance", "args": {"name": "Ada"}, "depends_on": []}]);
    let done = bank.call("submit_plan", give(good)).await;
    assert_eq!(done["status"], "complete", "{done}");
    assert_eq!(bank.called(), ["bank:show_balance", "bank:close_account"]);
}

/// While the plan of a handle runs, in this process or in one that has died, the handle names its run and executes
/// nothing.
#[tokio::test]
async fn a_handle_whose_plan_runs_cannot_be_used_again() {
    let mut bank = Bank::new();
    let (entered, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (inside, opened) = (Arc::clone(&entered), Arc::clone(&gate));
    let first = Arc::new(AtomicBool::new(true));
    let slow = move |given: Value| {
        let (inside, opened, first) = (inside.clone(), opened.clone(), first.clone());
        async move {
            inside.add_permits(1);
            if first.swap(false, Ordering::Relaxed) {
                let _ = opened.acquire().await;
            }
            Ok(given)
        }
    };
    bank.tools = Arc::new(bank_tools().tool("bank", "wire", ToolHints::default(), slow));
    let told = bank
        .call("execute_dag", json!({"intent": "close account 'Ada'"}))
        .await;
    let plan = json!([{"id": "w", "tool": "bank:wire", "args": {}}]);
    let given = json!({"handle": told["handle"], "plan": plan});
    let winner = bank.call("submit_plan", given.clone());
    let others = async {
        let _ = entered.acquire().await;
        for _ in 0..3 {
            let again = bank.call("submit_plan", given.clone()).await;
            assert_eq!(again["error"]["data"]["name"], "NOT_FOUND", "{again}");
            let run = again["error"]["data"]["workflow_id"].clone();
            assert!(run.is_string(), "{again}");
            assert_eq!(again["error"]["data"]["handle"], told["handle"]);
        }
        gate.add_permits(1);
    };
    let (done, ()) = tokio::join!(winner, others);
    assert_eq!(done["status"], "complete", "{done}");
    assert_eq!(bank.called(), ["bank:wire"]);
    let after = bank.call("submit_plan", given).await;
    assert_eq!(
        after["error"]["data"]["workflow_id"], done["workflow_id"],
        "{after}"
    );
    assert_eq!(bank.called(), ["bank:wire"]);
}

/// Of submissions that arrive together, one is executed.
#[tokio::test]
async fn of_plans_submitted_at_once_one_is_executed() {
    let bank = Bank::new();
    let told = bank
        .call("execute_dag", json!({"intent": "close account 'Ada'"}))
        .await;
    let plan = json!([{"id": "c", "tool": "bank:close_account", "args": {"name": "Ada"}}]);
    let given = json!({"handle": told["handle"], "plan": plan});
    let all = (0..8).map(|_| bank.call("submit_plan", given.clone()));
    let replies = futures_util::future::join_all(all).await;
    let done = replies.iter().filter(|reply| reply["status"] == "complete");
    assert_eq!(done.count(), 1, "{replies:?}");
    assert_eq!(bank.called(), ["bank:close_account"]);

    let first = waiting(&bank).await;
    let wish = json!({"workflow_id": first["workflow_id"], "new_requirement": "do not close account 'Ada'"});
    let told = bank.call("replan", wish).await;
    let plan = |id: usize| json!([{"id": id.to_string(), "tool": "bank:send_invoice", "args": {"name": "Ada"}}]);
    let all = (0..8).map(|id| {
        bank.call(
            "submit_plan",
            json!({"handle": told["handle"], "plan": plan(id)}),
        )
    });
    let replies = futures_util::future::join_all(all).await;
    let added = replies
        .iter()
        .filter(|reply| reply["status"] == "replanned");
    assert_eq!(added.count(), 1, "{replies:?}");
}

/// A workflow that waits after its first layer.
async fn waiting(bank: &Bank) -> Json {
    let task = |id: &str, after: Json| json!({"id": id, "tool": "bank:show_balance", "arguments": {"name": id}, "depends_on": after});
    let tasks = json!([task("one", json!([])), task("two", json!(["one"]))]);
    let given = json!({"workflow": {"tasks": tasks}, "config": {"per_layer_validation": true}});
    bank.call("execute_dag", given).await
}

#[tokio::test]
async fn a_requirement_adds_nothing_from_words_and_takes_a_submitted_plan() {
    let bank = Bank::new();
    let first = waiting(&bank).await;
    let id = first["workflow_id"].clone();
    let wish = json!({"workflow_id": id, "new_requirement": "do not close account 'Ada'"});
    let told = bank.call("replan", wish).await;
    assert_eq!(told["status"], "suggestion", "{told}");
    assert_eq!(told["workflow_id"], id);
    let finished = &told["plan_request"]["finished_tasks"];
    assert_eq!(finished[0]["id"], "one", "{told}");
    let plan = json!([{"id": "three", "tool": "bank:show_balance", "args": {"name": "$OUTPUT[one].name"}}]);
    let given = json!({"handle": told["handle"], "plan": plan});
    let added = bank.call("submit_plan", given).await;
    assert_eq!(added["status"], "replanned", "{added}");
    assert_eq!(added["new_tasks"][0]["id"], "three");
    let mut told = added;
    while told["status"] != "complete" {
        told = bank.call("continue", json!({"workflow_id": id})).await;
        assert!(told["error"].is_null(), "{told}");
    }
    let results = told["results"].as_array().unwrap();
    let three = results.iter().find(|result| result["task_id"] == "three");
    assert_eq!(three.unwrap()["output"]["name"], "one", "{told}");
}

#[tokio::test]
async fn a_requirement_is_planned_by_the_model_with_what_is_done() {
    let plan = json!({"plan": [{"id": "one", "tool": "bank:show_balance", "args": {"name": "$OUTPUT[two].name"}}]});
    let model = ScriptedModel::new([plan.to_string()]);
    let bank = Bank::with_model(model);
    let first = waiting(&bank).await;
    let id = first["workflow_id"].clone();
    let wish = json!({"workflow_id": id, "new_requirement": "look at it again",
        "available_context": {"hint": "balance"}});
    let told = bank.call("replan", wish).await;
    assert_eq!(told["status"], "replanned", "{told}");
    assert_eq!(told["new_tasks"][0]["id"], "one_2", "{told}");
    let asked = bank.model.as_ref().unwrap().prompts();
    let prompt = format!("{asked:?}");
    assert!(
        prompt.contains("finished_tasks") && prompt.contains("hint"),
        "{prompt}"
    );
}

#[tokio::test]
async fn a_slip_in_config_or_budget_is_told_with_what_was_meant() {
    let bank = Bank::new();
    let tasks = json!([{"id": "a", "tool": "bank:show_balance", "arguments": {"name": "A"}}]);
    for (given, hint) in [
        (
            json!({"workflow": {"tasks": tasks}, "config": {"per_layer_validaton": true}}),
            "did you mean `per_layer_validation`?",
        ),
        (
            json!({"intent": "show balance", "config": {"per_layer_validaton": true}}),
            "did you mean `per_layer_validation`?",
        ),
        (
            json!({"intent": "show balance", "budget": {"call": 1}}),
            "did you mean `calls`?",
        ),
        (json!({"intnet": "show balance"}), "did you mean `intent`?"),
    ] {
        let refused = bank.call("execute_dag", given.clone()).await;
        let error = &refused["error"];
        assert_eq!(error["code"], -32602, "{given} {refused}");
        assert!(
            error["message"].as_str().unwrap().contains(hint),
            "{refused}"
        );
    }
    assert_eq!(bank.called(), Vec::<String>::new());
}

#[tokio::test]
async fn the_placeholders_of_the_example_are_no_values() {
    let bank = Bank::new();
    let asked = bank
        .call("execute_dag", json!({"intent": "open account"}))
        .await;
    let example = &asked["plan_request"]["example"];
    let plan = &example["arguments"]["plan"];
    assert_eq!(plan[0]["args"]["name"], "<name>", "{asked}");
    let told = bank.call("submit_plan", example["arguments"].clone()).await;
    let message = told["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("`name`") && message.contains("<name>"),
        "{told}"
    );
    let tool = &plan[0]["tool"];
    let task = |name: Json| json!([{"id": "a", "tool": tool, "arguments": {"name": name}}]);
    let told = bank.call(
        "execute_dag",
        json!({"workflow": {"tasks": task("<name>".into())}}),
    );
    assert!(told.await["error"].is_object());
    assert!(bank.called().is_empty());
    // The handle stays open, and text that happens to look like a placeholder can be sent.
    let literal = json!({"type": "literal", "value": "<name>"});
    let fixed = json!({"handle": asked["handle"], "plan": task(literal)});
    let told = bank.call("submit_plan", fixed).await;
    assert_eq!(told["status"], "complete", "{told}");
    assert_eq!(bank.called().len(), 1);
}
