//! Rules over a call: its arguments, earlier calls and look-ups are checked before the call is
//! sent.
//!
//! A rule that cannot be decided because an operand is missing refuses the call and names the tool
//! that supplies the operand.

use super::SopSession;
use super::call_history::{CALL_BYTES_KEPT_MAX, CALLS_KEPT_MAX, RecordedCall};
use super::operands::OperandPath;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::CheckedRule;
use tramline_workflow::sop::{OnViolation, Sop};

mod compiled_rules;
mod formula;
mod lookup;

pub(super) use compiled_rules::CompiledRules;
use compiled_rules::{CompiledRule, RuleKind};
use formula::Formula;
use lookup::Lookups;

/// Why a rule over a redacted value is not decided.
const REDACTED_OPERAND: &str =
    "it reads a value of an earlier call that was redacted because it is a secret";

/// A call that would supply a missing operand.
#[derive(Clone, Debug, PartialEq)]
pub struct NeededCall {
    /// The tool.
    pub tool: Str,
    /// The arguments, an object; null if they are not known.
    pub arguments: Value,
}

/// The result of checking the rules of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleReport {
    /// Every rule that was evaluated.
    pub checked: Vec<CheckedRule>,
    /// The calls that would supply missing operands.
    pub needed: Vec<NeededCall>,
}

impl RuleReport {
    /// Whether the call must not be made, even with approval.
    pub fn refuses(&self) -> bool {
        let refuses =
            |it: &CheckedRule| it.holds.is_none() || (it.holds == Some(false) && !it.asks);
        self.checked.iter().any(refuses)
    }

    /// The same decisions, told with the operands of a check over the arguments as they are written:
    /// reports are stored and returned, and must not contain secrets.
    #[must_use]
    pub(super) fn shown_as(self, shown: Self) -> Self {
        let checked = self.checked.into_iter().zip(shown.checked);
        let checked = checked.map(|(real, shown)| {
            let undecided = real.holds.is_none();
            let missing = match (undecided, shown.missing.is_empty()) {
                (true, true) => vec!["it cannot be decided with the secret in the call".into()],
                (true, false) => shown.missing,
                (false, _) => Vec::new(),
            };
            CheckedRule {
                operands: shown.operands,
                missing,
                ..real
            }
        });
        Self {
            checked: checked.collect(),
            needed: shown.needed,
        }
    }

    /// Whether a person must decide about the call.
    pub fn asks(&self) -> bool {
        let asks = |it: &CheckedRule| it.holds == Some(false) && it.asks;
        !self.refuses() && self.checked.iter().any(asks)
    }
}

/// Evaluates the rules for a call at the current node. `except` is a call that does not count as an
/// earlier one: the call itself, if it was already announced.
///
/// Every check of a call uses this, including calls whose arguments a person edited.
pub fn check_rules(
    walk: &SopSession,
    tool: &ToolName,
    arguments: &Value,
    except: Option<u32>,
) -> RuleReport {
    let mut report = RuleReport::default();
    for frame in walk.frames() {
        let Some(procedure) = walk.procedure(frame.sop) else {
            continue;
        };
        // The rules of a node that enters a procedure apply inside, too.
        let node = frame.node;
        let rules = procedure.rules().of(node, tool);
        if rules.is_empty() {
            continue;
        }
        let check = CallCheck::new(walk, tool, arguments, except, &procedure.sop);
        let check = check.look_up(&procedure.rules().lookups(node));
        for rule in rules {
            let checked = check.rule(rule, &mut report.needed);
            report.checked.push(checked);
        }
    }
    report
}

/// A call that is being checked.
struct CallCheck<'a> {
    walk: &'a SopSession,
    tool: &'a ToolName,
    except: Option<u32>,
    /// The data that expressions see.
    data: Value,
    lookups: Lookups,
}

impl<'a> CallCheck<'a> {
    fn new(
        walk: &'a SopSession,
        tool: &'a ToolName,
        arguments: &Value,
        except: Option<u32>,
        sop: &Sop,
    ) -> Self {
        let mut data = walk.scope().as_object().cloned().unwrap_or_default();
        data.insert("args", arguments_object(arguments));
        data.insert("caller", caller_value(walk));
        data.insert("calls", walk.history().to_value(sop.named_tools().iter()));
        Self {
            walk,
            tool,
            except,
            data: data.into(),
            lookups: Lookups::default(),
        }
    }

    /// Resolves the look-ups and adds them to the data that expressions see.
    fn look_up(mut self, wanted: &[&lookup::CompiledLookup]) -> Self {
        for lookup in wanted {
            let data = with_field(&self.data, "lookups", self.lookups.values());
            self.lookups.find(lookup, self.walk.history(), &data);
        }
        self.data = with_field(&self.data, "lookups", self.lookups.values());
        self
    }

