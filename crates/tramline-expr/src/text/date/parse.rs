//! Parses a text by a date picture, and completes the components that the picture omits.

use super::calendar::{CalendarTime, MILLIS_MAX, millis_of};
use super::format::component_value;
use super::picture::{Component, PictureMarker, PicturePart, Presentation};
use super::scan::{PartMatcher, ScanError, scan};
use super::{DAYS, MONTHS};
use crate::text::integer::{Grouping, IntegerFormat, LetterCase, NumeralKind};
use crate::text::{TextError, truncated};

pub(super) fn parse(text: &str, parts: &[PicturePart], now: i64) -> Result<Option<i64>, TextError> {
    let patterns = parts.iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
    let chars: Vec<char> = text.chars().collect();
    let spans = match scan(&patterns, &chars) {
        Ok(spans) => spans,
        Err(ScanError::NoMatch) => return Ok(None),
        Err(ScanError::TooMuchWork) => {
            let message = format!("`{}` takes too long to match", truncated(text));
            return Err(TextError::new("D3110", message));
        }
    };
    let mut given = DateFields::default();
    for (part, span) in parts.iter().zip(spans) {
        if let PicturePart::Marker(marker) = part {
            let text: String = chars[span].iter().collect();
            let Some(number) = marker_value(marker, &text)? else {
                return Ok(None);
            };
            given.set(marker.component, number);
        }
    }
    if given.0.is_empty() {
        return Ok(None);
    }
    given.complete(now).map(Some)
}

fn pattern(part: &PicturePart) -> Result<PartMatcher, TextError> {
    let marker = match part {
        PicturePart::Literal(text) => return Ok(PartMatcher::Literal(text.chars().collect())),
        PicturePart::Marker(marker) => marker,
    };
    Ok(match (marker.component, &marker.presentation) {
        (Component::Zone | Component::ZoneName, look) => PartMatcher::Zone {
            gmt: marker.component == Component::ZoneName,
            zulu: marker.zulu,
            separator: match look {
                Presentation::Number(IntegerFormat { grouping, .. }) => first_separator(grouping),
                Presentation::Name(_) => None,
            },
        },
        (
            Component::Month | Component::WeekMonth | Component::Weekday | Component::Half,
            Presentation::Name(_),
        ) => PartMatcher::Letters,
        (component, Presentation::Name(_)) => return Err(component.no_name_error()),
        (Component::Fraction, Presentation::Number(_)) => PartMatcher::Digits {
            zero: '0',
            exactly: marker.read_digits,
            ordinal: false,
        },
        (_, Presentation::Number(format)) => match &format.primary {
            NumeralKind::Letters => PartMatcher::Letters,
            NumeralKind::Roman => PartMatcher::Roman,
            NumeralKind::Words => PartMatcher::Words,
            NumeralKind::Decimal => PartMatcher::Digits {
                zero: format.zero,
                exactly: marker.read_digits,
                ordinal: format.ordinal,
            },
            NumeralKind::Sequence(_) => {
                return Err(format.parse("").err().unwrap_or_else(underspecified));
            }
        },
    })
}

fn first_separator(grouping: &Grouping) -> Option<char> {
    match grouping {
        Grouping::Every(_, separator) => Some(*separator),
        Grouping::At(separators) => separators.first().map(|(_, separator)| *separator),
    }
}

/// The number that a marker's part of the text represents.
fn marker_value(marker: &PictureMarker, text: &str) -> Result<Option<i64>, TextError> {
    let name = |names: &[&str]| {
        let width = marker.width_max.unwrap_or(usize::MAX);
        let mut cut = names.iter().map(|name| &name[..width.min(name.len())]);
        let at = cut.position(|name| name.eq_ignore_ascii_case(text));
        at.map(|at| at as i64)
    };
    Ok(match (marker.component, &marker.presentation) {
        (Component::Zone | Component::ZoneName, _) => offset(text),
        (Component::Half, _) => name(&["am", "pm"]),
        (Component::Weekday, Presentation::Name(_)) => name(&DAYS).map(|day| day + 1),
        (_, Presentation::Name(_)) => name(&MONTHS).map(|month| month + 1),
        (Component::Fraction, _) => {
            let digits: String = text.chars().chain("000".chars()).take(3).collect();
            digits.parse().ok()
        }
        (_, Presentation::Number(format)) => {
            let text = match format.case {
                LetterCase::Upper => text.to_uppercase(),
                LetterCase::Lower | LetterCase::Title => text.to_lowercase(),
            };
            format.parse(&text)?.map(|number| number as i64)
        }
    })
}

