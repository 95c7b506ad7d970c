//! Look-ups: named results of earlier calls, found by the arguments of those calls.

use super::{Formula, with};
use crate::navigate::history::History;
use crate::navigate::operands::Path;
use crate::sop::Lookup;
use tramline_expr::{Map, Str, Value};

/// A look-up of more values than this is refused: each is searched for among all calls.
const EACH_MAX: usize = 200;

/// A look-up that is ready to be found.
#[derive(Debug)]
pub(super) struct Compiled {
    lookup: Lookup,
    args: Vec<(Str, Formula)>,
    each: Option<Formula>,
}

impl Compiled {
    pub(super) fn new(lookup: &Lookup) -> Result<Self, String> {
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

/// What became of a look-up.
#[derive(Clone, Debug)]
enum Found {
    /// It was found in an earlier call. Where that was of another tool than the one that looks it up,
    /// the arguments to look it up anew.
    Value(Value, Option<Map>),
    /// These calls were not made.
    Missing(Vec<Map>),
    /// The arguments cannot be told, because of this path or look-up.
    Unclear(Path),
}

/// The look-ups of a check, in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    found: Vec<(Str, Str, Found)>,
}

impl Lookups {
    /// Those that were found, as expressions see them.
    pub(super) fn values(&self) -> Value {
        let mut values = Map::new();
        for (name, _, found) in &self.found {
            if let Found::Value(value, _) = found {
                values.insert(name.clone(), value.clone());
            }
        }
        values.into()
    }

    pub(super) fn find(&mut self, lookup: &Compiled, history: &History, data: &Value) {
        let found = match &lookup.each {
            None => one(lookup, history, data),
            Some(each) => all(lookup, each, history, data),
        };
        let tool = lookup.lookup.tools.first().cloned().unwrap_or_default();
        self.found.push((lookup.name().clone(), tool, found));
    }

    /// Why a path into a look-up leads to nothing, and the calls that would supply it.
    pub(super) fn missing(
        &self,
        name: &str,
        path: &str,
        call: &mut impl FnMut(&str, Value),
    ) -> Str {
        let found = self.found.iter().find(|(it, _, _)| it == name);
        match found {
            None => format!("there is no look-up `{name}`").into(),
            Some((_, tool, Found::Value(_, None))) => {
                format!("`{path}` is not in what {tool} gave").into()
            }
            Some((_, tool, Found::Value(_, Some(arguments)))) => {
                let arguments = Value::from(arguments.clone());
                let told = format!("call {tool} with {arguments} again, for `{path}`");
                call(tool, arguments);
                told.into()
            }
            Some((_, tool, Found::Missing(all))) => {
                let told = all.iter().map(|arguments| {
                    let arguments = Value::from(arguments.clone());
                    let told = format!("call {tool} with {arguments}");
                    call(tool, arguments);
                    told
                });
                told.collect::<Vec<_>>().join("; ").into()
            }
            // One look-up can need another, which is written before it.
            Some((_, _, Found::Unclear(path))) if path.root == "lookups" => {
                let needs = path.name.as_deref().unwrap_or_default();
                match needs == name {
                    true => format!("`lookups.{name}` refers to itself").into(),
                    false => self.missing(needs, &path.text, call),
                }
            }
            Some((_, tool, Found::Unclear(path))) => {
                format!("call {tool}; `{}` is not known", path.text).into()
            }
        }
    }
}

/// The latest result of a call with these arguments.
fn one(lookup: &Compiled, history: &History, data: &Value) -> Found {
    let mut wanted = Map::new();
    for (name, formula) in &lookup.args {
        match value(formula, data) {
            Ok(value) => wanted.insert(name.clone(), value),
            Err(path) => return Found::Unclear(path),
        };
    }
    let fits = |arguments: &Value| {
        let mut all = wanted.iter();
        all.all(|(key, value)| arguments.get(key) == Some(value))
    };
    let latest = |tools: &[Str]| {
        let mut made = history.of(tools).rev();
        let found = made.find(|made| made.result().is_some() && fits(&made.arguments));
        found.and_then(|made| Some((made.call, made.result()?.clone())))
    };
    let first = lookup.lookup.tools.get(..1).and_then(&latest);
    match latest(&lookup.lookup.tools) {
        Some((call, result)) => {
            let is_first = first.is_some_and(|(it, _)| it == call);
            Found::Value(result, (!is_first).then_some(wanted))
        }
        None => Found::Missing(vec![wanted]),
    }
}

/// A result for each value of a list.
fn all(lookup: &Compiled, each: &Formula, history: &History, data: &Value) -> Found {
    let list = match value(each, data) {
        Ok(Value::Array(items)) => items.to_vec(),
        Ok(one) => vec![one],
        Err(path) => return Found::Unclear(path),
    };
    let mut distinct: Vec<Value> = Vec::new();
    for item in list.into_iter().take(EACH_MAX + 1) {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    if distinct.len() > EACH_MAX {
        return Found::Unclear(unclear(&format!("each of more than {EACH_MAX} values")));
    }
    let (mut values, mut missing) = (Vec::new(), Vec::new());
    for item in distinct {
        match one(lookup, history, &with(data, "each", item)) {
            Found::Value(value, _) => values.push(value),
            Found::Missing(wanted) => missing.extend(wanted),
            Found::Unclear(path) => return Found::Unclear(path),
        }
    }
    match missing.is_empty() {
        true => Found::Value(values.into(), None),
        false => Found::Missing(missing),
    }
}

/// The value of an expression, or the path that leads to nothing.
fn value(formula: &Formula, data: &Value) -> Result<Value, Path> {
    let (result, operands) = formula.evaluate(data);
    if let Some(path) = operands.missing.first() {
        return Err(path.clone());
    }
    match result {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(unclear("an argument of the look-up")),
        Err(error) => Err(unclear(&error)),
    }
}

fn unclear(text: &str) -> Path {
    Path {
        text: text.into(),
        root: "".into(),
        name: None,
    }
}
