//! Call, wait and ask nodes: tool, arguments, fan-out, waiting time and form.

use super::nodes::NodeDraft;
use super::{arguments, fields};
use crate::ask_form::{self, ASK_EDGES, DEFAULTS, MESSAGE};
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::ids::ToolName;
use tramline_workflow::text::parse_duration_ms;
use tramline_workflow::workflow::{
    Action, Edge, FanOutSpec, ItemFailures, Template, WORKFLOW_SERVER, WaitTime,
};

/// Default number of parallel calls of a fan-out.
const WIDTH_DEFAULT: u64 = 8;
/// Most parallel calls of a fan-out: a run does not make more calls at once.
const WIDTH_MAX: u64 = 64;
/// Default name of the item.
const ITEM_NAME_DEFAULT: &str = "item";
/// The names of the field that says how item failures are handled.
const ON_FAILURE: [&str; 2] = ["on-failure", "onFailure"];

impl<'t> NodeDraft<'t> {
    pub(super) fn read_call(&mut self, flaws: &mut FlawCollector) -> Action {
        let owner = self.owner_text();
        let hint = "name a server of `mcpServers`, or `builtin`";
        let server = fields::required_string(self.at, &owner, "server", hint, flaws);
        let tool =
            fields::required_string(self.at, &owner, "tool", "name a tool of that server", flaws);
        self.sources.server = server.map(|(_, at)| at);
        self.sources.tool = tool.map(|(_, at)| at);
        let text = |found: Option<(&Str, Spanned<'_>)>| {
            found.map_or_else(Str::default, |(t, _)| t.clone())
        };
        self.call_action(ToolName::new(text(server), text(tool)), flaws)
    }

    /// A workflow node: a call to the server whose tools are the workflows.
    pub(super) fn read_workflow_call(&mut self, flaws: &mut FlawCollector) -> Action {
        let owner = self.owner_text();
        let hint = "name a tool of this document, or a saved workflow";
        let name = fields::required_string(self.at, &owner, "workflow", hint, flaws);
        self.sources.server = name.map(|(_, at)| at);
        self.sources.tool = self.sources.server;
        let name = name.map_or_else(Str::default, |(name, _)| name.clone());
        self.call_action(ToolName::new(WORKFLOW_SERVER, name), flaws)
    }

    fn call_action(&mut self, tool: ToolName, flaws: &mut FlawCollector) -> Action {
        self.node.each = self.read_fan_out(flaws).map(Box::new);
        let args = fields::present(self.at, "args");
        self.sources.arguments = args;
        let arguments = match args {
            None => Template::Literal(Value::object::<Str>([])),
            Some(args) => {
                let template = arguments::template(args.value);
                arguments::check_expression_objects(args, flaws);
                if args.value.as_object().is_none() && !matches!(template, Template::Expr(_)) {
                    let hint = "write one `name: value` for each argument";
                    fields::report_wrong_type(args, "args", "an object", hint, flaws);
                }
                template
            }
        };
        Action::Call { tool, arguments }
    }

