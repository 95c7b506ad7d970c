//! Formats one component of a timestamp as its marker specifies.

use super::calendar::CalendarTime;
use super::picture::{Component, NameCase, PictureMarker, Presentation};
use super::{DAYS, MONTHS, UtcOffset};
use crate::text::TextError;
use crate::text::integer::{Grouping, IntegerFormat};

pub(super) fn component(
    marker: &PictureMarker,
    moment: &CalendarTime,
    zone: UtcOffset,
) -> Result<String, TextError> {
    let number = match marker.component {
        Component::Zone | Component::ZoneName => return offset(marker, zone),
        Component::Half => return Ok(half(marker, moment)),
        Component::Calendar | Component::Era => return Ok("ISO".to_owned()),
        Component::Year => match marker
            .year_digits
            .and_then(|digits| 10_i64.checked_pow(digits))
        {
            Some(limit) => moment.year % limit,
            None => moment.year,
        },
        other => component_value(other, moment),
    };
    match &marker.presentation {
        Presentation::Name(case) => {
            let name = match marker.component {
                Component::Month | Component::WeekMonth => MONTHS[number as usize - 1],
                Component::Weekday => DAYS[number as usize - 1],
                nameless => return Err(nameless.no_name_error()),
            };
            let width = marker.width_max.unwrap_or(name.len()).min(name.len());
            Ok(cased(&name[..width], *case))
        }
        Presentation::Number(format) => format.format(number as f64),
    }
}

/// The number of a component at a moment.
pub(super) fn component_value(component: Component, moment: &CalendarTime) -> i64 {
    match component {
        Component::Year => moment.year,
        Component::Month => moment.month,
        Component::Day => moment.day,
        Component::DayOfYear => moment.day_of_year(),
        Component::Weekday => moment.weekday(),
        Component::WeekOfYear => moment.week_of_year(),
        Component::WeekOfMonth => moment.week_of_month(),
        Component::WeekYear => moment.week_year(),
        Component::WeekMonth => moment.week_month(),
        Component::Hour => moment.hour,
        Component::HourOfHalf => moment.hour_of_half(),
        Component::Half => i64::from(moment.hour >= 12),
        Component::Minute => moment.minute,
        Component::Second => moment.second,
        Component::Fraction => moment.millisecond,
        Component::Zone | Component::ZoneName | Component::Calendar | Component::Era => 0,
    }
}

fn half(marker: &PictureMarker, moment: &CalendarTime) -> String {
    let text = if moment.hour >= 12 { "pm" } else { "am" };
    match marker.presentation {
        Presentation::Name(NameCase::Upper) => text.to_uppercase(),
        _ => text.to_owned(),
    }
}

fn cased(name: &str, case: NameCase) -> String {
    match case {
        NameCase::Lower => name.to_lowercase(),
        NameCase::Upper => name.to_uppercase(),
        NameCase::Title => name.to_owned(),
    }
}

fn offset(marker: &PictureMarker, zone: UtcOffset) -> Result<String, TextError> {
    if zone.minutes == 0 && marker.zulu {
        return Ok("Z".to_owned());
    }
    let Presentation::Number(format) = &marker.presentation else {
        return Err(too_many_digits(0));
    };
    let (hours, minutes) = zone.parts();
    let whole = (hours * 100 + minutes).abs() as f64;
    let grouped = matches!(format.grouping, Grouping::Every(..));
    let text = match format.mandatory_digits {
        _ if grouped => format.format(whole)?,
        3 | 4 => format.format(whole)?,
        1 | 2 => {
            let hours = format.format(hours.abs() as f64)?;
            match minutes.abs() {
                0 => hours,
                minutes => format!(
                    "{hours}:{}",
                    IntegerFormat::read("00")?.format(minutes as f64)?
                ),
            }
        }
        digits => return Err(too_many_digits(digits)),
    };
    let name = match marker.component {
        Component::ZoneName => "GMT",
        _ => "",
    };
    let sign = if zone.minutes < 0 { '-' } else { '+' };
    Ok(format!("{name}{sign}{text}"))
}

fn too_many_digits(digits: usize) -> TextError {
    let message = format!("a time zone needs one to four digits, not {digits}");
    TextError::new("D3134", message).with(digits)
}
