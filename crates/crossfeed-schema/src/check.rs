//! Checks schemas: whether one is valid in its dialect, complete, and within the limits.
//!
//! The rewriter and the engine share this check, so that a call of a tool shown with references can also be
//! validated.

use crate::{
    Dialect, SchemaError,
    ecma::{ascii_classes, with_ascii_classes},
    index::{Index, Target, find_cycle, identity},
    keywords::{self, Applies},
};
use crossfeed_json::is_deeper;
use crossfeed_wire::{Pointer, reference::type_name};
use jsonschema::{Draft, FancyRegex, PatternOptions, Validator, meta::MetaValidator};
use serde_json::{Value, json};
use std::collections::HashSet;

/// How often a regular expression may go back over the same text before it counts as no match: a
/// pattern of the schema must not hold up a call.
const BACKTRACK_LIMIT: usize = 100_000;
/// How many bytes a compiled regular expression may take: `(a{1,1000}){1,1000}` would take tens of milliseconds
/// and megabytes, and a list may have thousands of these. `.{1,1000}`, any characters of UTF-8, takes nearly as
/// many as this.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// How many regular expressions a schema may have that are more than a text.
const MAX_PATTERNS: usize = 256;
/// How many mistakes are looked at for the one that is reported.
const MAX_MISTAKES: usize = 20;

/// The message about an unknown `type`.
const TYPES: &str =
    "a type is one of array, boolean, integer, null, number, object, string, or a list of them";

/// Checks a schema.
///
/// The dialect is the one that `$schema` declares, else 2020-12. A schema that is not valid in it
/// but in draft 7 is read as that: servers send list-form `items` whatever they declare.
///
/// # Errors
///
/// [`SchemaError`] names the fault and its place.
///
/// ```
/// use crossfeed_schema::{Dialect, check};
/// use serde_json::json;
///
/// assert_eq!(check(&json!({"type": "object"})).unwrap(), Dialect::Draft202012);
/// let error = check(&json!({"properties": {"a": {"type": "objekt"}}})).unwrap_err();
/// assert_eq!(error.at().unwrap().as_str(), "/properties/a/type");
/// ```
pub fn check(schema: &Value) -> Result<Dialect, SchemaError> {
    checked(schema).map(|(dialect, _)| dialect)
}

/// Checks a schema and compiles it. `format` is an annotation, nothing is fetched, and a regular
/// expression that goes back over the same text too often counts as no match.
///
/// # Errors
///
/// [`SchemaError`], exactly where [`check`] gives one.
pub fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    compiled(schema).map(|(validator, ..)| validator)
}

/// Compiles a schema as [`compile`] does, and gives its dialect and where its references lead.
pub fn compiled(schema: &Value) -> Result<(Validator, Dialect, Index), SchemaError> {
    let (dialect, index) = judged(schema)?;
    Ok((validator(schema, dialect, &index)?, dialect, index))
}

/// The dialect of a schema, and where its references lead.
pub fn checked(schema: &Value) -> Result<(Dialect, Index), SchemaError> {
    let (dialect, index) = judged(schema)?;
    // What the validator makes of addresses only the validator can say.
    if !index.is_empty() || has_identity(schema, dialect) {
        validator(schema, dialect, &index)?;
    }
    Ok((dialect, index))
}

/// Whether a schema within the document has an `$id`.
fn has_identity(schema: &Value, dialect: Dialect) -> bool {
    let mut found = false;
    keywords::visit(schema, "", &mut |object, _| {
        found |= identity(object, dialect).is_some();
    });
    found
}

