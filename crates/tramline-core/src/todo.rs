//! The list of tasks that an agent keeps of a conversation: written whole each time.

use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

/// More tasks than this are refused: nobody has so many wishes in one conversation.
pub const TODOS_MAX: usize = 100;
/// Longer texts of tasks are refused, in bytes.
pub const TEXT_BYTES_MAX: usize = 4_000;

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub content: Str,
    /// What was found out on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Str>,
    /// How it stands.
    pub status: Status,
    /// The end that marks it as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_node: Option<Str>,
}

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// How many tasks stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Not begun.
    pub pending: usize,
    /// Being worked on.
    pub in_progress: usize,
    /// Done.
    pub completed: usize,
}

/// Counts tasks by how they stand.
pub fn summary(todos: &[Todo]) -> Summary {
    let mut counted = Summary::default();
    for todo in todos {
        match todo.status {
            Status::Pending => counted.pending += 1,
            Status::InProgress => counted.in_progress += 1,
            Status::Completed => counted.completed += 1,
        }
    }
    counted
}

/// Reads the list that a caller wrote.
pub fn read(value: &Value) -> Result<Vec<Todo>, String> {
    let Some(items) = value.as_array() else {
        return Err(format!("`todos` is a list of tasks, not {}", value.kind()));
    };
    if items.len() > TODOS_MAX {
        return Err(format!(
            "more than the {TODOS_MAX} tasks allowed; drop those that are done"
        ));
    }
    items
        .iter()
        .enumerate()
        .map(|(at, item)| one(at, item))
        .collect()
}

fn one(at: usize, item: &Value) -> Result<Todo, String> {
    let text = |key: &str| match item.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= TEXT_BYTES_MAX => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(format!(
            "`{key}` of task {} has more than {TEXT_BYTES_MAX} bytes",
            at + 1
        )),
        Some(other) => Err(format!(
            "`{key}` of task {} is text, not {}",
            at + 1,
            other.kind()
        )),
    };
    let content = text("content")?.filter(|it| !it.trim().is_empty());
    let content = content.ok_or_else(|| format!("task {} says nothing in `content`", at + 1))?;
    let status = match text("status")?.as_deref() {
        Some("pending") => Status::Pending,
        Some("in_progress") => Status::InProgress,
        Some("completed") => Status::Completed,
        _ => {
            let known = "pending, in_progress or completed";
            return Err(format!("`status` of task {} is one of {known}", at + 1));
        }
    };
    Ok(Todo {
        content,
        note: text("note")?,
        status,
        completion_node: text("completion_node")?,
    })
}
