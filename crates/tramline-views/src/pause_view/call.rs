//! A proposed call as an approver sees it: complete or truncated, with the fields that cannot be
//! edited.

use tramline_expr::{Map, Str, Value};
use tramline_workflow::journal::{Annotations, Pause, ProposedCall};
use tramline_workflow::setting_references;

/// Bytes of one text in arguments that are shown, to keep lists and forms readable.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of text and keys of all arguments that are shown, to keep lists and forms readable.
const SHOWN_BYTES_MAX: usize = 16 << 10;
/// Calls of a batch that are shown, to keep lists and forms readable.
const BATCH_SHOWN_MAX: usize = 5;
/// The start of the placeholder for a secret's value.
const REDACTED: &str = "[redacted:";

/// How much of a call is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As much as fits into a list or a form, with a mark where it is truncated.
    Bounded,
    /// Everything.
    Whole,
}

/// A call as data: `tool`, `server`, `name`, `arguments`, `annotations`, and which fields can be
/// edited.
pub(super) fn value(pause: &Pause, call: &ProposedCall, extent: Extent) -> Value {
    let mut told = Map::new();
    told.insert("tool", call.tool.to_string().into());
    told.insert("server", call.tool.server.clone().into());
    told.insert("name", call.tool.tool.clone().into());
    let mut shown = Truncator::new(extent);
    match &call.batch {
        None => {
            let arguments = shown.truncate(&object(&call.arguments), "");
            told.insert("arguments", arguments);
        }
        Some(batch) => {
            let most = match extent {
                Extent::Bounded => BATCH_SHOWN_MAX,
                Extent::Whole => usize::MAX,
            };
            let first = batch.arguments.iter().take(most).enumerate();
            let calls: Vec<Value> = first
                .map(|(at, one)| shown.truncate(&object(one), &format!("/{at}")))
                .collect();
            let mut items = Map::new();
            items.insert("count", batch.count().into());
            items.insert("recorded", batch.arguments.len().into());
            items.insert("calls", calls.into());
            told.insert("items", items.into());
        }
    }
    if !shown.cut.is_empty() {
        told.insert("cut", text_array(shown.cut));
    }
    if let Some(annotations) = &call.annotations {
        told.insert("annotations", annotations_value(annotations));
    }
    let fixed = fixed_fields(&call.arguments);
    told.insert("editable", is_editable(pause).into());
    if !fixed.is_empty() {
        told.insert("fixed", text_array(fixed));
    }
    told.into()
}

/// Truncates a value to what is shown.
pub fn truncated(value: &Value, extent: Extent) -> Value {
    Truncator::new(extent).truncate(value, "")
}

/// Whether a person may change the arguments of the call before approving it.
pub fn is_editable(pause: &Pause) -> bool {
    match pause {
        Pause::Approval { call, .. } | Pause::Effect { call, .. } => {
            call.as_ref().is_some_and(|call| call.batch.is_none())
        }
        Pause::Layer { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Child { .. }
        | Pause::Form { .. }
        | Pause::Budget { .. } => false,
    }
}

/// A server's annotations of a tool, with the field names of the Model Context Protocol.
pub fn annotations_value(annotations: &Annotations) -> Value {
    let Annotations {
        read_only,
        destructive,
        idempotent,
        open_world,
    } = *annotations;
    let hints = [
        ("readOnlyHint", read_only),
        ("destructiveHint", destructive),
        ("idempotentHint", idempotent),
        ("openWorldHint", open_world),
    ];
    let said = hints.into_iter();
    let said = said.filter_map(|(name, hint)| Some((name, Value::from(hint?))));
    Value::object(said)
}

/// The locations in arguments that hold a secret's name instead of its value. They cannot be
/// edited.
pub fn fixed_fields(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    visit_texts(arguments, "", &mut |place, text| {
        if text.contains(REDACTED) || setting_references::references(text).next().is_some() {
            found.push(place.to_owned());
        }
    });
    found
}

/// The value at a JSON pointer, if there is one.
pub fn value_at<'v>(value: &'v Value, place: &str) -> Option<&'v Value> {
    let mut keys = place.split('/').skip(1);
    keys.try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => value.get(&key.replace("~1", "/").replace("~0", "~")),
    })
}

fn visit_texts(value: &Value, place: &str, found: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => found(place, text),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                visit_texts(item, &format!("{place}/{at}"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter() {
                visit_texts(item, &child_pointer(place, key), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The JSON pointer of a field.
fn child_pointer(place: &str, key: &str) -> String {
    format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn text_array(all: Vec<String>) -> Value {
    Value::array(all.into_iter().map(Value::from))
}

/// Arguments as an object, empty if there are none.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Null => Map::new().into(),
        other => other.clone(),
    }
}

/// Truncates values and records where.
struct Truncator {
    left: usize,
    text: usize,
    cut: Vec<String>,
}

impl Truncator {
    fn new(extent: Extent) -> Self {
        let (left, text) = match extent {
            Extent::Bounded => (SHOWN_BYTES_MAX, TEXT_BYTES_MAX),
            Extent::Whole => (usize::MAX, usize::MAX),
        };
        Self {
            left,
            text,
            cut: Vec::new(),
        }
    }

    fn truncate(&mut self, value: &Value, place: &str) -> Value {
        match value {
            Value::String(text) => self.truncate_text(text, place).into(),
            Value::Array(items) => {
                let mut shown = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    if self.left == 0 {
                        self.cut.push(place.to_owned());
                        shown.push(format!("… {} more", items.len() - at).into());
                        break;
                    }
                    shown.push(self.truncate(item, &format!("{place}/{at}")));
                }
                shown.into()
            }
            Value::Object(map) => {
                let mut shown = Map::new();
                for (at, (key, item)) in map.iter().enumerate() {
                    if self.left == 0 {
                        self.cut.push(place.to_owned());
                        shown.insert("…", format!("{} more", map.len() - at).into());
                        break;
                    }
                    self.use_bytes(key.len());
                    shown.insert(key.clone(), self.truncate(item, &child_pointer(place, key)));
                }
                shown.into()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.use_bytes(8);
                value.clone()
            }
        }
    }

    fn use_bytes(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    fn truncate_text(&mut self, text: &Str, place: &str) -> Str {
        let most = self.text.min(self.left);
        if text.len() <= most {
            self.use_bytes(text.len().max(1));
            return text.clone();
        }
        self.use_bytes(most.max(1));
        self.cut.push(place.to_owned());
        let kept = text.floor_char_boundary(most);
        format!("{}… [{} of {} bytes]", &text[..kept], kept, text.len()).into()
    }
}