fn validator(schema: &Value, dialect: Dialect, index: &Index) -> Result<Validator, SchemaError> {
    let draft = match dialect {
        Dialect::Draft4 => Draft::Draft4,
        Dialect::Draft6 => Draft::Draft6,
        Dialect::Draft7 => Draft::Draft7,
        Dialect::Draft201909 => Draft::Draft201909,
        Dialect::Draft202012 => Draft::Draft202012,
    };
    let built = jsonschema::options()
        .with_draft(draft)
        .offline()
        .with_pattern_options(pattern_options())
        .build(&with_ascii_classes(schema, index));
    built.map_err(|error| {
        // A published schema of another dialect, or a part that it does not have.
        let published = index
            .links()
            .filter(|(.., target)| **target == Target::Published);
        let place = published.map(|(at, keyword, _)| (at, keyword)).min();
        match place {
            Some((at, keyword)) => SchemaError::Remote {
                at: Pointer::parse(at).unwrap_or_default().key(keyword),
                reference: text_at(schema, at, keyword),
            },
            None => SchemaError::Invalid {
                at: Pointer::parse(error.instance_path().as_str()).unwrap_or_default(),
                message: error.masked().to_string(),
            },
        }
    })
}

fn pattern_options() -> PatternOptions<FancyRegex> {
    PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(MAX_PATTERN_BYTES)
}

fn text_at(schema: &Value, at: &str, keyword: &str) -> String {
    let text = schema
        .pointer(at)
        .and_then(|schema| schema.get(keyword)?.as_str());
    text.unwrap_or_default().to_owned()
}

fn judged(schema: &Value) -> Result<(Dialect, Index), SchemaError> {
    if !keywords::is_schema(schema) {
        return Err(SchemaError::NoSchema {
            found: type_name(schema),
        });
    }
    if is_deeper(schema, crossfeed_json::MAX_DEPTH) {
        return Err(SchemaError::TooDeep);
    }
    let Some(declared) = Dialect::declared(schema) else {
        return Err(SchemaError::Invalid {
            at: Pointer::root().key("$schema"),
            message: "it declares no dialect that is known (draft-04, draft-06, draft-07, 2019-09, 2020-12)"
                .to_owned(),
        });
    };
    let dialect = if declared.is_valid(schema) {
        declared
    } else if Dialect::Draft7.is_valid(schema) {
        Dialect::Draft7
    } else {
        return Err(invalid(declared, schema));
    };
    patterns(schema)?;
    let index = Index::try_new(schema, dialect)?;
    acyclic(schema, &index)?;
    Ok((dialect, index))
}

impl Dialect {
    /// Whether a value is a schema of this dialect.
    pub fn is_valid(self, schema: &Value) -> bool {
        self.meta().is_valid(schema)
    }

    fn meta(self) -> MetaValidator<'static> {
        match self {
            Self::Draft4 => jsonschema::draft4::meta::validator(),
            Self::Draft6 => jsonschema::draft6::meta::validator(),
            Self::Draft7 => jsonschema::draft7::meta::validator(),
            Self::Draft201909 => jsonschema::draft201909::meta::validator(),
            Self::Draft202012 => jsonschema::draft202012::meta::validator(),
        }
    }
}

fn invalid(dialect: Dialect, schema: &Value) -> SchemaError {
    let meta = dialect.meta();
    // The deepest of several mistakes is the cause of those around it.
    let mut errors: Vec<_> = meta.iter_errors(schema).take(MAX_MISTAKES).collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.instance_path().as_str().len()));
    let (at, message) = match errors.first() {
        Some(error) => (
            Pointer::parse(error.instance_path().as_str()).unwrap_or_default(),
            match error.instance_path().as_str().rsplit('/').next() {
                // The meta-schema has it as an alternative of two, which says nothing.
                Some("type") => TYPES.to_owned(),
                _ => error.masked().to_string(),
            },
        ),
        None => (Pointer::root(), "it is not a schema".to_owned()),
    };
    SchemaError::Invalid { at, message }
}

/// Refuses regular expressions that the validator cannot compile.
fn patterns(schema: &Value) -> Result<(), SchemaError> {
    let mut wrong = None;
    let mut count = 0;
    visit_patterns(schema, &mut |pattern, keyword, at| {
        if wrong.is_some() || is_plain(pattern) {
            return;
        }
        count += 1;
        let message = if count > MAX_PATTERNS {
            format!("it has more than {MAX_PATTERNS} regular expressions")
        } else if is_pattern(pattern) {
            return;
        } else {
            format!(
                "`{pattern}` is not a regular expression that can be used, or takes more than {} KiB compiled",
                MAX_PATTERN_BYTES >> 10
            )
        };
        let at = Pointer::parse(at).unwrap_or_default().key(keyword);
        wrong = Some(SchemaError::Invalid { at, message });
    });
    wrong.map_or(Ok(()), Err)
}

