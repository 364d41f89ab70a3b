//! Makes definitions: one for each pair of a target of references and a way to cut it.

use super::{
    cuts::CutId,
    links::Link,
    make::{Maker, Outcome, Pieces, ProjectedSchema},
    parts::without_unused_definitions,
};
use crossfeed_schema::{Dialect, address, index::REFERENCES};
use serde_json::{Map, Value, json};

/// Characters of a definition's name.
const MAX_NAME_CHARS: usize = 100;

/// How deep references are followed at once; deeper definitions are made later.
const MAX_FOLLOWED: usize = 48;

/// A definition that is made, or about to be.
pub(super) struct Definition {
    /// The reference to it.
    pub(super) reference: String,
    pub(super) exact: bool,
}

impl<'s> Maker<'s, '_> {
    pub(super) fn references(
        &mut self,
        object: &'s Map<String, Value>,
        at: usize,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        for keyword in REFERENCES {
            if self.asserted(object, keyword).is_none() {
                continue;
            }
            let link = self.links.get(&(keyword, at)).copied();
            let reference = link.map_or(Ok(None), |link| self.referred(link, cut))?;
            match reference {
                None => pieces.exact = false,
                Some(ProjectedSchema { schema, exact }) => {
                    pieces.exact &= exact;
                    match schema {
                        Value::Object(schema) if pieces.keywords.is_empty() => {
                            pieces.keywords = schema;
                        }
                        schema => pieces.besides.push(schema),
                    }
                }
            }
        }
        Ok(())
    }

    /// A reference to the definition for a link's target.
    fn referred(&mut self, link: Link<'s>, cut: CutId) -> Outcome<Option<ProjectedSchema>> {
        let (target, name) = match link {
            Link::Here(target, name) => (target, name),
            Link::Published(text) if cut == CutId::WHOLE => {
                return Ok(Some(ProjectedSchema {
                    schema: json!({"$ref": text}),
                    exact: true,
                }));
            }
            _ => return Ok(None),
        };
        self.reaches(target);
        let key = (address(target), cut);
        if !self.known.contains_key(&key) {
            let name = self.fresh(name);
            let exact = cut == CutId::WHOLE && self.faithful;
            let reference = format!("#/{}/{name}", self.definitions_keyword());
            self.known.insert(key, Definition { reference, exact });
            if exact || self.depth > MAX_FOLLOWED {
                self.waiting.push_back((target, cut, name));
            } else {
                let made = self.schema(target, cut)?;
                self.definitions.insert(name, made.schema);
                if let Some(known) = self.known.get_mut(&key) {
                    known.exact = made.exact;
                }
            }
        }
        Ok(self.known.get(&key).map(|known| ProjectedSchema {
            schema: json!({"$ref": known.reference}),
            exact: known.exact,
        }))
    }

    fn definitions_keyword(&self) -> &'static str {
        if self.dialect <= Dialect::Draft7 {
            "definitions"
        } else {
            "$defs"
        }
    }

    /// A name for a definition: like its old one, unless that names a hidden field.
    fn fresh(&mut self, name: &str) -> String {
        let is_withheld = self.cuts.mentions_withheld(name);
        let length = if is_withheld { 0 } else { MAX_NAME_CHARS };
        let name: String = name.chars().take(length).collect();
        self.names.give(&name, "schema")
    }

    /// The document: the dialect first, then the schema, then those definitions that are in use.
    pub(super) fn assembled(mut self, root: &Value, schema: Value) -> Value {
        let Value::Object(schema) = schema else {
            return schema;
        };
        let keyword = self.definitions_keyword();
        let mut out = Map::new();
        let declared = if Dialect::declared(root) == Some(self.dialect) {
            root.get("$schema").cloned()
        } else {
            Some(json!("http://json-schema.org/draft-07/schema#"))
        };
        out.extend(declared.map(|declared| ("$schema".to_owned(), declared)));
        out.extend(schema);
        if !self.definitions.is_empty() {
            let definitions = std::mem::take(&mut self.definitions);
            out.insert(keyword.to_owned(), Value::Object(definitions));
        }
        without_unused_definitions(Value::Object(out))
    }
}
