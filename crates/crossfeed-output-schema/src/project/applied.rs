//! Keywords that apply schemas to the value at hand: combined, negated, conditional, dependent.

use super::{
    NoProjectedSchema,
    cuts::CutId,
    make::{Made, Maker, Pieces, is_known},
    parts::is_anything,
};
use serde_json::{Map, Value, json};

type Done<T> = Result<T, NoProjectedSchema>;

impl<'s> Maker<'s, '_> {
    /// Makes what is applied in place.
    pub(super) fn applied(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Done<()> {
        if let Some(branches) = object.get("allOf").and_then(Value::as_array) {
            let (made, exact) = self.branches(branches, cut)?;
            pieces.exact &= exact;
            let left: Vec<_> = if cut == CutId::WHOLE {
                made
            } else {
                made.into_iter().filter(|made| !is_anything(made)).collect()
            };
            if !left.is_empty() {
                pieces.put("allOf", Value::Array(left));
            }
        }
        if let Some(branches) = object.get("anyOf").and_then(Value::as_array) {
            let (made, exact) = self.branches(branches, cut)?;
            pieces.exact &= exact;
            pieces.alternatives(made, cut == CutId::WHOLE);
        }
        if let Some(branches) = object.get("oneOf").and_then(Value::as_array) {
            let (made, exact) = self.branches(branches, cut)?;
            pieces.exact &= exact;
            if exact {
                pieces.put("oneOf", Value::Array(made))
            } else {
                pieces.alternatives(made, false)
            }
        }
        if let Some(refused) = object.get("not") {
            let Made { schema, exact } = self.schema(refused, cut)?;
            pieces.exact &= exact;
            if exact {
                pieces.put("not", schema);
            }
        }
        self.conditional(object, cut, pieces)?;
        self.dependent(object, cut, pieces)
    }

    fn branches(&mut self, branches: &'s [Value], cut: CutId) -> Done<(Vec<Value>, bool)> {
        let (mut made, mut exact) = (Vec::with_capacity(branches.len()), true);
        for branch in branches {
            let one = self.schema(branch, cut)?;
            exact &= one.exact;
            made.push(one.schema);
        }
        Ok((made, exact))
    }

    /// `if`, `then` and `else`: where the condition cannot be told of what is left, one of both.
    fn conditional(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Done<()> {
        let Some(condition) = object.get("if").filter(|_| is_known("if", self.dialect)) else {
            return Ok(());
        };
        let condition = self.schema(condition, cut)?;
        pieces.exact &= condition.exact;
        let mut branches = Vec::new();
        for keyword in ["then", "else"] {
            if let Some(branch) = object.get(keyword) {
                let made = self.schema(branch, cut)?;
                pieces.exact &= made.exact;
                branches.push((keyword, made.schema));
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

    /// What counts only where a member is there: it stays there, or goes from everywhere.
    fn dependent(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Done<()> {
        for keyword in ["dependentSchemas", "dependentRequired", "dependencies"] {
            let Some(dependents) = object.get(keyword).and_then(Value::as_object) else {
                continue;
            };
            if !is_known(keyword, self.dialect) {
                continue;
            }
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
                        let made = self.schema(schema, cut)?;
                        pieces.exact &= made.exact;
                        left.insert(name.clone(), made.schema);
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
    /// Without anything that is made.
    pub(super) fn new() -> Self {
        Self {
            keywords: Map::new(),
            besides: Vec::new(),
            exact: true,
        }
    }

    /// Adds that one of these is to hold; `as_they_are` without a look at what they say.
    fn alternatives(&mut self, branches: Vec<Value>, as_they_are: bool) {
        let mut distinct: Vec<Value> = Vec::with_capacity(branches.len());
        let mut known = std::collections::HashSet::new();
        for branch in branches {
            if !as_they_are && is_anything(&branch) {
                return;
            }
            if as_they_are || known.insert(branch.to_string()) {
                distinct.push(branch);
            }
        }
        if self.keywords.contains_key("anyOf") {
            self.besides.push(json!({"anyOf": distinct}))
        } else {
            self.put("anyOf", Value::Array(distinct))
        }
    }
}
