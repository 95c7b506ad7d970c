//! What calling and waiting nodes do: the tool, its arguments, what it is spread over, how long.

use super::nodes::Draft;
use super::{arguments, fields};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::ids::ToolName;
use crate::text::milliseconds;
use crate::workflow::{Action, Each, ItemFailures, Template, Time, WORKFLOW_SERVER};
use tramline_expr::{Str, Value};

/// How many calls of a spread node are under way at once where the file does not say.
const WIDTH: u64 = 8;
/// More calls at once than a run may have under way would only wait.
const WIDTH_MAX: u64 = 64;
/// What the item is called where the file does not say.
const ITEM: &str = "item";
/// The names of the field that says what a failed item does.
const ON_FAILURE: [&str; 2] = ["on-failure", "onFailure"];

impl<'t> Draft<'t> {
    pub(super) fn call(&mut self, flaws: &mut Flaws) -> Action {
        let owner = self.owner_text();
        let hint = "name a server of `mcpServers`, or `builtin`";
        let server = fields::required(self.at, &owner, "server", hint, flaws);
        let tool = fields::required(self.at, &owner, "tool", "name a tool of that server", flaws);
        self.sources.server = server.map(|(_, at)| at);
        self.sources.tool = tool.map(|(_, at)| at);
        let text =
            |found: Option<(&Str, At<'_>)>| found.map_or_else(Str::default, |(t, _)| t.clone());
        self.action(ToolName::new(text(server), text(tool)), flaws)
    }

    /// A workflow as a node: a tool of the server that all workflows are tools of.
    pub(super) fn child(&mut self, flaws: &mut Flaws) -> Action {
        let owner = self.owner_text();
        let hint = "name a tool of this document, or a saved workflow";
        let name = fields::required(self.at, &owner, "workflow", hint, flaws);
        self.sources.server = name.map(|(_, at)| at);
        self.sources.tool = self.sources.server;
        let name = name.map_or_else(Str::default, |(name, _)| name.clone());
        self.action(ToolName::new(WORKFLOW_SERVER, name), flaws)
    }

    fn action(&mut self, tool: ToolName, flaws: &mut Flaws) -> Action {
        self.node.each = self.each(flaws).map(Box::new);
        let args = fields::given(self.at, "args");
        self.sources.arguments = args;
        let arguments = match args {
            None => Template::Literal(Value::object::<Str>([])),
            Some(args) => {
                let template = arguments::template(args.value);
                if args.value.as_object().is_none() && !matches!(template, Template::Expr(_)) {
                    let hint = "write one `name: value` for each argument";
                    fields::wrong(args, "args", "an object", hint, flaws);
                }
                template
            }
        };
        Action::Call { tool, arguments }
    }

    /// What the call is spread over, if it is.
    fn each(&mut self, flaws: &mut Flaws) -> Option<Each> {
        let map = fields::given(self.at, "map")?;
        let hint = "write `map: {over: $.list.entries, as: item}` and use `$item` in `args`";
        let short = matches!(arguments::template(map.value), Template::Expr(_));
        let over = match map.value {
            _ if short => map,
            Value::Array(_) => map,
            Value::Object(_) => {
                let known = ["over", "as", "width", ON_FAILURE[0], ON_FAILURE[1]];
                fields::unknown(map, "`map`", &known, flaws);
                match fields::given(map, "over") {
                    Some(over) => over,
                    None => {
                        let owner = format!("`map` of {}", self.owner_text());
                        fields::missing(map, &owner, "over", hint, flaws);
                        return None;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                fields::wrong(
                    map,
                    "map",
                    "an expression, a list or an object",
                    hint,
                    flaws,
                );
                return None;
            }
        };
        self.sources.items = Some(over);
        let width = fields::given(map, "width")
            .and_then(|at| fields::whole(at, "width", 1, WIDTH_MAX, flaws));
        Some(Each {
            items: arguments::template(over.value),
            name: item_name(map, flaws),
            width: width.unwrap_or(WIDTH) as u32,
            failures: item_failures(map, flaws),
        })
    }

    pub(super) fn wait(&mut self, flaws: &mut Flaws) -> Option<Action> {
        let owner = self.owner_text();
        let lasts = fields::given(self.at, "for");
        let until = fields::given(self.at, "until");
        let (key, at) = match (lasts, until) {
            (Some(at), None) => ("for", at),
            (None, Some(at)) => ("until", at),
            (Some(_), Some(at)) => {
                let message = format!("{owner} has both `for` and `until`");
                flaws.add(Code::Duplicate, at.place(), message, "keep one of them");
                return None;
            }
            (None, None) => {
                let hint = "write `for: 5s`, or `until:` with a time";
                fields::missing(self.at, &owner, "for", hint, flaws);
                return None;
            }
        };
        self.sources.time = Some(at);
        let time = arguments::template(at.value);
        if let Template::Literal(value) = &time {
            plain_time(at, key, value, flaws)?;
        }
        Some(Action::Wait(match key {
            "for" => Time::For(time),
            _ => Time::Until(time),
        }))
    }
}

/// A time that is written down, which can be checked before it is waited for.
fn plain_time(at: At<'_>, key: &str, value: &Value, flaws: &mut Flaws) -> Option<()> {
    let sound = match (key, value) {
        ("for", Value::String(text)) => milliseconds(text).is_some(),
        ("for", other) => other.as_f64().is_some_and(|ms| ms >= 0.0),
        (_, Value::String(text)) => !text.trim().is_empty(),
        (_, other) => other.as_i64().is_some(),
    };
    if !sound {
        let hint = match key {
            "for" => "write milliseconds as a number, or a text like `500ms`, `5s`, `2h`, `1d`",
            _ => "write a time like `2030-01-31T12:00:00Z`, or `{expr: …}`",
        };
        fields::wrong(at, key, "a time", hint, flaws);
        return None;
    }
    Some(())
}

fn item_name(map: At<'_>, flaws: &mut Flaws) -> Str {
    let Some((name, at)) = map
        .value
        .as_object()
        .and_then(|_| fields::text(map, "as", flaws))
    else {
        return ITEM.into();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        let message = format!(
            "`{}` cannot be the name of an item",
            crate::text::shown(name)
        );
        let hint = "use letters, digits and `_`; expressions see it with a `$` before it";
        flaws.add(Code::WrongType, at.place(), message, hint);
        return ITEM.into();
    }
    name.clone()
}

fn item_failures(map: At<'_>, flaws: &mut Flaws) -> ItemFailures {
    let given = map
        .value
        .as_object()
        .and_then(|_| fields::given_as(map, &ON_FAILURE));
    let Some((word, at)) = given.and_then(|(key, at)| fields::as_text(at, key, flaws)) else {
        return ItemFailures::Stop;
    };
    match word.as_str() {
        "stop" => ItemFailures::Stop,
        "keep" => ItemFailures::Keep,
        other => {
            let message = format!(
                "`on-failure` must be `stop` or `keep`, not `{}`",
                crate::text::shown(other)
            );
            let hint = "`stop` fails the node, `keep` puts the failure at the item's place";
            flaws.add(Code::WrongType, at.place(), message, hint);
            ItemFailures::Stop
        }
    }
}
