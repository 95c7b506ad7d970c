//! Reply shapes for procedures and SOP sessions, as agents know them.

use tramline_expr::{Map, Str, Value};
use tramline_sop::{SopDecision, SopRefusal, SopSession};
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::{CheckedRule, Event, SopEvent, SopPosition};
use tramline_workflow::sop::{AnyOf, Slot, SlotKind, Sop, SopMode, SopNode};
use tramline_workflow::todo;

/// The description of a procedure in the reply of `load_graph`.
pub(super) fn procedure_fields(sop: &Sop) -> Map {
    let ends: Vec<NodeIx> = (0..sop.nodes.len() as u32).map(NodeIx).collect();
    let leaves = |at: &NodeIx| sop.edges.iter().all(|edge| edge.from != *at);
    let round = |at: &NodeIx| sop.nodes[at.index()].shape == "stadium" && *at != sop.entry;
    let ids = |fits: &dyn Fn(&NodeIx) -> bool| {
        let fitting = ends.iter().filter(|at| fits(at));
        Value::array(fitting.map(|at| sop.nodes[at.index()].id.clone().into()))
    };
    let mut chart = Map::new();
    chart.insert("node_count", sop.nodes.len().into());
    chart.insert(
        "decision_nodes",
        ids(&|at| sop.nodes[at.index()].shape == "rhombus"),
    );
    chart.insert("terminal_nodes", ids(&|at| leaves(at) || round(at)));
    chart.insert(
        "nodes_with_prompts",
        ids(&|at| sop.nodes[at.index()].section || sop.nodes[at.index()].prompt.is_some()),
    );
    let mut told = Map::new();
    told.insert("agent", sop.name.clone().into());
    if let Some(version) = &sop.version {
        told.insert("version", version.clone().into());
    }
    told.insert("entry_node", sop.nodes[sop.entry.index()].id.clone().into());
    for (key, value) in [("model", &sop.model), ("mcp_servers", &sop.servers)] {
        if !value.is_null() {
            told.insert(key, value.clone());
        }
    }
    told.insert("mode", sop.mode.as_str().into());
    let enforces = sop.gated && sop.call_mode() == SopMode::Strict;
    told.insert("enforce_tools", enforces.into());
    told.insert("graph", chart.into());
    let sections = sop.sections.iter().map(|it| it.title.clone().into());
    told.insert("system_prompt_sections", Value::array(sections));
    told.insert(
        "system_prompt_uri",
        super::prompts::prompt_uri(&sop.name).into(),
    );
    told
}

/// Adds what an agent without prompts needs: the rules with the flowchart, and the next step.
pub(super) fn add_first_steps(sop: &Sop, is_shared: bool, told: &mut Map) {
    told.insert("system_prompt", sop.system_prompt().into());
    let session = match is_shared {
        true => " Pass session_id with every call.",
        false => "",
    };
    let next = format!(
        "Follow system_prompt and its flowchart. Begin with goto_node {{\"node_id\": \"START\"}}, or with \
         advance, which moves to the next node that needs you or the user. At each node do what its \
         prompt says, call its tools by their own names or with sop_call, pass what you collect as \
         slots, then move along one of its edges. A rejected move says what is missing and the path. \
         Plan several requests with todo.{session}"
    );
    told.insert("next", next.into());
}

/// The state of a session after a command: its node, or why it did not move.
pub(super) fn position_reply(walk: &SopSession, turn: &SopDecision, by_itself: bool) -> Value {
    let mut told = Map::new();
    if let Some(refusal) = &turn.refusal {
        told.insert("valid", false.into());
        told.insert("error", refusal.message().into());
        add_refusal_at(walk, refusal, &mut told);
        return told.into();
    }
    if by_itself {
        let passed = passed_nodes(walk, turn);
        if !passed.is_empty() {
            told.insert("passed", Value::array(passed));
        }
    }
    let Some(at) = walk.frame().node else {
        told.insert("valid", true.into());
        told.insert("valid_next", names(&walk.next_ids()));
        return told.into();
    };
    let here = walk.current_procedure();
    told.insert("node", node_value(here.node(at), walk));
    let edges = walk.next_edges().into_iter().map(|(to, condition)| {
        let condition = condition.map_or(Value::Null, Into::into);
        Value::object([("to", Value::from(to)), ("condition", condition)])
    });
    told.insert("edges", Value::array(edges));
    told.insert("path", path_value(walk));
    told.insert("valid", true.into());
    if walk.frames().len() > 1 {
        told.insert("procedure", here.sop.name.clone().into());
    }
    if let Some(warning) = &turn.warning {
        told.insert("warning", warning.clone().into());
    }
    add_requirements(walk, at, &mut told);
    add_todo_reminder(walk, turn, &mut told);
    told.into()
}

