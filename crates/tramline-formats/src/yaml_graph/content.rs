//! Resources and prompts of a document, under its own URIs and names.

use super::fields;
use std::collections::HashSet;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;

/// Resources and prompts of one document, each: an agent lists them all.
const DECLARED_MAX: usize = 500;
/// Characters of a resource's URI.
const URI_CHARS_MAX: usize = 2_000;
/// Arguments of one prompt.
const PROMPT_ARGUMENTS_MAX: usize = 50;

/// What a document serves besides tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredContent {
    /// Its resources and resource templates, in document order.
    pub resources: Vec<DeclaredResource>,
    /// Its prompts, in document order.
    pub prompts: Vec<DeclaredPrompt>,
}

/// A resource, or a template for resources.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredResource {
    /// The URI; a template has variables in braces, like `note://{id}`.
    pub uri: Str,
    /// The programmatic name.
    pub name: Str,
    /// The display name.
    pub title: Option<Str>,
    /// What it contains.
    pub description: Option<Str>,
    /// The MIME type; text is `text/plain` without one.
    pub mime_type: Option<Str>,
    /// Its content; variables of the template in braces are replaced.
    pub body: ResourceBody,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceBody {
    /// Text.
    Text(Str),
    /// Bytes, in base64.
    Blob(Str),
}

/// A prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredPrompt {
    /// The name.
    pub name: Str,
    /// The display name.
    pub title: Option<Str>,
    /// When to use it.
    pub description: Option<Str>,
    /// Its arguments.
    pub arguments: Vec<DeclaredArgument>,
    /// A question to the client's user whose answers are arguments too.
    pub ask: Option<PromptQuestion>,
    /// Its messages: role and content. Arguments in braces are replaced in every text.
    pub messages: Vec<(Str, Value)>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredArgument {
    /// The name.
    pub name: Str,
    /// What it means.
    pub description: Option<Str>,
    /// Whether it must be given.
    pub required: bool,
    /// Values that clients suggest.
    pub values: Vec<Str>,
}

/// A question that a prompt asks first.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptQuestion {
    /// The question.
    pub message: Str,
    /// The JSON Schema of the answer: an object of plain fields.
    pub schema: Value,
}

impl DeclaredResource {
    /// The variables of a template; none for a plain resource.
    pub fn variables(&self) -> Vec<&str> {
        variables(&self.uri)
    }

    /// The values of the variables in a URI that fits; an empty list for a plain resource.
    pub fn match_uri(&self, uri: &str) -> Option<Vec<(String, String)>> {
        match_template(&self.uri, uri)
    }
}

/// The names in braces.
fn variables(template: &str) -> Vec<&str> {
    let parts = template.split('{').skip(1);
    parts
        .filter_map(|part| Some(part.split_once('}')?.0))
        .collect()
}

/// Matches a URI with a template of plain variables: each stands for one path segment, decoded.
pub fn match_template(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
    let (literal, rest) = template.split_once('{').unwrap_or((template, ""));
    let uri = uri.strip_prefix(literal)?;
    let Some((name, after)) = rest.split_once('}') else {
        return uri.is_empty().then(Vec::new);
    };
    let next = after.split('{').next().unwrap_or_default();
    let segment = uri.find(['/', '?', '#']).unwrap_or(uri.len());
    // The longest value that leaves the following literal.
    let ends = (1..=segment).rev().filter(|end| uri.is_char_boundary(*end));
    for end in ends.filter(|end| uri[*end..].starts_with(next)) {
        if let Some(more) = match_template(after, &uri[end..]) {
            let mut all = vec![(name.to_owned(), percent_decoded(&uri[..end])?)];
            all.extend(more);
            return Some(all);
        }
    }
    None
}

/// Decodes `%41`; `None` if the result is not text.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let pair = after.get(..2).filter(|_| *first == b'%');
        let pair = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Replaces `{name}` by its value in every text of a value. Other braces stay.
pub fn fill_in(value: &Value, given: &[(String, String)]) -> Value {
    match value {
        Value::String(text) => fill_in_text(text, given).into(),
        Value::Array(items) => Value::array(items.iter().map(|item| fill_in(item, given))),
        Value::Object(map) => Value::object(
            map.iter()
                .map(|(key, item)| (key.clone(), fill_in(item, given))),
        ),
        plain => plain.clone(),
    }
}

