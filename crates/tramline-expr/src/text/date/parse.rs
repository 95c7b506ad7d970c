//! Reads a text by a date picture, and completes what the picture leaves out.

use super::calendar::{MILLIS_MAX, Moment, millis_of};
use super::format::fragment;
use super::picture::{Component, Look, Marker, Part};
use super::scan::{Miss, Pattern, scan};
use super::{DAYS, MONTHS};
use crate::text::integer::{Case, Format, Grouping, Primary};
use crate::text::{TextError, shown};

pub(super) fn parse(text: &str, parts: &[Part], now: i64) -> Result<Option<i64>, TextError> {
    let patterns = parts.iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
    let chars: Vec<char> = text.chars().collect();
    let spans = match scan(&patterns, &chars) {
        Ok(spans) => spans,
        Err(Miss::Unlike) => return Ok(None),
        Err(Miss::TooMuchWork) => {
            let message = format!("`{}` takes too long to match", shown(text));
            return Err(TextError::new("D3110", message));
        }
    };
    let mut given = Given::default();
    for (part, span) in parts.iter().zip(spans) {
        if let Part::Marker(marker) = part {
            let text: String = chars[span].iter().collect();
            let Some(number) = worth(marker, &text)? else {
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

fn pattern(part: &Part) -> Result<Pattern, TextError> {
    let marker = match part {
        Part::Literal(text) => return Ok(Pattern::Literal(text.chars().collect())),
        Part::Marker(marker) => marker,
    };
    Ok(match (marker.component, &marker.look) {
        (Component::Zone | Component::ZoneName, look) => Pattern::Zone {
            gmt: marker.component == Component::ZoneName,
            zulu: marker.zulu,
            separator: match look {
                Look::Number(Format { grouping, .. }) => first_separator(grouping),
                Look::Name(_) => None,
            },
        },
        (
            Component::Month | Component::WeekMonth | Component::Weekday | Component::Half,
            Look::Name(_),
        ) => Pattern::Letters,
        (component, Look::Name(_)) => return Err(component.nameless()),
        (Component::Fraction, Look::Number(_)) => Pattern::Digits {
            zero: '0',
            exactly: marker.read_digits,
            ordinal: false,
        },
        (_, Look::Number(format)) => match &format.primary {
            Primary::Letters => Pattern::Letters,
            Primary::Roman => Pattern::Roman,
            Primary::Words => Pattern::Words,
            Primary::Decimal => Pattern::Digits {
                zero: format.zero,
                exactly: marker.read_digits,
                ordinal: format.ordinal,
            },
            Primary::Sequence(_) => {
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

/// The number that a marker's stretch of text stands for.
fn worth(marker: &Marker, text: &str) -> Result<Option<i64>, TextError> {
    let name = |names: &[&str]| {
        let width = marker.width_max.unwrap_or(usize::MAX);
        let mut cut = names.iter().map(|name| &name[..width.min(name.len())]);
        let at = cut.position(|name| name.eq_ignore_ascii_case(text));
        at.map(|at| at as i64)
    };
    Ok(match (marker.component, &marker.look) {
        (Component::Zone | Component::ZoneName, _) => offset(text),
        (Component::Half, _) => name(&["am", "pm"]),
        (Component::Weekday, Look::Name(_)) => name(&DAYS).map(|day| day + 1),
        (_, Look::Name(_)) => name(&MONTHS).map(|month| month + 1),
        (Component::Fraction, _) => {
            let digits: String = text.chars().chain("000".chars()).take(3).collect();
            digits.parse().ok()
        }
        (_, Look::Number(format)) => {
            let text = match format.case {
                Case::Upper => text.to_uppercase(),
                Case::Lower | Case::Title => text.to_lowercase(),
            };
            format.parse(&text)?.map(|number| number as i64)
        }
    })
}

/// Minutes from UTC of `+05:30`, `-0530`, `GMT+5` and the like.
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

/// The components that a text gave.
#[derive(Default)]
struct Given(Vec<(Component, i64)>);

impl Given {
    fn set(&mut self, component: Component, number: i64) {
        self.0.retain(|(known, _)| *known != component);
        self.0.push((component, number));
    }

    fn get(&self, component: Component) -> Option<i64> {
        let found = self.0.iter().find(|(known, _)| *known == component);
        found.map(|(_, number)| *number)
    }

    /// Whether of all the components in `kind` something is given, and nothing but `allowed`.
    fn only(&self, kind: &[Component], allowed: &[Component]) -> bool {
        let mut given = kind
            .iter()
            .filter(|part| self.get(**part).is_some())
            .peekable();
        given.peek().is_some() && given.all(|part| allowed.contains(part))
    }

    /// Fills what is missing: in front of the first part given from `now`, behind the last with the
    /// least there is. Between two given parts nothing may be missing.
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
            .ok_or_else(|| TextError::new("D3110", "no calendar reaches the date given"))
    }

    fn fill(&mut self, order: &[Component], now: i64) -> Result<(), TextError> {
        let now = Moment::at(now.clamp(-MILLIS_MAX, MILLIS_MAX));
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
                None => self.set(*component, fragment(*component, &now)),
            }
        }
        Ok(())
    }
}

fn underspecified() -> TextError {
    let message = "the date or time parts given leave a gap between them";
    TextError::new("D3136", message)
}