fn path_value(walk: &SopSession) -> Value {
    Value::array(walk.path().map(|id| Value::from(id.clone())))
}

fn node_value(node: &SopNode, walk: &SopSession) -> Value {
    let mut told = Map::new();
    told.insert("id", node.id.clone().into());
    told.insert("type", node.shape.clone().into());
    told.insert("description", node.description.clone().into());
    if let Some(prompt) = &node.prompt {
        told.insert("prompt", prompt.clone().into());
    }
    if !node.tools.is_empty() {
        told.insert("tools", names(&node.tools));
    }
    if !node.examples.is_empty() {
        told.insert("examples", Value::array(node.examples.iter().cloned()));
    }
    let unset = |slot: &&Slot| walk.slots.get(&slot.name).is_none_or(Value::is_null);
    let slots: Vec<Value> = node.slots.iter().filter(unset).map(slot_value).collect();
    if !slots.is_empty() {
        told.insert("slots", Value::array(slots));
    }
    if node.confirm {
        told.insert("confirm", true.into());
    }
    told.into()
}

fn slot_value(slot: &Slot) -> Value {
    let mut told = Map::new();
    told.insert("name", slot.name.clone().into());
    if slot.kind != SlotKind::Any {
        told.insert("type", slot.kind.as_str().into());
    }
    if !slot.options.is_empty() {
        told.insert("options", Value::array(slot.options.iter().cloned()));
    }
    if let Some(description) = &slot.description {
        told.insert("description", description.clone().into());
    }
    if !slot.required {
        told.insert("optional", true.into());
    }
    told.into()
}

/// Adds what is required before the node can be left.
fn add_requirements(walk: &SopSession, at: NodeIx, told: &mut Map) {
    let (_, tools) = walk.unmet_requirements(at);
    if !tools.is_empty() {
        told.insert("must_call", required_tools(&tools));
    }
    if !walk.open_calls.is_empty() {
        let open = walk
            .open_calls
            .values()
            .map(|it| Value::from(it.tool.to_string()));
        told.insert("unanswered_calls", Value::array(open));
    }
}

/// The nodes passed automatically, with their instructions.
fn passed_nodes(walk: &SopSession, turn: &SopDecision) -> Vec<Value> {
    let moves: Vec<SopPosition> = turn
        .events
        .iter()
        .filter_map(|event| {
            let Event::Sop(SopEvent::Moved(moved)) = event else {
                return None;
            };
            Some(moved.to)
        })
        .collect();
    let all = moves.split_last().map_or(&[][..], |(_, before)| before);
    let told = all.iter().filter_map(|at| {
        let node = walk.procedure(at.sop)?.node(at.node);
        let mut told = Map::new();
        told.insert("id", node.id.clone().into());
        let says = node.prompt.as_ref().unwrap_or(&node.description);
        told.insert("prompt", says.clone().into());
        Some(told.into())
    });
    told.collect()
}

fn add_todo_reminder(walk: &SopSession, turn: &SopDecision, told: &mut Map) {
    let moved = turn
        .events
        .iter()
        .any(|event| matches!(event, Event::Sop(SopEvent::Moved(_))));
    let Some(id) = walk
        .current_node_id()
        .filter(|_| moved && walk.is_terminal())
    else {
        return;
    };
    let is_awaited = |it: &&todo::Todo| {
        it.completion_node.as_ref() == Some(id) && it.status != todo::TodoStatus::Completed
    };
    if walk.todos.iter().any(|it| is_awaited(&it)) {
        let says = format!("Reached completion node {id}. Update todos and proceed to next task.");
        told.insert("todo_reminder", says.into());
    }
}

fn names(all: &[Str]) -> Value {
    Value::array(all.iter().map(|it| it.clone().into()))
}

/// Required tools: a name, or a list of alternatives.
fn required_tools(all: &[AnyOf]) -> Value {
    Value::array(all.iter().map(|any| match any.0.as_slice() {
        [only] => only.clone().into(),
        several => names(several),
    }))
}

fn add_refusal_at(walk: &SopSession, why: &SopRefusal, told: &mut Map) {
    told.insert(
        "current_node",
        walk.current_node_id()
            .cloned()
            .map_or(Value::Null, Into::into),
    );
    if !matches!(why, SopRefusal::UnknownNode { .. }) {
        let next = match why {
            SopRefusal::UnmetRequirements { .. } | SopRefusal::UnmetDemands { .. } => {
                walk.valid_next()
            }
            _ => walk.open_next(),
        };
        told.insert("valid_next", names(&next));
    }
    if let (SopRefusal::NoEdge { .. }, Some(at)) = (why, walk.frame().node) {
        let (slots, tools) = walk.unmet_requirements(at);
        add_missing(&slots, &tools, told);
    }
    add_refusal(why, told);
}

