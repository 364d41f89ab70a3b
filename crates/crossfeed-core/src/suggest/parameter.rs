//! The schema of one parameter, which suggested values must fit.

use super::{
    intent::ParameterIntent,
    place::{self, SchemaPlace},
};
use crate::{
    similarity::ComparisonBudget,
    validate::{InputSchema, Steps},
};
use crossfeed_schema::{Dialect, SchemaError, check, index::may_refer};
use crossfeed_wire::{ErrorCode, Fault, Pointer, fragment::encoded};
use serde_json::{Map, Value, json};

/// The URI of a document within the schema that combines parts of it, if it has none of its own.
const DOCUMENT: &str = "crossfeed:///parameter";
/// The most characters of a pointer that a message quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// The schema of one parameter of a tool. Cloning shares the compiled schema.
///
/// ```
/// use crossfeed_core::ParameterSchema;
/// use crossfeed_wire::Pointer;
/// use serde_json::json;
///
/// let tool = json!({
///     "type": "object",
///     "properties": {"url": {"$ref": "#/$defs/address"}},
///     "$defs": {"address": {"type": "string", "format": "uri"}},
/// });
/// let by_place = ParameterSchema::at(&tool, &Pointer::parse("/properties/url").unwrap())?;
/// let by_name = ParameterSchema::at(&tool, &Pointer::parse("/url").unwrap())?;
/// assert_eq!(by_place.name(), by_name.name());
/// # Ok::<(), crossfeed_core::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ParameterSchema {
    schema: InputSchema,
    pub(crate) intent: ParameterIntent,
}

/// Why the schema of a parameter cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// The schema is invalid: `{"type": "objekt"}`.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The pointer leads to no schema and names no parameter: `/urll`.
    #[error("`{at}` leads to no schema and names no parameter")]
    Nowhere {
        /// The pointer; only the beginning of a long one.
        at: String,
        /// The parameters of the schema, as pointers: the first 20 of at most 200 bytes.
        parameters: Vec<String>,
    },
}

impl ParameterError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::SchemaInvalid
    }

    /// Who can act.
    pub fn fault(&self) -> Fault {
        Fault::Host
    }

    /// What was found, then one next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Schema(error) => schema_advice(error),
            Self::Nowhere { parameters, .. } if parameters.is_empty() => {
                "found: no parameters\ntry: the whole schema, with the pointer ``".to_owned()
            }
            Self::Nowhere { at, parameters } => {
                // Both are short: this takes less than a million pairs of characters.
                let mut effort = ComparisonBudget::new(usize::MAX);
                let alike = parameters.iter().rev().map(|name| {
                    let similarity = effort.similarity(at, name, 0.0);
                    (similarity.unwrap_or(0.0), name)
                });
                let nearest = alike.max_by(|(a, _), (b, _)| a.total_cmp(b));
                let nearest = nearest.map_or("", |(_, name)| name);
                format!("found: {}\ntry: {nearest}", parameters.join(", "))
            }
        }
    }
}

/// One next step for an invalid schema; the message names the fault and its place.
fn schema_advice(error: &SchemaError) -> String {
    match error {
        SchemaError::NoSchema { .. } => {
            "try: {\"type\": \"string\"}, or the whole schema of the tool and a pointer to the parameter"
                .to_owned()
        }
        SchemaError::Invalid { at, .. } => {
            format!("correct the value of `{}`, or leave it out", cut(at.as_str()))
        }
        SchemaError::Dangling { reference, .. } => format!(
            "give the whole schema that `{}` is part of, with a pointer to the parameter",
            cut(reference)
        ),
        SchemaError::Cyclic { at, .. } => format!(
            "put the schema that is meant in place of `{}`",
            cut(at.as_str())
        ),
        SchemaError::Remote { reference, .. } => format!(
            "put what `{}` refers to under `$defs`, and refer to that",
            cut(reference)
        ),
        SchemaError::TooDeep => "try: a schema with fewer levels".to_owned(),
        _ => "give a schema that is valid in its dialect".to_owned(),
    }
}

/// The beginning of a text that a message quotes.
fn cut(text: &str) -> String {
    text.chars().take(MAX_QUOTED_CHARS).collect()
}

impl ParameterSchema {
    /// The schema of a parameter on its own. It has no name, unless [`Self::with_name`] gives it one.
    ///
    /// # Errors
    ///
    /// [`ParameterError::Schema`] when it is not a schema.
    pub fn new(schema: &Value) -> Result<Self, ParameterError> {
        Self::at(schema, &Pointer::root())
    }

    /// The schema of the parameter at a place: of the schema itself (`/properties/url`), else of the
    /// arguments that it is for (`/url`, `/filters/0/url`). References to other parts of the document work,
    /// and the document's dialect applies.
    ///
    /// # Errors
    ///
    /// [`ParameterError::Nowhere`] names the parameters of the schema.
    pub fn at(document: &Value, at: &Pointer) -> Result<Self, ParameterError> {
        if crossfeed_json::is_deeper(document, crossfeed_json::MAX_DEPTH) {
            return Err(SchemaError::TooDeep.into());
        }
        if place::is_schema_at(document, at) {
            let places = [SchemaPlace::new(at.as_str())];
            return Self::from_places(document, &places, name_in_schema(at));
        }
        Self::for_argument(document, at)?.ok_or_else(|| ParameterError::Nowhere {
            at: cut(at.as_str()),
            parameters: place::parameters(document),
        })
    }

