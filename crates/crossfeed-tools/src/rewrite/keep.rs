//! What stays as it is: schemas that admit no references, references in them following their
//! targets.

use super::{inline::Rewriter, moves::Place};
use crossfeed_schema::keywords::{self, Step};
use serde_json::{Map, Value};

impl<'s> Rewriter<'s> {
    /// A schema that stays as it is, references in it following their targets.
    pub(super) fn kept(&mut self, key: &str, value: &'s Value, place: &mut Place) -> Value {
        if !self.moves.tracks() {
            return value.clone();
        }
        let mark = self.moves.step(place, key, Step::Keyword);
        let new = self.keep(value, place);
        self.moves.back(place, mark);
        new
    }

    pub(super) fn keep(&mut self, schema: &'s Value, place: &mut Place) -> Value {
        if !self.moves.tracks() {
            return schema.clone();
        }
        self.moves.arrive(place);
        let Value::Object(object) = schema else {
            return schema.clone();
        };
        let mut out = Map::with_capacity(object.len());
        for (key, value) in object {
            if let Some(new) = self.kept_keyword(key, value, place) {
                out.insert(key.clone(), new);
            }
        }
        Value::Object(out)
    }

    /// One keyword of a schema that stays as it is.
    pub(super) fn kept_keyword(
        &mut self,
        key: &'s str,
        value: &'s Value,
        place: &mut Place,
    ) -> Option<Value> {
        let Some((holds, _)) = keywords::subschemas(key) else {
            return if crossfeed_schema::index::REFERENCES.contains(&key) {
                Some(
                    self.link(key, value, place)
                        .unwrap_or_else(|| value.clone()),
                )
            } else {
                Some(self.foreign(key, value, place, true))
            };
        };
        let mut new = value.clone();
        for (step, inner) in keywords::held(holds, value) {
            let mark = self.moves.step(place, key, step);
            let inner = self.keep(inner, place);
            self.moves.back(place, mark);
            match (step, &mut new) {
                (Step::Key(name), Value::Object(map)) => {
                    map.insert(name.to_owned(), inner);
                }
                (Step::Index(index), Value::Array(list)) => {
                    if let Some(slot) = list.get_mut(index) {
                        *slot = inner;
                    }
                }
                _ => new = inner,
            }
        }
        Some(new)
    }

    /// The value of a keyword that is not known to hold schemas, and may: something may refer there.
    pub(super) fn foreign(
        &mut self,
        key: &str,
        value: &'s Value,
        place: &mut Place,
        keeps: bool,
    ) -> Value {
        let mark = self.moves.step(place, key, Step::Keyword);
        let new = self.within_foreign(value, place, keeps);
        self.moves.back(place, mark);
        new
    }

    fn within_foreign(&mut self, value: &'s Value, place: &mut Place, keeps: bool) -> Value {
        if !self.moves.has_target_within(&place.old) {
            return value.clone();
        }
        if self.moves.is_target(&place.old) {
            return if keeps {
                self.keep(value, place)
            } else {
                self.schema(value, place)
            };
        }
        match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), self.foreign(key, value, place, keeps)))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.foreign(&index.to_string(), item, place, keeps))
                .collect(),
            _ => value.clone(),
        }
    }

    /// A reference, leading to where its target went; `None` where it goes.
    pub(super) fn link(&mut self, key: &str, value: &Value, place: &Place) -> Option<Value> {
        let keyword = crossfeed_schema::index::REFERENCES
            .into_iter()
            .find(|known| *known == key)?;
        match value.as_str() {
            Some(text) if self.moves.tracks() => self.moves.follow(&place.old, keyword, text),
            _ => Some(value.clone()),
        }
    }
}
