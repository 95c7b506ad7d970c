//! Reads an export file event by event, within limits on its size in memory.

use super::{EXPORT_VALUES_MAX, EXPORT_VERSION, redact_export};
use crate::settings::Settings;
use serde::Deserialize;
use serde_json::value::RawValue;
use tramline_workflow::journal::Event;

/// The outline of an export file; its events are read one by one.
#[derive(Deserialize)]
struct ImportFile<'a> {
    tramline_run: u32,
    #[serde(borrow)]
    journal: Vec<&'a RawValue>,
}

/// The journal of an export file: time and event, with known secrets redacted.
pub(super) fn read(text: &str, settings: Option<&Settings>) -> Result<Vec<(i64, Event)>, String> {
    let values = count_values(text);
    if values > EXPORT_VALUES_MAX {
        return Err(format!(
            "it has about {values} values; at most {EXPORT_VALUES_MAX} are allowed"
        ));
    }
    let file: ImportFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if file.tramline_run != EXPORT_VERSION {
        return Err(format!(
            "version {} is not supported; export it as version {EXPORT_VERSION}",
            file.tramline_run
        ));
    }
    let read = |(at, event): (usize, &RawValue)| {
        let event = redact_export::redact(settings, event.get())?;
        serde_json::from_str(&event).map_err(|error| format!("event {}: {error}", at + 1))
    };
    file.journal.into_iter().enumerate().map(read).collect()
}

/// How many values a JSON text has at most: one, and one more for each separator or opening bracket.
fn count_values(text: &str) -> usize {
    let (mut values, mut in_string, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        if in_string {
            in_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b',' | b'[' | b'{' | b':' => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(count_values("7"), 1);
        assert_eq!(count_values(r#"["a,b\\","\"[{,",3]"#), 4);
        assert_eq!(count_values(r#"{"a":[1,2]}"#), 5);
    }

    /// A file of small values takes many times its size in memory, so their number is limited.
    #[test]
    fn a_file_with_too_many_values_is_rejected_before_it_is_parsed() {
        let many = "0,".repeat(EXPORT_VALUES_MAX);
        let file = format!(r#"{{"tramline_run": 1, "journal": [{many}0"#);
        let error = read(&file, None).unwrap_err();
        assert!(error.contains("values; at most"), "{error}");
    }
}
