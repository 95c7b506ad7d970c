//! Output for people and scripts: results on standard output, everything else on standard error.
//!
//! All output of the command line goes through this module. Text from documents, servers, agents
//! and file names is untrusted: terminal control characters in it are escaped first, and only then
//! are our own styles inserted. `xtask tidy` rejects other printing.

use super::CliError;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;
use tramline_workflow::text::{io_reason, printable_json, printable_line, printable_lines};

mod style;
mod table;

pub(super) use style::TextStyle;
pub(super) use table::{Column, Table, width};

/// Prints a line of JSON. A closed pipe is not an error.
pub(super) fn line(value: &impl serde::Serialize) {
    json(&serde_json::to_string(value).unwrap_or_default());
}

/// Prints a list as JSON, in the shape of all lists: an object with the items under their name, their count, and further
/// fields.
pub(super) fn list<const N: usize>(
    name: &str,
    items: impl IntoIterator<Item = Json>,
    more: [(&str, Json); N],
) {
    let items: Vec<_> = items.into_iter().collect();
    let mut shown = serde_json::Map::new();
    let count = items.len().into();
    shown.insert(name.to_owned(), items.into());
    shown.insert("count".to_owned(), count);
    shown.extend(more.map(|(key, value)| (key.to_owned(), value)));
    line(&shown);
}

/// Prints serialized JSON, on one line or several.
pub(super) fn json(text: &str) {
    print(&printable_json(text));
}

/// Prints a line of text. Newlines in it are escaped.
pub(super) fn text_line(text: &str) {
    print(&style::render_styles(text));
}

/// Prints our own text of several lines.
pub(super) fn text_lines(text: &str) {
    print(&printable_lines(text));
}

/// Prints a result or document: unchanged to a file or pipe, escaped on a terminal.
pub(super) fn result(text: &str) {
    match std::io::stdout().is_terminal() {
        true => text_lines(text),
        // Not through a stream that strips escape sequences: these are data.
        false => {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{text}");
            let _ = out.flush();
        }
    }
}

/// Writes a message to an editor, with its length before it. Unlike results, it must arrive.
pub(super) fn frame(message: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "Content-Length: {}\r\n\r\n{message}", message.len())?;
    out.flush()
}

fn print(clean: &str) {
    let mut out = anstream::stdout().lock();
    let _ = writeln!(out, "{clean}");
    let _ = out.flush();
}

/// Writes a result to a file.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|error| {
        CliError::bad_input(format!(
            "cannot write {}: {}",
            path.display(),
            io_reason(&error)
        ))
    })
}

/// Prints one line to standard error. Newlines in it are escaped.
pub(super) fn status_line(text: &str) {
    write_status(&style::render_styles(text));
}

/// Prints our own text of several lines to standard error.
pub(super) fn status_lines(text: &str) {
    write_status(&printable_lines(text));
}

/// Prints rendered text to standard error: its contents were escaped before, its styles are ours.
pub(super) fn status_rendered(drawn: &str) {
    write_status(drawn);
}

fn write_status(clean: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{clean}");
}

/// Prints an error. Further lines are indented, so that none looks like our own.
pub(super) fn print_error(message: &str) {
    print_headed(TextStyle::Error, "error", message);
}

/// Prints a warning.
pub(super) fn print_warning(message: &str) {
    print_headed(TextStyle::Ask, "warning", message);
}

fn print_headed(paint: TextStyle, head: &str, message: &str) {
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    status_line(&format!("{paint}{head}{paint:#}: {first}"));
    for line in lines {
        status_line(&format!("  {line}"));
    }
}

/// Prints a question to standard output without a newline.
pub(super) fn print_question(question: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    write!(out, "{}", printable_line(question))?;
    out.flush()
}

/// Text that another component prints, such as an editor prompt: one escaped line.
pub(super) fn field(text: &str) -> Cow<'_, str> {
    printable_line(text)
}

/// JSON that another component prints, escaped without changing its meaning.
pub(super) fn json_field(text: &str) -> Cow<'_, str> {
    printable_json(text)
}

/// Whether standard output is a terminal.
pub(super) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
pub(super) fn is_status_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// A duration for people.
pub(super) fn span(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// How long ago something happened, for people.
pub(super) fn ago(ms: i64) -> String {
    match ms {
        ..5_000 => "just now".to_owned(),
        5_000..60_000 => format!("{} s ago", ms / 1_000),
        60_000..3_600_000 => format!("{} min ago", ms / 60_000),
        3_600_000..172_800_000 => format!("{} h ago", ms / 3_600_000),
        _ => format!("{} days ago", ms / 86_400_000),
    }
}

/// A number with its noun in the right form.
pub(super) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// A number of bytes for people, in decimal units.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.iter().find(|(size, _)| count >= *size);
    match unit {
        None => format!("{count} bytes"),
        Some((size, name)) => format!("{:.1} {name}", count as f64 / *size as f64),
    }
}

/// A value on one line, truncated if long.
pub(super) fn shorten(value: &tramline_expr::Value, chars_max: usize) -> String {
    let text = value.to_json();
    if text.chars().count() <= chars_max {
        return text;
    }
    let cut: String = text.chars().take(chars_max).collect();
    format!("{cut}…")
}
