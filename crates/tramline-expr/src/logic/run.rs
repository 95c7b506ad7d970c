//! Evaluates a compiled rule over data, within limits, recording how if asked.

use super::coerce::{Maybe, truthy};
use super::explain::{RuleExplanation, Tracer};
use super::node::{Kind, Node, REDUCE_GROWTH, Reduce};
use super::operator::Each;
use super::path::{Path, Place};
use super::{apply, coerce};
use crate::error::{ExprError, Flaw};
use crate::host::Host;
use crate::limits::{Limits, Meter};
use crate::value::{Map, Str, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// Results inside the evaluator; the error is boxed so that the good case stays small.
pub(super) type Run<T> = Result<T, Box<ExprError>>;

/// What a reduce builds may nest this deep. Past it: `L0006`.
const NESTING_MAX: u32 = 200;

const CURRENT: Str = Str::new_static("current");
const ACCUMULATOR: Str = Str::new_static("accumulator");

impl From<Box<Flaw>> for Box<ExprError> {
    fn from(flaw: Box<Flaw>) -> Self {
        Box::new(flaw.into_error(""))
    }
}

/// One evaluation.
pub(super) struct Machine<'r> {
    host: &'r dyn Host,
    pub(super) meter: Meter,
    /// Whether a number came up that JSON does not have.
    pub(super) odd: Cell<bool>,
    tracer: Option<RefCell<Tracer>>,
}

impl<'r> Machine<'r> {
    pub(super) fn new(host: &'r dyn Host, limits: &'r Limits) -> Self {
        Self {
            host,
            meter: Meter::new(limits),
            odd: Cell::new(false),
            tracer: None,
        }
    }

    /// The value of a rule as data; where asked, no larger than the fuel that is left.
    pub(super) fn value(
        &self,
        root: &Node,
        data: &Value,
        measured: bool,
    ) -> Result<Value, ExprError> {
        let value = self.eval(root, data).map_err(|error| *error)?;
        if measured {
            self.nesting(value.as_ref()).map_err(|error| *error)?;
        }
        self.data(value).map_err(|error| *error)
    }

    pub(super) fn truth(&self, root: &Node, data: &Value) -> Result<bool, ExprError> {
        self.holds(root, data).map_err(|error| *error)
    }

    pub(super) fn explain(mut self, root: &Node, data: &Value) -> Option<RuleExplanation> {
        self.tracer = Some(RefCell::default());
        // The outcome is in the explanation.
        let _ = self.eval(root, data);
        self.tracer?.into_inner().finish()
    }

    /// A value with nothing in it that JSON does not have.
    fn data(&self, value: Maybe) -> Run<Value> {
        match value {
            None => Ok(Value::Null),
            Some(value) if self.odd.get() => self.cleaned(value),
            Some(value) => Ok(value),
        }
    }

