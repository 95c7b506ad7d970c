//! `tramline sop walk`: a procedure walked by hand, from a terminal or a pipe. Nothing is called.

use super::{coloured, gather, output};
use crate::cli::{Done, Exit, Stopped};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{Entry, Event, Guided, ToolAnswered};
use tramline_core::navigate::{self, Ask, Pass, Procedure, Turn};
use tramline_core::sop::{Gathering, Kind, Sop};

const HELP: &str = "NODE or its number: go there; next: walk on by itself; set NAME=VALUE: fill a slot; \
                    call TOOL [JSON]: take the tool as called with that result; help; quit";

/// Walk a procedure by hand.
#[derive(clap::Args)]
pub(super) struct Walk {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// At the end, print the flowchart with the path
    #[arg(long)]
    mermaid: bool,
}

struct Session {
    walk: navigate::Walk,
    json: bool,
}

pub(super) fn main(verb: &Walk, json: bool) -> Done {
    let read = gather(&verb.file, json)?;
    let mut session = Session {
        walk: begin(&read).map_err(Stopped::bad)?,
        json,
    };
    let input = std::io::stdin();
    if input.is_terminal() && !json {
        output::say_lines(HELP);
    }
    session.next(&Ask::default());
    for line in input.lock().lines() {
        let Ok(line) = line else { break };
        match line.trim() {
            "" => {}
            "quit" | "q" | "exit" => break,
            "help" | "?" => output::say_lines(HELP),
            "next" | "n" => session.next(&Ask::default()),
            other => session.word(other),
        }
    }
    if verb.mermaid {
        for (number, sop) in read.sops.iter().enumerate() {
            session.draw(number, sop);
        }
    }
    Ok(Exit::Done)
}

fn begin(read: &Gathering) -> Result<navigate::Walk, String> {
    let begun = Guided {
        sops: read.sops.clone(),
        files: read.files.clone(),
        session: None,
        by: "walk".into(),
        origin: Value::Null,
        owner: None,
        ttl_ms: None,
        pinned: None,
    };
    let procedures = read.sops.iter();
    let procedures = procedures.map(|sop| Procedure::build(Arc::clone(sop)).map(Arc::new));
    let procedures = procedures.collect::<Result<_, String>>()?;
    let walk = navigate::Walk::begin(RunId::new(0, 0), procedures, begun, 0);
    walk.map_err(|illegal| illegal.message)
}

impl Session {
    /// Prints the flowchart of a procedure with the nodes that were visited, if any were.
    fn draw(&self, number: usize, sop: &Arc<Sop>) {
        let visited = self.walk.visited().map(|(at, _)| at);
        let mut nodes: Vec<_> = visited.filter(|at| at.sop as usize == number).collect();
        nodes.sort_by_key(|at| at.node.at());
        if !nodes.is_empty() || number == 0 {
            let nodes = nodes.iter();
            let nodes = nodes.map(|at| (sop.nodes[at.node.at()].id.as_str(), "#cfc"));
            output::result(coloured(sop, nodes).trim_end());
        }
    }

