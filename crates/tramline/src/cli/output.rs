//! Words for people and scripts: results on standard output, everything else beside it.
//!
//! Everything that this command prints goes through here. Documents, servers, agents and file names
//! are foreign: whatever of them would steer a terminal is escaped first, and only then are styles
//! of our own put in. `xtask tidy` refuses other ways to print.

use super::Stopped;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;
use tramline_core::text::{printable_json, printable_line, printable_lines};

mod paint;

pub(super) use paint::Paint;

/// Prints a line of JSON. A reader that has gone is no error.
pub(super) fn line(value: &impl serde::Serialize) {
    json(&serde_json::to_string(value).unwrap_or_default());
}

/// Prints JSON that is written already, on one line or several.
pub(super) fn json(text: &str) {
    print(&printable_json(text));
}

/// Prints a line of text. Ends of lines in it are escaped.
pub(super) fn text_line(text: &str) {
    print(&paint::painted(text));
}

/// Prints a text of several lines that is ours.
pub(super) fn text_lines(text: &str) {
    print(&printable_lines(text));
}

/// Prints a result or a document: as it is into a file or a pipe, harmless on a terminal.
pub(super) fn result(text: &str) {
    match std::io::stdout().is_terminal() {
        true => text_lines(text),
        // Not through a stream that takes escape sequences out: these are data.
        false => {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{text}");
            let _ = out.flush();
        }
    }
}

fn print(clean: &str) {
    let mut out = anstream::stdout().lock();
    let _ = writeln!(out, "{clean}");
    let _ = out.flush();
}

/// Writes a result into a file.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Stopped> {
    std::fs::write(path, text).map_err(|error| Stopped::bad(format!("{}: {error}", path.display())))
}

/// Says something beside the result, on one line. Ends of lines in it are escaped.
pub(super) fn say(text: &str) {
    say_clean(&paint::painted(text));
}

/// Says a text of several lines that is ours.
pub(super) fn say_lines(text: &str) {
    say_clean(&printable_lines(text));
}

/// Says what a renderer has drawn of texts that were cleaned before, with its own styles.
pub(super) fn say_drawn(drawn: &str) {
    say_clean(drawn);
}

fn say_clean(clean: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{clean}");
}

/// Says what went wrong. Further lines are indented: none looks like one of ours.
pub(super) fn complain(message: &str) {
    headed(Paint::Error, "error", message);
}

/// Says what is not as it should be.
pub(super) fn warn(message: &str) {
    headed(Paint::Ask, "warning", message);
}

fn headed(paint: Paint, head: &str, message: &str) {
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    say(&format!("{paint}{head}{paint:#}: {first}"));
    for line in lines {
        say(&format!("  {line}"));
    }
}

/// Asks for something on standard output, without ending the line.
pub(super) fn ask(question: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    write!(out, "{}", printable_line(question))?;
    out.flush()
}

/// A text that somebody else prints, such as the prompt of an editor: one harmless line.
pub(super) fn field(text: &str) -> Cow<'_, str> {
    printable_line(text)
}

/// JSON that somebody else prints, with the same meaning.
pub(super) fn json_field(text: &str) -> Cow<'_, str> {
    printable_json(text)
}

/// Whether people read standard output.
pub(super) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether people read what is said beside the result.
pub(super) fn is_said_to_terminal() -> bool {
    std::io::stderr().is_terminal()
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