    /// Reads the fan-out, if there is one.
    fn read_fan_out(&mut self, flaws: &mut FlawCollector) -> Option<FanOutSpec> {
        let map = fields::present(self.at, "map")?;
        let hint = "write `map: {over: $.list.entries, as: item}` and use `$item` in `args`";
        let short = matches!(arguments::template(map.value), Template::Expr(_));
        let over = match map.value {
            _ if short => map,
            Value::Array(_) => map,
            Value::Object(_) => {
                let known = ["over", "as", "width", ON_FAILURE[0], ON_FAILURE[1]];
                fields::warn_unknown(map, "`map`", &known, flaws);
                match fields::present(map, "over") {
                    Some(over) => over,
                    None => {
                        let owner = format!("`map` of {}", self.owner_text());
                        fields::report_missing(map, &owner, "over", hint, flaws);
                        return None;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                fields::report_wrong_type(
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
        arguments::check_expression_objects(over, flaws);
        let width = fields::present(map, "width")
            .and_then(|at| fields::whole_number(at, "width", 1, WIDTH_MAX, flaws));
        Some(FanOutSpec {
            items: arguments::template(over.value),
            name: item_name(map, flaws),
            width: width.unwrap_or(WIDTH_DEFAULT) as u32,
            failures: item_failures(map, flaws),
        })
    }

    pub(super) fn read_wait(&mut self, flaws: &mut FlawCollector) -> Option<Action> {
        let owner = self.owner_text();
        let lasts = fields::present(self.at, "for");
        let until = fields::present(self.at, "until");
        let (key, at) = match (lasts, until) {
            (Some(at), None) => ("for", at),
            (None, Some(at)) => ("until", at),
            (Some(_), Some(at)) => {
                let message = format!("{owner} has both `for` and `until`");
                flaws.add(
                    FlawCode::Duplicate,
                    at.source_span(),
                    message,
                    "keep one of them",
                );
                return None;
            }
            (None, None) => {
                let hint = "write `for: 5s`, or `until:` with a time";
                fields::report_missing(self.at, &owner, "for", hint, flaws);
                return None;
            }
        };
        self.sources.time = Some(at);
        arguments::check_expression_objects(at, flaws);
        let time = arguments::template(at.value);
        if let Template::Literal(value) = &time {
            check_literal_time(at, key, value, flaws)?;
        }
        Some(Action::Wait(match key {
            "for" => WaitTime::For(time),
            _ => WaitTime::Until(time),
        }))
    }

    pub(super) fn read_ask(&mut self, flaws: &mut FlawCollector) -> Option<Action> {
        for (field, label) in ASK_EDGES {
            if let Some((to, at)) = fields::optional_string(self.at, field, flaws) {
                let edge = Edge::labelled(self.node.id.clone(), to.clone(), label);
                self.edges.push((edge, at));
            }
        }
        // The paths of the question's expressions begin at the node.
        self.sources.arguments = Some(self.at);
        let owner = self.owner_text();
        let mut part = |key: &str| {
            let at = fields::present(self.at, key)?;
            arguments::check_expression_objects(at, flaws);
            Some(arguments::template(at.value))
        };
        let parts = (part(MESSAGE), part(DEFAULTS));
        let form = ask_form::read(self.at, &owner, parts, flaws)?;
        Some(Action::Ask(Box::new(form)))
    }
}

/// Checks a literal time.
fn check_literal_time(
    at: Spanned<'_>,
    key: &str,
    value: &Value,
    flaws: &mut FlawCollector,
) -> Option<()> {
    let sound = match (key, value) {
        ("for", Value::String(text)) => parse_duration_ms(text).is_some(),
        ("for", other) => other.as_f64().is_some_and(|ms| ms >= 0.0),
        (_, Value::String(text)) => !text.trim().is_empty(),
        (_, other) => other.as_i64().is_some(),
    };
    if !sound {
        let hint = match key {
            "for" => "write milliseconds as a number, or a string like `500ms`, `5s`, `2h`, `1d`",
            _ => "write a time like `2030-01-31T12:00:00Z`, or `{expr: …}`",
        };
        fields::report_wrong_type(at, key, "a time", hint, flaws);
        return None;
    }
    Some(())
}

fn item_name(map: Spanned<'_>, flaws: &mut FlawCollector) -> Str {
    let Some((name, at)) = map
        .value
        .as_object()
        .and_then(|_| fields::optional_string(map, "as", flaws))
    else {
        return ITEM_NAME_DEFAULT.into();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        let message = format!(
            "`{}` cannot be the name of an item",
            tramline_workflow::text::display_name(name)
        );
        let hint = "use letters, digits and `_`; expressions refer to it with a leading `$`";
        flaws.add(FlawCode::WrongType, at.source_span(), message, hint);
        return ITEM_NAME_DEFAULT.into();
    }
    name.clone()
}

fn item_failures(map: Spanned<'_>, flaws: &mut FlawCollector) -> ItemFailures {
    let given = map
        .value
        .as_object()
        .and_then(|_| fields::first_present(map, &ON_FAILURE));
    let Some((word, at)) = given.and_then(|(key, at)| fields::string_value(at, key, flaws)) else {
        return ItemFailures::Stop;
    };
    match word.as_str() {
        "stop" => ItemFailures::Stop,
        "keep" => ItemFailures::Keep,
        other => {
            let message = format!(
                "`on-failure` must be `stop` or `keep`, not `{}`",
                tramline_workflow::text::display_name(other)
            );
            let hint = "`stop` fails the node, `keep` records the failure as the item's result";
            flaws.add(FlawCode::WrongType, at.source_span(), message, hint);
            ItemFailures::Stop
        }
    }
}