/// Whether a schema has regular expressions that may take long to match.
pub fn has_patterns(schema: &Value) -> bool {
    let mut found = false;
    visit_patterns(schema, &mut |pattern, _, _| found |= !is_plain(pattern));
    found
}

/// Sees each regular expression of a schema, the keyword that holds it, and where that is.
fn visit_patterns(schema: &Value, see: &mut dyn FnMut(&str, &'static str, &str)) {
    keywords::visit(schema, "", &mut |object, at| {
        if let Some(pattern) = object.get("pattern").and_then(Value::as_str) {
            see(pattern, "pattern", at);
        }
        for (pattern, _) in keywords::members(object.get("patternProperties")) {
            see(pattern, "patternProperties", at);
        }
    });
}

/// Whether a regular expression is a text, which is looked for.
fn is_plain(pattern: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '^' | '$' | '_' | '-' | ' ');
    pattern.chars().all(plain)
}

fn is_pattern(pattern: &str) -> bool {
    let options = jsonschema::options().with_pattern_options(pattern_options());
    let pattern = ascii_classes(pattern);
    options.build(&json!({"pattern": pattern})).is_ok()
}

/// Refuses references that lead back to where they stand without a step into the value: validation would
/// not end.
fn acyclic(root: &Value, index: &Index) -> Result<(), SchemaError> {
    let mut done: HashSet<String> = HashSet::new();
    let mut starts: Vec<_> = index
        .links()
        .filter(|(_, keyword, _)| *keyword == "$ref")
        .map(|(at, ..)| at)
        .collect();
    starts.sort_unstable();
    let cyclic = |start: &&str| {
        let start = (*start).to_owned();
        find_cycle(start, &mut done, |at| applied_here(root, index, at)).is_some()
    };
    match starts.into_iter().find(cyclic) {
        Some(start) => Err(SchemaError::Cyclic {
            at: Pointer::parse(start).unwrap_or_default().key("$ref"),
            reference: text_at(root, start, "$ref"),
        }),
        None => Ok(()),
    }
}