/// Replaces `{name}` by its value. Values are not searched again.
pub fn fill_in_text(text: &str, given: &[(String, String)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = given.iter().find(|(name, _)| {
            let after = rest[1..].strip_prefix(name.as_str());
            after.is_some_and(|after| after.starts_with('}'))
        });
        match known {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

/// Reads `resources` and `prompts`.
pub(super) fn read(root: Spanned<'_>, flaws: &mut FlawCollector) -> DeclaredContent {
    let mut taken = HashSet::new();
    let resources = list(root, "resources", flaws);
    let resources = resources
        .filter_map(|at| resource(at, &mut taken, flaws))
        .collect();
    let mut taken = HashSet::new();
    let prompts = list(root, "prompts", flaws);
    let prompts = prompts
        .filter_map(|at| prompt(at, &mut taken, flaws))
        .collect();
    DeclaredContent { resources, prompts }
}

fn list<'t>(
    at: Spanned<'t>,
    key: &str,
    flaws: &mut FlawCollector,
) -> std::vec::IntoIter<Spanned<'t>> {
    let Some(list) = fields::present(at, key) else {
        return Vec::new().into_iter();
    };
    if list.value.as_array().is_none() {
        fields::report_wrong_type(
            list,
            key,
            "a list",
            "write one entry per line, each after `- `",
            flaws,
        );
        return Vec::new().into_iter();
    }
    if list.items().len() > DECLARED_MAX {
        let message = format!(
            "`{key}` has {} entries; the limit is {DECLARED_MAX}",
            list.items().len()
        );
        flaws.add(
            FlawCode::TooMany,
            list.source_span(),
            message,
            "split the document",
        );
    }
    list.items()
        .take(DECLARED_MAX)
        .collect::<Vec<_>>()
        .into_iter()
}

fn text(at: Spanned<'_>, key: &str, flaws: &mut FlawCollector) -> Option<Str> {
    fields::optional_string(at, key, flaws).map(|(text, _)| text.clone())
}

fn once(
    name: &Str,
    at: Spanned<'_>,
    what: &str,
    taken: &mut HashSet<Str>,
    flaws: &mut FlawCollector,
) -> bool {
    let is_new = taken.insert(name.clone());
    if !is_new {
        let message = format!("{what} `{name}` is declared twice");
        flaws.add(
            FlawCode::Duplicate,
            at.source_span(),
            message,
            "rename one of them, or remove it",
        );
    }
    is_new
}

fn resource(
    at: Spanned<'_>,
    taken: &mut HashSet<Str>,
    flaws: &mut FlawCollector,
) -> Option<DeclaredResource> {
    const KNOWN: [&str; 7] = [
        "uri",
        "name",
        "title",
        "description",
        "mimeType",
        "text",
        "blob",
    ];
    const OWNER: &str = "the resource";
    if at.value.as_object().is_none() {
        fields::report_wrong_type(
            at,
            "a resource",
            "an object",
            "write its `uri` and its `text` or `blob`",
            flaws,
        );
        return None;
    }
    fields::warn_unknown(at, OWNER, &KNOWN, flaws);
    let (uri, uri_at) = fields::required_string(
        at,
        OWNER,
        "uri",
        "give it a URI like `notes://today`",
        flaws,
    )?;
    if !is_uri(uri) {
        let message = format!(
            "`{}` is not a URI or a URI template",
            tramline_workflow::text::display_name(uri)
        );
        flaws.add(
            FlawCode::WrongType,
            uri_at.source_span(),
            message,
            "write it like `notes://today` or `notes://{day}`",
        );
        return None;
    }
    let body = match (text(at, "text", flaws), text(at, "blob", flaws)) {
        (Some(text), None) => ResourceBody::Text(text),
        (None, Some(blob)) => ResourceBody::Blob(blob),
        (Some(_), Some(_)) => {
            flaws.add(
                FlawCode::Duplicate,
                at.source_span(),
                "a resource has `text` or `blob`, not both".to_owned(),
                "remove one of them",
            );
            return None;
        }
        (None, None) => {
            fields::report_missing(
                at,
                OWNER,
                "text",
                "write its content as `text`, or as `blob` in base64",
                flaws,
            );
            return None;
        }
    };
    once(uri, uri_at, "the resource", taken, flaws).then(|| DeclaredResource {
        name: text(at, "name", flaws).unwrap_or_else(|| uri.clone()),
        title: text(at, "title", flaws),
        description: text(at, "description", flaws),
        mime_type: text(at, "mimeType", flaws),
        body,
        uri: uri.clone(),
    })
}

/// Whether a text has a scheme, and braces only around plain names.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let plain = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
    };
    let braces = rest.matches('{').count();
    // The scheme of our own resources.
    plain(scheme)
        && scheme != "tramline"
        && !rest.is_empty()
        && text.chars().count() <= URI_CHARS_MAX
        && !text.contains(char::is_whitespace)
        && rest.matches('}').count() == braces
        && variables(rest).len() == braces
        && variables(rest).iter().all(|name| plain(name))
}

