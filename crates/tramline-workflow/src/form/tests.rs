//! Forms: which fields clients draw, and which answers fit.

use super::*;

fn question(schema: &str, defaults: &str) -> FormQuestion {
    FormQuestion {
        message: "Where to?".into(),
        schema: Value::from_json(schema).unwrap(),
        defaults: Value::from_json(defaults).unwrap(),
        until_ms: None,
        answered_by: FormRespondents::Anyone,
    }
}

const ORDER: &str = r#"{"type": "object", "required": ["name", "copies"], "properties": {
    "name": {"type": "string", "title": "Name", "minLength": 1},
    "mail": {"type": "string", "format": "email"},
    "copies": {"type": "integer", "minimum": 1, "maximum": 9},
    "weight": {"type": "number"},
    "express": {"type": "boolean", "default": false},
    "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
    "shop": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
    "extras": {"type": "array", "items": {"type": "string", "enum": ["bow", "card"]}, "maxItems": 2},
    "address": {"type": "object", "description": "Where to", "properties": {"zip": {"type": "string"}}}
}}"#;

fn inline(work: &mut dyn FnMut()) {
    work();
}

#[test]
fn fields_are_drawn_flat_and_others_are_json_text() {
    let asked = question(
        ORDER,
        r#"{"name": "Ada", "address": {"zip": "1"}, "copies": "x"}"#,
    );
    let fields = form_fields(&asked);
    let drawn: Vec<_> = fields
        .iter()
        .map(|field| {
            (
                field.name.as_str(),
                field.is_required,
                field.schema.to_json(),
            )
        })
        .collect();
    let expected = [
        (
            "name",
            true,
            r#"{"title":"Name","type":"string","minLength":1,"default":"Ada"}"#,
        ),
        ("mail", false, r#"{"type":"string","format":"email"}"#),
        (
            "copies",
            true,
            r#"{"type":"integer","minimum":1,"maximum":9}"#,
        ),
        ("weight", false, r#"{"type":"number"}"#),
        ("express", false, r#"{"type":"boolean","default":false}"#),
        (
            "size",
            false,
            r#"{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}"#,
        ),
        (
            "shop",
            false,
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#,
        ),
        (
            "extras",
            false,
            r#"{"type":"array","items":{"type":"string","enum":["bow","card"]},"maxItems":2}"#,
        ),
        (
            "address",
            false,
            r#"{"type":"string","description":"Where to (JSON: object)","default":"{\"zip\":\"1\"}"}"#,
        ),
    ];
    for (is, wanted) in drawn.iter().zip(expected) {
        assert_eq!((is.0, is.1, is.2.as_str()), wanted);
    }
    assert_eq!(drawn.len(), expected.len());
}

#[test]
fn an_answer_is_completed_and_checked_and_the_field_is_named() {
    let asked = question(ORDER, r#"{"name": "Ada"}"#);
    let full = |json: &str| complete_content(&asked, Value::from_json(json).unwrap());
    let good = full(r#"{"copies": 2, "mail": null}"#);
    assert_eq!(
        good.to_json(),
        r#"{"copies":2,"name":"Ada","express":false}"#
    );
    check_content(&asked, &good, inline).unwrap();
    for (json, says) in [
        ("{}", "`copies` is required"),
        (r#"{"copies": 20}"#, "`copies`:"),
        (r#"{"copies": "two"}"#, "`copies`:"),
        (
            r#"{"copies": 1, "nane": "x"}"#,
            "`nane` is not a field of this form; did you mean `name`?",
        ),
        (r#"{"copies": 1, "size": "xl"}"#, "`size`:"),
        (r#"{"copies": 1, "extras": ["bow", "ring"]}"#, "`extras.1`:"),
        (r#"{"copies": 1, "address": {"zip": 7}}"#, "`address.zip`:"),
        ("[]", "must be an object"),
    ] {
        let wrong = check_content(&asked, &full(json), inline).unwrap_err();
        assert!(wrong.contains(says), "{json}: {wrong}");
    }
}

#[test]
fn typed_texts_become_values_of_the_field() {
    let asked = question(ORDER, "null");
    let pairs = [
        ("name", "42"),
        ("copies", "3"),
        ("weight", "1.5"),
        ("express", "yes"),
        ("extras", "bow, card"),
        ("address", r#"{"zip": "1"}"#),
    ];
    let pairs = pairs.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let content = content_from_pairs(&asked, &pairs).unwrap();
    let wanted = r#"{"name":"42","copies":3,"weight":1.5,"express":true,"extras":["bow","card"],"address":{"zip":"1"}}"#;
    assert_eq!(content.to_json(), wanted);
    check_content(&asked, &content, inline).unwrap();
    let form = r#"{"name": "x", "mail": "", "address": "{\"zip\": \"1\"}", "copies": 1}"#;
    let form = Value::from_json(form).unwrap();
    let content = content_from_texts(&asked, &form).unwrap();
    assert_eq!(content.get("address").unwrap().to_json(), r#"{"zip":"1"}"#);
    let broken = Value::from_json(r#"{"address": "{zip"}"#).unwrap();
    let says = content_from_texts(&asked, &broken).unwrap_err();
    assert!(says.starts_with("`address` is not JSON"), "{says}");
}

#[test]
fn a_form_needs_named_fields() {
    for (json, place) in [
        (r#"{"type": "string"}"#, ""),
        (r#"{"type": "object"}"#, ""),
        (r#"{"type": "object", "properties": {}}"#, "/properties"),
        (
            r#"{"type": "object", "properties": {"a": {}}, "required": ["b"]}"#,
            "/required",
        ),
    ] {
        let wrong = check_form_schema(&Value::from_json(json).unwrap()).unwrap_err();
        assert_eq!(wrong.0, place, "{json}: {}", wrong.1);
    }
    let odd = r#"{"type": "object", "properties": {"a": {"type": "text"}}}"#;
    let wrong = check_form_schema(&Value::from_json(odd).unwrap()).unwrap_err();
    assert!(wrong.1.contains("text"), "{wrong:?}");
    check_form_schema(&Value::from_json(ORDER).unwrap()).unwrap();
}
