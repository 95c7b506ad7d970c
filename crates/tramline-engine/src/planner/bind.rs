//! Arguments that the wish says as they are, by kind: a path is not SQL, and an address is not a name.

use super::literals::{Kind, Literal};
use super::words;
use crate::long_work::long_work;
use crate::seams::Tool;
use tramline_core::Value;
use tramline_core::schema::Checker;

/// Words of names of arguments that hold a path, and how longer ones end.
const PATHS: [&str; 8] = [
    "dirs",
    "directory",
    "directories",
    "filename",
    "filenames",
    "root",
    "roots",
    "cwd",
];
const PATH_ENDS: [&str; 7] = ["path", "paths", "file", "files", "dir", "folder", "folders"];
/// Words that end the same and are something else.
const OTHER_ENDS: [&str; 5] = ["profile", "profiles", "xpath", "jsonpath", "curl"];
/// Last words of names of arguments that hold what is written.
const PROSE: [&str; 10] = [
    "text", "body", "content", "contents", "message", "subject", "title", "caption", "comment",
    "note",
];
/// Last words of names that hold something about a file, an address or a page, and not it itself.
const TRAITS: [&str; 12] = [
    "type",
    "id",
    "size",
    "data",
    "format",
    "mode",
    "encoding",
    "extension",
    "pattern",
    "filter",
    "password",
    "description",
];
/// Last words of names of arguments that hold somebody.
const PERSONS: [&str; 9] = [
    "to",
    "cc",
    "bcc",
    "from",
    "recipient",
    "recipients",
    "sender",
    "receiver",
    "addressee",
];

/// What an argument holds, as its name, description and schema say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Path,
    Url,
    Sql,
    Email,
    /// Somebody: an address, or a name in quotes.
    Person,
    Whole,
    Number,
    Truth,
    Text,
    /// What is written to somebody, and never an address alone.
    Prose,
    /// Nothing that can be said in a word.
    Other,
}

/// Takes the first literal that an argument can be.
pub(super) fn take(
    literals: &mut Vec<Literal>,
    tool: &Tool,
    name: &str,
    about: &Value,
) -> Option<Value> {
    let kinds = kinds(holds(tool, name, about));
    let fits =
        |literal: &Literal, kind: Kind| literal.kind == kind && allows(about, &literal.value);
    let at = kinds
        .iter()
        .find_map(|kind| literals.iter().position(|literal| fits(literal, *kind)))?;
    Some(literals.remove(at).value)
}

/// Whether a value is what an argument's own schema allows.
pub(super) fn allows(about: &Value, value: &Value) -> bool {
    match Checker::new(about) {
        Ok(checker) => checker.check_by(value, long_work).is_ok(),
        // A schema that cannot be read allows what its server will say.
        Err(_) => true,
    }
}

/// What can be taken for an argument, best first.
fn kinds(holds: Holds) -> &'static [Kind] {
    match holds {
        Holds::Path => &[Kind::Path, Kind::QuotedPath, Kind::Quoted],
        Holds::Url => &[Kind::Url, Kind::QuotedUrl],
        Holds::Sql => &[Kind::Sql],
        Holds::Email => &[Kind::Email],
        Holds::Person => &[Kind::Email, Kind::Quoted],
        Holds::Whole => &[Kind::Whole],
        Holds::Number => &[Kind::Whole, Kind::Fraction],
        Holds::Truth => &[Kind::Truth],
        Holds::Text => &[Kind::Quoted, Kind::Email],
        Holds::Prose => &[Kind::Quoted],
        Holds::Other => &[],
    }
}

fn holds(tool: &Tool, name: &str, about: &Value) -> Holds {
    let text = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "integer" => return Holds::Whole,
        "number" => return Holds::Number,
        "boolean" => return Holds::Truth,
        "string" => {}
        "" if about.get("anyOf").is_none() && about.get("oneOf").is_none() => {}
        _ => return Holds::Other,
    }
    match text("format") {
        "uri" | "url" | "uri-reference" | "iri" => return Holds::Url,
        "email" | "idn-email" => return Holds::Email,
        _ => {}
    }
    by_words(tool, name, &text("description").to_lowercase())
}

