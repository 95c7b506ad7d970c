//! Look-ups: named results of earlier calls, found by their arguments.

use super::{Formula, with_field};
use crate::call_history::CallHistory;
use crate::operands::OperandPath;
use crate::redacted;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::sop::CallLookup;

/// Values per look-up with `each`; every value is searched for among all calls.
const EACH_MAX: usize = 200;

/// A compiled look-up.
#[derive(Debug)]
pub(super) struct CompiledLookup {
    lookup: CallLookup,
    args: Vec<(Str, Formula)>,
    each: Option<Formula>,
}

impl CompiledLookup {
    pub(super) fn new(lookup: &CallLookup) -> Result<Self, String> {
        let arg = |(name, source): &(Str, Value)| Ok((name.clone(), Formula::compile(source)?));
        Ok(Self {
            args: lookup.args.iter().map(arg).collect::<Result<_, String>>()?,
            each: lookup.each.as_ref().map(Formula::compile).transpose()?,
            lookup: lookup.clone(),
        })
    }

    pub(super) fn name(&self) -> &Str {
        &self.lookup.name
    }
}

/// The result of a look-up.
#[derive(Clone, Debug)]
enum LookupResult {
    /// Found in an earlier call. If another tool than the primary one made it, the arguments for
    /// calling the primary tool.
    Value(Value, Option<Map>),
    /// These calls were not made.
    Missing(Vec<Map>),
    /// The arguments are unknown because of this path or look-up.
    Unresolved(OperandPath),
}

/// The look-ups of a check, in document order.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    found: Vec<(Str, Str, LookupResult)>,
}

impl Lookups {
    /// The look-ups that were found, as expressions see them.
    pub(super) fn values(&self) -> Value {
        let mut values = Map::new();
        for (name, _, found) in &self.found {
            if let LookupResult::Value(value, _) = found {
                values.insert(name.clone(), value.clone());
            }
        }
        values.into()
    }

    pub(super) fn find(&mut self, lookup: &CompiledLookup, history: &CallHistory, data: &Value) {
        let found = match &lookup.each {
            None => find_one(lookup, history, data),
            Some(each) => find_each(lookup, each, history, data),
        };
        let tool = lookup.lookup.tools.first().cloned().unwrap_or_default();
        self.found.push((lookup.name().clone(), tool, found));
    }

    /// Why a path into a look-up has no value, with the calls that would supply it.
    pub(super) fn missing(
        &self,
        name: &str,
        path: &str,
        call: &mut impl FnMut(&str, Value),
    ) -> Str {
        let found = self.found.iter().find(|(it, _, _)| it == name);
        match found {
            None => format!("there is no look-up `{name}`").into(),
            Some((_, tool, LookupResult::Value(_, None))) => {
                format!("`{path}` is not in the output of {tool}").into()
            }
            Some((_, tool, LookupResult::Value(_, Some(arguments)))) => {
                let arguments = Value::from(arguments.clone());
                let told = format!("call {tool} with {arguments} again, for `{path}`");
                call(tool, arguments);
                told.into()
            }
            Some((_, tool, LookupResult::Missing(all))) => {
                let told = all.iter().map(|arguments| {
                    let arguments = Value::from(arguments.clone());
                    let told = format!("call {tool} with {arguments}");
                    call(tool, arguments);
                    told
                });
                told.collect::<Vec<_>>().join("; ").into()
            }
            // A look-up can use another one that is written before it.
            Some((_, _, LookupResult::Unresolved(path))) if path.root == "lookups" => {
                let needs = path.name.as_deref().unwrap_or_default();
                match needs == name {
                    true => format!("`lookups.{name}` refers to itself").into(),
                    false => self.missing(needs, &path.text, call),
                }
            }
            Some((_, tool, LookupResult::Unresolved(path))) => {
                format!("call {tool}; `{}` is not known", path.text).into()
            }
        }
    }
}

/// The latest result of a call with these arguments.
fn find_one(lookup: &CompiledLookup, history: &CallHistory, data: &Value) -> LookupResult {
    let mut wanted = Map::new();
    for (name, formula) in &lookup.args {
        match value(formula, data) {
            Ok(value) => wanted.insert(name.clone(), value),
            Err(path) => return LookupResult::Unresolved(path),
        };
    }
    // A call with a redacted argument may be the one that is wanted, and its result the latest.
    let may_fit = |arguments: &Value| {
        let mut all = wanted.iter();
        all.all(|(key, value)| {
            let given = arguments.get(key);
            given.is_some_and(|given| redacted::may_equal(given, value))
        })
    };
    let fits = |arguments: &Value| {
        let mut all = wanted.iter();
        all.all(|(key, value)| arguments.get(key) == Some(value))
    };
    let last = history.calls_of(&lookup.lookup.tools).rev();
    let mut last = last.filter(|made| made.result().is_some() && may_fit(&made.arguments));
    if last.next().is_some_and(|made| !fits(&made.arguments)) {
        return LookupResult::Unresolved(unresolved("a redacted argument of an earlier call"));
    }
    let latest = |tools: &[Str]| {
        let mut made = history.calls_of(tools).rev();
        let found = made.find(|made| made.result().is_some() && fits(&made.arguments));
        found.and_then(|made| Some((made.call, made.result()?.clone())))
    };
    let first = lookup.lookup.tools.get(..1).and_then(&latest);
    match latest(&lookup.lookup.tools) {
        Some((call, result)) => {
            let is_first = first.is_some_and(|(it, _)| it == call);
            LookupResult::Value(result, (!is_first).then_some(wanted))
        }
        None => LookupResult::Missing(vec![wanted]),
    }
}

/// One result for each value of a list.
fn find_each(
    lookup: &CompiledLookup,
    each: &Formula,
    history: &CallHistory,
    data: &Value,
) -> LookupResult {
    let list = match value(each, data) {
        Ok(Value::Array(items)) => items.to_vec(),
        Ok(one) => vec![one],
        Err(path) => return LookupResult::Unresolved(path),
    };
    let mut distinct: Vec<Value> = Vec::new();
    for item in list.into_iter().take(EACH_MAX + 1) {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    if distinct.len() > EACH_MAX {
        return LookupResult::Unresolved(unresolved(&format!(
            "each of more than {EACH_MAX} values"
        )));
    }
    let (mut values, mut missing) = (Vec::new(), Vec::new());
    for item in distinct {
        match find_one(lookup, history, &with_field(data, "each", item)) {
            LookupResult::Value(value, _) => values.push(value),
            LookupResult::Missing(wanted) => missing.extend(wanted),
            LookupResult::Unresolved(path) => return LookupResult::Unresolved(path),
        }
    }
    match missing.is_empty() {
        true => LookupResult::Value(values.into(), None),
        false => LookupResult::Missing(missing),
    }
}

/// The value of an expression, or the path that has no value.
fn value(formula: &Formula, data: &Value) -> Result<Value, OperandPath> {
    let (result, operands) = formula.evaluate(data);
    if let Some(path) = operands.missing.first() {
        return Err(path.clone());
    }
    if operands.reads_mask {
        return Err(unresolved("a redacted value"));
    }
    match result {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(unresolved("an argument of the look-up")),
        Err(error) => Err(unresolved(&error)),
    }
}

fn unresolved(text: &str) -> OperandPath {
    OperandPath {
        text: text.into(),
        root: "".into(),
        name: None,
    }
}
