//! What each provider accepts: one small table a provider, each fact with its source.
//!
//! All sources were read in November 2026. What no source states is left out, and is then no limit
//! here. Where a vendor's page is silent, the error that its interface answers with is the source.

use super::{EnumValues, Facts, Limits, NameRule, Nullable};
use crate::{Spelling, Style};

/// The keywords that both strict subsets document.
const STRICT_KEYWORDS: &[&str] = &[
    "$schema",
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "enum",
    "const",
    "format",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
];

/// The keywords that both strict subsets refuse.
const STRICT_REFUSED: &[&str] = &[
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "contains",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// The keywords that bound numbers.
const NUMBER_BOUNDS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// The formats of strings that both strict subsets document.
const STRICT_FORMATS: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// MCP, revision 2026-07-28, server/tools: `inputSchema` has `"type": "object"` at its root, names
/// SHOULD be 1 to 128 of `A-Za-z0-9_.-`. Clients refuse a whole list for a combinator at one
/// root.
pub(in crate::profile) const MCP: Facts = Facts {
    source: "MCP specification, server/tools",
    styles: &[(Style::Refs, Spelling::Underscore)],
    tool_name: Some(NameRule::new("^[a-zA-Z0-9_.-]{1,128}$", 128, "_.-")),
    tool_name_refused: false,
    schema_required: true,
    property_name: None,
    property_names_at_every_level: false,
    only_2020_12: false,
    keywords: None,
    refused: &[],
    unknown_refused: false,
    root_refused: &["anyOf", "oneOf", "allOf"],
    formats: None,
    nullable: Nullable::Type,
    refs: true,
    ref_siblings: true,
    recursion: true,
    every_required: false,
    closed: false,
    items_required: false,
    typed: false,
    empty_objects: true,
    enum_values: EnumValues::Any,
    constants_refused: false,
    min_items: None,
    limits: Limits::NONE,
};

/// Anthropic. Each line is the error that the Messages API answers with:
/// - `tools.N.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
/// - `tools.N.custom.input_schema.properties: Property keys should match pattern
///   '^[a-zA-Z0-9_.-]{1,64}$'`: the root's keys only
/// - `input_schema does not support oneOf, allOf, or anyOf at the top level`
/// - `JSON schema is invalid. It must match JSON Schema draft 2020-12`
///
/// Unknown: any limit of size.
pub(in crate::profile) const ANTHROPIC: Facts = Facts {
    source: "Anthropic Messages API, tools.input_schema",
    styles: &[
        (Style::Inline, Spelling::Underscore),
        (Style::Refs, Spelling::Underscore),
    ],
    tool_name: Some(NameRule::new("^[a-zA-Z0-9_-]{1,128}$", 128, "_-")),
    tool_name_refused: true,
    property_name: Some(NameRule::new("^[a-zA-Z0-9_.-]{1,64}$", 64, "_.-")),
    only_2020_12: true,
    ..MCP
};

/// Anthropic with `strict`: platform.claude.com, "Structured outputs", "JSON Schema limitations"
/// and "Schema complexity limits". `pattern` is taken in part; what part is not stated exactly, so
/// it is dropped here. `[...] 'additionalProperties' must be explicitly set to false` is the error
/// for an open object. The page says "no complex types" of `enum` and nothing of `const`; the
/// interface answers with an error to a constant that is an object or a list, as those report who
/// tried (github.com/simstudioai/sim, pull request 7558). Unknown: the ceiling of the compiled grammar.
pub(in crate::profile) const ANTHROPIC_STRICT: Facts = Facts {
    source: "Anthropic, Structured outputs, JSON Schema limitations",
    styles: &[(Style::RefsList, Spelling::Underscore)],
    keywords: Some(&[STRICT_KEYWORDS, &["default", "allOf"]]),
    refused: &[
        STRICT_REFUSED,
        NUMBER_BOUNDS,
        &["minLength", "maxLength", "maxItems"],
    ],
    formats: Some(&[("string", STRICT_FORMATS), ("string", &["uri"])]),
    recursion: false,
    closed: true,
    typed: true,
    items_required: true,
    ref_siblings: false,
    enum_values: EnumValues::Scalars,
    constants_refused: true,
    min_items: Some(1),
    limits: Limits {
        strict_tools: Some(20),
        optionals: Some(24),
        unions: Some(16),
        ..Limits::NONE
    },
    ..ANTHROPIC
};

/// OpenAI, function calling with `"strict": false`. Each line is the error of the API:
/// - `schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top
///   level`
/// - `In context=('properties', 'x'), array schema missing items`, for a list of types with
///   `array` in it too
/// - `[...] is not of type 'object', 'boolean'` for `items` that is a list
/// - `Invalid 'tools': array too long. Expected an array with maximum length 128`
/// - `Invalid 'tools[0].function.description': string too long [...] maximum length 1024`: not for
///   every model, so it is a warning
///
/// Names: API reference, tools.function.name.
pub(in crate::profile) const OPENAI: Facts = Facts {
    source: "OpenAI API reference, tools",
    styles: &[
        (Style::Inline, Spelling::Dollar),
        (Style::Refs, Spelling::Underscore),
    ],
    tool_name: Some(NameRule::new("^[a-zA-Z0-9_-]{1,64}$", 64, "_-")),
    tool_name_refused: true,
    schema_required: false,
    root_refused: &["anyOf", "oneOf", "allOf", "enum", "not"],
    items_required: true,
    limits: Limits {
        tools: Some(128),
        description: Some(1024),
        ..Limits::NONE
    },
    ..MCP
};

/// OpenAI with `strict`: developers.openai.com, "Structured model outputs", "Supported schemas".
/// The page says "10 levels of nesting" and not what a level is: objects and lists are counted
/// here, the root among them, which is the narrowest reading. `minLength`, `maxLength` and
/// `default` are refused by some models and taken by others: they are dropped here. A `$ref`
/// `cannot have keywords {'description'}`, says the API.
pub(in crate::profile) const OPENAI_STRICT: Facts = Facts {
    source: "OpenAI, Structured model outputs, Supported schemas",
    styles: &[(Style::RefsList, Spelling::Underscore)],
    keywords: Some(&[STRICT_KEYWORDS, NUMBER_BOUNDS, &["maxItems", "pattern"]]),
    refused: &[STRICT_REFUSED, &["allOf"]],
    formats: Some(&[("string", STRICT_FORMATS)]),
    every_required: true,
    closed: true,
    typed: true,
    ref_siblings: false,
    enum_values: EnumValues::Scalars,
    limits: Limits {
        depth: Some(10),
        properties: Some(5_000),
        enum_values: Some(1_000),
        enum_characters: Some(15_000),
        characters: Some(120_000),
        ..OPENAI.limits
    },
    ..OPENAI
};

/// Gemini, `functionDeclarations[].parameters`: ai.google.dev, "Caching", "Schema": an enumerated
/// subset of OpenAPI 3.0, and `Unknown name [...] Cannot find field` for any other key. Names: the
/// reference of `FunctionDeclaration` (parameter names: a letter or `_`, then letters, digits and
/// `_`, at most 64). More from its errors:
/// - `format: only 'enum' and 'date-time' are supported for STRING type`
/// - `enum: only allowed for STRING type`, `enum[0]: cannot be empty`
/// - `properties: should be non-empty for OBJECT type`
/// - `type: must be specified when not using one_of, any_of or all_of fields`
/// - `items: missing field`
///
/// Unknown: the limit of depth; how many declarations a request may have.
pub(in crate::profile) const GEMINI: Facts = Facts {
    source: "Gemini API, Schema",
    styles: &[(Style::RefsList, Spelling::Underscore)],
    tool_name: Some(
        NameRule::new("^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$", 64, "_.-").with_letter_first(),
    ),
    tool_name_refused: true,
    schema_required: false,
    property_name: Some(
        NameRule::new("^[a-zA-Z_][a-zA-Z0-9_]{0,63}$", 64, "_").with_letter_first(),
    ),
    property_names_at_every_level: true,
    keywords: Some(&[&[
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "default",
        "example",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "propertyOrdering",
        "required",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "anyOf",
    ]]),
    unknown_refused: true,
    formats: Some(&[
        ("string", &["enum", "date-time"]),
        ("number", &["float", "double"]),
        ("integer", &["int32", "int64"]),
    ]),
    nullable: Nullable::Keyword,
    refs: false,
    recursion: false,
    items_required: true,
    typed: true,
    empty_objects: false,
    enum_values: EnumValues::Strings,
    ..MCP
};

/// Gemini, `functionDeclarations[].parametersJsonSchema`: the reference of `FunctionDeclaration`:
/// "Describes the parameters to the function in JSON Schema format. The schema must describe an
/// object". It names no subset.
pub(super) const GEMINI_JSON_SCHEMA: Facts = Facts {
    source: "Gemini API, FunctionDeclaration",
    tool_name: GEMINI.tool_name,
    tool_name_refused: true,
    schema_required: false,
    root_refused: &[],
    ..MCP
};
