//! Evaluates a compiled rule over data, within limits, and records an explanation on request.

use super::coerce::{MaybeValue, truthy};
use super::explain::{RuleExplanation, RuleTracer};
use super::node::{REDUCE_GROWTH, ReduceNode, RuleNode, RuleNodeKind};
use super::operator::ItemOperator;
use super::var_path::{VarPath, VarTarget};
use super::{apply, coerce};
use crate::error::{ExprError, Flaw};
use crate::host::Host;
use crate::limits::{Limits, Meter};
use crate::value::{Map, Str, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// Results inside the evaluator. The error is boxed so that the success case stays small.
pub(super) type RuleResult<T> = Result<T, Box<ExprError>>;

/// Levels that a value built by a reduce may nest. Beyond it: `L0006`.
const NESTING_MAX: u32 = 200;

const CURRENT: Str = Str::new_static("current");
const ACCUMULATOR: Str = Str::new_static("accumulator");

impl From<Box<Flaw>> for Box<ExprError> {
    fn from(flaw: Box<Flaw>) -> Self {
        Box::new(flaw.into_error(""))
    }
}

/// One evaluation.
pub(super) struct RuleMachine<'r> {
    host: &'r dyn Host,
    pub(super) meter: Meter,
    /// Whether a number came up that JSON lacks.
    pub(super) has_non_json_number: Cell<bool>,
    tracer: Option<RefCell<RuleTracer>>,
}

impl<'r> RuleMachine<'r> {
    pub(super) fn new(host: &'r dyn Host, limits: &'r Limits) -> Self {
        Self {
            host,
            meter: Meter::new(limits),
            has_non_json_number: Cell::new(false),
            tracer: None,
        }
    }

    /// The value of a rule as data. With `measured`, its size is limited by the remaining fuel.
    pub(super) fn value(
        &self,
        root: &RuleNode,
        data: &Value,
        measured: bool,
    ) -> Result<Value, ExprError> {
        let value = self.eval(root, data).map_err(|error| *error)?;
        if measured {
            self.nesting(value.as_ref()).map_err(|error| *error)?;
        }
        self.json_value(value).map_err(|error| *error)
    }

    pub(super) fn truth(&self, root: &RuleNode, data: &Value) -> Result<bool, ExprError> {
        self.holds(root, data).map_err(|error| *error)
    }

    pub(super) fn explain(mut self, root: &RuleNode, data: &Value) -> Option<RuleExplanation> {
        self.tracer = Some(RefCell::default());
        // The outcome is part of the explanation.
        let _ = self.eval(root, data);
        self.tracer?.into_inner().finish()
    }

    /// Replaces numbers that JSON lacks.
    fn json_value(&self, value: MaybeValue) -> RuleResult<Value> {
        match value {
            None => Ok(Value::Null),
            Some(value) if self.has_non_json_number.get() => self.replace_non_json(value),
            Some(value) => Ok(value),
        }
    }

