//! Which names a tool's own schema declares at a place, so that they are no sentinels there.

use serde_json::Value;

/// How many schemas are followed for one place: `$ref` and combinators fan out.
const FOLLOWED: usize = 64;

/// The subschemas that apply to one place of the arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared<'s> {
    root: Option<&'s Value>,
    here: Vec<&'s Value>,
}

impl<'s> Declared<'s> {
    /// The place that the whole schema is for.
    pub(crate) fn root(schema: Option<&'s Value>) -> Self {
        let mut place = Self {
            root: schema,
            here: Vec::new(),
        };
        if let Some(schema) = schema {
            place.follow(schema);
        }
        place
    }

    /// Whether no schema says anything of this place, nor of those inside it.
    pub(crate) fn is_unknown(&self) -> bool {
        self.here.is_empty()
    }

    /// Whether the schema declares `name` as a property here.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.here.iter().any(|schema| {
            schema
                .get("properties")
                .is_some_and(|p| p.get(name).is_some())
        })
    }

    /// The place of the member `key`.
    pub(crate) fn member(&self, key: &str) -> Self {
        self.inner(|schema| {
            let own = schema.get("properties").and_then(|p| p.get(key));
            own.or_else(|| schema.get("additionalProperties"))
        })
    }

    /// The place of the item `index`.
    pub(crate) fn item(&self, index: usize) -> Self {
        self.inner(|schema| {
            let listed = |key: &str| schema.get(key)?.as_array()?.get(index);
            listed("prefixItems")
                .or_else(|| listed("items"))
                .or_else(|| schema.get("items"))
        })
    }

    fn inner(&self, step: impl Fn(&'s Value) -> Option<&'s Value>) -> Self {
        let mut place = Self {
            root: self.root,
            here: Vec::new(),
        };
        for schema in &self.here {
            if let Some(schema) = step(schema) {
                place.follow(schema);
            }
        }
        place
    }

    /// Adds a schema and all that it refers to or combines.
    fn follow(&mut self, schema: &'s Value) {
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let seen = self.here.iter().any(|known| std::ptr::eq(*known, schema));
            if seen || !schema.is_object() || self.here.len() == FOLLOWED {
                continue;
            }
            self.here.push(schema);
            if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
                let pointer = target.strip_prefix('#');
                open.extend(pointer.and_then(|p| self.root?.pointer(p)));
            }
            for combinator in ["allOf", "anyOf", "oneOf"] {
                open.extend(
                    schema
                        .get(combinator)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten(),
                );
            }
            for branch in ["if", "then", "else"] {
                open.extend(schema.get(branch));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Declared;
    use serde_json::json;

    #[test]
    fn follows_references_and_combinators() {
        let schema = json!({
            "properties": {
                "a": {"$ref": "#/$defs/t"},
                "l": {"items": {"anyOf": [{"properties": {"_select": {}}}, {"type": "null"}]}},
            },
            "additionalProperties": {"properties": {"$tool": {}}},
            "$defs": {"t": {"properties": {"_tool": {}, "self": {"$ref": "#/$defs/t"}}}},
        });
        let root = Declared::root(Some(&schema));
        assert!(root.declares("a"));
        assert!(!root.declares("_tool"));
        assert!(root.member("a").declares("_tool"));
        assert!(
            root.member("a")
                .member("self")
                .member("self")
                .declares("_tool")
        );
        assert!(root.member("l").item(3).declares("_select"));
        assert!(root.member("other").declares("$tool"));
        assert!(!Declared::root(None).member("x").declares("x"));
    }
}
