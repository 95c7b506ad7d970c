//! No combination of schema and value takes more than a bounded amount of work.

use super::*;
use serde_json::json;

fn checker(schema: &Json) -> Result<Checker, InvalidSchema> {
    Checker::new(&schema.clone().into())
}

/// Definitions that each apply the next one ten times, through what `applies` builds from a
/// reference.
fn ladder(levels: usize, applies: impl Fn(Json) -> Json) -> Json {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), applies(next));
    }
    definitions.insert(format!("d{levels}"), json!({"type": "object"}));
    json!({"type": "object", "allOf": [{"$ref": "#/$defs/d0"}], "$defs": definitions})
}

fn ten(next: &Json) -> Vec<Json> {
    vec![next.clone(); 10]
}

#[test]
fn references_that_unfold_to_too_much_are_refused_before_they_are_compiled() {
    let named = |next: &Json| {
        let fields = (0..10).map(|at| (format!("p{at}"), next.clone()));
        Json::Object(fields.collect())
    };
    let ladders = [
        ladder(12, |next| json!({"allOf": ten(&next)})),
        ladder(12, |next| json!({"anyOf": ten(&next)})),
        ladder(12, |next| json!({"oneOf": ten(&next)})),
        ladder(12, |next| json!({"dependentSchemas": named(&next)})),
        ladder(
            12,
            |next| json!({"allOf": [{"properties": {"a": next}}, {"patternProperties": {"a": next}}, {"additionalProperties": next}]}),
        ),
        ladder(30, |next| json!({"if": next, "then": next, "else": next})),
        ladder(
            30,
            |next| json!({"not": {"not": next}, "unevaluatedProperties": next, "contains": next}),
        ),
        ladder(30, |next| json!({"prefixItems": ten(&next)})),
    ];
    for schema in ladders {
        let bad = checker(&schema).unwrap_err();
        assert!(bad.message.contains("unfold to more than"), "{bad}");
    }
}

#[test]
fn other_names_of_the_same_definitions_count_too() {
    let mut schema = ladder(12, |next| json!({"allOf": ten(&next)}));
    let text = schema.to_string().replace("#/$defs/", "#/%24defs/");
    schema = serde_json::from_str(&text).unwrap();
    assert!(checker(&schema).is_err(), "escaped pointers");

    let mut definitions = serde_json::Map::new();
    for level in 0..12 {
        let next = json!({"$ref": format!("#a{}", level + 1)});
        let anchor = format!("a{level}");
        let definition = json!({"$anchor": anchor, "allOf": ten(&next)});
        definitions.insert(format!("d{level}"), definition);
    }
    definitions.insert("d12".into(), json!({"$anchor": "a12"}));
    let anchored = json!({"$ref": "#a0", "$defs": definitions});
    assert!(checker(&anchored).is_err(), "anchors");

    let text = anchored.to_string();
    let text = text.replace("$anchor", "$dynamicAnchor");
    let text = text.replace("\"$ref\"", "\"$dynamicRef\"");
    let dynamic: Json = serde_json::from_str(&text).unwrap();
    assert!(checker(&dynamic).is_err(), "dynamic anchors");

    let mut definitions = serde_json::Map::new();
    for level in 0..12 {
        let next = json!({"$ref": format!("d{}.json", level + 1)});
        let id = format!("https://example.com/x/d{level}.json");
        definitions.insert(format!("d{level}"), json!({"$id": id, "allOf": ten(&next)}));
    }
    let id = "https://example.com/x/d12.json";
    definitions.insert("d12".into(), json!({"$id": id}));
    let addressed =
        json!({"$id": "https://example.com/x/", "$ref": "d0.json", "$defs": definitions});
    let bad = checker(&addressed).unwrap_err();
    assert!(
        bad.message.contains("unfold to more than"),
        "addresses: {bad}"
    );
}

#[test]
fn a_schema_that_applies_itself_to_the_same_value_is_refused() {
    let loops = [
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"anyOf": [{"type": "null"}, {"$ref": "#"}]}),
    ];
    for schema in loops {
        let bad = checker(&schema).unwrap_err();
        assert!(bad.message.contains("applies itself"), "{bad}");
    }
}

