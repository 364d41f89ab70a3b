//! Keywords that apply schemas to the value at hand: combined, negated, conditional, dependent.

use super::{
    cuts::CutId,
    make::{Maker, Outcome, Pieces, ProjectedSchema},
    parts::{distinct, is_anything},
};
use serde_json::{Map, Value, json};

impl<'s> Maker<'s, '_> {
    /// Projects the keywords that apply schemas in place.
    pub(super) fn applied(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        let is_whole = cut == CutId::WHOLE;
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let Some(Value::Array(branches)) = object.get(keyword) else {
                continue;
            };
            let (mut made, mut exact) = (Vec::with_capacity(branches.len()), true);
            for branch in branches {
                let one = self.schema(branch, cut)?;
                exact &= one.exact;
                made.push(one.schema);
            }
            pieces.exact &= exact;
            match keyword {
                "allOf" => {
                    made.retain(|made| is_whole || !is_anything(made));
                    if !made.is_empty() {
                        pieces.put(keyword, Value::Array(made));
                    }
                }
                "oneOf" if exact => pieces.put(keyword, Value::Array(made)),
                _ => pieces.alternatives(made, is_whole && keyword == "anyOf"),
            }
        }
        if let Some(refused) = object.get("not") {
            let ProjectedSchema { schema, exact } = self.schema(refused, cut)?;
            pieces.exact &= exact;
            if exact {
                pieces.put("not", schema);
            }
        }
        self.conditional(object, cut, pieces)?;
        self.dependent(object, cut, pieces)
    }

    /// `if`, `then` and `else`. If the condition cannot be checked on the projected value, one of both
    /// branches must hold.
    fn conditional(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        let Some(condition) = self.asserted(object, "if") else {
            return Ok(());
        };
        let condition = self.schema(condition, cut)?;
        pieces.exact &= condition.exact;
        let mut branches = Vec::new();
        for keyword in ["then", "else"] {
            if let Some(branch) = object.get(keyword) {
                branches.push((keyword, self.part(branch, cut, pieces)?));
            }
        }
        if condition.exact {
            pieces.put("if", condition.schema);
            for (keyword, schema) in branches {
                pieces.put(keyword, schema);
            }
        } else if branches.len() == 2 {
            let branches = branches.into_iter().map(|(_, schema)| schema).collect();
            let either = self.either(branches);
            if !is_anything(&either) {
                pieces.besides.push(either);
            }
        }
        Ok(())
    }

    /// Schemas and names that apply only if a member is present.
    fn dependent(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        for keyword in ["dependentSchemas", "dependentRequired", "dependencies"] {
            let Some(Value::Object(dependents)) = self.asserted(object, keyword) else {
                continue;
            };
            let mut left = Map::new();
            for (name, dependent) in dependents {
                self.count(1)?;
                if self.cuts.member(cut, name).is_none() {
                    let nothing = dependent.as_array().is_some_and(Vec::is_empty);
                    pieces.exact &= nothing || is_anything(dependent);
                    continue;
                }
                match dependent {
                    Value::Array(names) => {
                        let stay = self.left_of(dependent, cut);
                        self.count(stay.len())?;
                        pieces.exact &= stay.len() == names.len();
                        if !stay.is_empty() || names.is_empty() {
                            left.insert(name.clone(), Value::Array(stay));
                        }
                    }
                    schema => {
                        left.insert(name.clone(), self.part(schema, cut, pieces)?);
                    }
                }
            }
            if !left.is_empty() {
                pieces.put(keyword, Value::Object(left));
            }
        }
        Ok(())
    }
}

impl Pieces {
    /// Adds that one of these schemas must hold; `as_they_are` keeps them all unread.
    fn alternatives(&mut self, branches: Vec<Value>, as_they_are: bool) {
        let branches = if as_they_are {
            branches
        } else if branches.iter().any(is_anything) {
            return;
        } else {
            distinct(branches)
        };
        if self.keywords.contains_key("anyOf") {
            self.besides.push(json!({"anyOf": branches}))
        } else {
            self.put("anyOf", Value::Array(branches))
        }
    }
}