    fn replace_non_json(&self, value: Value) -> RuleResult<Value> {
        Ok(match value {
            Value::Number(number) if !number.as_f64().is_finite() => Value::Null,
            Value::Array(items) => {
                self.meter.items(items.len())?;
                let items = items.iter().map(|item| self.replace_non_json(item.clone()));
                Value::from(items.collect::<RuleResult<Vec<_>>>()?)
            }
            Value::Object(map) => {
                self.meter.items(map.len())?;
                let pairs = map
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.replace_non_json(value.clone())?)));
                Value::from(pairs.collect::<RuleResult<Map>>()?)
            }
            other => other,
        })
    }

    #[inline]
    pub(super) fn eval(&self, node: &RuleNode, data: &Value) -> RuleResult<MaybeValue> {
        match &self.tracer {
            None => self.eval_node(node, data),
            Some(tracer) => self.traced(node, data, tracer),
        }
    }

    /// Evaluates without copying values from the rule or the data.
    pub(super) fn peek<'v>(
        &self,
        node: &'v RuleNode,
        data: &'v Value,
    ) -> RuleResult<Option<Cow<'v, Value>>> {
        let found = match &node.kind {
            _ if self.tracer.is_some() => None,
            RuleNodeKind::Constant(value) => Some(Cow::Borrowed(value)),
            RuleNodeKind::Var(VarTarget::Whole, _) => Some(Cow::Borrowed(data)),
            RuleNodeKind::Var(VarTarget::Path(path), _) => path.find(data),
            RuleNodeKind::Var(VarTarget::Fields(path, _), _) => {
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
    pub(super) fn holds(&self, node: &RuleNode, data: &Value) -> RuleResult<bool> {
        // Only the truth is needed: the values of `and` and `or` need not be built.
        match &node.kind {
            RuleNodeKind::And(parts) if self.tracer.is_none() => {
                self.no_part_is(false, parts, data)
            }
            RuleNodeKind::Or(parts) if self.tracer.is_none() => {
                Ok(!self.no_part_is(true, parts, data)?)
            }
            _ => Ok(truthy(self.peek(node, data)?.as_deref())),
        }
    }

    /// Whether no part has this truth value. Both `and` and `or` of no parts are false.
    fn no_part_is(&self, truth: bool, parts: &[RuleNode], data: &Value) -> RuleResult<bool> {
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
    fn traced(
        &self,
        node: &RuleNode,
        data: &Value,
        tracer: &RefCell<RuleTracer>,
    ) -> RuleResult<MaybeValue> {
        tracer.borrow_mut().open(node);
        let outcome = self.eval_node(node, data);
        tracer.borrow_mut().close(&outcome);
        outcome
    }

    fn eval_node(&self, node: &RuleNode, data: &Value) -> RuleResult<MaybeValue> {
        if let RuleNodeKind::Constant(value) = &node.kind {
            self.meter.burn(1)?;
            return Ok(Some(value.clone()));
        }
        self.meter.enter()?;
        let value = match &node.kind {
            RuleNodeKind::Constant(value) => Some(value.clone()),
            RuleNodeKind::Array(items) => {
                self.meter.items(items.len())?;
                let item = |item| self.eval(item, data).map(Option::unwrap_or_default);
                Some(
                    items
                        .iter()
                        .map(item)
                        .collect::<RuleResult<Vec<_>>>()?
                        .into(),
                )
            }
            RuleNodeKind::If(parts) => self.choose(parts, data)?,
            RuleNodeKind::And(parts) => self.first_or_last(parts, data, false)?,
            RuleNodeKind::Or(parts) => self.first_or_last(parts, data, true)?,
            RuleNodeKind::Var(place, default) => {
                let found = self.eval_var(node, place, data)?;
                self.or_default(found, default, data)?
            }
            RuleNodeKind::VarAt(path, default) => {
                let key = self.eval(path, data)?;
                let found = self.find(key.as_ref(), data)?;
                self.or_default(found, default, data)?
            }
            RuleNodeKind::Each(each, list, body) => {
                let list = self.peek(list, data)?;
                let items = list.as_deref().and_then(Value::as_array).unwrap_or(&[]);
                Some(self.each(*each, items, body.as_deref())?)
            }
            RuleNodeKind::Reduce(reduce) => self.reduce(reduce, data)?,
            RuleNodeKind::Eager(eager, parts) => apply::apply(self, *eager, parts, data)?,
        };
        self.meter.leave();
        Ok(value)
    }

    fn choose(&self, parts: &[RuleNode], data: &Value) -> RuleResult<MaybeValue> {
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

    /// The first value whose truth is `truth`, otherwise the last.
    fn first_or_last(
        &self,
        parts: &[RuleNode],
        data: &Value,
        truth: bool,
    ) -> RuleResult<MaybeValue> {
        let mut last = None;
        for part in parts {
            last = self.eval(part, data)?;
            if truthy(last.as_ref()) == truth {
                break;
            }
        }
        Ok(last)
    }

    fn eval_var(&self, node: &RuleNode, place: &VarTarget, data: &Value) -> RuleResult<MaybeValue> {
        let expression = match place {
            VarTarget::Whole => return Ok(Some(data.clone())),
            VarTarget::Path(path) => return Ok(path.find(data).map(Cow::into_owned)),
            VarTarget::Fields(path, expression) => match path.find_in_objects(data) {
                Some(found) => return Ok(found.cloned()),
                None => expression,
            },
            VarTarget::Expression(expression) => expression,
        };
        let outcome = match &self.tracer {
            None => expression.evaluate_metered(data, self.host, &self.meter),
            Some(tracer) => {
                let mut tracer = tracer.borrow_mut();
                let (outcome, told) =
                    expression.explain_metered(data, self.host, &self.meter, tracer.room());
                tracer.attach_expression(told);
                outcome
            }
        };
        outcome.map_err(|mut error| {
            error.message = format!("{} (in the rule at {})", error.message, node.pointer);
            Box::new(error)
        })
    }

    /// Looks up a path that came from data: never an expression.
    pub(super) fn find(&self, key: Option<&Value>, data: &Value) -> RuleResult<MaybeValue> {
        Ok(match key {
            None | Some(Value::Null) => Some(data.clone()),
            Some(Value::String(text)) if text.is_empty() => Some(data.clone()),
            Some(key) => {
                let text = self.string(Some(key))?;
                self.meter.burn(text.len() as u64)?;
                VarPath::read(&text).find(data).map(Cow::into_owned)
            }
        })
    }

    fn or_default(
        &self,
        found: MaybeValue,
        default: &Option<Box<RuleNode>>,
        data: &Value,
    ) -> RuleResult<MaybeValue> {
        match (found, default) {
            (Some(found), _) => Ok(Some(found)),
            (None, Some(default)) => Ok(Some(self.eval(default, data)?.unwrap_or_default())),
            (None, None) => Ok(Some(Value::Null)),
        }
    }

    fn each(
        &self,
        each: ItemOperator,
        items: &[Value],
        body: Option<&RuleNode>,
    ) -> RuleResult<Value> {
        let eval = |item: &Value| match body {
            Some(body) => self.eval(body, item),
            None => Ok(None),
        };
        let holds = |item: &Value| match body {
            Some(body) => self.holds(body, item),
            None => Ok(false),
        };
        Ok(match each {
            ItemOperator::Map => {
                self.meter.items(items.len())?;
                let value = |item| eval(item).map(Option::unwrap_or_default);
                items
                    .iter()
                    .map(value)
                    .collect::<RuleResult<Vec<_>>>()?
                    .into()
            }
            ItemOperator::Filter => {
                let mut kept = Vec::new();
                for item in items {
                    if holds(item)? {
                        self.meter.items(1)?;
                        kept.push(item.clone());
                    }
                }
                kept.into()
            }
            ItemOperator::All => {
                let mut all = !items.is_empty();
                for item in items {
                    all = all && holds(item)?;
                }
                all.into()
            }
            ItemOperator::None | ItemOperator::Some => {
                for item in items {
                    if holds(item)? {
                        return Ok((each == ItemOperator::Some).into());
                    }
                }
                (each == ItemOperator::None).into()
            }
        })
    }

    fn reduce(&self, reduce: &ReduceNode, data: &Value) -> RuleResult<MaybeValue> {
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
        // An upper bound on the nesting of the items and of the accumulator.
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
                let sum_nesting = self.nesting(sum.as_ref())?;
                nesting = sum_nesting.max(items_nesting);
                if sum_nesting > NESTING_MAX {
                    let message = format!("the rule made a value over {NESTING_MAX} levels deep");
                    return Err(Flaw::new("L0006", message).into());
                }
            }
        }
        Ok(sum)
    }

    /// How deep a value nests. This costs fuel, because lists may contain one another many times.
    fn nesting(&self, value: Option<&Value>) -> RuleResult<u32> {
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
    pub(super) fn string<'v>(&self, value: Option<&'v Value>) -> RuleResult<Cow<'v, str>> {
        self.charge(value)?;
        Ok(coerce::string(value))
    }

    /// Charges for the text of an array; scalars are cheap.
    pub(super) fn charge(&self, value: Option<&Value>) -> RuleResult<()> {
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
