//! The built-in check must agree with the full validator.

use super::*;

fn value(json: &str) -> Value {
    Value::from_json(json).unwrap()
}

const SCHEMAS: [&str; 12] = [
    r#"{}"#,
    r#"{"type":"object"}"#,
    r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#,
    r#"{"type":["integer","null"]}"#,
    r#"{"type":"array","items":{"type":"number","minimum":0,"exclusiveMaximum":10}}"#,
    r#"{"enum":[1,"x",null,[1]]}"#,
    r#"{"const":{"a":1}}"#,
    r#"{"type":"string","minLength":2,"maxLength":3}"#,
    r#"{"minItems":1,"maxItems":2}"#,
    r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#,
    r#"{"type":"object","additionalProperties":{"type":"boolean"}}"#,
    r#"{"exclusiveMinimum":0,"maximum":3.5,"description":"d","default":1,"title":"t"}"#,
];

const VALUES: [&str; 24] = [
    "null",
    "true",
    "0",
    "1",
    "1.0",
    "1.5",
    "3.5",
    "10",
    "-1",
    r#""""#,
    r#""x""#,
    r#""xy""#,
    r#""héé""#,
    r#""wxyz""#,
    "[]",
    "[1]",
    "[1,2,3]",
    "[-1]",
    r#"["a"]"#,
    "{}",
    r#"{"a":"b"}"#,
    r#"{"a":1}"#,
    r#"{"b":true}"#,
    r#"{"a":"x","b":2}"#,
];

#[test]
fn plain_schemas_agree_with_the_validator() {
    for schema in SCHEMAS {
        let checker = Checker::new(&value(schema)).unwrap();
        assert!(checker.is_plain(), "{schema}");
        let validator = jsonschema::validator_for(&Json::from(&value(schema))).unwrap();
        for given in VALUES {
            let given = value(given);
            let verdict = checker.check(&given).is_ok();
            assert_eq!(
                verdict,
                validator.is_valid(&Json::from(&given)),
                "{schema} {given}"
            );
        }
    }
}

#[test]
fn other_schemas_are_compiled() {
    let checker = Checker::new(&value(r#"{"type":"string","pattern":"^a"}"#)).unwrap();
    assert!(!checker.is_plain());
    assert!(checker.check(&"abc".into()).is_ok());
    let faults = checker.check(&"xyz".into()).unwrap_err();
    assert_eq!(faults[0].0, "");
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    let cases = [
        (r#"{"type":"strin"}"#, "/type"),
        (r#"{"properties":{"a":{"type":5}}}"#, "/properties/a/type"),
        (r#"{"required":"a"}"#, "/required"),
        (r#"{"minLength":-1}"#, "/minLength"),
        (r#"{"enum":3}"#, "/enum"),
    ];
    for (schema, pointer) in cases {
        let bad = Checker::new(&value(schema)).unwrap_err();
        assert_eq!(bad.pointer, pointer, "{schema}: {bad}");
    }
    assert!(Checker::new(&value(r#"{"$ref":"https://example.com/x.json"}"#)).is_err());
    assert!(Checker::new(&value(r#"{"pattern":"("}"#)).is_err());
}

#[test]
fn faults_name_place_and_reason() {
    let schema = r#"{"type":"object","properties":{"a/b":{"type":"array","items":{"type":"integer"}}},
        "required":["n"]}"#;
    let checker = Checker::new(&value(schema)).unwrap();
    let faults = checker.check(&value(r#"{"a/b":[1,"x"]}"#)).unwrap_err();
    let expected = [
        ("", "`n` is missing"),
        ("/a~1b/1", "must be a whole number, not a string"),
    ];
    assert_eq!(faults.len(), expected.len());
    for ((pointer, message), wanted) in faults.iter().zip(expected) {
        assert_eq!((pointer.as_str(), message.as_str()), wanted);
    }
}