    fn cleaned(&self, value: Value) -> Run<Value> {
        Ok(match value {
            Value::Number(number) if !number.as_f64().is_finite() => Value::Null,
            Value::Array(items) => {
                self.meter.items(items.len())?;
                let items = items.iter().map(|item| self.cleaned(item.clone()));
                Value::from(items.collect::<Run<Vec<_>>>()?)
            }
            Value::Object(map) => {
                self.meter.items(map.len())?;
                let pairs = map
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.cleaned(value.clone())?)));
                Value::from(pairs.collect::<Run<Map>>()?)
            }
            other => other,
        })
    }

    #[inline]
    pub(super) fn eval(&self, node: &Node, data: &Value) -> Run<Maybe> {
        match &self.tracer {
            None => self.step(node, data),
            Some(tracer) => self.traced(node, data, tracer),
        }
    }

    /// Evaluates without copying what stands in the rule or in the data.
    pub(super) fn peek<'v>(&self, node: &'v Node, data: &'v Value) -> Run<Option<Cow<'v, Value>>> {
        let found = match &node.kind {
            _ if self.tracer.is_some() => None,
            Kind::Constant(value) => Some(Cow::Borrowed(value)),
            Kind::Var(Place::Whole, _) => Some(Cow::Borrowed(data)),
            Kind::Var(Place::Path(path), _) => path.find(data),
            Kind::Var(Place::Fields(path, _), _) => {
                path.find_in_objects(data).flatten().map(Cow::Borrowed)
            }
            _ => None,
        };
        match found {
            Some(found) => {
                self.meter.burn(1)?;
                Ok(Some(found))
            }
            None => Ok(self.eval(node, data)?.map(Cow::Owned)),
        }
    }

    /// Whether a node's value is true.
    pub(super) fn holds(&self, node: &Node, data: &Value) -> Run<bool> {
        // Only the truth is asked for: the values that `and` and `or` give need not be made.
        match &node.kind {
            Kind::And(parts) if self.tracer.is_none() => self.none_is(false, parts, data),
            Kind::Or(parts) if self.tracer.is_none() => Ok(!self.none_is(true, parts, data)?),
            _ => Ok(truthy(self.peek(node, data)?.as_deref())),
        }
    }

    /// Whether no part has this truth. Neither `and` nor `or` of no parts holds.
    fn none_is(&self, truth: bool, parts: &[Node], data: &Value) -> Run<bool> {
        self.meter.enter()?;
        let mut none = truth || !parts.is_empty();
        for part in parts {
            if self.holds(part, data)? == truth {
                none = false;
                break;
            }
        }
        self.meter.leave();
        Ok(none)
    }

    #[cold]
    fn traced(&self, node: &Node, data: &Value, tracer: &RefCell<Tracer>) -> Run<Maybe> {
        tracer.borrow_mut().open(node);
        let outcome = self.step(node, data);
        tracer.borrow_mut().close(&outcome);
        outcome
    }

    fn step(&self, node: &Node, data: &Value) -> Run<Maybe> {
        if let Kind::Constant(value) = &node.kind {
            self.meter.burn(1)?;
            return Ok(Some(value.clone()));
        }
        self.meter.enter()?;
        let value = match &node.kind {
            Kind::Constant(value) => Some(value.clone()),
            Kind::Array(items) => {
                self.meter.items(items.len())?;
                let item = |item| self.eval(item, data).map(Option::unwrap_or_default);
                Some(items.iter().map(item).collect::<Run<Vec<_>>>()?.into())
            }
            Kind::If(parts) => self.choose(parts, data)?,
            Kind::And(parts) => self.until(parts, data, false)?,
            Kind::Or(parts) => self.until(parts, data, true)?,
            Kind::Var(place, default) => {
                let found = self.look(node, place, data)?;
                self.or_default(found, default, data)?
            }
            Kind::VarAt(path, default) => {
                let key = self.eval(path, data)?;
                let found = self.find(key.as_ref(), data)?;
                self.or_default(found, default, data)?
            }
            Kind::Each(each, list, body) => {
                let list = self.peek(list, data)?;
                let items = list.as_deref().and_then(Value::as_array).unwrap_or(&[]);
                Some(self.each(*each, items, body.as_deref())?)
            }
            Kind::Reduce(reduce) => self.reduce(reduce, data)?,
            Kind::Eager(eager, parts) => apply::apply(self, *eager, parts, data)?,
        };
        self.meter.leave();
        Ok(value)
    }

    fn choose(&self, parts: &[Node], data: &Value) -> Run<Maybe> {
        let mut pairs = parts.chunks_exact(2);
        for pair in pairs.by_ref() {
            if self.holds(&pair[0], data)? {
                return self.eval(&pair[1], data);
            }
        }
        if let [otherwise] = pairs.remainder() {
            return self.eval(otherwise, data);
        }
        Ok(Some(Value::Null))
    }

    /// The first value whose truth is `truth`, else the last.
    fn until(&self, parts: &[Node], data: &Value, truth: bool) -> Run<Maybe> {
        let mut last = None;
        for part in parts {
            last = self.eval(part, data)?;
            if truthy(last.as_ref()) == truth {
                break;
            }
        }
        Ok(last)
    }

    fn look(&self, node: &Node, place: &Place, data: &Value) -> Run<Maybe> {
        let expression = match place {
            Place::Whole => return Ok(Some(data.clone())),
            Place::Path(path) => return Ok(path.find(data).map(Cow::into_owned)),
            Place::Fields(path, expression) => match path.find_in_objects(data) {
                Some(found) => return Ok(found.cloned()),
                None => expression,
            },
            Place::Expression(expression) => expression,
        };
        let outcome = match &self.tracer {
            None => expression.evaluate_metered(data, self.host, &self.meter),
            Some(tracer) => {
                let mut tracer = tracer.borrow_mut();
                let (outcome, told) =
                    expression.explain_metered(data, self.host, &self.meter, tracer.room());
                tracer.note(told);
                outcome
            }
        };
        outcome.map_err(|mut error| {
            error.message = format!("{} (in the rule at {})", error.message, node.at);
            Box::new(error)
        })
    }

    /// Looks up a path that came from data: never an expression.
    pub(super) fn find(&self, key: Option<&Value>, data: &Value) -> Run<Maybe> {
        Ok(match key {
            None | Some(Value::Null) => Some(data.clone()),
            Some(Value::String(text)) if text.is_empty() => Some(data.clone()),
            Some(key) => {
                let text = self.string(Some(key))?;
                self.meter.burn(text.len() as u64)?;
                Path::read(&text).find(data).map(Cow::into_owned)
            }
        })
    }

    fn or_default(&self, found: Maybe, default: &Option<Box<Node>>, data: &Value) -> Run<Maybe> {
        match (found, default) {
            (Some(found), _) => Ok(Some(found)),
            (None, Some(default)) => Ok(Some(self.eval(default, data)?.unwrap_or_default())),
            (None, None) => Ok(Some(Value::Null)),
        }
    }

    fn each(&self, each: Each, items: &[Value], body: Option<&Node>) -> Run<Value> {
        let eval = |item: &Value| match body {
            Some(body) => self.eval(body, item),
            None => Ok(None),
        };
        let holds = |item: &Value| match body {
            Some(body) => self.holds(body, item),
            None => Ok(false),
        };
        Ok(match each {
            Each::Map => {
                self.meter.items(items.len())?;
                let value = |item| eval(item).map(Option::unwrap_or_default);
                items.iter().map(value).collect::<Run<Vec<_>>>()?.into()
            }
            Each::Filter => {
                let mut kept = Vec::new();
                for item in items {
                    if holds(item)? {
                        self.meter.items(1)?;
                        kept.push(item.clone());
                    }
                }
                kept.into()
            }
            Each::All => {
                let mut all = !items.is_empty();
                for item in items {
                    all = all && holds(item)?;
                }
                all.into()
            }
            Each::None | Each::Some => {
                for item in items {
                    if holds(item)? {
                        return Ok((each == Each::Some).into());
                    }
                }
                (each == Each::None).into()
            }
        })
    }

    fn reduce(&self, reduce: &Reduce, data: &Value) -> Run<Maybe> {
        let list = self.eval(&reduce.list, data)?;
        let mut sum = match &reduce.first {
            Some(first) => self.eval(first, data)?,
            None => Some(Value::Null),
        };
        let Some(Value::Array(items)) = &list else {
            return Ok(sum);
        };
        let Some(body) = &reduce.body else {
            return Ok(if items.is_empty() { sum } else { None });
        };
        let builds = body.growth > 0;
        // Never less than how deep the items and what was built so far nest.
        let mut nesting = match builds {
            true => self
                .nesting(list.as_ref())?
                .max(self.nesting(sum.as_ref())?),
            false => 0,
        };
        let items_nesting = nesting;
        for item in items.iter() {
            self.meter.items(2)?;
            let mut scope = Map::with_capacity(2);
            scope.insert(CURRENT, item.clone());
            if let Some(sum) = sum.take() {
                scope.insert(ACCUMULATOR, sum);
            }
            sum = self.eval(body, &scope.into())?;
            nesting += body.growth;
            if builds && nesting > REDUCE_GROWTH {
                nesting = self.nesting(sum.as_ref())?.max(items_nesting);
                if self.nesting(sum.as_ref())? > NESTING_MAX {
                    let message = format!("the rule made a value over {NESTING_MAX} levels deep");
                    return Err(Flaw::new("L0006", message).into());
                }
            }
        }
        Ok(sum)
    }

    /// How deep a value nests. Looking costs fuel, as lists may hold one another many times over.
    fn nesting(&self, value: Option<&Value>) -> Run<u32> {
        let mut deepest = 0;
        match value {
            Some(Value::Array(items)) => {
                self.meter.burn(items.len() as u64)?;
                for item in items.iter() {
                    deepest = self.nesting(Some(item))?.max(deepest);
                }
            }
            Some(Value::Object(map)) => {
                self.meter.burn(map.len() as u64)?;
                for item in map.values() {
                    deepest = self.nesting(Some(item))?.max(deepest);
                }
            }
            _ => return Ok(0),
        }
        Ok(deepest + 1)
    }

    /// A value's text, charged before it is made.
    pub(super) fn string<'v>(&self, value: Option<&'v Value>) -> Run<Cow<'v, str>> {
        self.charge(value)?;
        Ok(coerce::string(value))
    }

    /// Charges for the text of a value if that is more than a scalar's.
    pub(super) fn charge(&self, value: Option<&Value>) -> Run<()> {
        if let Some(Value::Array(items)) = value {
            self.meter.text(items.len())?;
            for item in items.iter() {
                match item {
                    Value::String(text) => self.meter.text(text.len())?,
                    Value::Array(_) => self.charge(Some(item))?,
                    _ => self.meter.text(16)?,
                }
            }
        }
        Ok(())
    }
}
