//! Graphs over the unruly server, put together by chance from every kind of step there is.
//!
//! Every graph ends in a transform that gathers what its nodes gave, so that whatever is lost,
//! repeated or mixed up on the way shows in the result.

use super::chance::Chance;
use crate::processes::MARK;
use serde_json::{Value, json};
use std::path::Path;

/// The environment variable with the path of a run's log of calls.
pub(super) const LOG: &str = "SOAK_LOG";

/// The tool that every graph offers.
pub(super) const TOOL: &str = "soak";

/// What `record` gives, which is also what a call that happened is taken to have given.
pub(super) const RECORDED: &str = "recorded";

/// More delay than this in one call makes the soak long without making it harder.
const DELAY_MS_MAX: u64 = 30;

/// What the node before gave, as text; cut, since texts in texts in texts grow.
const BEFORE: &str = "$substring($string($previousNode()), 0, 60)";

/// A document with one graph, as JSON, which is YAML too.
pub(super) fn document(chance: &mut Chance, unruly: &Path) -> Value {
    let mut plan = Plan {
        nodes: Vec::new(),
        gathered: Vec::new(),
        count: 0,
    };
    let parts = chance.between(3, 7);
    let mut heads = vec![json!({"id": "entry", "type": "entry"})];
    // Each graph has at least one call that may not be repeated.
    plan.call(chance, "record", &mut heads);
    for _ in 0..parts {
        match chance.between(1, 10) {
            1..=3 => plan.call(chance, "record", &mut heads),
            4 => plan.call(chance, "echo", &mut heads),
            5 => plan.call(chance, "add", &mut heads),
            6 => plan.compute(&mut heads),
            7 => plan.flaky(chance, &mut heads),
            8 => plan.again_and_again(chance, &mut heads),
            _ => plan.side_by_side(chance, &mut heads),
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
            "description": "Calls the unruly server in many ways. Gives what each call gave.",
            "inputSchema": {
                "type": "object",
                "properties": {"files": {"type": "string"}},
                "required": ["files"],
            },
            "nodes": plan.nodes,
        }],
    })
}

/// A graph that grows at its end: `heads` are the nodes that lead to whatever comes next.
struct Plan {
    nodes: Vec<Value>,
    /// The expressions whose values make up the result.
    gathered: Vec<String>,
    count: u64,
}

impl Plan {
    fn id(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}_{}", self.count)
    }

    /// Lets all heads lead to the node of this id, and puts them in.
    fn lead(&mut self, heads: &mut Vec<Value>, to: &Value) {
        for mut head in heads.drain(..) {
            head["next"] = to.clone();
            self.nodes.push(head);
        }
    }

    fn call_node(&mut self, chance: &mut Chance, tool: &str) -> Value {
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

    fn call(&mut self, chance: &mut Chance, tool: &str, heads: &mut Vec<Value>) {
        let node = self.call_node(chance, tool);
        self.lead(heads, &node["id"]);
        heads.push(node);
    }

    fn compute(&mut self, heads: &mut Vec<Value>) {
        let id = self.id("compute");
        let expr = format!("{{\"at\": \"{id}\", \"saw\": {BEFORE}}}");
        self.gathered.push(format!("\"{id}\": {id}"));
        self.lead(heads, &json!(id));
        heads.push(json!({"id": id, "type": "transform", "transform": {"expr": expr}}));
    }

    /// A call that fails before it works. How often it was called depends on the kills, so what
    /// it says is not gathered.
    fn flaky(&mut self, chance: &mut Chance, heads: &mut Vec<Value>) {
        let id = self.id("flaky");
        let file = format!("entry.files & \"/{id}\"");
        self.lead(heads, &json!(id));
        heads.push(json!({
            "id": id, "type": "mcp", "server": "u", "tool": "flaky", "idempotent": true,
            "args": {"file": {"expr": file}, "fail_times": chance.between(1, 2)},
            "retry": {"max": 30, "wait_ms": chance.between(1, 10), "backoff": 1},
        }));
        // A step that says the same however often the one before was tried.
        let steady = self.id("steady");
        self.lead(heads, &json!(steady));
        heads.push(json!({"id": steady, "type": "transform", "transform": {"expr": "\"steady\""}}));
    }

    /// A call in a loop, its visit among its arguments.
    fn again_and_again(&mut self, chance: &mut Chance, heads: &mut Vec<Value>) {
        let (id, again, after) = (self.id("loop"), self.id("again"), self.id("after"));
        let visit = json!({"expr": format!("$executionCount(\"{id}\")")});
        self.lead(heads, &json!(id));
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

    fn side_by_side(&mut self, chance: &mut Chance, heads: &mut Vec<Value>) {
        let kinds = ["record", "record", "echo", "add"];
        let (join, width) = (self.id("join"), chance.between(2, 5));
        let mut firsts = Vec::new();
        for _ in 0..width {
            let kind = chance.pick(&kinds).copied().unwrap_or("record");
            firsts.push(self.call_node(chance, kind));
        }
        let ids: Vec<Value> = firsts.iter().map(|node| node["id"].clone()).collect();
        self.lead(heads, &json!(ids));
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
        self.lead(&mut heads, &json!("gather"));
        let expr = format!("{{{}}}", self.gathered.join(", "));
        self.nodes.push(
            json!({"id": "gather", "type": "transform", "transform": {"expr": expr}, "next": "exit"}),
        );
        self.nodes.push(json!({"id": "exit", "type": "exit"}));
    }
}
