//! `tramline sop walk`: a procedure walked by hand, from a terminal or a pipe. Nothing is called.

use super::{coloured, output, read};
use crate::cli::{Done, Exit, Stopped};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{Entry, Event, Guided, ToolAnswered};
use tramline_core::navigate::{self, Ask, Pass, Procedure, Turn};
use tramline_core::sop::Sop;

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
    let sop = Arc::new(read(&verb.file, json)?.sop);
    let mut session = Session {
        walk: begin(&sop).map_err(Stopped::bad)?,
        json,
    };
    let input = std::io::stdin();
    if input.is_terminal() && !json {
        output::say(HELP);
    }
    session.next(&Ask::default());
    for line in input.lock().lines() {
        let Ok(line) = line else { break };
        match line.trim() {
            "" => {}
            "quit" | "q" | "exit" => break,
            "help" | "?" => output::say(HELP),
            "next" | "n" => session.next(&Ask::default()),
            other => session.word(other),
        }
    }
    if verb.mermaid {
        let path: Vec<_> = session
            .walk
            .path()
            .map(|id| (id.as_str(), "#cfc"))
            .collect();
        output::text_line(coloured(&sop, path.into_iter()).trim_end());
    }
    Ok(Exit::Done)
}

fn begin(sop: &Arc<Sop>) -> Result<navigate::Walk, String> {
    let begun = Guided {
        sops: vec![Arc::clone(sop)],
        files: Vec::new(),
        session: None,
        by: "walk".into(),
        origin: Value::Null,
        owner: None,
    };
    let procedure = Arc::new(Procedure::build(Arc::clone(sop))?);
    let walk = navigate::Walk::begin(RunId::new(0, 0), vec![procedure], begun, 0);
    walk.map_err(|illegal| illegal.message)
}

impl Session {
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
        let value = value.trim();
        let value = Value::from_json(value).unwrap_or_else(|_| value.into());
        let ask = Ask {
            slots: Value::object([(name.trim(), value)]),
            ..Ask::default()
        };
        let turn = navigate::goto(&self.walk, &ask);
        self.take(&turn);
    }

    fn call(&mut self, text: &str) {
        let (tool, result) = text.split_once(' ').unwrap_or((text, "null"));
        let (server, short) = tool.split_once(':').unwrap_or(("", tool));
        let pass = Pass {
            tool: ToolName::new(server, short),
            arguments: Value::Null,
            confirmed: Some("by hand".into()),
        };
        let mut turn = navigate::call(&self.walk, pass);
        if turn.refusal.is_none() {
            turn.events.push(Event::ToolAnswered(Box::new(ToolAnswered {
                call: self.walk.calls + 1,
                output: Value::from_json(result).unwrap_or_default(),
                failure: None,
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

    fn line(&self, turn: &Turn) {
        output::line(&serde_json::json!({
            "at": self.walk.at_id(),
            "path": self.walk.path().collect::<Vec<_>>(),
            "next": self.walk.next_ids(),
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
            if let Event::Moved(moved) = event {
                let node = here.node(moved.to.node);
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
        let (slots, _) = self.walk.wanting(at);
        if !slots.is_empty() {
            output::text_line(&format!("  to collect: {}", slots.join(", ")));
        }
        for (number, edge) in here.out(at).enumerate() {
            let condition = edge.condition.as_deref().unwrap_or_default();
            output::text_line(&format!(
                "  {} {} {condition}",
                number + 1,
                here.node(edge.to).id
            ));
        }
        if self.walk.is_terminal() {
            output::text_line("  an end");
        }
    }
}
