//! Timestamps as text and back: ISO 8601, and XPath pictures such as `[D1o] [MNn] [Y]`.
//!
//! Intended differences from the JSONata reference: the minutes of a negative time zone carry its
//! sign, a zone may be written `+05:30` or `Z`, names are read in any case and an unknown name does
//! not match, a day of the year may be followed by a time, and a timestamp outside the calendar is
//! an error.

use super::{TextError, truncated};

mod calendar;
mod format;
mod iso;
mod parse;
mod picture;
mod scan;

use calendar::{CalendarTime, MILLIS_MAX};
use picture::{PicturePart, read};

const ISO: &str = "[Y0001]-[M01]-[D01]T[H01]:[m01]:[s01].[f001][Z01:01t]";

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Monday first, as in ISO 8601.
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Formats the timestamp `millis` after 1970 by `picture` (ISO 8601 without one) in the zone
/// `timezone` (`+0530`; UTC without one).
pub(crate) fn from_millis(
    millis: i64,
    picture: Option<&str>,
    timezone: Option<&str>,
) -> Result<String, TextError> {
    let zone = timezone.map_or(Ok(UtcOffset::UTC), UtcOffset::read)?;
    let moment = millis
        .checked_add(zone.minutes * 60_000)
        .filter(|shifted| shifted.abs() <= MILLIS_MAX)
        .map(CalendarTime::at)
        .ok_or_else(|| TextError::out_of_range(millis as f64))?;
    let mut text = String::new();
    for part in read(picture.unwrap_or(ISO))? {
        match part {
            PicturePart::Literal(literal) => text.push_str(&literal),
            PicturePart::Marker(marker) => {
                text.push_str(&format::component(&marker, &moment, zone)?)
            }
        }
    }
    Ok(text)
}

/// Parses `text` by `picture` into milliseconds after 1970; `None` if it does not match. Leading
/// parts that the picture omits are taken from `now`.
pub(crate) fn to_millis(
    text: &str,
    picture: Option<&str>,
    now: i64,
) -> Result<Option<i64>, TextError> {
    match picture {
        Some(picture) => parse::parse(text, &read(picture)?, now),
        None => iso::parse(text).map(Some).ok_or_else(|| {
            let message = format!("`{}` is not an ISO 8601 timestamp", truncated(text));
            TextError::new("D3110", message).with(text)
        }),
    }
}

/// An offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq)]
struct UtcOffset {
    minutes: i64,
}

impl UtcOffset {
    const UTC: Self = Self { minutes: 0 };

    /// Reads `+HHMM`, `-HH:MM`, or a bare number of that form.
    fn read(text: &str) -> Result<Self, TextError> {
        let flaw = || {
            let message = format!("`{}` is not a time zone such as +0530", truncated(text));
            TextError::new("D3134", message).with(text)
        };
        if text == "Z" {
            return Ok(Self::UTC);
        }
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let number = match digits.split_once(':') {
            Some((hours, minutes)) if minutes.len() == 2 => format!("{hours}{minutes}"),
            Some(_) => return Err(flaw()),
            None => digits.to_owned(),
        };
        if number.is_empty() || number.len() > 4 || !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(flaw());
        }
        let number: i64 = number.parse().map_err(|_| flaw())?;
        Ok(Self {
            minutes: sign * (number / 100 * 60 + number % 100),
        })
    }

    /// Hours and minutes, both with the zone's sign.
    fn parts(self) -> (i64, i64) {
        (self.minutes / 60, self.minutes % 60)
    }
}