/// What an argument holds, as the words of its name and its description say.
fn by_words(tool: &Tool, name: &str, says: &str) -> Holds {
    let words = words::split(name);
    let named = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let ends = |endings: &[&str]| {
        let ends = |word: &String| endings.iter().any(|ending| word.ends_with(ending));
        words.iter().any(ends) && !named(&OTHER_ENDS)
    };
    // `file_content` holds no path, and `email_body` no address: the last word says what it is.
    let last = words.last().map(String::as_str).unwrap_or_default();
    let of_it = PROSE.contains(&last) || TRAITS.contains(&last);
    let said = |phrases: &[&str]| phrases.iter().any(|phrase| says.contains(phrase));
    match () {
        () if ends(&["sql"]) || speaks_of_sql(says) => Holds::Sql,
        () if named(&["query", "statement"]) && is_of_sql(tool) => Holds::Sql,
        () if PROSE.contains(&last) => Holds::Prose,
        () if of_it => Holds::Text,
        () if ends(&["url", "urls", "uri", "uris"]) || named(&["href"]) => Holds::Url,
        () if ends(&PATH_ENDS) || named(&PATHS) => Holds::Path,
        () if named(&["email", "emails"]) || name.eq_ignore_ascii_case("mail_to") => Holds::Email,
        () if said(&["path to", "path of", "directory path"]) => Holds::Path,
        () if said(&["email address", "e-mail address"]) => Holds::Email,
        () if PERSONS.contains(&last) => Holds::Person,
        () => Holds::Text,
    }
}

fn speaks_of_sql(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|word| word == "sql")
}

/// Whether a tool takes SQL, as its own words say.
fn is_of_sql(tool: &Tool) -> bool {
    let says = tool
        .description
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let words = ["sql", "sqlite", "postgres", "mysql", "database", "select"];
    let has = |text: &str| words.iter().any(|word| text.contains(word));
    has(&says) || has(&tool.name.server.to_lowercase()) || has(&tool.name.tool.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::super::literals;
    use super::*;

    fn bound(wish: &str, name: &str, about: &str) -> Option<String> {
        let about = Value::from_json(about).unwrap();
        let tool = Tool {
            name: tramline_core::ids::ToolName::new("s", "t"),
            title: None,
            description: None,
            input_schema: Value::Null,
            output_schema: None,
            hints: crate::seams::Hints::default(),
        };
        let value = take(&mut literals::of(wish), &tool, name, &about)?;
        Some(
            value
                .as_str()
                .map_or_else(|| value.to_json(), str::to_owned),
        )
    }

    #[test]
    fn values_go_where_their_kind_belongs() {
        let text = r#"{"type":"string"}"#;
        let sql = r#"{"type":"string","description":"SELECT SQL query to execute"}"#;
        for (wish, name, about, expected) in [
            ("read src/main.rs", "path", text, Some("src/main.rs")),
            ("read 'src/main.rs'", "path", text, Some("src/main.rs")),
            ("read 'notes'", "path", text, Some("notes")),
            ("read src/main.rs", "query", sql, None),
            ("run 'src/main.rs'", "query", sql, None),
            ("query the table 'orders'", "query", sql, None),
            (
                "run 'SELECT * FROM a'",
                "query",
                sql,
                Some("SELECT * FROM a"),
            ),
            ("run 'SELECT * FROM a'", "path", text, None),
            ("open https://a.b/c", "path", text, None),
            ("open https://a.b/c", "url", text, Some("https://a.b/c")),
            ("open 'https://a.b/c'", "url", text, Some("https://a.b/c")),
            ("open notes.txt", "url", text, None),
            ("search for 'tram'", "pattern", text, Some("tram")),
            ("send data/report.pdf", "recipient", text, None),
            (
                "write to ann@example.com",
                "email",
                text,
                Some("ann@example.com"),
            ),
            ("take 5 of them", "name", text, None),
            ("read src/main.rs", "filePath", text, Some("src/main.rs")),
            ("read src/main.rs", "inputfile", text, Some("src/main.rs")),
            ("read src/main.rs", "fileContent", text, None),
            ("read src/main.rs", "profile", text, None),
            ("read src/main.rs", "director", text, None),
            ("read src/main.rs", "direction", text, None),
            ("open https://a.b/c", "security_code", text, None),
            ("open https://a.b/c", "pageUrl", text, Some("https://a.b/c")),
            ("send 'hi' to ann@b.com", "to", text, Some("ann@b.com")),
            ("send 'hi' to 'ann'", "recipient", text, Some("hi")),
            ("send 'hi' to ann@b.com", "email_body", text, Some("hi")),
            ("write to ann@b.com", "message", text, None),
            ("write to ann@b.com", "user", text, Some("ann@b.com")),
            (
                "set the level to 'high'",
                "level",
                r#"{"type":"string","enum":["low","high"]}"#,
                Some("high"),
            ),
            (
                "set the level to 'blue'",
                "level",
                r#"{"type":"string","enum":["low","high"]}"#,
                None,
            ),
            (
                "show 500 lines",
                "lines",
                r#"{"type":"integer","maximum":100}"#,
                None,
            ),
        ] {
            assert_eq!(
                bound(wish, name, about).as_deref(),
                expected,
                "{wish} {name}"
            );
        }
    }
}
