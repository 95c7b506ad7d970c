//! Labels of vertices and links: quoted or unquoted, with entities.

use super::ChartLabel;
use super::mask::MASK;
use std::fmt::Write;
use tramline_expr::Str;

/// The named entities commonly used in diagrams. Others stay as written.
const ENTITIES: [(&str, char); 34] = [
    ("quot", '"'),
    ("apos", '\''),
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("nbsp", '\u{a0}'),
    ("hash", '#'),
    ("num", '#'),
    ("semi", ';'),
    ("colon", ':'),
    ("comma", ','),
    ("period", '.'),
    ("lpar", '('),
    ("rpar", ')'),
    ("lsqb", '['),
    ("rsqb", ']'),
    ("lbrack", '['),
    ("rbrack", ']'),
    ("lcub", '{'),
    ("rcub", '}'),
    ("vert", '|'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("percnt", '%'),
    ("excl", '!'),
    ("quest", '?'),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("larr", '←'),
    ("rarr", '→'),
    ("copy", '©'),
    ("heart", '♥'),
    ("infin", '∞'),
];

/// Longest entity name, in characters.
const ENTITY_CHARS_MAX: usize = 8;

/// Makes a label from its source text.
pub(super) fn parse_label(written: &str, markdown: bool) -> ChartLabel {
    let text: String = written.chars().filter(|c| *c != MASK).collect();
    let text = text.replace("\r\n", "\n");
    let text = match markdown {
        // The lines of a Markdown block are indented with the diagram.
        true => dedent(text.trim()),
        false => text.trim().to_owned(),
    };
    ChartLabel {
        text: decode(&text),
        markdown,
    }
}

fn dedent(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join("\n")
}

/// Decodes entities such as `#name;` and `#35;`.
pub(super) fn decode(text: &str) -> Str {
    entities(text, '#').into()
}

fn entities(text: &str, mark: char) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        decoded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match entity(after) {
            Some((c, length)) => {
                decoded.push(c);
                rest = &after[length..];
            }
            None => {
                decoded.push(mark);
                rest = after;
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// The character of the entity after a `#`, and its length.
fn entity(text: &str) -> Option<(char, usize)> {
    let head = text.as_bytes();
    let most = head.len().min(ENTITY_CHARS_MAX + 1);
    let end = head[..most].iter().position(|byte| *byte == b';')?;
    let name = text.get(..end)?;
    let c = match name.strip_prefix('#').unwrap_or(name).parse::<u32>() {
        Ok(number) => char::from_u32(number)?,
        Err(_) => {
            let found = ENTITIES.iter().find(|(known, _)| *known == name)?;
            found.1
        }
    };
    Some((c, end + 1))
}

/// Encodes a label for double quotes; special characters become entities.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + 2);
    let last = text.chars().count().saturating_sub(1);
    let mut before = None;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, c)) = characters.next() {
        let ends = at == last || characters.peek().is_some_and(|(_, next)| *next == '\n');
        let edge = (at == 0 || ends || before == Some('\n')) && c.is_whitespace();
        let doubled = c == '%' && before == Some('%');
        let control = c.is_control() && c != '\n';
        if edge || doubled || control || matches!(c, '"' | '#' | '`' | '\\') {
            let _ = write!(encoded, "#{};", u32::from(c));
        } else {
            encoded.push(c);
        }
        before = Some(c);
    }
    encoded
}

/// Encodes a label on one line, for data where a line break would end the value.
pub(super) fn encode_line(text: &str) -> String {
    encode(text).replace('\n', "#10;")
}

/// A label as plain text: `<br>` becomes a line break, HTML entities are decoded, other tags stay.
pub fn plain_text(caption: &ChartLabel) -> String {
    let mut text = String::with_capacity(caption.text.len());
    let mut rest = caption.text.as_str();
    while let Some(at) = rest.find("<br") {
        let after = rest[at + 3..].trim_start();
        let end = after.strip_prefix("/>").or_else(|| after.strip_prefix('>'));
        match end {
            Some(end) => {
                text.push_str(&rest[..at]);
                text.push('\n');
                rest = end;
            }
            None => {
                text.push_str(&rest[..at + 3]);
                rest = &rest[at + 3..];
            }
        }
    }
    text.push_str(rest);
    entities(&text, '&').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for text in [
            "a \"b\" #1; %% %%%\n\n c",
            " x ",
            "\\`\t\r",
            "#quot;",
            "",
            "\n",
            "é😀",
        ] {
            assert_eq!(decode(&encode(text)), text, "{text:?}");
            assert_eq!(decode(&encode_line(text)), text, "{text:?}");
        }
    }

    #[test]
    fn labels_become_plain_text() {
        let of = |text: &str| plain_text(&parse_label(text, false));
        assert_eq!(
            of("one<br/>two<br>three <br />four"),
            "one\ntwo\nthree \nfour"
        );
        assert_eq!(
            of("a &lt; b #gt; c &amp;&nosuch; <b>x</b>"),
            "a < b > c &&nosuch; <b>x</b>"
        );
        assert_eq!(of("5#percnt; off #9829; #nosuch; #"), "5% off ♥ #nosuch; #");
    }
}
