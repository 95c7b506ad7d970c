//! Rules over a call: its arguments, earlier calls, and look-ups, evaluated before the call leaves.
//!
//! A rule that cannot be decided because an operand is missing refuses the call and names the tool
//! that supplies it.

use super::Walk;
use super::history::{CALL_BYTES_KEPT_MAX, CALLS_KEPT_MAX, Made};
use super::operands::Path;
use crate::ids::ToolName;
use crate::journal::RuleChecked;
use crate::sop::{Otherwise, Sop};
use tramline_expr::{Map, Str, Value};

mod book;
mod formula;
mod lookup;

pub(super) use book::Book;
use book::{Compiled, Kind};
use formula::Formula;
use lookup::Lookups;

/// A call that would supply an operand.
#[derive(Clone, Debug, PartialEq)]
pub struct NeededCall {
    /// The tool.
    pub tool: Str,
    /// The arguments, an object; null where they are not known.
    pub arguments: Value,
}

/// What the rules say to a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleReport {
    /// Every rule that was evaluated.
    pub checked: Vec<RuleChecked>,
    /// The calls that would supply missing operands.
    pub needed: Vec<NeededCall>,
}

impl RuleReport {
    /// Whether the call must not be made, whoever agrees to it.
    pub fn refuses(&self) -> bool {
        let refuses =
            |it: &RuleChecked| it.holds.is_none() || (it.holds == Some(false) && !it.asks);
        self.checked.iter().any(refuses)
    }

    /// Whether a person must decide about the call.
    pub fn asks(&self) -> bool {
        let asks = |it: &RuleChecked| it.holds == Some(false) && it.asks;
        !self.refuses() && self.checked.iter().any(asks)
    }
}

/// Evaluates the rules for a call where the conversation stands. `except` is a call that does not
/// count as an earlier one: the call itself, if it was announced before.
///
/// Everything that lets a call through uses this: also a call whose arguments a person has edited.
pub fn check_rules(
    walk: &Walk,
    tool: &ToolName,
    arguments: &Value,
    except: Option<u32>,
) -> RuleReport {
    let mut report = RuleReport::default();
    for frame in walk.frames() {
        let Some(procedure) = walk.procedure(frame.sop) else {
            continue;
        };
        let is_inner = std::ptr::eq(frame, walk.frame());
        let node = frame.at.filter(|_| is_inner);
        let rules = procedure.rules().of(node, tool);
        if rules.is_empty() {
            continue;
        }
        let check = Check::new(walk, tool, arguments, except, &procedure.sop);
        let check = check.look_up(&procedure.rules().lookups(node));
        for rule in rules {
            let checked = check.rule(rule, &mut report.needed);
            report.checked.push(checked);
        }
    }
    report
}

/// One call that is being checked.
struct Check<'a> {
    walk: &'a Walk,
    tool: &'a ToolName,
    except: Option<u32>,
    /// What expressions see.
    data: Value,
    lookups: Lookups,
}

impl<'a> Check<'a> {
    fn new(
        walk: &'a Walk,
        tool: &'a ToolName,
        arguments: &Value,
        except: Option<u32>,
        sop: &Sop,
    ) -> Self {
        let mut data = walk.scope().as_object().cloned().unwrap_or_default();
        data.insert("args", object(arguments));
        data.insert("caller", caller(walk));
        data.insert("calls", walk.history().to_value(sop.named_tools().iter()));
        Self {
            walk,
            tool,
            except,
            data: data.into(),
            lookups: Lookups::default(),
        }
    }

    /// Finds the look-ups and puts them into what expressions see.
    fn look_up(mut self, wanted: &[&lookup::Compiled]) -> Self {
        for lookup in wanted {
            let data = with(&self.data, "lookups", self.lookups.values());
            self.lookups.find(lookup, self.walk.history(), &data);
        }
        self.data = with(&self.data, "lookups", self.lookups.values());
        self
    }

    fn rule(&self, rule: &Compiled, needed: &mut Vec<NeededCall>) -> RuleChecked {
        let mut checked = RuleChecked {
            rule: rule.field.into(),
            source: rule.source.clone(),
            holds: None,
            operands: Vec::new(),
            missing: Vec::new(),
            message: rule.message.clone(),
            asks: rule.otherwise == Otherwise::Ask,
        };
        if self.walk.history().is_cut() && rule.reads_history() {
            checked.missing.push(too_long());
            return checked;
        }
        match &rule.kind {
            Kind::Holds(formula) => {
                let value = self.value(formula, &mut checked, needed);
                checked.holds = value.map(|it| formula.is_true(&it));
                if checked.holds == Some(false) {
                    self.uncalled(&mut checked, needed);
                }
            }
            Kind::Once(formula, tools) => {
                if let Some(value) = self.value(formula, &mut checked, needed) {
                    let before = self.same(formula, &value, tools);
                    let told = before.map_or(Value::Null, |it| it.call.into());
                    checked.operands.push(("the value".into(), value));
                    checked.operands.push(("earlier call".into(), told));
                    checked.holds = Some(before.is_none());
                }
            }
            Kind::AtMost(most) => {
                let tools = [self.tool.to_string().into()];
                let so_far = self.earlier(&tools).count();
                let what = format!("calls of {} so far", self.tool);
                checked.operands.push((what.into(), so_far.into()));
                checked.holds = Some(so_far < *most as usize);
            }
        }
        checked
    }

