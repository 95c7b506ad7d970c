//! A proposed call as an approver sees it: whole or bounded, with what cannot be edited.

use crate::journal::{Annotations, Pause, ProposedCall};
use crate::settings;
use tramline_expr::{Map, Str, Value};

/// A longer text in arguments is cut where it is shown, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Arguments are shown so far, in bytes of text and keys.
const SHOWN_BYTES_MAX: usize = 16 << 10;
/// So many calls of a batch are shown.
const BATCH_SHOWN_MAX: usize = 5;
/// What stands in place of a secret's value.
const REDACTED: &str = "[redacted:";

/// How much is shown of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As much as fits into a list or a form, with a mark where it is cut.
    Bounded,
    /// Everything.
    Whole,
}

/// A call as data: `tool`, `server`, `name`, `arguments`, `annotations`, and what can be edited.
pub(super) fn value(pause: &Pause, call: &ProposedCall, extent: Extent) -> Value {
    let mut told = Map::new();
    told.insert("tool", call.tool.to_string().into());
    told.insert("server", call.tool.server.clone().into());
    told.insert("name", call.tool.tool.clone().into());
    let mut shown = Shown::new(extent);
    match &call.batch {
        None => {
            let arguments = shown.of(&object(&call.arguments), "");
            told.insert("arguments", arguments);
        }
        Some(batch) => {
            let most = match extent {
                Extent::Bounded => BATCH_SHOWN_MAX,
                Extent::Whole => usize::MAX,
            };
            let first = batch.arguments.iter().take(most).enumerate();
            let calls: Vec<Value> = first
                .map(|(at, one)| shown.of(&object(one), &format!("/{at}")))
                .collect();
            let mut items = Map::new();
            items.insert("count", batch.count().into());
            items.insert("recorded", batch.arguments.len().into());
            items.insert("calls", calls.into());
            told.insert("items", items.into());
        }
    }
    if !shown.cut.is_empty() {
        told.insert("cut", texts(shown.cut));
    }
    if let Some(annotations) = &call.annotations {
        told.insert("annotations", annotated(annotations));
    }
    let fixed = fixed_fields(&call.arguments);
    told.insert("editable", is_editable(pause).into());
    if !fixed.is_empty() {
        told.insert("fixed", texts(fixed));
    }
    told.into()
}

/// A value cut to what is shown.
pub fn bounded(value: &Value, extent: Extent) -> Value {
    Shown::new(extent).of(value, "")
}

/// Whether a person may change the arguments of the call before they agree to it.
pub fn is_editable(pause: &Pause) -> bool {
    match pause {
        Pause::Approval { call, .. } | Pause::Effect { call, .. } => {
            call.as_ref().is_some_and(|call| call.batch.is_none())
        }
        Pause::Layer { .. }
        | Pause::InDoubt { .. }
        | Pause::Break { .. }
        | Pause::Child { .. }
        | Pause::Budget { .. } => false,
    }
}

/// What a server says of a tool, under the names that the Model Context Protocol gives it.
pub fn annotated(annotations: &Annotations) -> Value {
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

/// The places in arguments that hold a secret's name in place of its value. Nobody can edit them.
pub fn fixed_fields(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    places(arguments, "", &mut |place, text| {
        if text.contains(REDACTED) || settings::references(text).next().is_some() {
            found.push(place.to_owned());
        }
    });
    found
}

/// The value at a place, if there is one.
pub fn at<'v>(value: &'v Value, place: &str) -> Option<&'v Value> {
    let mut keys = place.split('/').skip(1);
    keys.try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => value.get(&key.replace("~1", "/").replace("~0", "~")),
    })
}

fn places(value: &Value, place: &str, found: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => found(place, text),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                places(item, &format!("{place}/{at}"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter() {
                places(item, &below(place, key), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The place of a field, as a JSON pointer.
fn below(place: &str, key: &str) -> String {
    format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn texts(all: Vec<String>) -> Value {
    Value::array(all.into_iter().map(Value::from))
}

/// Arguments as an object, also where there are none.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Null => Map::new().into(),
        other => other.clone(),
    }
}

/// Values cut to what may be shown, and where they were.
struct Shown {
    left: usize,
    text: usize,
    cut: Vec<String>,
}

impl Shown {
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

    fn of(&mut self, value: &Value, place: &str) -> Value {
        match value {
            Value::String(text) => self.text(text, place).into(),
            Value::Array(items) => {
                let mut shown = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    if self.left == 0 {
                        self.cut.push(place.to_owned());
                        shown.push(format!("… {} more", items.len() - at).into());
                        break;
                    }
                    shown.push(self.of(item, &format!("{place}/{at}")));
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
                    self.spend(key.len());
                    shown.insert(key.clone(), self.of(item, &below(place, key)));
                }
                shown.into()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.spend(8);
                value.clone()
            }
        }
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    fn text(&mut self, text: &Str, place: &str) -> Str {
        let most = self.text.min(self.left);
        if text.len() <= most {
            self.spend(text.len().max(1));
            return text.clone();
        }
        self.spend(most.max(1));
        self.cut.push(place.to_owned());
        let kept = text.floor_char_boundary(most);
        format!("{}… [{} of {} bytes]", &text[..kept], kept, text.len()).into()
    }
}
