//! Numbers and dates by pictures: checks arguments here, formats in `text`.

use crate::error::{ExprResult, Flaw};
use crate::eval::machine::Machine;
use crate::eval::val::Val;
use crate::text::{TextError, date, integer, number};
use crate::value::{Str, Value};

/// Longest picture, in bytes: formatting takes time proportional to the picture.
const PICTURE_BYTES_MAX: usize = 10_000;

fn picture(val: &Val) -> ExprResult<&str> {
    let text = val.as_str().map_or("", Str::as_str);
    match text.len() > PICTURE_BYTES_MAX {
        true => Err(Flaw::new(
            "L0003",
            "the picture is longer than 10,000 bytes",
        )),
        false => Ok(text),
    }
}

fn optional(val: &Val) -> ExprResult<Option<&str>> {
    match val.as_str() {
        Some(_) => picture(val).map(Some),
        None => Ok(None),
    }
}

fn flaw(error: TextError) -> Box<Flaw> {
    Flaw::new(error.code, error.message).value(error.value)
}

impl Machine<'_> {
    fn charged_text(&mut self, made: Result<String, TextError>) -> ExprResult<Val> {
        let text = made.map_err(flaw)?;
        self.meter.text(text.len())?;
        self.meter.burn(32)?;
        Ok(Val::text(text))
    }

    pub(super) fn format_number(
        &mut self,
        val: &Val,
        form: &Val,
        options: &Val,
    ) -> ExprResult<Val> {
        let Some(number) = val.as_f64() else {
            return Ok(Val::Undef);
        };
        let options = match options {
            Val::Json(Value::Object(map), _) => Some(&**map),
            _ => None,
        };
        self.charged_text(number::format_number(number, picture(form)?, options))
    }

    pub(super) fn format_integer(&mut self, val: &Val, form: &Val) -> ExprResult<Val> {
        let Some(number) = val.as_f64() else {
            return Ok(Val::Undef);
        };
        self.charged_text(integer::format_integer(number, picture(form)?))
    }

    pub(super) fn parse_integer(&mut self, text: &Val, form: &Val) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.burn(32 + text.len() as u64)?;
        let number = integer::parse_integer(text, picture(form)?).map_err(flaw)?;
        // As in the reference: an unreadable number is NaN rather than undefined.
        Ok(Val::number(number.unwrap_or(f64::NAN)))
    }

    pub(super) fn parse_millis(&mut self, text: &Val, form: &Val) -> ExprResult<Val> {
        let Some(text) = text.as_str() else {
            return Ok(Val::Undef);
        };
        self.meter.burn(32 + text.len() as u64)?;
        let now = self.now();
        let millis = date::to_millis(text, optional(form)?, now).map_err(flaw)?;
        Ok(millis.map_or(Val::Undef, |millis| Val::Json(millis.into(), 0)))
    }

    pub(super) fn format_millis(&mut self, val: &Val, form: &Val, zone: &Val) -> ExprResult<Val> {
        let Some(millis) = val.as_f64().filter(|millis| !millis.is_nan()) else {
            return Ok(Val::Undef);
        };
        // The cast saturates, and `from_millis` rejects what is out of range.
        self.charged_text(date::from_millis(
            millis as i64,
            optional(form)?,
            optional(zone)?,
        ))
    }

    pub(super) fn now_text(&mut self, form: &Val, zone: &Val) -> ExprResult<Val> {
        let now = self.now();
        self.charged_text(date::from_millis(now, optional(form)?, optional(zone)?))
    }
}