/// Minutes from UTC of `+05:30`, `-0530`, `GMT+5` and similar.
fn offset(text: &str) -> Option<i64> {
    let at = match text.find(['+', '-']) {
        Some(at) => at,
        None => return Some(0),
    };
    let sign = if text[at..].starts_with('-') { -1 } else { 1 };
    let digits = &text[at + 1..];
    let (hours, minutes) = match digits.find(|char: char| !char.is_ascii_digit()) {
        Some(separator) => {
            let minutes = digits[separator..].trim_start_matches(|c: char| !c.is_ascii_digit());
            (&digits[..separator], minutes)
        }
        None if digits.len() <= 2 => (digits, "0"),
        None => digits.split_at(2),
    };
    let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number <= 9999);
    Some(sign * (number(hours)? * 60 + number(minutes)?))
}

/// The components found in a text.
#[derive(Default)]
struct DateFields(Vec<(Component, i64)>);

impl DateFields {
    fn set(&mut self, component: Component, number: i64) {
        self.0.retain(|(known, _)| *known != component);
        self.0.push((component, number));
    }

    fn get(&self, component: Component) -> Option<i64> {
        let found = self.0.iter().find(|(known, _)| *known == component);
        found.map(|(_, number)| *number)
    }

    /// Whether at least one component of `kind` is given, and none that is not in `allowed`.
    fn only(&self, kind: &[Component], allowed: &[Component]) -> bool {
        let mut given = kind
            .iter()
            .filter(|part| self.get(**part).is_some())
            .peekable();
        given.peek().is_some() && given.all(|part| allowed.contains(part))
    }

    /// Fills in missing components: before the first given one from `now`, after the last one with
    /// the minimum. Between two given components none may be missing.
    fn complete(mut self, now: i64) -> Result<i64, TextError> {
        use Component::{
            Day, DayOfYear, Fraction, Half, Hour, HourOfHalf, Minute, Month, Second, WeekMonth,
            WeekOfMonth, WeekOfYear, WeekYear, Year, Zone, ZoneName,
        };
        let dates = [
            Year,
            WeekYear,
            Month,
            WeekMonth,
            WeekOfYear,
            WeekOfMonth,
            DayOfYear,
            Day,
        ];
        let times = [Half, Hour, HourOfHalf, Minute, Second, Fraction];
        let by_month = self.only(&dates, &[Year, Month, Day]);
        let by_day = !by_month && self.only(&dates, &[Year, DayOfYear]);
        if self.only(&dates, &[WeekYear, WeekMonth, WeekOfMonth])
            || self.only(&dates, &[WeekYear, WeekOfYear])
        {
            return Err(underspecified());
        }
        let halves = !self.only(&times, &[Hour, Minute, Second, Fraction])
            && self.only(&times, &[Half, HourOfHalf, Minute, Second, Fraction]);
        let date: &[Component] = if by_day {
            &[Year, DayOfYear]
        } else {
            &[Year, Month, Day]
        };
        let hour: &[Component] = if halves { &[Half, HourOfHalf] } else { &[Hour] };
        self.fill(&[date, hour, &[Minute, Second, Fraction]].concat(), now)?;

        let part = |component| self.get(component).unwrap_or(0);
        let year = match part(Year) {
            short @ 0..=99 => 1900 + short,
            year => year,
        };
        let date = match by_day {
            true => [year, 1, part(DayOfYear)],
            false => [year, part(Month).max(1), part(Day)],
        };
        let hour = match halves {
            true => {
                (if part(HourOfHalf) == 12 {
                    0
                } else {
                    part(HourOfHalf)
                }) + part(Half) * 12
            }
            false => part(Hour),
        };
        let zone = self.get(Zone).or(self.get(ZoneName)).unwrap_or(0);
        millis_of(date, [hour, part(Minute), part(Second), part(Fraction)])
            .map(|millis| millis - zone * 60_000)
            .ok_or_else(|| TextError::new("D3110", "the date is outside the range of the calendar"))
    }

    fn fill(&mut self, order: &[Component], now: i64) -> Result<(), TextError> {
        let now = CalendarTime::at(now.clamp(-MILLIS_MAX, MILLIS_MAX));
        let (mut started, mut ended) = (false, false);
        for component in order {
            match self.get(*component) {
                Some(_) if ended => return Err(underspecified()),
                Some(_) => started = true,
                None if started => {
                    ended = true;
                    let day = matches!(component, Component::Month | Component::Day);
                    self.set(*component, i64::from(day));
                }
                None => self.set(*component, component_value(*component, &now)),
            }
        }
        Ok(())
    }
}

fn underspecified() -> TextError {
    let message = "the date or time has a gap between its parts";
    TextError::new("D3136", message)
}
