//! Binds literals of the request to arguments by kind: a path is not SQL, and a URL is not a name.

use super::literals::{Literal, LiteralKind};
use super::text;
use tramline_engine::long_work;
use tramline_engine::ports::Tool;
use tramline_expr::Value;
use tramline_workflow::schema::Checker;

/// Words in the names of arguments that hold a path. `PATH_ENDS` lists suffixes of compound names.
const PATH_WORDS: [&str; 8] = [
    "dirs",
    "directory",
    "directories",
    "filename",
    "filenames",
    "root",
    "roots",
    "cwd",
];
const PATH_SUFFIXES: [&str; 7] = ["path", "paths", "file", "files", "dir", "folder", "folders"];
/// Words with one of these suffixes that are not paths or URLs.
const SUFFIX_EXCEPTIONS: [&str; 5] = ["profile", "profiles", "xpath", "jsonpath", "curl"];
/// Last words of the names of arguments that hold prose.
const PROSE_WORDS: [&str; 10] = [
    "text", "body", "content", "contents", "message", "subject", "title", "caption", "comment",
    "note",
];
/// Last words of the names of arguments that hold a property of a file, a URL or a page instead of the thing itself.
const PROPERTY_WORDS: [&str; 12] = [
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
/// Last words of the names of arguments that hold a person.
const PERSON_WORDS: [&str; 9] = [
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

/// What an argument holds, according to its name, description and schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentKind {
    Path,
    Url,
    Sql,
    Email,
    /// A person: an email address, or a quoted name.
    Person,
    Integer,
    Number,
    Boolean,
    Text,
    /// Prose addressed to a person; never a bare email address.
    Prose,
    /// Not a scalar that a request can contain literally.
    Other,
}

/// Takes the first literal that an argument accepts.
pub(super) fn take_literal(
    literals: &mut Vec<Literal>,
    tool: &Tool,
    name: &str,
    about: &Value,
) -> Option<Value> {
    let kinds = accepted_literals(argument_kind(tool, name, about));
    let fits = |literal: &Literal, kind: LiteralKind| {
        literal.kind == kind && accepts(about, &literal.value)
    };
    let at = kinds
        .iter()
        .find_map(|kind| literals.iter().position(|literal| fits(literal, *kind)))?;
    Some(literals.remove(at).value)
}

/// Whether the argument's schema accepts the value.
pub(super) fn accepts(about: &Value, value: &Value) -> bool {
    match Checker::new(about) {
        Ok(checker) => checker.check_with(value, long_work).is_ok(),
        // If the schema cannot be compiled, the server decides.
        Err(_) => true,
    }
}

/// The kinds of literals that an argument accepts, best first.
fn accepted_literals(holds: ArgumentKind) -> &'static [LiteralKind] {
    match holds {
        ArgumentKind::Path => &[
            LiteralKind::Path,
            LiteralKind::QuotedPath,
            LiteralKind::Quoted,
        ],
        ArgumentKind::Url => &[LiteralKind::Url, LiteralKind::QuotedUrl],
        ArgumentKind::Sql => &[LiteralKind::Sql],
        ArgumentKind::Email => &[LiteralKind::Email],
        ArgumentKind::Person => &[LiteralKind::Email, LiteralKind::Quoted],
        ArgumentKind::Integer => &[LiteralKind::Integer],
        ArgumentKind::Number => &[LiteralKind::Integer, LiteralKind::Float],
        ArgumentKind::Boolean => &[LiteralKind::Boolean],
        ArgumentKind::Text => &[LiteralKind::Quoted, LiteralKind::Email],
        ArgumentKind::Prose => &[LiteralKind::Quoted],
        ArgumentKind::Other => &[],
    }
}

fn argument_kind(tool: &Tool, name: &str, about: &Value) -> ArgumentKind {
    let text = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "integer" => return ArgumentKind::Integer,
        "number" => return ArgumentKind::Number,
        "boolean" => return ArgumentKind::Boolean,
        "string" => {}
        "" if about.get("anyOf").is_none() && about.get("oneOf").is_none() => {}
        _ => return ArgumentKind::Other,
    }
    match text("format") {
        "uri" | "url" | "uri-reference" | "iri" => return ArgumentKind::Url,
        "email" | "idn-email" => return ArgumentKind::Email,
        _ => {}
    }
    kind_by_name(tool, name, &text("description").to_lowercase())
}

/// What an argument holds, judged by its name and description.
fn kind_by_name(tool: &Tool, name: &str, says: &str) -> ArgumentKind {
    let words = text::split_words(name);
    let named = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let ends = |endings: &[&str]| {
        let ends = |word: &String| endings.iter().any(|ending| word.ends_with(ending));
        words.iter().any(ends) && !named(&SUFFIX_EXCEPTIONS)
    };
    // `file_content` does not hold a path, nor `email_body` an address: the last word decides.
    let last = words.last().map(String::as_str).unwrap_or_default();
    let of_it = PROSE_WORDS.contains(&last) || PROPERTY_WORDS.contains(&last);
    let said = |phrases: &[&str]| phrases.iter().any(|phrase| says.contains(phrase));
    match () {
        () if ends(&["sql"]) || mentions_sql(says) => ArgumentKind::Sql,
        () if named(&["query", "statement"]) && takes_sql(tool) => ArgumentKind::Sql,
        () if PROSE_WORDS.contains(&last) => ArgumentKind::Prose,
        () if of_it => ArgumentKind::Text,
        () if ends(&["url", "urls", "uri", "uris"]) || named(&["href"]) => ArgumentKind::Url,
        () if ends(&PATH_SUFFIXES) || named(&PATH_WORDS) => ArgumentKind::Path,
        () if named(&["email", "emails"]) || name.eq_ignore_ascii_case("mail_to") => {
            ArgumentKind::Email
        }
        () if said(&["path to", "path of", "directory path"]) => ArgumentKind::Path,
        () if said(&["email address", "e-mail address"]) => ArgumentKind::Email,
        () if PERSON_WORDS.contains(&last) => ArgumentKind::Person,
        () => ArgumentKind::Text,
    }
}

fn mentions_sql(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|word| word == "sql")
}

/// Whether a tool takes SQL, judged by its name, server and description.
fn takes_sql(tool: &Tool) -> bool {
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
            name: tramline_workflow::ids::ToolName::new("s", "t"),
            title: None,
            description: None,
            input_schema: Value::Null,
            output_schema: None,
            hints: tramline_engine::ports::ToolHints::default(),
        };
        let value = take_literal(&mut literals::parse_literals(wish), &tool, name, &about)?;
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