    fn word(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "set" => self.set(rest.trim()),
            "call" => self.call(rest.trim()),
            node => self.go(node),
        }
    }

    fn go(&mut self, node: &str) {
        let next = self.walk.next_ids();
        let picked = node
            .parse::<usize>()
            .ok()
            .and_then(|at| next.get(at.checked_sub(1)?));
        let ask = Ask {
            node: Some(picked.map_or_else(|| node.into(), Clone::clone)),
            ..Ask::default()
        };
        let turn = navigate::goto(&self.walk, &ask);
        self.take(&turn);
    }

    fn next(&mut self, ask: &Ask) {
        let turn = navigate::advance(&self.walk, ask);
        self.take(&turn);
    }

    fn set(&mut self, text: &str) {
        let Some((name, value)) = text.split_once('=') else {
            output::say("write `set NAME=VALUE`");
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        let ask = Ask {
            slots: Value::object([(name, self.slot_value(name, value))]),
            ..Ask::default()
        };
        let turn = navigate::goto(&self.walk, &ask);
        self.take(&turn);
    }

    /// A typed value as its slot takes it: text stays text where the slot holds text.
    fn slot_value(&self, name: &str, text: &str) -> Value {
        let procedures = (0..).map_while(|at| self.walk.procedure(at));
        let mut kinds = procedures.filter_map(|it| it.slot(name)).map(|it| it.kind);
        let read = || Value::from_json(text).unwrap_or_else(|_| text.into());
        match kinds.next() {
            // In quotes it is JSON as ever.
            Some(Kind::String) if !text.starts_with('"') => text.into(),
            Some(_) | None => read(),
        }
    }

    fn call(&mut self, text: &str) {
        let (tool, result) = text.split_once(' ').unwrap_or((text, "null"));
        let (server, short) = tool.split_once(':').unwrap_or(("", tool));
        let pass = Pass {
            tool: ToolName::new(server, short),
            arguments: Value::Null,
            // Whoever types this is the person who would be asked.
            confirmed: Some("by hand".into()),
            asked_in: None,
            asks: false,
            is_other: false,
            step: None,
            upstream: None,
        };
        let mut turn = navigate::call(&self.walk, pass);
        if turn.refusal.is_none() {
            turn.events.push(Event::ToolAnswered(Box::new(ToolAnswered {
                call: self.walk.calls + 1,
                output: Value::from_json(result).unwrap_or_default(),
                failure: None,
                by: None,
                edited_arguments: None,
            })));
        }
        self.take(&turn);
    }

    fn take(&mut self, turn: &Turn) {
        for event in &turn.events {
            let entry = Entry {
                seq: self.walk.seq + 1,
                at_ms: 0,
                event: event.clone(),
            };
            if let Err(illegal) = self.walk.apply(&entry) {
                output::say(&illegal.to_string());
            }
        }
        match self.json {
            true => self.line(turn),
            false => self.show(turn),
        }
    }

    /// The hubs that could be gone to, and what those wait for that could not.
    fn hubs(&self) -> Vec<String> {
        let each = self.walk.hubs().into_iter().map(|(hub, unmet)| {
            let wants: Vec<&str> = unmet.iter().map(|it| it.node.as_str()).collect();
            match wants.is_empty() {
                true => hub.to_string(),
                false => format!("{hub} (after {})", wants.join(", ")),
            }
        });
        each.collect()
    }

    fn line(&self, turn: &Turn) {
        let (slots, calls) = match self.walk.frame().at {
            Some(at) => self.walk.wanting(at),
            None => Default::default(),
        };
        let hubs = self.walk.hubs().into_iter();
        let open: Vec<_> = hubs
            .filter(|(_, unmet)| unmet.is_empty())
            .map(|(hub, _)| hub)
            .collect();
        output::line(&serde_json::json!({
            "procedure": self.walk.here().sop.name,
            "at": self.walk.at_id(),
            "path": self.walk.path().collect::<Vec<_>>(),
            "next": self.walk.next_ids(),
            "must_call": calls,
            "slots": slots,
            "hubs": open,
            "refused": turn.refusal.as_ref().map(|it| it.says()),
            "warning": turn.warning,
        }));
    }

    fn show(&self, turn: &Turn) {
        if let Some(refusal) = &turn.refusal {
            output::text_line(&format!("refused: {}", refusal.says()));
            return;
        }
        let here = self.walk.here();
        for event in &turn.events {
            if let Event::Moved(moved) = event
                && let Some(procedure) = self.walk.procedure(moved.to.sop)
            {
                let node = procedure.node(moved.to.node);
                let says = node.prompt.as_ref().unwrap_or(&node.description);
                output::text_line(&format!("{}: {says}", node.id));
            }
        }
        let Some(at) = self.walk.frame().at else {
            return;
        };
        let tools = &here.node(at).tools;
        if !tools.is_empty() {
            output::text_line(&format!("  tools: {}", tools.join(", ")));
        }
        let (slots, calls) = self.walk.wanting(at);
        if !slots.is_empty() {
            output::text_line(&format!("  to collect: {}", slots.join(", ")));
        }
        if !calls.is_empty() {
            let calls: Vec<String> = calls.iter().map(|it| it.says()).collect();
            output::text_line(&format!("  must call: {}", calls.join(", ")));
        }
        for (number, edge) in here.out(at).enumerate() {
            let condition = edge.condition.as_deref().unwrap_or_default();
            output::text_line(&format!(
                "  {} {} {condition}",
                number + 1,
                here.node(edge.to).id
            ));
        }
        let hubs = self.hubs();
        if !hubs.is_empty() {
            output::text_line(&format!("  from anywhere: {}", hubs.join(", ")));
        }
        if self.walk.is_terminal() {
            output::text_line("  an end");
        }
    }
}
