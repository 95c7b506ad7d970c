//! The three workflow patterns of the control tools as they are taught: with a model that plans,
//! and with an agent that submits its plans through `submit_plan`.

use super::super::loops::stub::{StubModel, StubReply};
use super::{Workspace, call, git, step, submit};
use crate::test_servers::StdioClient;
use serde_json::{Value, json};

/// Who plans.
enum Planner {
    Model,
    Agent,
}

/// An agent with its client, in a workspace.
struct Agent {
    house: Workspace,
    client: StdioClient,
    planner: Planner,
    _model: Option<StubModel>,
}

impl Agent {
    /// With a model that returns these plans in order, or without one.
    fn new(planner: Planner, plans: impl Fn(&Workspace) -> Vec<Value>) -> Option<Self> {
        let house = Workspace::new()?;
        let model = match planner {
            Planner::Agent => None,
            Planner::Model => {
                let says = plans(&house).into_iter();
                let says = says.map(|plan| StubReply::Text(json!({ "plan": plan }).to_string()));
                Some(StubModel::start(says.collect()))
            }
        };
        let client = house.serve(model.as_ref().map(|model| model.url.as_str()));
        Some(Self {
            house,
            client,
            planner,
            _model: model,
        })
    }

    /// Calls a tool; if the reply requests a plan, submits one made from what it offers.
    fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        plan: impl Fn(&Workspace, &Value) -> Value,
    ) -> Value {
        let reply = call(&mut self.client, tool, arguments);
        match self.planner {
            Planner::Model => reply,
            Planner::Agent => {
                let plan = plan(&self.house, &reply);
                submit(&mut self.client, &reply, plan)
            }
        }
    }
}

fn validated(intent: &str) -> Value {
    json!({"intent": intent, "config": {"per_layer_validation": true}})
}

/// Pattern 1: check each layer, and continue.
fn progressive_validation(planner: Planner) {
    let intent = "Analyze codebase for TypeScript errors";
    let args = |house: &Workspace| {
        let project = house.project();
        let find = json!({"path": project, "pattern": "**/*.ts"});
        (find, json!({"path": project.join("src/line.ts")}))
    };
    let plans = |house: &Workspace| {
        let (find, read) = args(house);
        vec![
            json!([{"id": "find", "tool": "files:search_files", "args": find},
            {"id": "read", "tool": "files:read_text_file", "args": read}]),
        ]
    };
    let Some(mut agent) = Agent::new(planner, plans) else {
        return;
    };
    let mut response = agent.call("execute_dag", validated(intent), |house, reply| {
        let (find, read) = args(house);
        json!([
            step(reply, "find", &["search_files"], find),
            step(reply, "read", &["read_text_file", "read_file"], read)
        ])
    });
    let mut layers = 0;
    while response["status"] == "layer_complete" {
        layers += 1;
        let valid = response["layer_results"].as_array().unwrap();
        assert!(
            valid.iter().all(|one| one["status"] == "success"),
            "{response}"
        );
        let next = json!({"workflow_id": response["workflow_id"]});
        response = call(&mut agent.client, "continue", next);
    }
    agent.client.close();
    assert_eq!(response["status"], "complete", "{response}");
    assert_eq!(
        (layers, response["results"].as_array().map(Vec::len)),
        (1, Some(2))
    );
}