fn prompt(
    at: Spanned<'_>,
    taken: &mut HashSet<Str>,
    flaws: &mut FlawCollector,
) -> Option<DeclaredPrompt> {
    const KNOWN: [&str; 6] = [
        "name",
        "title",
        "description",
        "arguments",
        "ask",
        "messages",
    ];
    const OWNER: &str = "the prompt";
    if at.value.as_object().is_none() {
        fields::report_wrong_type(
            at,
            "a prompt",
            "an object",
            "write its `name` and its `messages`",
            flaws,
        );
        return None;
    }
    fields::warn_unknown(at, OWNER, &KNOWN, flaws);
    let (name, name_at) = fields::required_string(at, OWNER, "name", "name this prompt", flaws)?;
    let arguments = list(at, "arguments", flaws);
    let arguments: Vec<_> = arguments
        .filter_map(|at| argument(at, flaws))
        .take(PROMPT_ARGUMENTS_MAX)
        .collect();
    let messages = list(at, "messages", flaws);
    let messages: Vec<_> = messages.filter_map(|at| message(at, flaws)).collect();
    if messages.is_empty() {
        fields::report_missing(
            at,
            OWNER,
            "messages",
            "write `messages:` with `role` and `content`",
            flaws,
        );
        return None;
    }
    once(name, name_at, "the prompt", taken, flaws).then(|| DeclaredPrompt {
        name: name.clone(),
        title: text(at, "title", flaws),
        description: text(at, "description", flaws),
        arguments,
        ask: fields::present(at, "ask").and_then(|ask| question(ask, flaws)),
        messages,
    })
}

fn argument(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<DeclaredArgument> {
    const KNOWN: [&str; 4] = ["name", "description", "required", "values"];
    fields::warn_unknown(at, "the argument", &KNOWN, flaws);
    let (name, _) =
        fields::required_string(at, "the argument", "name", "name this argument", flaws)?;
    let values = list(at, "values", flaws);
    let values: Vec<_> = values
        .filter_map(|value| {
            fields::string_value(value, "values", flaws).map(|(text, _)| text.clone())
        })
        .collect();
    Some(DeclaredArgument {
        name: name.clone(),
        description: text(at, "description", flaws),
        required: fields::boolean(at, "required", flaws).unwrap_or(false),
        values,
    })
}

fn question(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<PromptQuestion> {
    fields::warn_unknown(at, "`ask`", &["message", "schema"], flaws);
    let (message, _) =
        fields::required_string(at, "`ask`", "message", "write the question", flaws)?;
    let Some(schema) =
        fields::present(at, "schema").filter(|schema| schema.value.get("properties").is_some())
    else {
        fields::report_missing(
            at,
            "`ask`",
            "schema",
            "write the JSON Schema of the answer, with `properties`",
            flaws,
        );
        return None;
    };
    Some(PromptQuestion {
        message: message.clone(),
        schema: schema.value.clone(),
    })
}

/// A message; its content is text, or a content block of the protocol.
fn message(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<(Str, Value)> {
    fields::warn_unknown(at, "the message", &["role", "content"], flaws);
    let role = text(at, "role", flaws).unwrap_or_else(|| "user".into());
    if role != "user" && role != "assistant" {
        let message = format!(
            "`role` must be user or assistant, not `{}`",
            tramline_workflow::text::display_name(&role)
        );
        flaws.add(
            FlawCode::WrongType,
            at.source_span(),
            message,
            "write `role: user`",
        );
    }
    let Some(content) = fields::present(at, "content") else {
        fields::report_missing(at, "the message", "content", "write its text", flaws);
        return None;
    };
    let content = match content.value {
        Value::String(_) => Value::object([
            ("type", Value::from("text")),
            ("text", content.value.clone()),
        ]),
        Value::Object(_) => content.value.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            fields::report_wrong_type(
                content,
                "content",
                "text or a content block",
                "write it as a string",
                flaws,
            );
            return None;
        }
    };
    Some((role, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_template_matches_one_segment_per_variable() {
        let fits = |template, uri| match_template(template, uri);
        assert_eq!(
            fits("a://{x}/b/{y}", "a://1/b/2"),
            Some(pairs(&[("x", "1"), ("y", "2")]))
        );
        assert_eq!(
            fits("a://{x}.txt", "a://a.b.txt"),
            Some(pairs(&[("x", "a.b")]))
        );
        assert_eq!(fits("a://{x}", "a://a%20b"), Some(pairs(&[("x", "a b")])));
        assert_eq!(fits("a://b", "a://b"), Some(Vec::new()));
        for (template, uri) in [
            ("a://{x}", "a://"),
            ("a://{x}", "a://1/2"),
            ("a://{x}/b", "a://1/c"),
            ("a://b", "a://bc"),
            ("a://{x}", "a://%ff"),
        ] {
            assert_eq!(fits(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn only_known_names_in_braces_are_replaced_and_once() {
        let given = pairs(&[("id", "{name}"), ("name", "n")]);
        assert_eq!(
            fill_in_text(r#"{"id":"{id}", {x}{name}{"#, &given),
            r#"{"id":"{name}", {x}n{"#
        );
    }

    #[test]
    fn uris_have_a_scheme_and_plain_variables() {
        for good in ["a://b", "urn:x:{y}", "test://template/{id}/data"] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "a:",
            "a://{",
            "a://{x y}",
            "a b://c",
            "tramline://runs",
            "a://}{",
            "a://{}",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }
}
