//! `tramline sop walk`: runs a procedure by hand, from a terminal or a pipe. Nothing is called.

use super::{output, read_with_includes, with_colours};
use crate::cli::{CliError, CliResult, Exit};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_expr::Value;
use tramline_sop::{CallRequest, MoveRequest, Procedure, SopDecision};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{Entry, Event, SopEvent, SopStarted, ToolAnswered};
use tramline_workflow::sop::{SlotKind, Sop, SopFiles};

const HELP: &str = "NODE or its number: go there; next: take the automatic moves; set NAME=VALUE: fill a slot; \
                    call TOOL [JSON]: record a call of the tool with that result; help; quit";

/// Run a procedure by hand.
#[derive(clap::Args)]
pub(super) struct SopWalkArgs {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// At the end, print the flowchart with the path
    #[arg(long)]
    mermaid: bool,
}

struct ManualSession {
    session: tramline_sop::SopSession,
    json: bool,
}

pub(super) fn main(verb: &SopWalkArgs, json: bool) -> CliResult {
    let read = read_with_includes(&verb.file, json)?;
    let mut session = ManualSession {
        session: begin(&read).map_err(CliError::bad_input)?,
        json,
    };
    let input = std::io::stdin();
    if input.is_terminal() && !json {
        output::status_lines(HELP);
    }
    session.next(&MoveRequest::default());
    for line in input.lock().lines() {
        let Ok(line) = line else { break };
        match line.trim() {
            "" => {}
            "quit" | "q" | "exit" => break,
            "help" | "?" => output::status_lines(HELP),
            "next" | "n" => session.next(&MoveRequest::default()),
            other => session.execute(other),
        }
    }
    if verb.mermaid {
        for (number, sop) in read.sops.iter().enumerate() {
            session.print_flowchart(number, sop);
        }
    }
    Ok(Exit::Done)
}

fn begin(read: &SopFiles) -> Result<tramline_sop::SopSession, String> {
    let begun = SopStarted {
        sops: read.sops.clone(),
        files: read.files.clone(),
        session: None,
        by: "walk".into(),
        origin: Value::Null,
        owner: None,
        ttl_ms: None,
        pinned: None,
        carried: Vec::new(),
    };
    let procedures = read.sops.iter();
    let procedures = procedures.map(|sop| Procedure::build(Arc::clone(sop)).map(Arc::new));
    let procedures = procedures.collect::<Result<_, String>>()?;
    let walk = tramline_sop::SopSession::start(RunId::new(0, 0), procedures, begun, 0);
    walk.map_err(|illegal| illegal.message)
}

impl ManualSession {
    /// Prints the flowchart of a procedure with the visited nodes, if there are any.
    fn print_flowchart(&self, number: usize, sop: &Arc<Sop>) {
        let visited = self.session.visited().map(|(at, _)| at);
        let mut nodes: Vec<_> = visited.filter(|at| at.sop as usize == number).collect();
        nodes.sort_by_key(|at| at.node.index());
        if !nodes.is_empty() || number == 0 {
            let nodes = nodes.iter();
            let nodes = nodes.map(|at| (sop.nodes[at.node.index()].id.as_str(), "#cfc"));
            output::result(with_colours(sop, nodes).trim_end());
        }
    }

