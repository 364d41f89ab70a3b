//! The dialects of JSON Schema.

use serde_json::Value;

/// A published draft of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dialect {
    /// Draft 4 (2013).
    Draft4,
    /// Draft 6 (2017).
    Draft6,
    /// Draft 7 (2018).
    Draft7,
    /// Draft 2019-09.
    Draft201909,
    /// Draft 2020-12: that of a schema without `$schema`.
    Draft202012,
}

impl Dialect {
    /// The dialect that a schema declares; `None` for one that is not known.
    pub fn declared(schema: &Value) -> Option<Self> {
        let Some(declared) = schema.get("$schema") else {
            return Some(Self::Draft202012);
        };
        let declared = declared.as_str()?.trim_end_matches('#');
        let (scheme, rest) = declared.split_once("://")?;
        if !matches!(scheme, "http" | "https") {
            return None;
        }
        Some(match rest.strip_prefix("json-schema.org/")? {
            "schema" => Self::Draft202012, // the latest
            "draft-04/schema" => Self::Draft4,
            "draft-06/schema" => Self::Draft6,
            "draft-07/schema" => Self::Draft7,
            "draft/2019-09/schema" => Self::Draft201909,
            "draft/2020-12/schema" => Self::Draft202012,
            _ => return None,
        })
    }
}
