//! Words for people and scripts: results on standard output, everything else beside it.

use super::Stopped;
use std::io::Write;
use std::path::Path;

/// Prints a line of JSON. A reader that has gone is no error.
pub(super) fn line(value: &impl serde::Serialize) {
    let text = serde_json::to_string(value).unwrap_or_default();
    text_line(&text);
}

/// Prints a line of text.
pub(super) fn text_line(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Writes a result into a file.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Stopped> {
    std::fs::write(path, text).map_err(|error| Stopped::bad(format!("{}: {error}", path.display())))
}

/// Says something beside the result.
pub(super) fn say(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Says what went wrong.
pub(super) fn complain(message: &str) {
    let red = anstyle::Style::new()
        .bold()
        .fg_color(Some(anstyle::AnsiColor::Red.into()));
    say(&format!("{red}error{red:#}: {message}"));
}

/// A time span as people read it.
pub(super) fn span(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// A value on one line, cut where it gets long.
pub(super) fn brief(value: &tramline_core::Value, chars_max: usize) -> String {
    let text = value.to_json();
    if text.chars().count() <= chars_max {
        return text;
    }
    let cut: String = text.chars().take(chars_max).collect();
    format!("{cut}…")
}
