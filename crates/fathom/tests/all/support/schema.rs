//! JSON against `docs/reference/check.schema.json`. Knows the words of JSON Schema that this schema
//! uses, and fails on any other, so that no rule goes unchecked.
use serde_json::{Map, Value};

const SCHEMA: &str = include_str!("../../../../../docs/reference/check.schema.json");

#[track_caller]
pub fn check(value: &Value) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut problems = Vec::new();
    compare(value, &schema, &schema, "$", &mut problems);
    assert!(problems.is_empty(), "{}\n{value:#}", problems.join("\n"));
}

fn compare(value: &Value, rules: &Value, root: &Value, at: &str, problems: &mut Vec<String>) {
    for (word, rule) in rules.as_object().expect("a schema is an object") {
        match word.as_str() {
            "$schema" | "$id" | "title" | "description" | "$defs" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                compare(value, &root["$defs"][name], root, at, problems);
            }
            "type" => {
                if !types(rule).iter().any(|name| is(value, name)) {
                    problems.push(format!("{at}: {value} is not of type {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    problems.push(format!("{at}: {value} is none of {rule}"));
                }
            }
            "minimum" => {
                let low = rule.as_f64().unwrap();
                if value.as_f64().is_some_and(|number| number < low) {
                    problems.push(format!("{at}: {value} is below {low}"));
                }
            }
            "minItems" | "maxItems" => {
                let limit = rule.as_u64().unwrap() as usize;
                let breaks = |count: usize| {
                    if word == "minItems" {
                        count < limit
                    } else {
                        count > limit
                    }
                };
                if value.as_array().is_some_and(|items| breaks(items.len())) {
                    problems.push(format!("{at}: {word} is {limit}"));
                }
            }
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    compare(item, rule, root, &format!("{at}[{place}]"), problems);
                }
            }
            "required" | "properties" | "additionalProperties" => {
                if let Some(object) = value.as_object() {
                    members(object, rules, word, root, at, problems);
                }
            }
            _ => panic!("the schema uses `{word}`, which this test does not know"),
        }
    }
}

fn members(
    object: &Map<String, Value>,
    rules: &Value,
    word: &str,
    root: &Value,
    at: &str,
    problems: &mut Vec<String>,
) {
    match word {
        "required" => {
            for name in rules["required"].as_array().unwrap() {
                if !object.contains_key(name.as_str().unwrap()) {
                    problems.push(format!("{at}: no {name}"));
                }
            }
        }
        "properties" => {
            for (name, rule) in rules["properties"].as_object().unwrap() {
                if let Some(value) = object.get(name) {
                    compare(value, rule, root, &format!("{at}.{name}"), problems);
                }
            }
        }
        _ => {
            assert_eq!(rules["additionalProperties"], false);
            for name in object
                .keys()
                .filter(|name| rules["properties"].get(name.as_str()).is_none())
            {
                problems.push(format!("{at}: `{name}` is not described"));
            }
        }
    }
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::Array(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
        name => vec![name.as_str().unwrap()],
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("the schema uses type `{name}`, which this test does not know"),
    }
}