    /// A rule that fails over calls that were never made waits for them.
    fn uncalled(&self, checked: &mut RuleChecked, needed: &mut Vec<NeededCall>) {
        let empty = checked
            .operands
            .iter()
            .filter(|(_, value)| value.as_array().is_some_and(|items| items.is_empty()));
        let paths = empty.filter_map(|(text, _)| Path::read(text));
        let paths: Vec<Path> = paths.filter(|it| it.root == "calls").collect();
        for path in paths {
            checked.missing.push(self.missing(&path, needed));
            checked.holds = None;
        }
    }

    /// The calls of these tools that were made before.
    fn earlier<'b>(&'b self, tools: &'b [Str]) -> impl Iterator<Item = &'b Made> {
        let made = self.walk.history().of(tools);
        made.filter(|it| Some(it.call) != self.except)
    }

    /// An earlier call with the same value.
    fn same(&self, formula: &Formula, value: &Value, tools: &[Str]) -> Option<&Made> {
        let mut names: Vec<Str> = vec![self.tool.to_string().into()];
        names.extend(tools.iter().cloned());
        let had = |made: &&Made| {
            let data = with(&self.data, "args", object(&made.arguments));
            let (earlier, _) = formula.evaluate(&data);
            made.may_have_happened() && earlier.is_ok_and(|it| it.as_ref() == Some(value))
        };
        let mut made = self.walk.history().of(&names);
        let found = made.find(|it| Some(it.call) != self.except && had(it))?;
        self.walk.history().find(found.call)
    }

    /// The value of a formula; otherwise what is missing is noted.
    fn value(
        &self,
        formula: &Formula,
        checked: &mut RuleChecked,
        needed: &mut Vec<NeededCall>,
    ) -> Option<Value> {
        let (result, operands) = formula.evaluate(&self.data);
        checked.operands = operands.found;
        for path in &operands.missing {
            let says = self.missing(path, needed);
            if !checked.missing.contains(&says) {
                checked.missing.push(says);
            }
        }
        if operands.is_cut {
            let says = "the evaluation has too many parts to be explained; simplify the rule";
            checked.missing.push(says.into());
        }
        match result {
            _ if !checked.missing.is_empty() => None,
            Ok(Some(value)) => Some(value),
            Ok(None) => {
                checked.missing.push("the expression has no value".into());
                None
            }
            Err(error) => {
                checked.missing.push(format!("it failed: {error}").into());
                None
            }
        }
    }

    /// What is missing where a path leads to nothing, and the call that would supply it.
    fn missing(&self, path: &Path, needed: &mut Vec<NeededCall>) -> Str {
        let name = path.name.as_deref().unwrap_or_default();
        let mut call = |tool: &str, arguments: Value| {
            let one = NeededCall {
                tool: tool.into(),
                arguments,
            };
            if !needed.contains(&one) {
                needed.push(one);
            }
        };
        match path.root.as_str() {
            "args" => format!("the argument `{name}` is missing").into(),
            "slots" => format!("the slot `{name}` is not set; set it with `slots`").into(),
            "caller" => format!("`{}` of the caller is not known", path.text).into(),
            "calls" | "results" if !name.is_empty() => {
                call(name, Value::Null);
                format!("`{}` is not known; call {name}", path.text).into()
            }
            "lookups" => self.lookups.missing(name, &path.text, &mut call),
            _ => format!("`{}` is not known", path.text).into(),
        }
    }
}

/// Who is calling, as far as that is known.
fn caller(walk: &Walk) -> Value {
    let mut told = Map::new();
    for (key, value) in [("id", &walk.begun.owner), ("session", &walk.begun.session)] {
        if let Some(value) = value {
            told.insert(key, value.clone().into());
        }
    }
    told.into()
}

fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Null => Map::new().into(),
        other => other.clone(),
    }
}

/// An object with one field set.
fn with(data: &Value, key: &str, value: Value) -> Value {
    let mut data = data.as_object().cloned().unwrap_or_default();
    data.insert(key, value);
    data.into()
}

fn too_long() -> Str {
    let megabytes = CALL_BYTES_KEPT_MAX >> 20;
    format!(
        "the conversation has more than {CALLS_KEPT_MAX} calls or {megabytes} MiB of results, \
         which is all that rules can look back on; begin a new one with `load_graph`"
    )
    .into()
}