/// The places of the schemas that the one at a place applies to the same value.
fn applied_here(root: &Value, index: &Index, at: &str) -> Vec<String> {
    let target = match index.target(at, "$ref") {
        Some(Target::Here { at, .. }) => Some(at.clone()),
        _ => None,
    };
    let object = root.pointer(at).and_then(Value::as_object).into_iter();
    let inner = object
        .flat_map(keywords::subschemas_of)
        .filter(|inner| inner.applies == Applies::Here);
    target
        .into_iter()
        .chain(inner.map(|inner| inner.place(at)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::{Value, json};

    fn refused(schema: Value, code: &str, at: &str) {
        let error = check(&schema).unwrap_err();
        let words = format!("{error:?}");
        assert!(words.starts_with(code), "{schema}: {words}");
        let found = error.at().map(|at| at.as_str().to_owned());
        assert_eq!(found.unwrap_or_default(), at, "{schema}: {words}");
        assert!(!error.to_string().contains('\n'));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        refused(json!("string"), "NoSchema", "");
        refused(json!(null), "NoSchema", "");
        refused(json!([{}]), "NoSchema", "");
        refused(json!({"type": "objekt"}), "Invalid", "/type");
        refused(json!({"properties": 3}), "Invalid", "/properties");
        refused(
            json!({"properties": {"a": {"required": "b"}}}),
            "Invalid",
            "/properties/a/required",
        );
        refused(
            json!({"properties": {"a": {"pattern": "("}}}),
            "Invalid",
            "/properties/a/pattern",
        );
        refused(
            json!({"patternProperties": {"(": {}}}),
            "Invalid",
            "/patternProperties",
        );
        refused(
            json!({"$schema": "https://example.com/mine"}),
            "Invalid",
            "/$schema",
        );
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({"properties": {"a": deep}});
        }
        refused(deep, "TooDeep", "");
    }

    #[test]
    fn references_lead_somewhere() {
        refused(json!({"$ref": "#/$defs/a"}), "Dangling", "/$ref");
        refused(
            json!({"items": {"$ref": "#gone"}}),
            "Dangling",
            "/items/$ref",
        );
        refused(
            json!({"$ref": "https://example.com/a.json"}),
            "Remote",
            "/$ref",
        );
        refused(json!({"$ref": "a.json"}), "Remote", "/$ref");
        refused(json!({"$ref": "#"}), "Cyclic", "/$ref");
        refused(
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
            "Cyclic",
            "/$defs/a/allOf/0/$ref",
        );
        // What only the validator finds.
        let cross = "http://json-schema.org/draft-07/schema#";
        refused(json!({"$ref": cross}), "Remote", "/$ref");
        let gone = "http://json-schema.org/draft-99/nothing";
        refused(json!({"items": {"$ref": gone}}), "Remote", "/items/$ref");
        let own = json!({"items": {"$ref": "#/x"}, "x": {"pattern": "("}});
        assert!(check(&own).is_err());
        assert!(check(&json!({"$ref": "#/$defs/A B", "$defs": {"A B": {}}})).is_err());
        assert!(
            check(
                &json!({"$id": "::not a uri", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}})
            )
            .is_err()
        );
        for fine in [
            json!({"properties": {"a": {"$ref": "#"}}}),
            json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a"}}}),
            json!({"$ref": "item.json", "$defs": {"x": {"$id": "item.json"}}}),
            json!({"$id": "https://example.com/root.json", "items": {"$ref": "item.json#/$defs/y"},
                   "$defs": {"x": {"$id": "item.json", "$defs": {"y": {}}}}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#",
                   "items": {"$ref": "http://json-schema.org/draft-07/schema#"}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#a",
                   "definitions": {"x": {"$id": "#a"}}}),
        ] {
            assert!(check(&fine).is_ok(), "{fine}: {:?}", check(&fine));
        }
    }

    #[test]
    fn list_form_items_are_read_as_draft_7() {
        use crate::Dialect;
        let schema = json!({"properties": {"a": {"items": [{"type": "string"}]}}});
        assert_eq!(check(&schema).unwrap(), Dialect::Draft7);
        assert_eq!(check(&json!(true)).unwrap(), Dialect::Draft202012);
    }

    #[test]
    fn regular_expressions_are_bounded() {
        let of =
            |pattern: &str| json!({"properties": {"a": {"type": "string", "pattern": pattern}}});
        for real in [
            "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
            r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$",
            "^[a-zA-Z0-9._-]{1,255}$",
            r"^https?://[^\s/$.?#].[^\s]*$",
            r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$",
            "^.{1,500}$",
            "^.{1,1000}$",
            r"^(?!.*\.\.)[\w./-]{1,128}$",
            r"^(?!\d+$)\w{1,1000}$",
            r"^[\s\S]{1,500}$",
            r"^\p{L}+$",
            r"^(?:\p{L}|\p{N}| )+$",
        ] {
            assert_eq!(check(&of(real)).err(), None, "{real}");
        }
        for large in [
            "(a{1,1000}){1,1000}",
            "(a{1,300}){1,300}",
            "((a{1,100}){1,100}){1,100}",
            "(?=(a{1,1000}){1,1000})b",
        ] {
            refused(of(large), "Invalid", "/properties/a/pattern");
        }
        let many = |count: usize, pattern: &str| {
            let member = |number| {
                (
                    format!("p{number}"),
                    json!({"pattern": format!("{pattern}{number}")}),
                )
            };
            json!({"properties": serde_json::Map::from_iter((0..count).map(member))})
        };
        assert!(check(&many(256, "a.")).is_ok());
        assert!(check(&many(257, "a.")).is_err());
        assert!(check(&many(257, "a")).is_ok());
        assert!(super::has_patterns(&many(1, "a.")) && !super::has_patterns(&many(1, "^a$")));
    }
}
