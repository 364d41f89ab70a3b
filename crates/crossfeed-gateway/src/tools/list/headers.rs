//! Parameters that are also sent as headers (`x-mcp-header`).

use crate::{message::Header, protocol::header::encoded};
use crossfeed_json::{Cursor, Kind};
use serde_json::Value;

/// What is put before the name that a schema gives.
const PREFIX: &str = "Mcp-Param-";
/// How many parameters of a tool may be headers, and how deep they may stand.
const MAX_HEADERS: usize = 64;

/// One parameter that goes along as a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools) struct HeaderParameter {
    path: Vec<String>,
    name: String,
}

impl HeaderParameter {
    /// Those of a schema: scalars that are reached by properties alone.
    pub(super) fn from_schema(schema: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        collect(schema, &mut Vec::new(), &mut found);
        found
    }

    /// The header for these arguments, where the parameter is there and no more than a scalar.
    pub(in crate::tools) fn header(&self, arguments: Cursor<'_>) -> Option<Header> {
        let mut path = self.path.iter();
        let at = path.try_fold(arguments, |at, key| at.get(key))?;
        let text = match at.kind() {
            Kind::String => at.as_str()?.into_owned(),
            Kind::Number | Kind::Boolean => String::from_utf8_lossy(at.raw()).into_owned(),
            Kind::Null | Kind::Array | Kind::Object => return None,
        };
        Some(Header::new(
            format!("{PREFIX}{}", self.name),
            encoded(&text),
        ))
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderParameter>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.into_iter().flatten() {
        if found.len() >= MAX_HEADERS || path.len() >= MAX_HEADERS {
            return;
        }
        path.push(key.clone());
        let name = property.get("x-mcp-header").and_then(Value::as_str);
        if let Some(name) = name.filter(|name| is_token(name)) {
            found.push(HeaderParameter {
                path: path.clone(),
                name: name.to_owned(),
            });
        }
        collect(property, path, found);
        path.pop();
    }
}

/// Whether a text may be part of a header's name (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(sign)
}

#[cfg(test)]
mod tests {
    use super::HeaderParameter;
    use crossfeed_json::Document;
    use serde_json::{Value, json};

    fn check(arguments: Value, expected: &[(&str, &str)]) {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "bad": {"type": "string", "x-mcp-header": "a b"},
            "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
            "list": {"items": {"properties": {"x": {"x-mcp-header": "X"}}}},
        }});
        let document = Document::new(arguments.to_string());
        let root = document.root().unwrap();
        let headers: Vec<_> = HeaderParameter::from_schema(&schema)
            .iter()
            .filter_map(|parameter| parameter.header(root))
            .map(|header| (header.name, header.value))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(headers, expected, "{arguments}");
    }

    #[test]
    fn scalars_go_along() {
        check(json!({}), &[]);
        check(json!({"region": null, "bad": "x", "list": [{"x": 1}]}), &[]);
        check(json!({"region": {"_tool": "call_1"}}), &[]);
        check(
            json!({"region": "eu west", "count": 12, "deep": {"on": true}}),
            &[
                ("Mcp-Param-Region", "eu west"),
                ("Mcp-Param-Count", "12"),
                ("Mcp-Param-On", "true"),
            ],
        );
        check(json!({"region": ""}), &[("Mcp-Param-Region", "")]);
        check(
            json!({"region": " a"}),
            &[("Mcp-Param-Region", "=?base64?IGE=?=")],
        );
        check(
            json!({"region": "é"}),
            &[("Mcp-Param-Region", "=?base64?w6k=?=")],
        );
        check(
            json!({"region": "a\nb"}),
            &[("Mcp-Param-Region", "=?base64?YQpi?=")],
        );
        check(
            json!({"region": "=?base64?YQ==?="}),
            &[("Mcp-Param-Region", "=?base64?PT9iYXNlNjQ/WVE9PT89?=")],
        );
        // Its beginning and its end share a sign.
        check(
            json!({"region": "=?base64?="}),
            &[("Mcp-Param-Region", "=?base64?PT9iYXNlNjQ/PQ==?=")],
        );
    }
}