    fn execute(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "set" => self.set(rest.trim()),
            "call" => self.call(rest.trim()),
            node => self.goto(node),
        }
    }

    fn goto(&mut self, node: &str) {
        let next = self.session.next_ids();
        let picked = node
            .parse::<usize>()
            .ok()
            .and_then(|at| next.get(at.checked_sub(1)?));
        let ask = MoveRequest {
            node: Some(picked.map_or_else(|| node.into(), Clone::clone)),
            ..MoveRequest::default()
        };
        let turn = tramline_sop::move_to(&self.session, &ask);
        self.apply(&turn);
    }

    fn next(&mut self, ask: &MoveRequest) {
        let turn = tramline_sop::advance(&self.session, ask);
        self.apply(&turn);
    }

    fn set(&mut self, text: &str) {
        let Some((name, value)) = text.split_once('=') else {
            output::status_line("write `set NAME=VALUE`");
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        let ask = MoveRequest {
            slots: Value::object([(name, self.slot_value(name, value))]),
            ..MoveRequest::default()
        };
        let turn = tramline_sop::move_to(&self.session, &ask);
        self.apply(&turn);
    }

    /// A typed value converted for its slot: text stays text if the slot holds text.
    fn slot_value(&self, name: &str, text: &str) -> Value {
        let procedures = (0..).map_while(|at| self.session.procedure(at));
        let mut kinds = procedures.filter_map(|it| it.slot(name)).map(|it| it.kind);
        let read = || Value::from_json(text).unwrap_or_else(|_| text.into());
        match kinds.next() {
            // In quotes it is JSON.
            Some(SlotKind::String) if !text.starts_with('"') => text.into(),
            Some(_) | None => read(),
        }
    }

    fn call(&mut self, text: &str) {
        let (tool, result) = text.split_once(' ').unwrap_or((text, "null"));
        let (server, short) = tool.split_once(':').unwrap_or(("", tool));
        let pass = CallRequest {
            written: None,
            repeats: None,
            tool: ToolName::new(server, short),
            arguments: Value::Null,
            // The person typing is the one who would be asked.
            confirmed: Some("by hand".into()),
            approval_run: None,
            requires_approval: false,
            bare_name_differs: false,
            step: None,
            upstream: None,
        };
        let mut turn = tramline_sop::check_call(&self.session, pass);
        if turn.refusal.is_none() {
            turn.events
                .push(Event::Sop(SopEvent::ToolAnswered(Box::new(ToolAnswered {
                    redacted: Vec::new(),
                    call: self.session.call_count + 1,
                    output: Value::from_json(result).unwrap_or_default(),
                    failure: None,
                    by: None,
                    edited_arguments: None,
                }))));
        }
        self.apply(&turn);
    }

    fn apply(&mut self, turn: &SopDecision) {
        for event in &turn.events {
            let entry = Entry {
                seq: self.session.seq + 1,
                at_ms: 0,
                event: event.clone(),
            };
            if let Err(illegal) = self.session.apply(&entry) {
                output::status_line(&illegal.to_string());
            }
        }
        match self.json {
            true => self.print_json(turn),
            false => self.print_turn(turn),
        }
    }

    /// The hubs that can be entered, and the requirements of the others.
    fn hubs(&self) -> Vec<String> {
        let each = self.session.hubs().into_iter().map(|(hub, unmet)| {
            let wants: Vec<&str> = unmet.iter().map(|it| it.node.as_str()).collect();
            match wants.is_empty() {
                true => hub.to_string(),
                false => format!("{hub} (after {})", wants.join(", ")),
            }
        });
        each.collect()
    }

    fn print_json(&self, turn: &SopDecision) {
        let (slots, calls) = match self.session.frame().node {
            Some(at) => self.session.unmet_requirements(at),
            None => Default::default(),
        };
        let hubs = self.session.hubs().into_iter();
        let open: Vec<_> = hubs
            .filter(|(_, unmet)| unmet.is_empty())
            .map(|(hub, _)| hub)
            .collect();
        output::line(&serde_json::json!({
            "procedure": self.session.current_procedure().sop.name,
            "at": self.session.current_node_id(),
            "path": self.session.path().collect::<Vec<_>>(),
            "next": self.session.next_ids(),
            "must_call": calls,
            "slots": slots,
            "hubs": open,
            "refused": turn.refusal.as_ref().map(|it| it.message()),
            "warning": turn.warning,
        }));
    }

    fn print_turn(&self, turn: &SopDecision) {
        if let Some(refusal) = &turn.refusal {
            output::text_line(&format!("refused: {}", refusal.message()));
            return;
        }
        let here = self.session.current_procedure();
        for event in &turn.events {
            if let Event::Sop(SopEvent::Moved(moved)) = event
                && let Some(procedure) = self.session.procedure(moved.to.sop)
            {
                let node = procedure.node(moved.to.node);
                let says = node.prompt.as_ref().unwrap_or(&node.description);
                output::text_line(&format!("{}: {says}", node.id));
            }
        }
        let Some(at) = self.session.frame().node else {
            return;
        };
        let tools = &here.node(at).tools;
        if !tools.is_empty() {
            output::text_line(&format!("  tools: {}", tools.join(", ")));
        }
        let (slots, calls) = self.session.unmet_requirements(at);
        if !slots.is_empty() {
            output::text_line(&format!("  to collect: {}", slots.join(", ")));
        }
        if !calls.is_empty() {
            let calls: Vec<String> = calls.iter().map(|it| it.describe()).collect();
            output::text_line(&format!("  must call: {}", calls.join(", ")));
        }
        for (number, edge) in here.out_edges(at).enumerate() {
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
        if self.session.is_terminal() {
            output::text_line("  an end");
        }
    }
}
