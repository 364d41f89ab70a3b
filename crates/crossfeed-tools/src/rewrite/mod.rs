//! Rewrites one input schema in one style: the shown schema accepts everything that the tool's own schema
//! accepts, and references besides.
//!
//! # Invariants
//!
//! - Rewriting only widens; the tool's own schema still validates calls.
//! - Rewriting twice is rewriting once: the exact schema of a reference marks rewritten schemas.
//! - The root is `"type": "object"` and combines nothing.
//! - The same input gives the same bytes; keys stay in the source's order.

mod inline;
mod keep;
mod merge;
mod moves;
mod nullable;
mod reads;
mod reference;
mod root;
#[cfg(test)]
mod tests;

use crate::{Offers, Spelling, Style};
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_schema::{Dialect, Document, Position, SchemaError, checked};
use crossfeed_wire::Pointer;
use inline::{Features, ReferenceSchema, Rewriter};
use moves::Moves;
use serde_json::Value;
use std::rc::Rc;

/// The `$schema` of draft 7.
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

/// Levels that a rewritten schema may have besides those of its value positions: its `$defs`, and
/// an `anyOf` that could not stand beside another.
const MARGIN: usize = 8;

/// A schema that admits references.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rewritten {
    /// The schema to show the model.
    pub schema: Value,
    /// Notices for the host: parts left as they were, or shown in another way.
    pub notices: Vec<Notice>,
    /// The key of the references map or list at the root, in the styles that have one.
    pub references: Option<String>,
}

/// A notice for the host about a rewritten schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// The tool's own names leave no spelling of a reference free.
    #[error("no reference is admitted at `{at}`: the tool's own names leave no spelling free")]
    NamesTaken {
        /// Where in the tool's own schema.
        at: Pointer,
    },
    /// The root combined schemas; their parameters are shown in one object.
    #[error("the branches of the root are shown as one object, which accepts more than they do")]
    RootMerged,
    /// The schema nests so deep that with references at every position it could not be read.
    #[error("no reference is admitted at the innermost places: the schema would nest too deep")]
    Deep,
    /// The schema is not valid in the dialect that it declares, or in the one that it would have.
    #[error("the schema is valid as draft-07 only, and is shown as that")]
    ReadAsDraft7,
}

/// Rewrites an input schema. See `specs/schemas.md`.
///
/// # Errors
///
/// [`SchemaError`] when it is not a schema, or cannot be rewritten correctly. Then show it as it is, and
/// refuse calls of the tool that hold a reference.
///
/// ```
/// use crossfeed_tools::{Style, rewrite};
/// use serde_json::json;
///
/// let own = json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]});
/// let shown = rewrite(&own, Style::Refs, Style::Refs.spelling()).unwrap().schema;
/// assert_eq!(shown["properties"]["url"], json!({"type": ["string", "null"]}));
/// assert_eq!(shown["properties"]["_refs"]["type"], "object");
/// ```
pub fn rewrite(own: &Value, style: Style, spelling: Spelling) -> Result<Rewritten, SchemaError> {
    rewrite_with(own, style, spelling, Offers::default())
}

/// [`rewrite`] with what references offer besides.
///
/// # Errors
///
/// Those of [`rewrite`].
///
/// ```
/// use crossfeed_tools::{Offers, Spelling, Style, rewrite_with};
/// use serde_json::json;
///
/// let own = json!({"type": "object", "properties": {"url": {"type": "string"}}});
/// let offers = Offers::default().with_artifacts(false);
/// let shown = rewrite_with(&own, Style::Refs, Spelling::Underscore, offers)?.schema;
/// let entry = &shown["properties"]["_refs"]["additionalProperties"];
/// assert!(entry["properties"].get("_artifact").is_none());
/// # Ok::<(), crossfeed_schema::SchemaError>(())
/// ```
pub fn rewrite_with(
    own: &Value,
    style: Style,
    spelling: Spelling,
    offers: Offers,
) -> Result<Rewritten, SchemaError> {
    let (dialect, index) = checked(own)?;
    let listed = reference::listed(own);
    let mut resources = index.resources.iter().map(|resource| resource.at.as_str());
    if listed.is_some() || resources.any(|at| reference::is_defined(own.pointer(at))) {
        return Ok(Rewritten {
            schema: own.clone(),
            notices: Vec::new(),
            references: listed,
        });
    }
    // In an old draft `$defs` may be anything.
    let definitions = match own.get("$defs") {
        None | Some(Value::Object(_)) => reference::DEFINITIONS[0],
        Some(_) => reference::DEFINITIONS[1],
    };
    let mut names = free_names(own, &index);
    let mut spelled = |spelling| {
        let name = names.next().unwrap_or_default();
        ReferenceSchema {
            spelling,
            address: format!("#/{definitions}/{name}"),
            name,
        }
    };
    let mut rewriter = Rewriter {
        root: own,
        offers,
        dialect,
        features: Features::new(own, &index),
        moves: Moves::new(&index),
        notices: Vec::new(),
        spellings: [spelled(spelling), spelled(spelling.other())],
        used: [false; 2],
        definitions,
        wraps: true,
        lists: false,
        declared: Position::within(Rc::new(Document::indexed(own, dialect, &index))),
        parts: 0,
        levels: MAX_DEPTH.saturating_sub(depth(own) + MARGIN) / 2,
    };
    let mut rewritten = rewriter.root(style, spelling);
    if rewriter.moves.tracks() {
        rewriter.moves.again();
        rewriter.notices.clear();
        rewriter.used = [false; 2];
        rewriter.parts = 0;
        rewritten = rewriter.root(style, spelling);
        if let Some(error) = rewriter.moves.lost() {
            return Err(error);
        }
    }
    let (mut schema, references) = rewritten;
    if Dialect::declared(own) != Some(dialect)
        && let Value::Object(object) = &mut schema
    {
        object.insert("$schema".to_owned(), Value::String(DRAFT_7.to_owned()));
        rewriter.notices.push(Notice::ReadAsDraft7);
    }
    if is_deeper(&schema, MAX_DEPTH) {
        // Loosening takes levels, too. If they do not suffice, the schema is shown as it is.
        return Ok(Rewritten {
            schema: own.clone(),
            notices: vec![Notice::Deep],
            references: None,
        });
    }
    Ok(Rewritten {
        schema,
        notices: rewriter.notices,
        references,
    })
}

/// How deep lists and objects nest in a schema that nests within the limit.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Names for `$defs` that no schema of the document has there.
fn free_names(
    root: &Value,
    index: &crossfeed_schema::index::Index,
) -> impl Iterator<Item = String> {
    let places = index.resources.iter().map(|resource| resource.at.as_str());
    let taken: Vec<String> = places
        .chain([""])
        .filter_map(|at| root.pointer(at))
        .flat_map(|schema| reference::DEFINITIONS.map(|keyword| schema.get(keyword)))
        .filter_map(|defs| defs?.as_object())
        .flat_map(|defs| defs.keys().cloned())
        .collect();
    let name = |number: usize| match number {
        1 => reference::NAME.to_owned(),
        number => format!("{}_{number}", reference::NAME),
    };
    (1..).map(name).filter(move |name| !taken.contains(name))
}