/// Adds what a node still requires.
fn add_missing(slots: &[Str], tools: &[AnyOf], told: &mut Map) {
    if !slots.is_empty() {
        told.insert("missing_slots", names(slots));
    }
    if !tools.is_empty() {
        told.insert("missing_calls", required_tools(tools));
    }
}

/// Adds the details of a refusal to its message.
pub(super) fn add_refusal(why: &SopRefusal, told: &mut Map) {
    match why {
        SopRefusal::UnknownNode { near, .. } => {
            if let Some(near) = near {
                told.insert("did_you_mean", near.clone().into());
            }
        }
        SopRefusal::UnmetRequirements { slots, tools, .. } => {
            add_missing(slots, tools, told);
        }
        SopRefusal::UnmetDemands { unmet, path, .. } => {
            let each = unmet.iter().map(|it| {
                let mut one = Map::new();
                one.insert("node", it.node.clone().into());
                if !it.slots.is_empty() {
                    one.insert("slots", names(&it.slots));
                }
                if !it.tools.is_empty() {
                    one.insert("must_call", required_tools(&it.tools));
                }
                one.into()
            });
            told.insert("needs", Value::array(each));
            told.insert("path", names(path));
        }
        SopRefusal::NoEdge { path, .. } => {
            if !path.is_empty() {
                told.insert("path", names(path));
            }
        }
        SopRefusal::ToolNotAllowed {
            at,
            here,
            nodes,
            path,
            ..
        } => {
            told.insert("current_node", at.clone().map_or(Value::Null, Into::into));
            told.insert("allowed_tools", names(here));
            told.insert("allowed_at", names(nodes));
            told.insert("path", names(path));
        }
        SopRefusal::RulesViolated { at, report, .. } => {
            told.insert("current_node", at.clone().map_or(Value::Null, Into::into));
            let broken = report.checked.iter().filter(|it| it.holds != Some(true));
            told.insert("rules", Value::array(broken.map(CheckedRule::to_value)));
            if !report.needed.is_empty() {
                let needed = report.needed.iter().map(|it| {
                    let pairs = [
                        ("tool", it.tool.clone().into()),
                        ("arguments", it.arguments.clone()),
                    ];
                    Value::object(pairs)
                });
                told.insert("call_first", Value::array(needed));
            }
        }
        SopRefusal::GuardBlocked { open, .. } => {
            told.insert("guards_lead_to", names(open));
        }
        SopRefusal::VisitLimitReached { .. }
        | SopRefusal::NestedUnfinished { .. }
        | SopRefusal::SlotsNotObject { .. }
        | SopRefusal::UnknownSlot { .. }
        | SopRefusal::InvalidSlot { .. }
        | SopRefusal::ApprovalMissing { .. } => {}
    }
}

/// The task list with its counts.
pub(super) fn todos_reply(walk: &SopSession) -> Value {
    let todos = serde_json::to_value(&walk.todos).unwrap_or_default();
    let counted = todo::summarize(&walk.todos);
    let mut summary = Map::new();
    summary.insert("pending", counted.pending.into());
    summary.insert("in_progress", counted.in_progress.into());
    summary.insert("completed", counted.completed.into());
    let mut told = Map::new();
    told.insert("todos", todos.into());
    told.insert("summary", summary.into());
    let unknown: Vec<Value> = unknown_nodes(walk).map(Value::from).collect();
    if !unknown.is_empty() {
        told.insert("warnings", Value::array(unknown));
    }
    told.into()
}

/// Warnings about tasks whose `completion_node` does not exist.
fn unknown_nodes(walk: &SopSession) -> impl Iterator<Item = String> {
    let ids = || {
        let procedures = (0..).map_while(|at| walk.procedure(at));
        procedures.flat_map(|procedure| procedure.ids())
    };
    let tasks = walk.todos.iter().enumerate();
    tasks.filter_map(move |(at, task)| {
        let node = task.completion_node.as_deref()?;
        if ids().any(|id| id == node) {
            return None;
        }
        let near = tramline_workflow::text::nearest(node, ids());
        let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        let node = tramline_workflow::text::display_name(node);
        Some(format!(
            "todos[{at}]: completion_node {node} is not a node of the procedure, so there will be no reminder.{near}"
        ))
    })
}