    fn rule(&self, rule: &CompiledRule, needed: &mut Vec<NeededCall>) -> CheckedRule {
        let mut checked = CheckedRule {
            rule: rule.field.into(),
            source: rule.source.clone(),
            holds: None,
            operands: Vec::new(),
            missing: Vec::new(),
            message: rule.message.clone(),
            asks: rule.otherwise == OnViolation::Ask,
        };
        if self.walk.history().is_truncated() && rule.reads_history() {
            checked.missing.push(history_limit_message());
            return checked;
        }
        match &rule.kind {
            RuleKind::Holds(formula) => {
                let value = self.value(formula, &mut checked, needed);
                checked.holds = value.map(|it| formula.is_true(&it));
                if checked.holds == Some(false) {
                    self.require_missing_calls(&mut checked, needed);
                }
            }
            RuleKind::OncePer(formula, tools) => {
                let value = self.value(formula, &mut checked, needed);
                if value.as_ref().is_some_and(Value::is_null) {
                    checked.missing.push("the value is null".into());
                } else if let Some(value) = value {
                    let before = self.earlier_equal_call(formula, &value, tools);
                    let told = before.map_or(Value::Null, |it| it.call.into());
                    checked.operands.push(("the value".into(), value));
                    checked.operands.push(("earlier call".into(), told));
                    checked.holds = Some(before.is_none());
                    self.name_waiting(before.into_iter(), &mut checked);
                }
            }
            RuleKind::MaxCalls(most) => {
                let tools = [self.tool.to_string().into()];
                let so_far = self.earlier_calls(&tools).count();
                let what = format!("calls of {} so far", self.tool);
                checked.operands.push((what.into(), so_far.into()));
                checked.holds = Some(so_far < *most as usize);
                if checked.holds == Some(false) {
                    self.name_waiting(self.earlier_calls(&tools), &mut checked);
                }
            }
        }
        checked
    }

    /// Names the runs in which counted calls wait for a person: answering them settles the limit.
    fn name_waiting<'b>(
        &self,
        counted: impl Iterator<Item = &'b RecordedCall>,
        checked: &mut CheckedRule,
    ) {
        let runs = counted.filter_map(|it| self.walk.open_calls.get(&it.call)?.run.as_ref());
        let runs: Vec<Value> = runs.map(|run| run.as_str().into()).collect();
        if !runs.is_empty() {
            let what = "waiting for a person's answer in";
            checked.operands.push((what.into(), runs.into()));
        }
    }

    /// A rule that fails over calls that were never made is undecided, and waits for them.
    fn require_missing_calls(&self, checked: &mut CheckedRule, needed: &mut Vec<NeededCall>) {
        let empty = checked
            .operands
            .iter()
            .filter(|(_, value)| value.as_array().is_some_and(|items| items.is_empty()));
        let paths = empty.filter_map(|(text, _)| OperandPath::read(text));
        let paths: Vec<OperandPath> = paths.filter(|it| it.root == "calls").collect();
        for path in paths {
            checked.missing.push(self.describe_missing(&path, needed));
            checked.holds = None;
        }
    }

    /// Earlier calls of these tools.
    fn earlier_calls<'b>(&'b self, tools: &'b [Str]) -> impl Iterator<Item = &'b RecordedCall> {
        let made = self.walk.history().calls_of(tools);
        made.filter(|it| Some(it.call) != self.except)
    }

    /// An earlier call with the same value.
    fn earlier_equal_call(
        &self,
        formula: &Formula,
        value: &Value,
        tools: &[Str],
    ) -> Option<&RecordedCall> {
        let mut names: Vec<Str> = vec![self.tool.to_string().into()];
        names.extend(tools.iter().cloned());
        let value = comparable(value);
        let had = |made: &&RecordedCall| {
            let data = with_field(&self.data, "args", arguments_object(&made.arguments));
            let (earlier, operands) = formula.evaluate(&data);
            let earlier = earlier.ok().flatten();
            // A redacted value may have been the same.
            let is_same = operands.reads_mask || earlier.is_some_and(|it| comparable(&it) == value);
            made.may_have_happened() && is_same
        };
        let mut made = self.walk.history().calls_of(&names);
        let found = made.find(|it| Some(it.call) != self.except && had(it))?;
        self.walk.history().find(found.call)
    }

    /// The value of a formula; if it has none, the missing operands are recorded.
    fn value(
        &self,
        formula: &Formula,
        checked: &mut CheckedRule,
        needed: &mut Vec<NeededCall>,
    ) -> Option<Value> {
        let (result, operands) = formula.evaluate(&self.data);
        checked.operands = operands.found;
        for path in &operands.missing {
            let says = self.describe_missing(path, needed);
            if !checked.missing.contains(&says) {
                checked.missing.push(says);
            }
        }
        if operands.reads_mask {
            checked.missing.push(REDACTED_OPERAND.into());
        }
        if operands.is_truncated {
            let says = "the evaluation has too many parts to explain; simplify the rule";
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

    /// Describes what is missing where a path has no value, and adds the call that would supply it.
    fn describe_missing(&self, path: &OperandPath, needed: &mut Vec<NeededCall>) -> Str {
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

/// A value of `once_per` in the form in which it is compared: `1` and `"1"` are the same.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Bool(_) | Value::Number(_) => value.to_json().into(),
        Value::Array(items) => Value::array(items.iter().map(comparable)),
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(key, value)| (key.clone(), comparable(value)));
            fields.collect::<Map>().into()
        }
        Value::Null | Value::String(_) => value.clone(),
    }
}

/// The caller, as far as it is known.
fn caller_value(walk: &SopSession) -> Value {
    let mut told = Map::new();
    for (key, value) in [
        ("id", &walk.started.owner),
        ("session", &walk.started.session),
    ] {
        if let Some(value) = value {
            told.insert(key, value.clone().into());
        }
    }
    told.into()
}

fn arguments_object(arguments: &Value) -> Value {
    match arguments {
        Value::Null => Map::new().into(),
        other => other.clone(),
    }
}

/// An object with one field replaced.
fn with_field(data: &Value, key: &str, value: Value) -> Value {
    let mut data = data.as_object().cloned().unwrap_or_default();
    data.insert(key, value);
    data.into()
}

fn history_limit_message() -> Str {
    let megabytes = CALL_BYTES_KEPT_MAX >> 20;
    format!(
        "the session has more than {CALLS_KEPT_MAX} calls or {megabytes} MiB of results, \
         the limit for rules over earlier calls; start a new session with `load_graph`"
    )
    .into()
}
