//! The intents that agents are taught, each planned by the agent from what the reply offers.

use super::{Workspace, call, git, step, submit};
use serde_json::{Value, json};

#[test]
fn the_codebase_is_analyzed_and_searched() {
    let Some(house) = Workspace::new() else {
        return;
    };
    let mut client = house.serve(None);
    let project = house.project();
    for intent in [
        "Analyze codebase for TypeScript errors",
        "Search codebase for security vulnerabilities",
        "Analyze TypeScript codebase for issues",
    ] {
        let reply = call(&mut client, "execute_dag", json!({ "intent": intent }));
        let found = json!({"path": project, "pattern": "**/*.ts"});
        let read = json!({"path": project.join("src/line.ts")});
        let plan = json!([
            step(&reply, "find", &["search_files"], found),
            step(&reply, "read", &["read_text_file", "read_file"], read)
        ]);
        let done = submit(&mut client, &reply, plan);
        assert_eq!(done["status"], "complete", "{done}");
        assert!(
            done["results"][0]["output"].to_string().contains("line.ts"),
            "{done}"
        );
        assert!(
            done["results"][1]["output"].to_string().contains("seven"),
            "{done}"
        );
    }
    client.close();
}

#[test]
fn a_database_is_migrated_layer_by_layer() {
    let Some(house) = Workspace::new() else {
        return;
    };
    let mut client = house.serve(None);
    let asked =
        json!({"intent": "Migrate database schema", "config": {"per_layer_validation": true}});
    let reply = call(&mut client, "execute_dag", asked);
    let sql = |text: &str| json!({ "query": text });
    let create = sql("CREATE TABLE stops (id INTEGER PRIMARY KEY, name TEXT)");
    let alter = sql("ALTER TABLE stops ADD COLUMN zone INTEGER");
    let plan = json!([
        step(&reply, "create", &["create_table"], create),
        step(&reply, "alter", &["write_query"], alter),
        step(
            &reply,
            "look",
            &["describe_table"],
            json!({"table_name": "stops"})
        )
    ]);
    let mut told = submit(&mut client, &reply, plan);
    let mut layers = 0;
    while told["status"] == "layer_complete" {
        layers += 1;
        told = call(
            &mut client,
            "continue",
            json!({"workflow_id": told["workflow_id"]}),
        );
    }
    client.close();
    assert_eq!((layers, &told["status"]), (2, &json!("complete")), "{told}");
    assert!(
        told["results"][2]["output"].to_string().contains("zone"),
        "{told}"
    );
}

#[test]
fn files_are_listed_and_then_parsed() {
    let Some(house) = Workspace::new() else {
        return;
    };
    let mut client = house.serve(None);
    let asked = json!({"intent": "List project files", "config": {"per_layer_validation": true}});
    let reply = call(&mut client, "execute_dag", asked);
    let here = json!({"path": house.project()});
    let plan = json!([
        step(
            &reply,
            "list",
            &["list_directory", "list-directory"],
            here.clone()
        ),
        step(&reply, "tree", &["directory_tree", "list_directory"], here)
    ]);
    let first = submit(&mut client, &reply, plan);
    assert_eq!(first["status"], "layer_complete", "{first}");
    assert!(
        first["layer_results"].to_string().contains("data.xml"),
        "{first}"
    );
    client.close();
    // Another process continues it.
    let mut client = house.serve(None);
    let wish = json!({"workflow_id": first["workflow_id"],
        "new_requirement": "Parse XML files for configuration data",
        "available_context": {"discovered_files": ["data.xml", "config.xml"]}});
    let reply = call(&mut client, "replan", wish);
    assert_eq!(reply["workflow_id"], first["workflow_id"], "{reply}");
    let read = |name: &str| json!({"path": house.project().join(name)});
    let readers = ["read_text_file", "read_file", "read-file"];
    let plan = json!([
        step(&reply, "data", &readers, read("data.xml")),
        step(&reply, "config", &readers, read("config.xml"))
    ]);
    client.close();
    let mut client = house.serve(None);
    let added = submit(&mut client, &reply, plan);
    assert_eq!(added["status"], "replanned", "{added}");
    assert_eq!(
        added["new_tasks"].as_array().map(Vec::len),
        Some(2),
        "{added}"
    );
    let mut told = added.clone();
    while told["status"] != "complete" {
        told = call(
            &mut client,
            "continue",
            json!({"workflow_id": first["workflow_id"]}),
        );
        assert!(told["error"].is_null(), "{told}");
    }
    client.close();
    let output = |id: &str| {
        let results = told["results"].as_array().unwrap().iter();
        let mut result = results.filter(|result| result["task_id"] == id);
        result
            .next()
            .map(|result| result["output"].to_string())
            .unwrap()
    };
    assert!(output("data").contains("number"), "{told}");
    assert!(output("config").contains("stops"), "{told}");
}

#[test]
fn what_is_known_is_remembered_and_committed() {
    let Some(house) = Workspace::new() else {
        return;
    };
    let mut client = house.serve(None);
    let reply = call(
        &mut client,
        "execute_dag",
        json!({"intent": "Remember that Ada prefers trains"}),
    );
    let ada = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["prefers trains"]}]});
    let plan = json!([step(&reply, "keep", &["create_entities"], ada)]);
    let done = submit(&mut client, &reply, plan);
    assert_eq!(done["status"], "complete", "{done}");
    let reply = call(
        &mut client,
        "execute_dag",
        json!({"intent": "Stage everything and commit it as 'First stop'"}),
    );
    let here = house.project();
    let add = json!({"repo_path": here, "files": ["."]});
    let commit = json!({"repo_path": here, "message": "First stop"});
    let plan = json!([
        step(&reply, "add", &["git_add"], add),
        step(&reply, "commit", &["git_commit"], commit)
    ]);
    let done: Value = submit(&mut client, &reply, plan);
    client.close();
    assert_eq!(done["status"], "complete", "{done}");
    assert_eq!(
        git(&here, &["log", "-1", "--format=%s"]).trim(),
        "First stop"
    );
}