#[test]
fn long_chains_of_references_are_refused_before_the_stack_ends() {
    let chain = |levels: usize| {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            let next = json!({"allOf": [{"$ref": format!("#/$defs/d{}", level + 1)}]});
            definitions.insert(format!("d{level}"), next);
        }
        definitions.insert(format!("d{levels}"), json!({"type": "integer"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    let bad = checker(&chain(1_000)).unwrap_err();
    assert!(bad.message.contains("levels deep"), "{bad}");
    // The deepest allowed schema fits on the smallest stack in use: 2 MiB, as in a test thread.
    let checker = checker(&chain(SCHEMA_DEPTH_MAX / 2 - 2)).unwrap();
    assert!(checker.check(&1.into()).is_ok());
    assert!(checker.check(&"a".into()).is_err());
}

/// A tree whose nodes are checked twice at every level: exponential in the depth of the value.
#[test]
fn a_recursive_schema_is_bounded_by_the_value_it_is_applied_to() {
    let schema = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {"properties": {"next": {"allOf": [
            {"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}
        ]}}}}
    });
    let checker = checker(&schema).unwrap();
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"next": inner}));
    assert!(checker.check(&nested(8).into()).is_ok());
    let faults = checker.check(&nested(60).into()).unwrap_err();
    assert!(
        faults[0].1.contains("too large for its schema"),
        "{faults:?}"
    );
}

#[test]
fn a_heavy_schema_times_a_large_value_is_refused() {
    let heavy =
        json!({"items": {"allOf": vec![json!({"enum": (0..500).collect::<Vec<_>>()}); 90]}});
    let checker = checker(&heavy).unwrap();
    let few: Vec<_> = vec![json!(499); 20];
    assert!(checker.check(&Json::from(few).into()).is_ok());
    let many: Vec<_> = vec![json!(499); 20_000];
    assert!(checker.check(&Json::from(many).into()).is_err());

    let same = json!({"allOf": vec![json!({"uniqueItems": true}); 200]});
    let checker = self::checker(&same).unwrap();
    let many: Vec<_> = (0..100_000).map(Json::from).collect();
    assert!(checker.check(&Json::from(many).into()).is_err());
}

#[test]
fn patterns_are_bounded_in_number_size_and_steps() {
    let backtracks = json!({"type": "string", "pattern": "^(?=(a+)+$)b"});
    let checker = checker(&backtracks).unwrap();
    assert!(checker.check(&"a".repeat(5_000).into()).is_err());

    let large = json!({"pattern": "(((\\w{100}){100}){100})"});
    assert!(self::checker(&large).is_err());
    let usual = json!({"pattern": "^[\\w.+-]{1,64}@[\\w-]{1,63}(\\.[\\w-]{1,63})+$"});
    let checker = self::checker(&usual).unwrap();
    assert!(checker.check(&"ann@example.com".into()).is_ok());

    let many = (0..=SCHEMA_PATTERNS_MAX).map(|at| json!({"pattern": format!("a{at}")}));
    let bad = self::checker(&json!({"anyOf": many.collect::<Vec<_>>()})).unwrap_err();
    assert!(bad.message.contains("patterns"), "{bad}");

    let slow = json!({"pattern": "^[ab]*a[ab]{400}$"});
    let checker = self::checker(&slow).unwrap();
    assert!(checker.check(&"ab".repeat(1 << 20).into()).is_err());
}

#[test]
fn what_takes_long_is_handed_on_and_what_does_not_is_not() {
    thread_local! {
        static HANDED_ON: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
    let long: Offload = |work| {
        HANDED_ON.set(HANDED_ON.get() + 1);
        work();
    };
    let schema = json!({"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}});
    let checker = checker(&schema).unwrap();
    let items = |count: usize| Json::from(vec![json!(1); count]).into();
    assert!(checker.check_with(&items(100), long).is_ok());
    assert_eq!(HANDED_ON.get(), 0);
    assert!(checker.check_with(&items(50_000), long).is_ok());
    assert_eq!(HANDED_ON.get(), 1);
    let wrong: Vec<_> = vec![json!("a"); 50_000];
    let faults = checker
        .check_with(&Json::from(wrong).into(), long)
        .unwrap_err();
    assert_eq!((HANDED_ON.get(), faults.len()), (2, 1));
}

#[test]
fn schemas_that_people_write_are_not_refused() {
    let schemas = [
        json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"tree": {"type": "object", "properties": {
                "value": {"type": "string", "pattern": "^a"},
                "children": {"type": "array", "items": {"$ref": "#/definitions/tree"}}
            }}},
            "$ref": "#/definitions/tree"
        }),
        json!({
            "$id": "https://example.com/tree",
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"data": true, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
            "unevaluatedProperties": false
        }),
        json!({"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "integer"}}}),
    ];
    for schema in schemas {
        let checker = checker(&schema).unwrap_or_else(|bad| panic!("{schema}: {bad}"));
        let given = json!({"children": [{"children": []}], "a": 1});
        let _ = checker.check(&given.into());
        assert!(
            checker.check(&json!({"children": []}).into()).is_ok(),
            "{schema}"
        );
    }
}