/// Pattern 2: the result of a layer requires more tasks.
fn adaptive_discovery(planner: Planner) {
    let here = |house: &Workspace| json!({"path": house.project()});
    let xml = |house: &Workspace| json!({"path": house.project().join("data.xml")});
    let plans = |house: &Workspace| {
        let look = |id: &str, tool: &str| json!({"id": id, "tool": tool, "args": here(house)});
        vec![
            json!([
                look("tree", "files:directory_tree"),
                look("list", "files:list_directory")
            ]),
            json!([{"id": "xml", "tool": "files:read_text_file", "args": xml(house)}]),
        ]
    };
    let Some(mut agent) = Agent::new(planner, plans) else {
        return;
    };
    let intent = validated("Analyze project structure");
    let mut response = agent.call("execute_dag", intent, |house, reply| {
        json!([
            step(reply, "tree", &["directory_tree"], here(house)),
            step(
                reply,
                "list",
                &["list_directory", "list-directory"],
                here(house)
            )
        ])
    });
    let mut extended = false;
    while response["status"] == "layer_complete" {
        let discovered = response["layer_results"].to_string().contains("data.xml");
        if discovered && !extended {
            extended = true;
            let wish = json!({"workflow_id": response["workflow_id"],
                "new_requirement": "Add XML parser - discovered data.xml file",
                "available_context": {"discovered_files": ["data.xml"]}});
            response = agent.call("replan", wish, |house, reply| {
                let readers = ["read_text_file", "read_file", "read-file"];
                json!([step(reply, "xml", &readers, xml(house))])
            });
            assert_eq!(response["status"], "replanned", "{response}");
            assert_eq!(response["options"], json!(["continue", "abort"]));
            assert_eq!(response["new_tasks"][0]["id"], "xml");
        }
        let next = json!({"workflow_id": response["workflow_id"]});
        response = call(&mut agent.client, "continue", next);
    }
    agent.client.close();
    assert_eq!(response["status"], "complete", "{response}");
    assert!(
        extended && response["results"].to_string().contains("number"),
        "{response}"
    );
}

/// Pattern 3: a person approves what is critical.
fn human_approval(planner: Planner, approves: bool) {
    let release =
        |house: &Workspace| json!({"path": house.project().join("RELEASE"), "content": "7"});
    let add = |house: &Workspace| json!({"repo_path": house.project(), "files": ["."]});
    let plans = |house: &Workspace| {
        vec![
            json!([{"id": "add", "tool": "git:git_add", "args": add(house)},
            {"id": "mark", "tool": "files:write_file", "args": release(house)}]),
        ]
    };
    let Some(mut agent) = Agent::new(planner, plans) else {
        return;
    };
    let mut response = agent.call(
        "execute_dag",
        validated("Deploy to production"),
        |house, reply| {
            let mut mark = step(
                reply,
                "mark",
                &["git_commit"],
                json!({"repo_path": house.project(), "message": "Deploy"}),
            );
            mark["approval"] = json!("Deploy to production?");
            json!([step(reply, "add", &["git_add"], add(house)), mark])
        },
    );
    let mut asked = 0;
    while response["status"] == "layer_complete" {
        if response["checkpoint_type"] == "approval_required" {
            asked += 1;
            assert!(response["decision_context"].is_string(), "{response}");
            let answer = json!({"workflow_id": response["workflow_id"],
                "checkpoint_id": response["checkpoint_id"], "approved": approves});
            response = call(&mut agent.client, "approval_response", answer);
            if !approves {
                break;
            }
        } else {
            let next = json!({"workflow_id": response["workflow_id"]});
            response = call(&mut agent.client, "continue", next);
        }
    }
    agent.client.close();
    let status = if approves { "complete" } else { "rejected" };
    assert_eq!(
        (asked, &response["status"]),
        (1, &json!(status)),
        "{response}"
    );
    let project = agent.house.project();
    let deployed = match agent.planner {
        Planner::Model => project.join("RELEASE").exists(),
        Planner::Agent => !git(&project, &["log", "--all", "--format=%s"]).is_empty(),
    };
    assert_eq!(deployed, approves);
}

#[test]
fn layers_are_validated_with_a_model() {
    progressive_validation(Planner::Model);
}

#[test]
fn layers_are_validated_after_submit_plan() {
    progressive_validation(Planner::Agent);
}

#[test]
fn discoveries_add_tasks_with_a_model() {
    adaptive_discovery(Planner::Model);
}

#[test]
fn discoveries_add_tasks_after_submit_plan() {
    adaptive_discovery(Planner::Agent);
}

#[test]
fn a_person_agrees_with_a_model() {
    human_approval(Planner::Model, true);
    human_approval(Planner::Model, false);
}

#[test]
fn a_person_agrees_after_submit_plan() {
    human_approval(Planner::Agent, true);
    human_approval(Planner::Agent, false);
}
