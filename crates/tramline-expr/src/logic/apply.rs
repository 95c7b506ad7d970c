//! The operators that work on evaluated arguments.

use super::coerce::{
    MaybeValue, compare, equal, identical, item_string, leading_number, number, truthy,
};
use super::eval::{RuleMachine, RuleResult};
use super::node::RuleNode;
use super::operator::EagerOperator;
use crate::error::Flaw;
use crate::value::{Str, Value};
use std::borrow::Cow;
use std::cmp::Ordering;

/// An argument, borrowed where possible.
type BorrowedArg<'v> = Option<Cow<'v, Value>>;

pub(super) fn apply(
    machine: &RuleMachine<'_>,
    eager: EagerOperator,
    parts: &[RuleNode],
    data: &Value,
) -> RuleResult<MaybeValue> {
    let part = |at: usize| match parts.get(at) {
        Some(node) => machine.peek(node, data),
        None => Ok(None),
    };
    let pair = || -> RuleResult<(BorrowedArg<'_>, BorrowedArg<'_>)> { Ok((part(0)?, part(1)?)) };
    let numbers = || -> RuleResult<(f64, f64)> {
        let (a, b) = pair()?;
        Ok((machine.number(a.as_deref())?, machine.number(b.as_deref())?))
    };
    let same = || -> RuleResult<bool> {
        let (a, b) = pair()?;
        machine.equal(a.as_deref(), b.as_deref())
    };
    let identical = || -> RuleResult<bool> {
        let (a, b) = pair()?;
        Ok(identical(a.as_deref(), b.as_deref()))
    };
    let order = || -> RuleResult<Option<Ordering>> {
        let (a, b) = pair()?;
        machine.compare(a.as_deref(), b.as_deref())
    };
    // With a third argument, tests that the second is between the other two.
    let between = |fits: fn(Ordering) -> bool| -> RuleResult<bool> {
        let (a, b) = pair()?;
        let c = part(2)?;
        let first = machine
            .compare(a.as_deref(), b.as_deref())?
            .is_some_and(fits);
        if !first || c.is_none() {
            return Ok(first);
        }
        Ok(machine
            .compare(b.as_deref(), c.as_deref())?
            .is_some_and(fits))
    };
    Ok(Some(match eager {
        EagerOperator::Equal => same()?.into(),
        EagerOperator::NotEqual => (!same()?).into(),
        EagerOperator::Identical => identical()?.into(),
        EagerOperator::NotIdentical => (!identical()?).into(),
        EagerOperator::Not => (!truthy(part(0)?.as_deref())).into(),
        EagerOperator::Truth => truthy(part(0)?.as_deref()).into(),
        EagerOperator::More => order()?.is_some_and(Ordering::is_gt).into(),
        EagerOperator::MoreOrEqual => order()?.is_some_and(Ordering::is_ge).into(),
        EagerOperator::Less => between(Ordering::is_lt)?.into(),
        EagerOperator::LessOrEqual => between(Ordering::is_le)?.into(),
        EagerOperator::Max => machine.extreme(parts, data, f64::NEG_INFINITY, f64::max)?,
        EagerOperator::Min => machine.extreme(parts, data, f64::INFINITY, f64::min)?,
        EagerOperator::Add => {
            let mut sum = 0.0;
            for node in parts {
                sum += leading_number(machine.peek(node, data)?.as_deref());
            }
            machine.computed(sum)
        }
        EagerOperator::Multiply => return machine.product(parts, data),
        EagerOperator::Subtract => match pair()? {
            (a, None) => machine.computed(-machine.number(a.as_deref())?),
            (a, b) => {
                machine.computed(machine.number(a.as_deref())? - machine.number(b.as_deref())?)
            }
        },
        EagerOperator::Divide => {
            let (a, b) = numbers()?;
            machine.computed(a / b)
        }
        EagerOperator::Modulo => {
            let (a, b) = numbers()?;
            machine.computed(a % b)
        }
        EagerOperator::Merge => machine.merge(parts, data)?,
        EagerOperator::In => {
            let (needle, hay) = pair()?;
            machine.is_in(needle.as_deref(), hay.as_deref())?.into()
        }
        EagerOperator::Cat => machine.cat(parts, data)?,
        EagerOperator::Substr => {
            let (source, start, end) = (part(0)?, part(1)?, part(2)?);
            machine.substr(source.as_deref(), start.as_deref(), end.as_deref())?
        }
        EagerOperator::Log => return Ok(part(0)?.map(Cow::into_owned)),
        EagerOperator::Missing => {
            let mut keys = Vec::with_capacity(parts.len());
            for node in parts {
                keys.push(machine.eval(node, data)?.unwrap_or_default());
            }
            machine.missing(&keys, data)?.into()
        }
        EagerOperator::MissingSome => {
            let (need, keys) = pair()?;
            machine.missing_some(need.as_deref(), keys.as_deref(), data)?
        }
    }))
}

