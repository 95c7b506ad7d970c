//! Random graphs over the test server, made of every kind of step.
//!
//! Every graph ends in a transform that collects the outputs of its nodes, so that anything lost,
//! repeated or mixed up shows in the result.

use super::seeded_rng::SeededRng;
use crate::processes::MARK;
use serde_json::{Value, json};
use std::path::Path;

/// The environment variable with the path of a run's call log.
pub(super) const LOG: &str = "SOAK_LOG";

/// The tool that every graph offers.
pub(super) const TOOL: &str = "soak";

/// The output of `record`, which is also the assumed output of a call in doubt that happened.
pub(super) const RECORDED: &str = "recorded";

/// Longest delay of one call, in milliseconds: more makes the soak longer, not harder.
const DELAY_MS_MAX: u64 = 30;

/// The output of the previous node as text; truncated, since nested texts grow.
const BEFORE: &str = "$substring($string($previousNode()), 0, 60)";

/// A document with one graph, as JSON, which is also YAML.
pub(super) fn document(chance: &mut SeededRng, unruly: &Path) -> Value {
    let mut plan = RandomGraph {
        nodes: Vec::new(),
        gathered: Vec::new(),
        count: 0,
    };
    let parts = chance.between(3, 7);
    let mut heads = vec![json!({"id": "entry", "type": "entry"})];
    // Each graph has at least one non-repeatable call.
    plan.call(chance, "record", &mut heads);
    for _ in 0..parts {
        match chance.between(1, 10) {
            1..=3 => plan.call(chance, "record", &mut heads),
            4 => plan.call(chance, "echo", &mut heads),
            5 => plan.call(chance, "add", &mut heads),
            6 => plan.compute(&mut heads),
            7 => plan.flaky(chance, &mut heads),
            8 => plan.loop_call(chance, &mut heads),
            _ => plan.parallel_calls(chance, &mut heads),
        }
    }
    plan.finish(heads);
    json!({
        "version": "1.0",
        "server": {"name": "soak", "version": "1.0.0"},
        "mcpServers": {"u": {
            "command": unruly,
            "args": [],
            "env": {"UNRULY_LOG": format!("${{{LOG}}}"), MARK: format!("${{{MARK}}}")},
        }},
        "tools": [{
            "name": TOOL,
            "description": "Calls the test server in many ways. Returns the output of each call.",
            "inputSchema": {
                "type": "object",
                "properties": {"files": {"type": "string"}},
                "required": ["files"],
            },
            "nodes": plan.nodes,
        }],
    })
}

/// A graph that grows at its end: `heads` are the nodes that lead to the next one.
struct RandomGraph {
    nodes: Vec<Value>,
    /// The expressions whose values form the result.
    gathered: Vec<String>,
    count: u64,
}

impl RandomGraph {
    fn id(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}_{}", self.count)
    }

    /// Connects all heads to the node with this id, and adds them.
    fn connect(&mut self, heads: &mut Vec<Value>, to: &Value) {
        for mut head in heads.drain(..) {
            head["next"] = to.clone();
            self.nodes.push(head);
        }
    }

    fn call_node(&mut self, chance: &mut SeededRng, tool: &str) -> Value {
        let id = self.id(tool);
        let args = match tool {
            "record" if chance.percent(60) => {
                json!({"node": id, "delay_ms": chance.between(0, DELAY_MS_MAX)})
            }
            "record" => json!({"node": id}),
            "add" => json!({"a": self.count, "b": chance.between(0, 1000)}),
            _ => json!({"said": {"expr": format!("\"{id} after \" & {BEFORE}")}}),
        };
        self.gathered.push(format!("\"{id}\": {id}"));
        json!({"id": id, "type": "mcp", "server": "u", "tool": tool, "args": args})
    }

    fn call(&mut self, chance: &mut SeededRng, tool: &str, heads: &mut Vec<Value>) {
        let node = self.call_node(chance, tool);
        self.connect(heads, &node["id"]);
        heads.push(node);
    }

    fn compute(&mut self, heads: &mut Vec<Value>) {
        let id = self.id("compute");
        let expr = format!("{{\"at\": \"{id}\", \"saw\": {BEFORE}}}");
        self.gathered.push(format!("\"{id}\": {id}"));
        self.connect(heads, &json!(id));
        heads.push(json!({"id": id, "type": "transform", "transform": {"expr": expr}}));
    }

    /// A call that fails before it succeeds. The number of calls depends on the kills, so its
    /// output is not collected.
    fn flaky(&mut self, chance: &mut SeededRng, heads: &mut Vec<Value>) {
        let id = self.id("flaky");
        let file = format!("entry.files & \"/{id}\"");
        self.connect(heads, &json!(id));
        heads.push(json!({
            "id": id, "type": "mcp", "server": "u", "tool": "flaky", "idempotent": true,
            "args": {"file": {"expr": file}, "fail_times": chance.between(1, 2)},
            "retry": {"max": 30, "wait_ms": chance.between(1, 10), "backoff": 1},
        }));
        // A step with the same output however often the previous one was tried.
        let steady = self.id("steady");
        self.connect(heads, &json!(steady));
        heads.push(json!({"id": steady, "type": "transform", "transform": {"expr": "\"steady\""}}));
    }

    /// A call in a loop, with the visit among its arguments.
    fn loop_call(&mut self, chance: &mut SeededRng, heads: &mut Vec<Value>) {
        let (id, again, after) = (self.id("loop"), self.id("again"), self.id("after"));
        let visit = json!({"expr": format!("$executionCount(\"{id}\")")});
        self.connect(heads, &json!(id));
        self.nodes.push(json!({
            "id": id, "type": "mcp", "server": "u", "tool": "record",
            "args": {"node": id, "visit": visit}, "next": again,
        }));
        let count = json!({"var": format!("$executionCount('{id}')")});
        self.nodes.push(json!({
            "id": again, "type": "switch", "next": after,
            "conditions": [{"rule": {"<": [count, chance.between(2, 5)]}, "next": id}],
        }));
        let expr = format!("$join($nodeExecutions(\"{id}\"), \" \")");
        self.gathered.push(format!("\"{after}\": {after}"));
        heads.push(json!({"id": after, "type": "transform", "transform": {"expr": expr}}));
    }

    fn parallel_calls(&mut self, chance: &mut SeededRng, heads: &mut Vec<Value>) {
        let kinds = ["record", "record", "echo", "add"];
        let (join, width) = (self.id("join"), chance.between(2, 5));
        let mut firsts = Vec::new();
        for _ in 0..width {
            let kind = chance.pick(&kinds).copied().unwrap_or("record");
            firsts.push(self.call_node(chance, kind));
        }
        let ids: Vec<Value> = firsts.iter().map(|node| node["id"].clone()).collect();
        self.connect(heads, &json!(ids));
        for mut node in firsts {
            if chance.percent(50) {
                let second = self.call_node(chance, "record");
                node["next"] = second["id"].clone();
                self.nodes.push(node);
                node = second;
            }
            node["next"] = json!(join);
            self.nodes.push(node);
        }
        let expr = "\"joined\"";
        heads.push(
            json!({"id": join, "type": "transform", "join": "all", "transform": {"expr": expr}}),
        );
    }

    fn finish(&mut self, mut heads: Vec<Value>) {
        self.connect(&mut heads, &json!("gather"));
        let expr = format!("{{{}}}", self.gathered.join(", "));
        self.nodes.push(
            json!({"id": "gather", "type": "transform", "transform": {"expr": expr}, "next": "exit"}),
        );
        self.nodes.push(json!({"id": "exit", "type": "exit"}));
    }
}
