//! The task list that an agent keeps during a session. Each update replaces the whole list.

use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

/// Tasks per list; far above what one session needs.
pub const TODOS_MAX: usize = 100;
/// Bytes of each text of a task; bounds the size of the journal.
pub const TEXT_BYTES_MAX: usize = 4_000;

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// The task.
    pub content: Str,
    /// Findings so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Str>,
    /// The status.
    pub status: TodoStatus,
    /// The end node that completes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_node: Option<Str>,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Completed.
    Completed,
}

/// The number of tasks by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TodoSummary {
    /// Tasks not started.
    pub pending: usize,
    /// Tasks in progress.
    pub in_progress: usize,
    /// Completed tasks.
    pub completed: usize,
}

/// Counts tasks by status.
pub fn summarize(todos: &[Todo]) -> TodoSummary {
    let mut counted = TodoSummary::default();
    for todo in todos {
        match todo.status {
            TodoStatus::Pending => counted.pending += 1,
            TodoStatus::InProgress => counted.in_progress += 1,
            TodoStatus::Completed => counted.completed += 1,
        }
    }
    counted
}

/// Reads a caller's list.
pub fn read(value: &Value) -> Result<Vec<Todo>, String> {
    let Some(items) = value.as_array() else {
        return Err(format!(
            "`todos` must be a list of tasks, not {}",
            value.kind()
        ));
    };
    if items.len() > TODOS_MAX {
        return Err(format!(
            "more than {TODOS_MAX} tasks, the limit; remove completed ones"
        ));
    }
    items
        .iter()
        .enumerate()
        .map(|(at, item)| read_todo(at, item))
        .collect()
}

fn read_todo(at: usize, item: &Value) -> Result<Todo, String> {
    let text = |key: &str| match item.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= TEXT_BYTES_MAX => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(format!(
            "`{key}` of task {} has more than {TEXT_BYTES_MAX} bytes",
            at + 1
        )),
        Some(other) => Err(format!(
            "`{key}` of task {} must be text, not {}",
            at + 1,
            other.kind()
        )),
    };
    let content = text("content")?.filter(|it| !it.trim().is_empty());
    let content = content.ok_or_else(|| format!("task {} has no `content`", at + 1))?;
    let status = match text("status")?.as_deref() {
        Some("pending") => TodoStatus::Pending,
        Some("in_progress") => TodoStatus::InProgress,
        Some("completed") => TodoStatus::Completed,
        _ => {
            let known = "pending, in_progress or completed";
            return Err(format!("`status` of task {} must be {known}", at + 1));
        }
    };
    Ok(Todo {
        content,
        note: text("note")?,
        status,
        completion_node: text("completion_node")?,
    })
}