impl RuleMachine<'_> {
    /// A computed number. Notes whether JSON lacks it.
    fn computed(&self, number: f64) -> Value {
        if !number.is_finite() {
            self.has_non_json_number.set(true);
        }
        number.into()
    }

    fn number(&self, value: Option<&Value>) -> RuleResult<f64> {
        // Only the text of a single item is parsed.
        if let Some([_]) = value.and_then(Value::as_array) {
            self.charge(value)?;
        }
        Ok(number(value))
    }

    fn equal(&self, a: Option<&Value>, b: Option<&Value>) -> RuleResult<bool> {
        match (a, b) {
            (Some(Value::Array(_)), Some(Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
                self.charge(a)?;
            }
            (Some(Value::String(_) | Value::Number(_) | Value::Bool(_)), Some(Value::Array(_))) => {
                self.charge(b)?;
            }
            (Some(Value::String(a)), Some(Value::String(_))) => {
                self.meter.burn(a.len() as u64 / 16)?;
            }
            _ => {}
        }
        Ok(equal(a, b))
    }

    fn compare(&self, a: Option<&Value>, b: Option<&Value>) -> RuleResult<Option<Ordering>> {
        if let (Some(Value::Number(a)), Some(Value::Number(b))) = (a, b) {
            return Ok(a.partial_cmp(b));
        }
        for value in [a, b] {
            self.charge(value)?;
            if let Some(Value::String(text)) = value {
                self.meter.burn(text.len() as u64 / 16)?;
            }
        }
        Ok(compare(a, b))
    }

    fn extreme(
        &self,
        parts: &[RuleNode],
        data: &Value,
        start: f64,
        better: fn(f64, f64) -> f64,
    ) -> RuleResult<Value> {
        let mut best = start;
        for node in parts {
            let number = self.number(self.peek(node, data)?.as_deref())?;
            // Rust's `max` and `min` drop NaN; here it is kept.
            best = if best.is_nan() || number.is_nan() {
                f64::NAN
            } else {
                better(best, number)
            };
        }
        Ok(self.computed(best))
    }

    /// A single factor is returned unchanged, even if it is text.
    fn product(&self, parts: &[RuleNode], data: &Value) -> RuleResult<MaybeValue> {
        let mut values = parts.iter().map(|node| self.eval(node, data));
        let first = values.next().transpose()?.flatten();
        if parts.len() == 1 {
            return Ok(first);
        }
        let mut product = leading_number(first.as_ref());
        for value in values {
            product *= leading_number(value?.as_ref());
        }
        Ok(Some(self.computed(product)))
    }

    fn merge(&self, parts: &[RuleNode], data: &Value) -> RuleResult<Value> {
        let mut merged = Vec::new();
        for node in parts {
            match self.eval(node, data)?.unwrap_or_default() {
                Value::Array(items) => {
                    self.meter.items(items.len())?;
                    merged.extend(items.iter().cloned());
                }
                other => {
                    self.meter.items(1)?;
                    merged.push(other);
                }
            }
        }
        Ok(merged.into())
    }

    fn is_in(&self, needle: Option<&Value>, hay: Option<&Value>) -> RuleResult<bool> {
        match hay {
            Some(Value::String(text)) if !text.is_empty() => {
                self.meter.burn(text.len() as u64 / 16)?;
                Ok(text.contains(&*self.string(needle)?))
            }
            Some(Value::Array(items)) => {
                self.meter.burn(items.len() as u64)?;
                Ok(items.iter().any(|item| identical(needle, Some(item))))
            }
            _ => Ok(false),
        }
    }

    fn cat(&self, parts: &[RuleNode], data: &Value) -> RuleResult<Value> {
        let mut text = String::new();
        for node in parts {
            if let Some(value) = self.eval(node, data)? {
                self.charge(Some(&value))?;
                let item = item_string(&value);
                self.meter.text(item.len())?;
                text.push_str(&item);
            }
        }
        Ok(text.into())
    }

    /// JavaScript's `substr`, where a negative end counts from the end.
    fn substr(
        &self,
        source: Option<&Value>,
        start: Option<&Value>,
        end: Option<&Value>,
    ) -> RuleResult<Value> {
        let source = self.string(source)?;
        self.meter.text(source.len())?;
        let (start, end_number) = (self.number(start)?, self.number(end)?);
        let units: Vec<u16> = source.encode_utf16().collect();
        let size = units.len() as f64;
        let whole = |number: f64| if number.is_nan() { 0.0 } else { number.trunc() };
        let start = match whole(start) {
            back if back < 0.0 => (size + back).max(0.0),
            start => start.min(size),
        };
        let rest = size - start;
        let length = match end {
            None => rest,
            Some(Value::Number(_)) if end_number < 0.0 => (rest + end_number).trunc(),
            // Adding text to a number gives longer text, which is not a number.
            Some(_) if end_number < 0.0 => 0.0,
            Some(_) => whole(end_number),
        };
        let length = length.clamp(0.0, rest);
        let (from, to) = (start as usize, (start + length) as usize);
        let cut = units.get(from..to).unwrap_or_default();
        Ok(Str::from(String::from_utf16_lossy(cut)).into())
    }

    fn missing(&self, keys: &[Value], data: &Value) -> RuleResult<Vec<Value>> {
        let keys = match keys.first() {
            Some(Value::Array(listed)) => listed,
            _ => keys,
        };
        let mut missing = Vec::new();
        for key in keys {
            // A list as a key is a path and its default, as for `var`.
            let (path, default) = match key.as_array() {
                Some(pair) => (pair.first(), pair.get(1)),
                None => (Some(key), None),
            };
            let found = self.find(path, data)?;
            let found = found.as_ref().or(default).unwrap_or(&Value::Null);
            if found.is_null() || found.as_str() == Some("") {
                self.meter.items(1)?;
                missing.push(key.clone());
            }
        }
        Ok(missing)
    }

    fn missing_some(
        &self,
        need: Option<&Value>,
        keys: Option<&Value>,
        data: &Value,
    ) -> RuleResult<Value> {
        let (count, missing) = match keys {
            Some(Value::Array(keys)) => (keys.len(), self.missing(keys, data)?),
            Some(Value::String(key)) => {
                let keys = [key.clone().into()];
                (key.encode_utf16().count(), self.missing(&keys, data)?)
            }
            Some(Value::Null) | None => {
                let message = "`missing_some` needs a list of keys";
                return Err(Flaw::new("J0004", message).token("missing_some").into());
            }
            Some(other) => return Ok(self.missing(std::slice::from_ref(other), data)?.into()),
        };
        let present = count as f64 - missing.len() as f64;
        let enough = present >= self.number(need)?;
        Ok(if enough { Vec::new() } else { missing }.into())
    }
}