    /// The schema of a place of the arguments; `None` if the document does not describe it.
    pub(crate) fn for_argument(
        document: &Value,
        at: &Pointer,
    ) -> Result<Option<Self>, ParameterError> {
        let places = place::schemas_for_argument(document, at);
        if places.is_empty() {
            return Ok(None);
        }
        Self::from_places(document, &places, place::name_in_arguments(at)).map(Some)
    }

    fn from_places(
        document: &Value,
        places: &[SchemaPlace],
        name: Option<String>,
    ) -> Result<Self, ParameterError> {
        let intent = ParameterIntent::new(document, places, name);
        let schema = InputSchema::compile(judge(document, places)?);
        let schema = schema.map_err(|error| in_document(error, places))?;
        Ok(Self { schema, intent })
    }

    /// Names the parameter: values with similar names come first.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.intent = self.intent.named(name.into());
        self
    }

    /// The name of the parameter, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.intent.name.as_deref()
    }

    /// The steps for validating any number of values.
    pub(crate) fn steps(&self) -> Steps {
        self.schema.steps(&Value::Null)
    }

    /// Whether a value fits; false if that takes too many steps to find out.
    pub(crate) fn accepts(&self, value: &Value, steps: &mut Steps) -> bool {
        self.schema.accepts(value, steps).unwrap_or(false)
    }
}

/// The name of the parameter that a place of a schema describes: `url` for `/properties/url/items` and for
/// `/$defs/url`.
fn name_in_schema(at: &Pointer) -> Option<String> {
    let tokens: Vec<String> = at.tokens().collect();
    let named = tokens.windows(2).rev().find_map(|pair| match pair {
        [map, name] if matches!(map.as_str(), "properties" | "$defs" | "definitions") => Some(name),
        _ => None,
    });
    named.cloned()
}

/// A schema that combines the schemas at places of a document.
fn judge(document: &Value, places: &[SchemaPlace]) -> Result<Value, SchemaError> {
    if is_whole(places) {
        return Ok(document.clone());
    }
    let part = |at: &str| document.pointer(at).cloned();
    let mut parts = places
        .iter()
        .filter_map(|place| document.pointer(&place.at));
    // Schemas without references stand alone, whatever the rest of the document is.
    if !parts.any(may_refer) {
        let dialect = match check(document) {
            Ok(dialect) => Some(dialect),
            Err(_) => Dialect::declared(document).filter(|_| document.get("$schema").is_some()),
        };
        return Ok(combined(dialect, places, part).into());
    }
    let dialect = check(document)?;
    let id = if dialect == Dialect::Draft4 {
        "id"
    } else {
        "$id"
    };
    let own = document.get(id).and_then(Value::as_str);
    let address = own.map(|id| id.split('#').next().unwrap_or_default());
    let address = address
        .filter(|address| !address.is_empty())
        .unwrap_or(DOCUMENT);
    let link = |at: &str| Some(json!({"$ref": format!("{address}#{}", encoded(at))}));
    let mut schema = combined(Some(dialect), places, link);
    if let Value::Object(mut embedded) = document.clone() {
        embedded.shift_remove("$schema");
        embedded.insert(id.to_owned(), address.into());
        let definitions = if dialect <= Dialect::Draft7 {
            "definitions"
        } else {
            "$defs"
        };
        schema.insert(definitions.to_owned(), json!({"document": embedded}));
    }
    Ok(schema.into())
}

/// Whether the only place is the whole document.
fn is_whole(places: &[SchemaPlace]) -> bool {
    *places == [SchemaPlace::new("")]
}

/// An error of a combined schema, with its place in the document.
fn in_document(error: SchemaError, places: &[SchemaPlace]) -> SchemaError {
    match error {
        SchemaError::Invalid { at, message } if !is_whole(places) => SchemaError::Invalid {
            at: place_in_document(&at, places).unwrap_or(at),
            message,
        },
        other => other,
    }
}

fn place_in_document(at: &Pointer, places: &[SchemaPlace]) -> Option<Pointer> {
    let mut tokens = at.tokens();
    let keyword = tokens.next()?;
    let (_, always) = COMBINATORS.into_iter().find(|(own, _)| *own == keyword)?;
    let index = tokens.next()?.parse().ok()?;
    let part = places
        .iter()
        .filter(|place| place.always == always)
        .nth(index)?;
    let part = Pointer::parse(&part.at)?;
    Some(tokens.fold(part, |at, token| at.key(&token)))
}

/// The keywords for schemas that always apply, and for alternatives.
const COMBINATORS: [(&str, bool); 2] = [("allOf", true), ("anyOf", false)];

/// Combines the parts at places of a document.
fn combined(
    dialect: Option<Dialect>,
    places: &[SchemaPlace],
    part: impl Fn(&str) -> Option<Value>,
) -> Map<String, Value> {
    let mut schema = Map::new();
    let dialect = dialect.map(|dialect| address_of(dialect).into());
    schema.extend(dialect.map(|dialect| ("$schema".to_owned(), dialect)));
    for (keyword, always) in COMBINATORS {
        let places = places.iter().filter(|place| place.always == always);
        let parts: Vec<Value> = places.filter_map(|place| part(&place.at)).collect();
        if !parts.is_empty() {
            schema.insert(keyword.to_owned(), parts.into());
        }
    }
    schema
}

fn address_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Draft4 => "http://json-schema.org/draft-04/schema#",
        Dialect::Draft6 => "http://json-schema.org/draft-06/schema#",
        Dialect::Draft7 => "http://json-schema.org/draft-07/schema#",
        Dialect::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
        _ => "https://json-schema.org/draft/2020-12/schema",
    }
}
